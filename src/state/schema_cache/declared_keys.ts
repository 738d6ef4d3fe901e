/**
 * Adds keys that comments of relations declare to the keys of the catalogue. The grammar of a key,
 * after `@`:
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
 * White space separates words, and may surround `.`, `,` and parentheses. Names keep the case of
 * their letters.
 *
 * @module
 */
import {
  type CommentTagConfig,
  readCommentTags,
  type TaggedComment,
  type TagValues,
} from "./comment_tags.ts";
import type { ForeignKeyRow, KeyRow, Keys } from "./queries/keys.ts";
import type { RelationRow } from "./queries/relations.ts";

export interface DeclaredKeys {
  /** The relations. Their comments have no tag lines. */
  readonly relations: readonly RelationRow[];
  readonly primaryRelations: ReadonlySet<number>;
  /** Values of the tags `@deprecated`, `@label` and `@maxRows` by the oids of relations. */
  readonly tags: ReadonlyMap<number, TagValues>;
  /** The keys of the catalogue, and declared keys except {@linkcode foreign}. */
  readonly keys: Keys;
  readonly foreign: readonly ForeignKeyRow[];
  /** Problems of ignored declarations: `comment of api.v: column "x" does not exist`. */
  readonly problems: readonly string[];
}

/** Adds the keys that the comments of relations declare. */
export function addDeclaredKeys(
  relations: readonly RelationRow[],
  keys: Keys,
  config: CommentTagConfig,
): DeclaredKeys {
  const tagged = new Map<RelationRow, TaggedComment>();
  for (const row of relations) {
    const comment = readCommentTags(row[3], config);
    if (comment.text !== row[3]) tagged.set(row, comment);
  }
  const declaring = [...tagged].filter(([, { keys }]) => keys.length > 0);
  const resolver = new KeyResolver(declaring.length === 0 ? [] : relations, keys.primary);
  const problems = declaring.flatMap(([row, comment]) =>
    comment.keys.flatMap((tag) => {
      try {
        resolver.add(row, tag);
        return [];
      } catch (error) {
        if (!(error instanceof DeclarationProblem)) throw error;
        return [`comment of ${row[1]}.${row[2]}: ${error.message}`];
      }
    })
  );
  const { primary, unique, foreign } = resolver;
  return {
    relations: tagged.size === 0
      ? relations
      : relations.map((row) => withComment(row, tagged.get(row))),
    primaryRelations: new Set(
      Array.from(tagged).flatMap(([[oid], { isPrimary }]) => isPrimary ? [oid] : []),
    ),
    tags: new Map(Array.from(tagged, ([[oid], { values }]) => [oid, values])),
    keys: { ...keys, primary: [...keys.primary, ...primary], unique: [...keys.unique, ...unique] },
    foreign,
    problems,
  };
}

function withComment(row: RelationRow, comment: TaggedComment | undefined): RelationRow {
  if (comment === undefined) return row;
  const [oid, schema, name, , ...rest] = row;
  return [oid, schema, name, comment.text, ...rest];
}

/** Reports a declaration that is ignored. The message contains the reason. */
class DeclarationProblem extends Error {}

const name = String.raw`(?:"(?:[^"]|"")+"|[\p{L}\p{N}_$]+)`;
const list = String.raw`${name}(?:\s*,\s*${name})*`;
const columns = String.raw`(\s*\(\s*${list}\s*\)|\s+${list})`;
const declaration = new RegExp(
  String.raw`^(primaryKey|unique|foreignKey)${columns}` +
    String.raw`(?:\s+references\s+((?:${name}\s*\.\s*)?${name})${columns}` +
    String.raw`(?:\s+as\s+(${name}))?)?\s*$`,
  "u",
);

const expected =
  "expected primaryKey (a), unique (a), or foreignKey (a) references b (c) [as name]";

function namesIn(text: string): readonly string[] {
  return Array.from(
    text.matchAll(new RegExp(name, "gu")),
    ([word]) => word.startsWith('"') ? word.slice(1, -1).replaceAll('""', '"') : word,
  );
}

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

  /** Adds a key of a relation. Throws a {@linkcode DeclarationProblem}. */
  add(row: RelationRow, tag: string): void {
    const [, kind, columns = "", relation, others = "", constraint] = declaration.exec(tag) ?? [];
    if (kind === undefined || (kind === "foreignKey") !== (relation !== undefined)) {
      throw new DeclarationProblem(`@${tag.trim()}: ${expected}`);
    }
    const names = namesIn(columns);
    const numbers = numbersOf(names, row);
    if (kind === "primaryKey") return this.#addPrimary(row, numbers);
    if (kind === "unique") return void this.unique.push([row[0], numbers]);
    const foreign = this.#relation([row[1], ...namesIn(relation!)].slice(-2) as [string, string]);
    const foreignNumbers = numbersOf(namesIn(others), foreign);
    if (foreignNumbers.length !== numbers.length) {
      throw new DeclarationProblem(`@${tag.trim()}: the numbers of columns differ`);
    }
    const [given] = namesIn(constraint ?? "");
    const key = given ?? `${row[2]}_${names.join("_")}_fkey`;
    this.foreign.push([key, row[0], numbers, foreign[0], foreignNumbers]);
  }

  #addPrimary([oid, schema, name]: RelationRow, columns: readonly number[]): void {
    const previous = this.#primaryKeys.get(oid);
    if (previous === undefined) {
      this.#primaryKeys.set(oid, columns);
      this.primary.push([oid, columns]);
      return;
    }
    const isSame = previous.length === columns.length &&
      previous.every((column) => columns.includes(column));
    if (isSame) return;
    throw new DeclarationProblem(`relation ${schema}.${name} has another primary key`);
  }

  #relation([schema, name]: readonly [string, string]): RelationRow {
    const row = this.#rows.get(nameKey(schema, name));
    if (row !== undefined) return row;
    throw new DeclarationProblem(`relation ${schema}.${name} does not exist in an exposed schema`);
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
    throw new DeclarationProblem(`relation ${schema}.${name} has no column "${column}"`);
  });
}

/** Joins two names by NUL, which PostgreSQL does not allow in names. */
function nameKey(schema: string, name: string): string {
  return `${schema}\0${name}`;
}
