/** The contract of an API: a line for each part that clients depend on. Names are quoted for SQL. @module */
import { type AccessMatrix, readAccess } from "../access/cells.ts";
import type { Config } from "../../../state/config/options.ts";
import { readRows } from "../../../database/read_rows.ts";
import type { Database } from "../../../database/database.ts";
import { versionNumber } from "../../../database/server_version.ts";
import { printable } from "../../../base/lib/printable.ts";
import { matchingRelationships } from "../../../api/plan/find_relationship.ts";
import type {
  Column,
  QualifiedName,
  Relation,
  Relationship,
  Routine,
  SchemaCache,
} from "../../../state/schema_cache/schema_cache.ts";
import { operationFacts } from "../operations/operation_facts.ts";
import { quoteIdent } from "../../../base/sql/fragment.ts";

/** A contract. */
export interface Contract {
  /** Major version of PostgreSQL. Other versions print the expressions of policies differently. */
  readonly major: string;
  readonly schemas: string;
  /** Properties by subject, such as `text, required` for `column api.doc.title`. */
  readonly facts: ReadonlyMap<string, string>;
}

/** Reads the contract of the exposed schemas. */
export async function readContract(
  database: Database,
  { config, cache, operations = [] }: {
    readonly config: Config;
    readonly cache: SchemaCache;
    /** Default: none. */
    readonly operations?: Parameters<typeof operationFacts>[0];
  },
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
    ...await operationFacts(operations, database, quoted),
  ];
  return { major, schemas: printable(config.dbSchemas.join(", ")), facts: new Map(facts) };
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

