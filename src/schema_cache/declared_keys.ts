/** Adds keys that comments of relations and `db-relationships` declare to those of the catalogue.
 * @module */
import type { ExposedSchemas } from "../config/exposed_schemas.ts";
import {
  type DeclaredKey,
  readKey,
  readKeyDeclarations,
  type RelationReference,
} from "../config/declared_keys.ts";
import {
  type CommentTagConfig,
  readCommentTags,
  type TaggedComment,
  type TagValues,
} from "./comment_tags.ts";
import type { ForeignKeyRow, KeyRow, KeysResult } from "./queries/keys.ts";
import type { RelationRow } from "./queries/relations.ts";

export interface DeclaredKeyConfig extends CommentTagConfig {
  /** Declarations, separated by `;`. Default: none. */
  readonly dbRelationships?: string | null;
  /** Exposed schemas. The first one is that of relations without a schema in `dbRelationships`. */
  readonly dbSchemas: ExposedSchemas;
}

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

/** Adds the declared keys. Those of `db-relationships` come before those of comments. */
export function addDeclaredKeys(
  relations: readonly RelationRow[],
  keys: KeysResult,
  config: DeclaredKeyConfig,
): DeclaredKeys {
  const problems: string[] = [];
  const tagged = relations.map((row): TaggedRow => ({
    row,
    comment: readCommentTags(row[3], config),
  }));
  const declarations: readonly Declaration[] = [
    ...configuredKeys(config),
    ...tagged.flatMap((each) => keysOfComment(each, problems)),
  ];
  const resolver = new KeyResolver(
    declarations.length === 0 ? [] : relations,
    keys.primary,
  );
  for (const declaration of declarations) {
    const problem = resolver.add(declaration);
    if (problem !== null) problems.push(`${declaration.place}: ${problem}`);
  }
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

/** A key and the place of its declaration. */
interface Declaration {
  readonly key: DeclaredKey;
  readonly schema: string;
  readonly relation: string;
  /** Begins the text of problems: `db-relationships`, `comment of api.v`. */
  readonly place: string;
}

function configuredKeys({ dbRelationships, dbSchemas }: DeclaredKeyConfig): readonly Declaration[] {
  const reading = readKeyDeclarations(dbRelationships ?? "");
  // The codec of the option has refused any other text.
  if (reading.kind === "problem") return [];
  return reading.keys.map(({ relation, key }) => ({
    key,
    schema: relation.schema ?? dbSchemas[0]!,
    relation: relation.name,
    place: "db-relationships",
  }));
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

function keysOfComment(
  { row: [, schema, relation], comment: { keys } }: TaggedRow,
  problems: string[],
): readonly Declaration[] {
  const place = `comment of ${schema}.${relation}`;
  return keys.flatMap((tag) => {
    const reading = readKey(tag);
    if (reading.kind === "key") return [{ key: reading.key, schema, relation, place }];
    problems.push(`${place}: @${tag.trim()}: expected ${reading.expected}`);
    return [];
  });
}

/** A relation with its attribute numbers by column name. */
interface KeyOwner {
  readonly oid: number;
  readonly row: RelationRow;
  readonly numbers: ReadonlyMap<string, number>;
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

  /** Adds a key. Returns the problem if it has no effect. */
  add({ key, schema, relation }: Declaration): string | null {
    try {
      const owner = this.#owner({ schema, name: relation }, schema);
      const columns = numbersOf(key.columns, owner);
      switch (key.kind) {
        case "primary":
          return this.#addPrimary(owner, columns);
        case "unique":
          this.unique.push([owner.oid, columns]);
          return null;
        case "foreign": {
          const foreign = this.#owner(key.references, schema);
          const foreignColumns = numbersOf(key.foreignColumns, foreign);
          const name = key.name ?? `${relation}_${key.columns.join("_")}_fkey`;
          this.foreign.push([name, owner.oid, columns, foreign.oid, foreignColumns]);
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

  #addPrimary({ oid, row }: KeyOwner, columns: readonly number[]): string | null {
    const previous = this.#primaryKeys.get(oid);
    if (previous === undefined) {
      this.#primaryKeys.set(oid, columns);
      this.primary.push([oid, columns]);
      return null;
    }
    const isSame = previous.length === columns.length &&
      previous.every((column) => columns.includes(column));
    return isSame ? null : `relation ${row[1]}.${row[2]} has another primary key`;
  }

  #owner({ schema, name }: RelationReference, ownSchema: string): KeyOwner {
    const row = this.#rows.get(nameKey(schema ?? ownSchema, name));
    if (row === undefined) {
      throw new UnknownName(
        `relation ${schema ?? ownSchema}.${name} does not exist in an exposed schema`,
      );
    }
    const numbers = new Map((row[6] ?? []).map(([number, column]) => [column, number]));
    return { oid: row[0], row, numbers };
  }
}

function numbersOf(columns: readonly string[], { row, numbers }: KeyOwner): readonly number[] {
  return columns.map((column) => {
    const number = numbers.get(column);
    if (number === undefined) {
      throw new UnknownName(`relation ${row[1]}.${row[2]} has no column "${column}"`);
    }
    return number;
  });
}

/** Joins two names by NUL, which names in PostgreSQL cannot contain. */
function nameKey(schema: string, name: string): string {
  return `${schema}\0${name}`;
}
