/** The choices of `svc init`: names of roles and schemas, and relations to grant. @module */
import { maxNameBytes } from "../../../base/sql/fragment.ts";
import { nearest } from "../../../base/lib/nearest.ts";
import { type OwnerColumn, type RelationFacts, type TargetNames, usualLoginRole } from "./facts.ts";

/** Names that `svc init` uses by default. */
export const defaultNames = {
  loginRole: usualLoginRole,
  anonRole: "web_anon",
  userRole: "web_user",
  /** Schema to create in a database without relations. */
  schema: "api",
} as const;

/** All inputs of the SQL and the configuration file. */
export interface Choices extends TargetNames {
  /** Relations that requests may read. */
  readonly readable: readonly RelationFacts[];
  /** Relations that only requests with a token may read. */
  readonly userReadable: readonly RelationFacts[];
  /** Tables whose rows belong to users. The column has the claim `sub` of a row's owner. */
  readonly owned: readonly OwnedTable[];
  /** Relations that requests with a token may write. */
  readonly writable: readonly RelationFacts[];
  /** Whether PUBLIC loses the privilege to call functions of the schemas. */
  readonly revokesFunctions: boolean;
  /** Whether to create the table of `idempotency-table`. */
  readonly keepsAnswers: boolean;
  /** Whether request roles may log in, as Citus requires for connections to its workers. */
  readonly usesCitus: boolean;
}

export interface OwnedTable {
  readonly relation: RelationFacts;
  readonly column: OwnerColumn;
}

/** Returns the problem of a role name; null if it is valid. */
export function roleProblem(name: string): string | null {
  if (name === "") return "the name of a role is empty";
  if (/^pg_/.test(name) || ["public", "none"].includes(name)) {
    return `role name ${JSON.stringify(name)} is reserved`;
  }
  return lengthProblem(name);
}

/**
 * Returns the schemas in a list with commas. Case is ignored if no exact name exists. Throws an
 * `Error` for a name that cannot be exposed, and for a missing schema whose name has a space. The
 * user probably meant two schemas.
 */
export function pickSchemas(text: string, existing: readonly string[]): readonly string[] {
  const named = (name: string) =>
    existing.find((each) => each === name) ??
      existing.find((each) => each.toLowerCase() === name.toLowerCase()) ?? name;
  const names = Array.from(new Set(text.split(",").map((name) => named(name.trim()))));
  for (const name of names) {
    const problem = schemaProblem(name);
    if (problem !== null) throw new Error(problem);
    if (existing.includes(name) || !/\s/.test(name)) continue;
    throw new Error(
      `the schema ${
        JSON.stringify(name)
      } does not exist; several schemas have commas between them: ` +
        name.split(/\s+/).join(","),
    );
  }
  return names;
}

/** Returns the problem of a schema name; null if the schema can be exposed. */
function schemaProblem(name: string): string | null {
  if (name === "") return "the name of the schema is empty";
  if (/^pg_/.test(name) || name === "information_schema") {
    return `schema ${JSON.stringify(name)} belongs to PostgreSQL`;
  }
  if (name.includes("<")) {
    return `db-schemas cannot name the schema ${JSON.stringify(name)}`;
  }
  return lengthProblem(name);
}

function lengthProblem(name: string): string | null {
  const bytes = new TextEncoder().encode(name).length;
  if (name.includes("\0")) return "a name contains U+0000";
  return bytes <= maxNameBytes
    ? null
    : `${JSON.stringify(name)} is longer than ${maxNameBytes} bytes`;
}

/** Returns the problem of equal names that must differ; otherwise null. */
export function sameRoleProblem({ loginRole, anonRole, userRole }: TargetNames): string | null {
  const names = [loginRole, anonRole, ...(userRole === null ? [] : [userRole])];
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined ? null : `${JSON.stringify(twice)} is named for two roles`;
}

/**
 * Returns the relations in a text: `none`, `all`, `all except` names, or names separated by commas.
 * `*` matches any characters. A name with a comma is in double quotes. A name may be qualified by
 * its schema. If there is no exact match, case is ignored. Throws an `Error` for a name that no
 * relation has, or that relations of several schemas have.
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
  const source = `^${RegExp.escape(name).replaceAll("\\*", ".*")}$`;
  const fitting = (flags: string, part: "label" | "name") =>
    relations.filter((relation) => new RegExp(source, flags).test(relation[part]));
  const [matches = []] = ["s", "si"]
    .flatMap((flags) => [fitting(flags, "label"), fitting(flags, "name")])
    .filter(({ length }) => length > 0);
  if (matches.length > 1 && !name.includes("*")) {
    const labels = matches.map(({ label }) => label).join(" or ");
    throw new Error(`${JSON.stringify(name)} is in several schemas: write ${labels}`);
  }
  if (matches.length > 0) return matches;
  const suggestion = nearest(name, relations.map(({ label }) => label));
  const several = relations.some((relation) => relation.label !== relation.name) ? "s" : "";
  throw new Error(
    `${JSON.stringify(name)} is not a relation of the schema${several}` +
      (suggestion === null ? "" : `; did you mean ${suggestion}?`),
  );
}

/** Returns the tables in a text, with their owner columns: `none`, or `table.column` separated by
 * commas. Throws an `Error` for other names. */
export function pickOwned(
  text: string,
  relations: readonly RelationFacts[],
): readonly OwnedTable[] {
  if (text.trim() === "" || text.trim() === "none") return [];
  const all = ownable(relations);
  const names = all.map(nameOfOwned);
  return splitNames(text).map((name) => {
    const matches = all.filter((each) =>
      [nameOfOwned(each), `${each.relation.name}.${each.column.name}`].includes(name)
    );
    if (matches.length === 1) return matches[0]!;
    const suggestion = nearest(name, names) ?? names.find((each) => each.startsWith(`${name}.`));
    throw new Error(
      `${JSON.stringify(name)} is not table.column of a granted table without policies` +
        (suggestion === undefined ? "" : `; did you mean ${suggestion}?`),
    );
  });
}

/** Returns the columns that can contain the owner of a row, each with its relation. */
export function ownable(relations: readonly RelationFacts[]): readonly OwnedTable[] {
  return relations.flatMap((relation) =>
    relation.ownerColumns.map((column) => ({ relation, column }))
  );
}

/** Returns `table.column`, or `schema.table.column` if several schemas are chosen. */
export function nameOfOwned({ relation, column }: OwnedTable): string {
  return `${relation.label}.${column.name}`;
}

/** Splits at commas outside of double quotes. A doubled quote within quotes is one quote. */
export function splitNames(text: string): readonly string[] {
  const parts = text.match(/(?:"(?:[^"]|"")*"|[^,"])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== "")
    .map((part) => /^".*"$/s.test(part) ? part.slice(1, -1).replaceAll('""', '"') : part);
}
