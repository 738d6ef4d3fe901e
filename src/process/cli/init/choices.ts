/** The choices of `svc init`: names of roles and schema, and relations to grant. @module */
import { nearest } from "../../../base/lib/nearest.ts";
import {
  type OwnerColumn,
  type RelationFacts,
  type SchemaFacts,
  type TargetNames,
  usualLoginRole,
} from "./facts.ts";

/** Names that `svc init` chooses unless flags or answers do. */
export const defaultNames = {
  loginRole: usualLoginRole,
  anonRole: "web_anon",
  userRole: "web_user",
  /** Schema of a database without relations. */
  schema: "api",
} as const;

/** PostgreSQL cuts longer names, in bytes. */
const maxNameBytes = 63;

/** Everything that the SQL and the configuration file depend on. */
export interface Choices extends TargetNames {
  /** Relations that requests may read. */
  readonly readable: readonly RelationFacts[];
  /** Relations that only requests with a token may read. */
  readonly userReadable: readonly RelationFacts[];
  /** Tables whose rows belong to users, with the column that holds the claim `sub` of the owner. */
  readonly owned: readonly OwnedTable[];
  /** Relations that requests with a token may write. */
  readonly writable: readonly RelationFacts[];
  /** Whether to take from PUBLIC the right to call the functions of the schema. */
  readonly revokesFunctions: boolean;
  /** Whether to make the table of `idempotency-table`. */
  readonly keepsAnswers: boolean;
  /** Whether the roles of requests may log in, as the coordinator of Citus does on its workers. */
  readonly usesCitus: boolean;
}

export interface OwnedTable {
  readonly relation: RelationFacts;
  readonly column: OwnerColumn;
}

/** Returns the schema that is most likely meant: `api`, then `public`, then the only one in use. */
export function likelySchema(schemas: readonly SchemaFacts[]): string {
  const filled = schemas.filter(({ relations, functions }) => relations + functions > 0);
  const named = ["api", "public"].find((name) => filled.some((schema) => schema.name === name));
  return named ?? filled[0]?.name ?? defaultNames.schema;
}

/** Returns the problem of a role's name; null if PostgreSQL accepts it. */
export function roleProblem(name: string): string | null {
  if (name === "") return "the name of a role is empty";
  if (/^pg_/.test(name) || ["public", "none"].includes(name)) {
    return `role name ${JSON.stringify(name)} is reserved`;
  }
  return lengthProblem(name);
}

/** Returns the problem of a schema's name; null if it can be served. */
export function schemaProblem(name: string): string | null {
  if (name === "") return "the name of the schema is empty";
  if (/^pg_/.test(name) || name === "information_schema") {
    return `schema ${JSON.stringify(name)} belongs to PostgreSQL`;
  }
  if (/[,<]/.test(name) || name.trim() !== name) {
    return `db-schemas cannot name the schema ${JSON.stringify(name)}`;
  }
  return lengthProblem(name);
}

function lengthProblem(name: string): string | null {
  const bytes = new TextEncoder().encode(name).length;
  if (name.includes("\0")) return "a name contains U+0000";
  return bytes <= maxNameBytes ? null : `${JSON.stringify(name)} is longer than 63 bytes`;
}

/** Returns the problem of names that must differ; null if they do. */
export function sameRoleProblem({ loginRole, anonRole, userRole }: TargetNames): string | null {
  const names = [loginRole, anonRole, ...(userRole === null ? [] : [userRole])];
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined ? null : `${JSON.stringify(twice)} is named for two roles`;
}

/**
 * Returns the relations that a text names: `none`, `all`, `all except` names, or names separated by
 * commas. `*` in a name matches any characters. A name with a comma is in double quotes. Throws an
 * `Error` for a name that fits no relation.
 */
export function pickRelations(
  text: string,
  relations: readonly RelationFacts[],
): readonly RelationFacts[] {
  const [, others] = /^all\s+except\s+(.*)$/s.exec(text.trim()) ?? [];
  if (others !== undefined) {
    const left = pickRelations(others, relations);
    return relations.filter((relation) => !left.includes(relation));
  }
  if (text.trim() === "" || text.trim() === "none") return [];
  if (text.trim() === "all") return relations;
  const picked = splitNames(text).flatMap((name) => fittingRelations(name, relations));
  return relations.filter((relation) => picked.includes(relation));
}

function fittingRelations(
  name: string,
  relations: readonly RelationFacts[],
): readonly RelationFacts[] {
  const pattern = new RegExp(`^${RegExp.escape(name).replaceAll("\\*", ".*")}$`, "s");
  const found = relations.filter((relation) => pattern.test(relation.name));
  if (found.length > 0) return found;
  const suggestion = nearest(name, relations.map((relation) => relation.name));
  throw new Error(
    `${JSON.stringify(name)} is not a relation of the schema` +
      (suggestion === null ? "" : `; did you mean ${suggestion}?`),
  );
}

/**
 * Returns the tables that a text names with their owners' columns: `none`, or `table.column`
 * separated by commas. Throws an `Error` for other names.
 */
export function pickOwned(
  text: string,
  relations: readonly RelationFacts[],
): readonly OwnedTable[] {
  if (text.trim() === "" || text.trim() === "none") return [];
  return splitNames(text).map((name) => {
    const found = ownable(relations).find((each) => nameOfOwned(each) === name);
    if (found !== undefined) return found;
    const suggestion = nearest(name, ownable(relations).map(nameOfOwned));
    throw new Error(
      `${JSON.stringify(name)} is not table.column of a granted table without policies` +
        (suggestion === null ? "" : `; did you mean ${suggestion}?`),
    );
  });
}

/** Returns all columns of relations that may hold the owner of a row. */
export function ownable(relations: readonly RelationFacts[]): readonly OwnedTable[] {
  return relations.flatMap((relation) =>
    relation.ownerColumns.map((column) => ({ relation, column }))
  );
}

/** Returns `table.column`. */
export function nameOfOwned({ relation, column }: OwnedTable): string {
  return `${relation.name}.${column.name}`;
}

/** Splits at commas outside of double quotes. A doubled quote in quotes is one quote. */
export function splitNames(text: string): readonly string[] {
  const parts = text.match(/(?:"(?:[^"]|"")*"|[^,"])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== "")
    .map((part) => /^".*"$/s.test(part) ? part.slice(1, -1).replaceAll('""', '"') : part);
}