/** Matches a line of a contract. A colon inside a quoted name does not end the subject. */
const factPattern = /^([a-z]+ (?:[^":]|"[^"]*")+): (.*)$/;

type Fact = readonly [subject: string, fact: string];

/** Words that some version of PostgreSQL accepts as names only in quotes. The type `"char"` is not `char`. */
const reserved: ReadonlySet<string> = new Set(
  `all analyse analyze and any array as asc asymmetric authorization binary both case cast char check
  collate collation column concurrently constraint create cross current_catalog current_date
  current_role current_schema current_time current_timestamp current_user default deferrable desc
  distinct do else end except false fetch for foreign freeze from full grant group having ilike in
  initially inner intersect into is isnull join lateral leading left like limit localtime localtimestamp
  natural not notnull null offset on only or order outer overlaps placing primary references returning
  right select session_user similar some symmetric system_user table tablesample then to trailing true
  union unique user using variadic verbose when where window with`.split(/\s+/),
);

/** Quotes a name for SQL, in the same way for all versions of PostgreSQL. Control characters are escaped. */
export function quoted(name: string): string {
  if (/^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name)) return name;
  if (printable(name) === name) return quoteIdent(name);
  const escapeOf = (match: string) => `\\${match.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `U&${quoteIdent(name).replace(/[\\\p{Cc}\p{Zl}\p{Zp}]/gu, escapeOf)}`;
}

/** Replaces the quoted names in a text of PostgreSQL by results of {@linkcode quoted}. */
function requoted(text: string): string {
  return text.replace(/"((?:[^"]|"")*)"/g, (_, name: string) => quoted(name.replaceAll('""', '"')));
}

function nameOf({ schema, name }: QualifiedName): string {
  return `${quoted(schema)}.${quoted(name)}`;
}

function relationFacts(relation: Relation): readonly Fact[] {
  const { insertable, updatable, deletable, primaryKey, columns } = relation;
  const verbs = (insertable ? " insert" : "") + (updatable ? " update" : "") +
    (deletable ? " delete" : "");
  const key = primaryKey.length === 0 ? "" : `, key ${primaryKey.map(quoted).join(" ")}`;
  return [
    [`relation ${nameOf(relation)}`, `select${verbs}${key}`],
    ...columns.map((column) => columnFact(relation, column)),
  ];
}

function columnFact(relation: Relation, column: Column): Fact {
  const { name, declaredType, nullable, generated, enumLabels } = column;
  const isRequired = relation.insertable && !nullable && !generated && column.default === null;
  const labels = enumLabels.length === 0 ? "" : `, enum ${enumLabels.map(quoted).join(" ")}`;
  const mode = isRequired ? ", required" : nullable ? ", nullable" : "";
  return [`column ${nameOf(relation)}.${quoted(name)}`, requoted(declaredType) + labels + mode];
}

/** Returns facts about embeds: the relationship for each name, and the cardinality of each relationship. */
function embedFacts(origin: Relation, cache: SchemaCache): readonly Fact[] {
  const place = { origin, originIsRelation: true, schema: origin.schema, hint: null };
  return cache.relationships(origin, origin.schema).flatMap((relationship): Fact[] => {
    const target = targetOf(relationship);
    const relationships = matchingRelationships({ ...place, target }, cache);
    if (relationships.length === 0) return [];
    const sources = [...new Set(relationships.map(sourceOf))].sort().join(", ");
    const subject = `embed ${nameOf(origin)} ${quoted(target)}`;
    const named: Fact = [subject, relationships.length === 1 ? sources : `ambiguous: ${sources}`];
    if (relationship.kind === "computed") return [named];
    return [named, [`${subject}!${sourceOf(relationship)}`, relationship.kind]];
  });
}

/** Returns the name in `select`. If a table refers to itself, the column's name selects the parent. */
function targetOf(relationship: Relationship): string {
  if (relationship.kind === "computed") return relationship.function.name;
  const { self, kind, foreign } = relationship;
  return self && kind === "many-to-one" ? relationship.pairs[0]![0] : foreign.name;
}

function sourceOf(relationship: Relationship): string {
  const { kind } = relationship;
  if (kind === "computed") return `function to ${relationship.toOne ? "one" : "many"}`;
  return quoted(kind === "many-to-many" ? relationship.junction.name : relationship.constraint);
}

function functionFact({ schema, name, parameters, returns, volatility }: Routine): Fact {
  const list = parameters.map((each) =>
    `${quoted(each.name)} ${each.variadic ? "variadic " : ""}${requoted(each.type)}` +
    (each.required ? "" : " = default")
  );
  const signature = `${nameOf({ schema, name })}(${list.join(", ")})`;
  const { typeSchema, typeName, set, columns } = returns;
  const type = nameOf({ schema: typeSchema, name: typeName }).replace(/^pg_catalog\./, "");
  const result = type + (columns === undefined ? "" : ` (${columns.map(quoted).join(" ")})`);
  return [`function ${signature}`, `${set ? "setof " : ""}${result}, ${volatility}`];
}

function grantFacts({ cells }: AccessMatrix, relations: readonly Relation[]): readonly Fact[] {
  const columns = new Map(relations.map((each) => [nameOf(each), each.columns]));
  return cells.filter(({ may }) => may !== "no").map(
    ({ role, relation, action, ...cell }): Fact => {
      // A line names a function without its parameters, because its overloads share the line.
      const object = requoted(relation.replace(parameterList, "$1"));
      const all = action === "delete" ? [] : columns.get(object)?.map(({ name }) => quoted(name));
      const list = [...cell.columns?.map(requoted) ?? all ?? []].sort().join(", ");
      return [`grant ${requoted(role)} ${object} ${action}`, list || "all"];
    },
  );
}

const parameterList = /^((?:"[^"]*"|[^"(])*)\(.*$/s;

const policiesQuery = `select format('policy %I.%I %I', schemaname, tablename, policyname),
  lower(cmd) || ' to ' || array_to_string(array(select quote_ident(r) from unnest(roles) r order by r), ', ')
    || case permissive when 'RESTRICTIVE' then ' restrictive' else '' end,
  coalesce(' using ' || qual, '') || coalesce(' with check ' || with_check, '')
from pg_catalog.pg_policies where schemaname in (select json_array_elements_text($1::json))
union all select format('policy %I.%I', n.nspname, c.relname), 'enabled', case when c.relforcerowsecurity then ', forced' end
from pg_class c join pg_namespace n on n.oid = c.relnamespace and c.relrowsecurity
where n.nspname in (select json_array_elements_text($1::json))`;

async function policyFacts(database: Database, { dbSchemas }: Config): Promise<readonly Fact[]> {
  const params = [JSON.stringify(dbSchemas)];
  const rows = await readRows(database, { text: policiesQuery, params, use: "rows" });
  return rows.map((row): Fact => [
    requoted(row[0]!),
    requoted(row[1]!) + printable(row[2] ?? ""),
  ]);
}
