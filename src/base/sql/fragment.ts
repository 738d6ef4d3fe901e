/** SQL fragments that text cannot forge. Only the {@linkcode sql} tag and the functions of this
 * module create fragments. {@linkcode compile} turns a fragment into statement text and parameters.
 * @module */
import { errors } from "../errors/catalogue.ts";

/** Bytes in PostgreSQL's binary format. The parameter's type defines their meaning. */
export interface BinaryValue {
  readonly binary: Uint8Array;
}

/** A parameter's value: text, the UTF-8 bytes of text, a binary value, or SQL NULL. */
export type ParamValue = string | Uint8Array | BinaryValue | null;

/** A part of a fragment. Fragments contain other fragments, so that joining them copies no text. */
type Part = string | Param | Sql;

/** One parameter. A fragment that contains the same object twice sends its value once. */
class Param {
  constructor(readonly value: ParamValue) {}
}

let makeSql: (parts: readonly Part[]) => Sql;
let partsOf: (fragment: Sql) => readonly Part[];

/** A fragment of SQL. Its parts are private, so that JSON or a string cannot imitate it. */
export class Sql {
  readonly #parts: readonly Part[];

  /** Creates a fragment of trusted parts. Code outside this module uses {@linkcode sql}. */
  private constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  static {
    makeSql = (parts) => new Sql(parts);
    partsOf = (fragment) => fragment.#parts;
  }
}

/**
 * Builds a fragment. Holes take fragments only: a bare string does not compile.
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

/** Maximum bytes of a name in PostgreSQL, which truncates longer ones. */
export const maxNameBytes = 63;

/** Prefix of the names that svc adds to a statement. Names of clients may not begin with it. */
export const ownPrefix = "svc:";

const utf8 = new TextEncoder();

/**
 * Quotes a name, or a dotted sequence of names, as SQL identifiers. Throws `100` for a name that
 * PostgreSQL would truncate, and for one with the prefix of {@linkcode ownName}: either could
 * collide with another name.
 */
export function ident(...names: readonly string[]): Sql {
  return makeSql([names.map(checkedIdent).join(".")]);
}

/** Returns a name for a table or column that exists only in the statement, such as an alias. */
export function ownName(name: string): Sql {
  return makeSql([quoteIdent(ownPrefix + name)]);
}

function checkedIdent(name: string): string {
  const isLong = name.length * 3 > maxNameBytes && utf8.encode(name).length > maxNameBytes;
  if (isLong) throw errors.unusableName(name, `more than ${maxNameBytes} bytes`);
  if (name.startsWith(ownPrefix)) throw errors.unusableName(name, `${ownPrefix} at its beginning`);
  return quoteIdent(name);
}

/** Quotes one name as an SQL identifier. Drops NUL, which PostgreSQL cannot store. */
export function quoteIdent(name: string): string {
  return `"${name.replaceAll("\0", "").replaceAll('"', '""')}"`;
}

/** Passes a value as a parameter. PostgreSQL infers its type from the context. */
export function param(value: ParamValue): Sql {
  return makeSql([new Param(value)]);
}

/**
 * Quotes text as an SQL string literal. Use it only for text that is fixed by the statement's
 * shape, such as names of settings and keys of output objects. Pass text of a client by {@linkcode
 * param}.
 */
export function literal(text: string): Sql {
  const escaped = text.replaceAll("\0", "").replaceAll("'", "''");
  return makeSql([
    escaped.includes("\\") ? ` E'${escaped.replaceAll("\\", "\\\\")}'` : `'${escaped}'`,
  ]);
}

/**
 * Quotes text as the value of a `SET`, which takes no parameters. Only `set_commands.ts` uses it.
 * The literal is printable ASCII; all other characters, quotes and backslashes are escaped. So the
 * end of the literal does not depend on settings of the connection. PostgreSQL rejects the escape
 * of NUL.
 */
export function settingLiteral(text: string): Sql {
  const escaped = text.toWellFormed().replace(
    /[^ -~]|['\\]/gu,
    (character) => `\\U${character.codePointAt(0)!.toString(16).padStart(8, "0")}`,
  );
  return makeSql([`E'${escaped}'`]);
}

/**
 * Turns SQL text that PostgreSQL produced into a fragment: a type's name by `format_type`, a default
 * expression by `pg_get_expr`. Never for text of a client.
 */
export function catalogueSql(text: string): Sql {
  return makeSql([text]);
}

/** Turns SQL text from a table of the program into a fragment. Never for text of a client. */
export function tableSql(text: string): Sql {
  return makeSql([text]);
}

/**
 * Returns a type name that a client sent. Words stay unquoted: `int`, `double precision`, `_int4`.
 * Each word begins with a letter or underscore. Any other text is quoted, so that it can only be the
 * name of an unknown type.
 */
export function typeName(text: string): Sql {
  return typeWords.test(text) ? makeSql([text]) : ident(text);
}

const typeWords = /^[\p{L}_][\p{L}\p{N}_$]*(?: +[\p{L}_][\p{L}\p{N}_$]*)*$/u;

/** Returns the number of an output column, counted from 1, for GROUP BY and ORDER BY. */
export function ordinal(position: number): Sql {
  return makeSql([Math.trunc(position).toString()]);
}

/**
 * Returns a whole number of at most four digits as SQL text, a greater one as a parameter. A generic
 * plan expects a LIMIT parameter to return a tenth of all rows. Such a plan often costs more than a
 * custom plan, so PostgreSQL would plan each execution. Four digits bound the number of statements.
 */
export function smallNumber(digits: string): Sql {
  return /^[0-9]{1,4}$/.test(digits) ? makeSql([String(Number(digits))]) : param(digits);
}

export const emptySql: Sql = makeSql([]);

export function join(fragments: readonly Sql[], separator: Sql = sql`, `): Sql {
  const parts: Part[] = [];
  fragments.forEach((fragment, index) => {
    if (index > 0) parts.push(separator);
    parts.push(fragment);
  });
  return makeSql(parts);
}

/** Joins conditions with AND, in parentheses if there are several. No condition is `true`. */
export function and(conditions: readonly Sql[]): Sql {
  return combine(conditions, sql` and `, sql`true`);
}

/** Joins conditions with OR, in parentheses if there are several. No condition is `false`. */
export function or(conditions: readonly Sql[]): Sql {
  return combine(conditions, sql` or `, sql`false`);
}

/** A statement's text with `$1`, `$2` … and their values. */
export interface CompiledSql {
  readonly text: string;
  readonly params: readonly ParamValue[];
}

/** Returns the fragment that replaces a parameter; null to send the value. */
export type ParamReplacement = (value: ParamValue) => Sql | null;

/** Returns statement text and parameters. A parameter that is used twice is sent once. */
export function compile(fragment: Sql, replacementOf: ParamReplacement = () => null): CompiledSql {
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
    else {
      const replacement = replacementOf(part.value);
      if (replacement === null) text += "$" + numberOf(part);
      else pending.push(replacement);
    }
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
