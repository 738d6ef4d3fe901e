/**
 * Adds keys that comments of relations declare to those of the catalogue. The grammar of a key, after `@`:
 *
 * ```abnf
 * key      = "primaryKey" columns / "unique" columns
 *          / "foreignKey" columns "references" relation columns [ "as" name ]
 * relation = [ name "." ] name
 * columns  = "(" list ")" / list
 * list     = name *( "," name )
 * name     = 1*( letter / DIGIT / "_" / "$" ) / DQUOTE text DQUOTE
 * ```
 *
 * White space separates words, and may surround `.`, `,` and parentheses. A name means what it says:
 * letters keep their case.
 *
 * @module
 */
import { GrammarReader, problemOr } from "../config/grammar_reader.ts";
import {
  type CommentTagConfig,
  readCommentTags,
  type TaggedComment,
  type TagValues,
} from "./comment_tags.ts";
import type { ForeignKeyRow, KeyRow, KeysResult } from "./queries/keys.ts";
import type { RelationRow } from "./queries/relations.ts";

interface DeclaredKeys {
  /** The relations; their comments are without the lines of tags. */
  readonly relations: readonly RelationRow[];
  readonly primaryRelations: ReadonlySet<number>;
  /** Values of the tags `@deprecated`, `@label` and `@maxRows` by the oids of relations. */
  readonly tags: ReadonlyMap<number, TagValues>;
  /** All keys but {@linkcode foreign}. */
  readonly keys: KeysResult;
  readonly foreign: readonly ForeignKeyRow[];
  /** Declarations that have no effect: `comment of api.v: column "x" does not exist`. */
  readonly problems: readonly string[];
}

/** Adds the keys that the comments of relations declare. */
export function addDeclaredKeys(
  relations: readonly RelationRow[],
  keys: KeysResult,
  config: CommentTagConfig,
): DeclaredKeys {
  const tagged = relations.map((row): TaggedRow => ({
    row,
    comment: readCommentTags(row[3], config),
  }));
  const declaring = tagged.filter(({ comment }) => comment.keys.length > 0);
  const resolver = new KeyResolver(declaring.length === 0 ? [] : relations, keys.primary);
  const problems = declaring.flatMap(({ row, comment }) =>
    comment.keys.flatMap((tag) => {
      const problem = resolver.add(row, tag);
      return problem === null ? [] : [`comment of ${row[1]}.${row[2]}: ${problem}`];
    })
  );
  const { primary, unique, foreign } = resolver;
  return {
    relations: tagged.map(withoutTags),
    primaryRelations: new Set(
      tagged.filter(({ comment }) => comment.isPrimary).map(({ row: [oid] }) => oid),
    ),
    tags: new Map(tagged.map(({ comment, row: [oid] }) => [oid, comment.values])),
    keys: {
      ...keys,
      primary: [...keys.primary, ...primary],
      unique: [...keys.unique, ...unique],
    },
    foreign,
    problems,
  };
}

interface TaggedRow {
  readonly row: RelationRow;
  readonly comment: TaggedComment;
}

function withoutTags({ row, comment: { text } }: TaggedRow): RelationRow {
  if (text === row[3]) return row;
  const [oid, schema, name, , ...rest] = row;
  return [oid, schema, name, text, ...rest];
}

/** The names in a declaration are unknown. The message is the problem. */
class UnknownName extends Error {}

/** Collects keys as rows of the catalogue. */
class KeyResolver {
  readonly primary: KeyRow[] = [];
  readonly unique: KeyRow[] = [];
  readonly foreign: ForeignKeyRow[] = [];
  readonly #rows: ReadonlyMap<string, RelationRow>;
  readonly #primaryKeys: Map<number, readonly number[]>;

  constructor(relations: readonly RelationRow[], primaryKeys: readonly KeyRow[]) {
    this.#rows = new Map(relations.map((row) => [nameKey(row[1], row[2]), row]));
    this.#primaryKeys = new Map(primaryKeys);
  }

