/** The contract of an API: a line for each fact that clients depend on. Names are quoted for SQL. @module */
import { type AccessMatrix, readAccess } from "../access/cells.ts";
import type { Config } from "../config/options.ts";
import { metadataBatch } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { versionNumber } from "../database/server_version.ts";
import { printable } from "../lib/printable.ts";
import { findRelationship, isToOne } from "../plan/find_relationship.ts";
import type {
  Column,
  QualifiedName,
  Relation,
  Relationship,
  Routine,
  SchemaCache,
} from "../schema_cache/schema_cache.ts";

/** A contract. */
export interface Contract {
  /** Major version of PostgreSQL. Others print the expressions of policies differently. */
  readonly major: string;
  readonly schemas: string;
  /** Facts by their subject: `column api.doc.title` with `text, required`. */
  readonly facts: ReadonlyMap<string, string>;
}

/** Reads the contract of the exposed schemas. */
export async function readContract(
  database: Database,
  { config, cache }: { readonly config: Config; readonly cache: SchemaCache },
): Promise<Contract> {
  const [major = ""] = versionNumber(await database.version())?.split(".") ?? [];
  const matrix = await readAccess(database, { config: { ...config, dbReadOnly: false } });
  const exposed = (each: QualifiedName) => config.dbSchemas.includes(each.schema);
  const relations = cache.data.relations.filter(exposed);
  const facts = [
    ...relations.flatMap((relation) => relationFacts(relation)),
    ...relations.flatMap((relation) => embedFacts(relation, cache)),
    ...cache.data.routines.filter(exposed).map(functionFact),
    ...grantFacts(matrix, relations),
    ...await policyFacts(database, config),
  ].map(([subject, fact]): Fact => [printable(subject), printable(fact)]);
  const sorted = facts.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
  return { major, schemas: printable(config.dbSchemas.join(", ")), facts: new Map(sorted) };
}

/** Returns the lines of a contract. */
export function contractText({ major, schemas, facts }: Contract): string {
  const head = `# svc contract 1, PostgreSQL ${major}, schemas ${schemas}`;
  const lines = Array.from(facts, ([subject, fact]) => `${subject}: ${fact}`).sort();
  return [head, ...lines].map((line) => `${line}\n`).join("");
}

/** Parses the lines of a contract. Throws an `Error` that names the line. */
export function parseContract(text: string, file: string): Contract {
  const [head = "", ...lines] = text.split(/\r?\n/);
  const [, major, schemas] = /^# svc contract 1, PostgreSQL (\d+), schemas (.*)$/.exec(head) ?? [];
  if (major === undefined || schemas === undefined) {
    throw new Error(`${file}:1: expected # svc contract 1, PostgreSQL …, schemas …`);
  }
  const facts = new Map<string, string>();
  lines.forEach((line, index) => {
    if (line === "") return;
    const [, subject, fact] = factPattern.exec(line) ?? [];
    if (subject === undefined || facts.has(subject)) {
      throw new Error(`${file}:${index + 2}: expected a fact that no other line has`);
    }
    facts.set(subject, fact!);
  });
  return { major, schemas, facts };
}

