/**
 * SQL as values that text cannot forge: a fragment is made only by the {@linkcode sql} tag and by
 * the functions of this module, and {@linkcode compile} turns it into statement text plus parameters.
 *
 * @module
 */

/** Bytes sent in PostgreSQL's binary format; what they mean depends on the parameter's type. */
export interface BinaryValue {
  readonly binary: Uint8Array;
}

/** A parameter's value: text, the UTF-8 bytes of text, a binary value, or SQL NULL. */
export type ParamValue = string | Uint8Array | BinaryValue | null;

/** Fragments keep what they are made of, so that putting them together costs nothing. */
type Part = string | Param | Sql;

/** One parameter. Using the same object twice in a fragment sends its value once. */
class Param {
  constructor(readonly value: ParamValue) {}
}

let makeSql: (parts: readonly Part[]) => Sql;
let partsOf: (fragment: Sql) => readonly Part[];

/** A piece of SQL. Its parts are private, so that neither JSON nor a string can pass for one. */
export class Sql {
  readonly #parts: readonly Part[];

  /** Makes a fragment of trusted parts; code outside this module goes through {@linkcode sql}. */
  private constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  static {
    makeSql = (parts) => new Sql(parts);
    partsOf = (fragment) => fragment.#parts;
  }
}

/**
 * Builds a fragment. Holes take fragments only, so that a bare string does not compile.
 *
 * ```ts
 * import { compile, ident, param, sql } from "./fragment.ts";
 * const { text, params } = compile(sql`select * from ${ident("api", "t")} where id = ${param("1")}`);
 * if (text !== `select * from "api"."t" where id = $1` || params[0] !== "1") throw new Error(text);
 * ```
 */
export function sql(strings: TemplateStringsArray, ...holes: readonly Sql[]): Sql {
  const parts: Part[] = [strings[0]!];
  for (let index = 0; index < holes.length; index++) {
    parts.push(holes[index]!, strings[index + 1]!);
  }
  return makeSql(parts);
}

/** Quotes a name, or a dotted sequence of names, as SQL identifiers. */
export function ident(...names: readonly string[]): Sql {
  return makeSql([names.map(quoteIdent).join(".")]);
}

/** Quotes one name as an SQL identifier. NUL, which PostgreSQL cannot hold, is dropped. */
export function quoteIdent(name: string): string {
  return `"${name.replaceAll("\0", "").replaceAll('"', '""')}"`;
}

/** Passes a value as a parameter; PostgreSQL infers its type from the place it stands in. */
export function param(value: ParamValue): Sql {
  return makeSql([new Param(value)]);
}

/**
 * Quotes text as an SQL string literal. Only for facts of the database itself (setting names, keys
 * of output objects) that a statement's shape depends on; what a client sent goes through
 * {@linkcode param}.
 */
export function literal(text: string): Sql {
  const escaped = text.replaceAll("\0", "").replaceAll("'", "''");
  return makeSql([
    escaped.includes("\\") ? ` E'${escaped.replaceAll("\\", "\\\\")}'` : `'${escaped}'`,
  ]);
}

/**
 * Takes text that the database itself produced as SQL (a type's name by `format_type`, a default
 * expression by `pg_get_expr`) into a fragment. Never for anything a client sent.
 */
export function catalogueSql(text: string): Sql {
  return makeSql([text]);
}

/**
 * Takes the name of a type that a client wrote as PostgreSQL reads unquoted words: `int`,
 * `double precision`, `_int4`. Whatever is not words, each beginning with a letter or underscore, is
 * quoted, so that it can only be the name of an unknown type.
 */
export function typeName(text: string): Sql {
  return typeWords.test(text) ? makeSql([text]) : ident(text);
}

const typeWords = /^[\p{L}_][\p{L}\p{N}_$]*(?: +[\p{L}_][\p{L}\p{N}_$]*)*$/u;

/** The number of an output column, counted from one, as GROUP BY and ORDER BY take it. */
export function ordinal(position: number): Sql {
  return makeSql([Math.trunc(position).toString()]);
}

/**
 * A whole number of at most four digits as itself, a greater one as a parameter. PostgreSQL makes a
 * plan once and for all only where it sees how few rows are wanted; and few numbers make few statements.
 */
export function smallNumber(digits: string): Sql {
  return /^[0-9]{1,4}$/.test(digits) ? makeSql([String(Number(digits))]) : param(digits);
}

/** The fragment with no text. */
export const emptySql: Sql = makeSql([]);

/** Joins fragments with a separator. */
export function join(fragments: readonly Sql[], separator: Sql = sql`, `): Sql {
  const parts: Part[] = [];
  fragments.forEach((fragment, index) => {
    if (index > 0) parts.push(separator);
    parts.push(fragment);
  });
  return makeSql(parts);
}

/** Joins conditions with AND, in parentheses when there are several; none is `true`. */
export function and(conditions: readonly Sql[]): Sql {
  return combine(conditions, sql` and `, sql`true`);
}

/** Joins conditions with OR, in parentheses when there are several; none is `false`. */
export function or(conditions: readonly Sql[]): Sql {
  return combine(conditions, sql` or `, sql`false`);
}

/** A statement's text with `$1`, `$2` … and the values that stand for them. */
export interface CompiledSql {
  readonly text: string;
  readonly params: readonly ParamValue[];
}

/** Turns a fragment into statement text and parameters; a parameter used twice is sent once. */
export function compile(fragment: Sql): CompiledSql {
  const numbers = new Map<Param, number>();
  const params: ParamValue[] = [];
  const numberOf = (param: Param) => {
    const number = numbers.get(param) ?? params.push(param.value);
    numbers.set(param, number);
    return number;
  };
  let text = "";
  const pending: Part[] = [fragment];
  while (pending.length > 0) {
    const part = pending.pop()!;
    if (typeof part === "string") text += part;
    else if (part instanceof Sql) pushReversed(pending, partsOf(part));
    else text += "$" + numberOf(part);
  }
  return { text, params };
}

function combine(conditions: readonly Sql[], operator: Sql, identity: Sql): Sql {
  if (conditions.length === 0) return identity;
  if (conditions.length === 1) return conditions[0]!;
  return sql`(${join(conditions, operator)})`;
}

function pushReversed(pending: Part[], parts: readonly Part[]): void {
  for (let index = parts.length - 1; index >= 0; index--) pending.push(parts[index]!);
}