  /** Adds a key of a relation. Returns the problem if it has no effect. */
  add(row: RelationRow, tag: string): string | null {
    const key = problemOr(() => new KeyReader(tag).key());
    if (key.kind === "problem") return `@${tag.trim()}: expected ${key.expected}`;
    const [oid, schema, name] = row;
    try {
      const columns = numbersOf(key.columns, row);
      switch (key.kind) {
        case "primaryKey":
          return this.#addPrimary(row, columns);
        case "unique":
          this.unique.push([oid, columns]);
          return null;
        case "foreignKey": {
          const foreign = this.#relation({ schema, ...key.references });
          const foreignColumns = numbersOf(key.foreignColumns, foreign);
          const constraint = key.name ?? `${name}_${key.columns.join("_")}_fkey`;
          this.foreign.push([constraint, oid, columns, foreign[0], foreignColumns]);
          return null;
        }
        default:
          return key satisfies never;
      }
    } catch (error) {
      if (error instanceof UnknownName) return error.message;
      throw error;
    }
  }

  #addPrimary([oid, schema, name]: RelationRow, columns: readonly number[]): string | null {
    const previous = this.#primaryKeys.get(oid);
    if (previous === undefined) {
      this.#primaryKeys.set(oid, columns);
      this.primary.push([oid, columns]);
      return null;
    }
    const isSame = previous.length === columns.length &&
      previous.every((column) => columns.includes(column));
    return isSame ? null : `relation ${schema}.${name} has another primary key`;
  }

  #relation({ schema, name }: Required<RelationReference>): RelationRow {
    const row = this.#rows.get(nameKey(schema, name));
    if (row !== undefined) return row;
    throw new UnknownName(`relation ${schema}.${name} does not exist in an exposed schema`);
  }
}

function numbersOf(
  columns: readonly string[],
  [, schema, name, , , , all]: RelationRow,
): readonly number[] {
  const numbers = new Map((all ?? []).map(([number, column]) => [column, number]));
  return columns.map((column) => {
    const number = numbers.get(column);
    if (number !== undefined) return number;
    throw new UnknownName(`relation ${schema}.${name} has no column "${column}"`);
  });
}

/** Joins two names by NUL, which names in PostgreSQL cannot contain. */
function nameKey(schema: string, name: string): string {
  return `${schema}\0${name}`;
}

/** A relation by its name. Without a schema it is in that of the declaring relation. */
interface RelationReference {
  readonly schema?: string;
  readonly name: string;
}

type DeclaredKey =
  | { readonly kind: "primaryKey" | "unique"; readonly columns: readonly string[] }
  | {
    readonly kind: "foreignKey";
    readonly columns: readonly string[];
    readonly references: RelationReference;
    readonly foreignColumns: readonly string[];
    /** Name of the constraint; null for the default. */
    readonly name: string | null;
  };

class KeyReader extends GrammarReader {
  key(): DeclaredKey {
    const kind = this.match(
      /(primaryKey|unique|foreignKey)(?=[\s(])/y,
      '"primaryKey", "unique" or "foreignKey"',
    ) as DeclaredKey["kind"];
    const columns = this.#columns();
    const key = kind === "foreignKey" ? this.#foreignKey(columns) : { kind, columns };
    this.skipSpace();
    if (!this.isAtEnd) throw this.problem("the end of the line");
    return key;
  }

  #foreignKey(columns: readonly string[]): DeclaredKey {
    if (!this.takesWord("references")) throw this.problem('"references"');
    const first = this.#name("a relation");
    const references = this.takes(".")
      ? { schema: first, name: this.#name("a relation") }
      : { name: first };
    const foreignColumns = this.#columns();
    if (foreignColumns.length !== columns.length) {
      throw this.problem(`as many columns as before "references": ${columns.length}`);
    }
    const name = this.takesWord("as") ? this.#name("a constraint") : null;
    return { kind: "foreignKey", columns, references, foreignColumns, name };
  }

  #columns(): readonly string[] {
    const isInParentheses = this.takes("(");
    const columns: string[] = [];
    do columns.push(this.#name("a column")); while (this.takes(","));
    if (isInParentheses) this.take(")");
    return columns;
  }

  #name(expected: string): string {
    const read = this.match(/"(?:[^"]|"")+"|[\p{L}\p{N}_$]+/uy, expected);
    return read.startsWith('"') ? read.slice(1, -1).replaceAll('""', '"') : read;
  }
}
