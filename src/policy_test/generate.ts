/** Writes policy tests for the policies that compare a column to a claim. @module */
import { readAccess } from "../access/cells.ts";
import type { Config } from "../config/options.ts";
import { metadataBatch, type Statement } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { DatabaseError } from "../errors/service_error.ts";
import type { Column, Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import { compile, ident, join, literal, sql } from "../sql/fragment.ts";

/** A table whose rows belong to callers, and the claims by the columns that policies compare to them. */
interface ClaimedTable {
  readonly relation: Relation;
  readonly role: string;
  readonly claims: ReadonlyMap<string, string>;
}

/** Ids of a row of each of two callers, and of a row that a case inserts. */
const [first, second, third] = [900_001, 900_002, 900_003];

/** Returns the text of a file whose cases have no answers. Comments name rows that cannot be inserted. */
export async function generateCases(
  database: Database,
  { cache, config }: { readonly cache: SchemaCache; readonly config: Config },
): Promise<string> {
  const tables = await claimedTables(database, cache, config);
  const rows = new Map<string, string>();
  const callers: Record<string, Record<string, string>> = {};
  for (const { relation, role, claims } of tables) {
    for (const id of [first, second]) {
      addRow(rows, relation, { id, cache, columns: [...claims.keys()] });
      const own = callers[`${callerOf(role, id)} ${JSON.stringify(role)}`] ??= {};
      for (const [name, claim] of claims) own[claim] ??= valueOf(columnOf(relation, name), id);
    }
  }
  return [
    "# Read each line: an answer may be a hole.",
    ...await triedInserts(database, rows),
    "===",
    ...Object.entries(callers).map(([caller, claims]) => `${caller} ${JSON.stringify(claims)}`),
    "===",
    ...tables.flatMap((table) => casesOf(table, config)),
    "",
  ].join("\n");
}

function callerOf(role: string, id: number): string {
  return `${role}_${id - first + 1}`;
}

/** Roles that policies name. The login role need not be a member of them. */
const roleQuery = "select rolname from pg_roles r where exists (" +
  "select from pg_policy where r.oid = any (polroles)) order by 1";

async function claimedTables(
  database: Database,
  cache: SchemaCache,
  config: Config,
): Promise<readonly ClaimedTable[]> {
  const statement: Statement = { text: roleQuery, params: [], use: "rows" };
  const { rows } = await database.transaction(metadataBatch([statement], "rollback"));
  const { roles } = await readAccess(database, { config });
  const names = new Set([...roles.map(([role]) => role), ...rows.at(-1)!.map(([role]) => role!)]);
  const tables: ClaimedTable[] = [];
  for (const role of names) {
    const { cells } = await readAccess(database, { config, role });
    for (const schema of config.dbSchemas) {
      for (const name of cache.relationNames(schema)) {
        const relation = cache.relation({ schema, name })!;
        const claims = new Map(
          cells.filter((cell) => cell.relation.replaceAll('"', "") === `${schema}.${name}`)
            .flatMap(({ policies }) => policies.flatMap(({ using, check }) => [using, check]))
            .flatMap((expression) => claimsOf(expression ?? "", relation)),
        );
        if (claims.size > 0) tables.push({ relation, role, claims });
      }
    }
  }
  return tables;
}

/** Returns the columns that an expression compares to a call, each with the claim that it names. */
function claimsOf(using: string, relation: Relation): readonly (readonly [string, string])[] {
  const [, arrow, argument] = /->> '([^']+)'|\('([^']+)'::text\)/.exec(using) ?? [];
  const compared = using.matchAll(/"?(\w+)"? = \(*\s*(?:SELECT )?\(*(?:\w+\.)?\w+\(/g);
  const reversed = using.matchAll(/\)(?:::\w+)?\)* = "?(\w+)"?/g);
  return [...compared, ...reversed].map(([, name = ""]) => name)
    .filter((name) => relation.columns.some((column) => column.name === name))
    .map((name) => [name, arrow ?? argument ?? "sub"] as const);
}

/** Adds an INSERT of required columns, behind those of the parents, whose keys have the same id. */
function addRow(
  rows: Map<string, string>,
  relation: Relation,
  { id, cache, columns }: {
    readonly id: number;
    readonly cache: SchemaCache;
    readonly columns: readonly string[];
  },
): void {
  const { schema, name, primaryKey, isView } = relation;
  const row = `${schema}.${name} ${id}`;
  if (rows.has(row) || isView) return;
  // Tables that refer to each other end the recursion.
  rows.set(row, "");
  const filled = relation.columns.filter((column) =>
    isRequired(column) || columns.includes(column.name) || primaryKey.includes(column.name)
  );
  for (const key of cache.relationships(relation, schema)) {
    if (key.kind !== "many-to-one") continue;
    const isFilled = key.pairs.every(([own]) => filled.some((column) => column.name === own));
    const parent = cache.relation(key.foreign);
    if (isFilled && parent !== undefined) addRow(rows, parent, { id, cache, columns: [] });
  }
  const names = join(filled.map((column) => ident(column.name)));
  const values = join(filled.map((column) => literal(valueOf(column, id))));
  const insert = sql`insert into ${ident(schema, name)} (${names}) overriding system value`;
  rows.delete(row);
  rows.set(row, compile(sql`${insert} values (${values})`).text);
}

const isRequired = (column: Column) =>
  !column.nullable && column.default === null && !column.generated;

/** Returns the statements. One that fails behind those before it is a comment. */
async function triedInserts(database: Database, rows: ReadonlyMap<string, string>) {
  const accepted: Statement[] = [];
  const lines: string[] = [];
  for (const [row, text] of rows) {
    const statements: Statement[] = [...accepted, { text, params: [], use: "none" }];
    try {
      await database.transaction({ ...metadataBatch([]), access: "read write", statements });
      accepted.push(statements.at(-1)!);
      lines.push(`${text};`);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      lines.push(`-- cannot fill ${row}: ${error.failure.message.replaceAll("\n", " ")}`);
    }
  }
  return lines;
}

function casesOf({ relation, role, claims }: ClaimedTable, config: Config): readonly string[] {
  const { schema, name, primaryKey, columns } = relation;
  if (primaryKey.length === 0) return [`# ${schema}.${name} has no primary key`];
  const [caller, path] = [callerOf(role, first), `/${encodeURIComponent(name)}`];
  const rowOf = (id: number) =>
    primaryKey.map((key) => `${key}=eq.${valueOf(columnOf(relation, key), id)}`).join("&");
  const plain = columns.filter((column) =>
    !column.generated && !claims.has(column.name) && !primaryKey.includes(column.name)
  );
  const changed = plain.find(({ baseType }) => /char|text/.test(baseType)) ?? plain[0];
  const inserted = columns.filter((column) =>
    isRequired(column) || claims.has(column.name) || primaryKey.includes(column.name)
  );
  const body = (list: readonly Column[], id: number, owner: number) =>
    JSON.stringify(Object.fromEntries(
      list.map((each) => [each.name, valueOf(each, claims.has(each.name) ? owner : id)]),
    ));
  const profile = [`  Accept-Profile: ${schema}`, `  Content-Profile: ${schema}`];
  const select = `select=${primaryKey.join(",")}`;
  const requests = [first, second].flatMap((id) => [
    `${caller} GET ${path}?${rowOf(id)}&${select}`,
    ...changed === undefined
      ? []
      : [`${caller} PATCH ${path}?${rowOf(id)} ${body([changed], id, id)}`],
    `${caller} DELETE ${path}?${rowOf(id)}`,
    `${caller} POST ${path} ${body(inserted, third, id)}`,
  ]);
  return [...requests, `anonymous GET ${path}?${rowOf(first)}&${select}`]
    .flatMap((line) => schema === config.dbSchemas[0] ? [line] : [line, ...profile]);
}

function columnOf({ columns }: Relation, name: string): Column {
  return columns.find((column) => column.name === name)!;
}

/** Returns a value of a column's type as text, which differs for each id where the type allows it. */
function valueOf({ name, baseType, enumLabels }: Column, id: number): string {
  const [, value] = values.find(([type]) => type.test(baseType)) ?? [];
  const text = `x${id}${/mail/i.test(name) ? "@example.com" : ""}`;
  return enumLabels[0] ?? value?.replace("#", String(id)) ?? text;
}

const values: readonly (readonly [type: RegExp, value: string])[] = [
  [/\[\]$/, "{}"],
  [/^(?:big|small)?int(?!erval)|^numeric|^double|^real/, "#"],
  [/^uuid/, "00000000-0000-4000-8000-000000#"],
  [/^bool/, "false"],
  [/^(?:date|timestamp)/, "2030-01-01"],
  [/^time/, "12:00"],
  [/^json/, "{}"],
];