/** A colon inside of a quoted name ends no subject. */
const factPattern = /^([a-z]+ (?:[^":]|"(?:[^"]|"")*")+): (.*)$/;

type Fact = readonly [subject: string, fact: string];

/** Quotes a name as `quote_ident` does, apart from keywords. */
function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

function nameOf({ schema, name }: QualifiedName): string {
  return `${quoted(schema)}.${quoted(name)}`;
}

function relationFacts(relation: Relation): readonly Fact[] {
  const { insertable, updatable, deletable, primaryKey, columns } = relation;
  const verbs = [
    "select",
    ...(insertable ? ["insert"] : []),
    ...(updatable ? ["update"] : []),
    ...(deletable ? ["delete"] : []),
  ];
  const key = primaryKey.length === 0 ? "" : `, key ${primaryKey.map(quoted).join(" ")}`;
  return [
    [`relation ${nameOf(relation)}`, verbs.join(" ") + key],
    ...columns.map((column): Fact => [
      `column ${nameOf(relation)}.${quoted(column.name)}`,
      columnText(column, insertable),
    ]),
  ];
}

function columnText(column: Column, insertable: boolean): string {
  const { declaredType, nullable, generated, enumLabels } = column;
  const isRequired = insertable && !nullable && !generated && column.default === null;
  return [
    declaredType,
    ...(enumLabels.length === 0 ? [] : [`enum ${enumLabels.map(quoted).join(" ")}`]),
    ...(isRequired ? ["required"] : nullable ? ["nullable"] : []),
  ].join(", ");
}

/** Returns the relationship of each related name, and the cardinality of each relationship. */
function embedFacts(origin: Relation, cache: SchemaCache): readonly Fact[] {
  const { schema } = origin;
  const related = cache.relationships(origin, schema);
  return related.flatMap((relationship): Fact[] => {
    const target = targetOf(relationship);
    const subject = `embed ${nameOf(origin)} ${quoted(target)}`;
    const named: Fact = [subject, chosen(origin, target, { cache, related })];
    if (relationship.kind === "computed") return [named];
    return [named, [`${subject}!${quoted(hintOf(relationship))}`, relationship.kind]];
  });
}

/** Returns the name that `select` takes. Of a table's reference to itself, the column leads to the parent. */
function targetOf(relationship: Relationship): string {
  if (relationship.kind === "computed") return relationship.function.name;
  const { self, kind, foreign } = relationship;
  return self && kind === "many-to-one" ? relationship.pairs[0]![0] : foreign.name;
}

function hintOf(relationship: Relationship): string {
  if (relationship.kind === "computed") return relationship.function.name;
  return relationship.kind === "many-to-many"
    ? relationship.junction.name
    : relationship.constraint;
}

function chosen(
  origin: Relation,
  target: string,
  { cache, related }: { readonly cache: SchemaCache; readonly related: readonly Relationship[] },
): string {
  try {
    const place = { origin, originIsRelation: true, schema: origin.schema, hint: null };
    const found = findRelationship({ ...place, target }, cache);
    return found.kind === "computed" && isToOne(found) ? "function to one" : quoted(hintOf(found));
  } catch {
    const names = related.filter((each) => targetOf(each) === target).map(hintOf);
    return `ambiguous: ${names.map(quoted).sort().join(", ")}`;
  }
}

function functionFact({ schema, name, parameters, returns, volatility }: Routine): Fact {
  const list = parameters.map((each) =>
    `${each.variadic ? "variadic " : ""}${quoted(each.name)} ${each.type}` +
    (each.required ? "" : " = default")
  );
  const type = returns.void
    ? "void"
    : nameOf({ schema: returns.typeSchema, name: returns.typeName });
  const result = type.replace(/^pg_catalog\./, "");
  const signature = `${nameOf({ schema, name })}(${list.join(", ")})`;
  return [`function ${signature}`, `${returns.set ? "setof " : ""}${result}, ${volatility}`];
}

/** Removes the quotes of keywords. */
function plain(name: string): string {
  return name.replace(/"([a-z_][a-z0-9_]*)"/g, "$1");
}

function grantFacts({ cells }: AccessMatrix, relations: readonly Relation[]): readonly Fact[] {
  const columns = new Map(relations.map((each) => [nameOf(each), each.columns]));
  return cells.filter(({ may }) => may !== "no").map(
    ({ role, relation, action, ...cell }): Fact => {
      const all = columns.get(plain(relation))?.map(({ name }) => quoted(name)) ?? [];
      const list = [...cell.columns?.map(plain) ?? all].sort().join(", ");
      const isWhole = action === "delete" || action === "execute" || list === "";
      // Of a function, the name alone: overloads have one grant.
      const object = action === "execute" ? relation.replace(parameterList, "$1") : relation;
      return [`grant ${plain(role)} ${plain(object)} ${action}`, isWhole ? "all" : list];
    },
  );
}

const parameterList = /^((?:"(?:[^"]|"")*"|[^"(])*)\(.*$/s;

const policiesQuery = `select format('policy %I.%I %I', schemaname, tablename, policyname),
  lower(cmd) || ' to ' || array_to_string(array(select quote_ident(r) from unnest(roles) r order by r), ', ')
    || case permissive when 'RESTRICTIVE' then ' restrictive' else '' end
    || coalesce(' using ' || qual, '') || coalesce(' with check ' || with_check, '')
from pg_catalog.pg_policies where schemaname in (select json_array_elements_text($1::json))`;

async function policyFacts(database: Database, { dbSchemas }: Config): Promise<readonly Fact[]> {
  const path = "select pg_catalog.set_config('search_path', '', true)";
  const { rows } = await database.transaction(metadataBatch([
    { text: path, params: [], use: "none" },
    { text: policiesQuery, params: [JSON.stringify(dbSchemas)], use: "rows" },
  ], "rollback"));
  return rows.at(-1)!.map(([subject, fact]): Fact => [subject!, fact!]);
}
