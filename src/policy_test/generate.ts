/** Writes policy tests for the policies that compare a column to a claim. @module */
import { readAccess } from "../access/cells.ts";
import type { Config } from "../config/options.ts";
import { metadataBatch, type Statement } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { DatabaseError } from "../errors/service_error.ts";
import type { Column, Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import { compile, ident, join, literal, sql } from "../sql/fragment.ts";

/** A table whose rows belong to callers. */
interface ClaimedTable {
  readonly relation: Relation;
  readonly role: string;
  /** Claims by the columns that policies compare to them. */
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
  const callers = new Map<string, Record<string, string>>();
  for (const { relation, role, claims } of tables) {
    for (const id of [first, second]) {
      addRow(rows, relation, { id, cache, columns: [...claims.keys()] });
      const caller = `${callerOf(role, id)} ${JSON.stringify(role)}`;
      const own = callers.get(caller) ?? {};
      callers.set(caller, own);
      for (const [name, claim] of claims) own[claim] ??= valueOf(columnOf(relation, name), id);
    }
  }
  return [
    "# Read each line: an answer may be a hole.",
    ...await triedInserts(database, rows),
    "===",
    ...Array.from(callers, ([caller, claims]) => `${caller} ${JSON.stringify(claims)}`),
    "===",
    ...tables.flatMap((table) => casesOf(table, config)),
    "",
  ].join("\n");
}

function callerOf(role: string, id: number): string {
  return `${role}_${id - first + 1}`;
}

async function claimedTables(
  database: Database,
  cache: SchemaCache,
  config: Config,
): Promise<readonly ClaimedTable[]> {
  const { rows } = await database.transaction(metadataBatch([policyRoles], "rollback"));
  const { roles } = await readAccess(database, { config });
  const names = new Set([...roles.map(([role]) => role), ...rows.at(-1)!.map(([role]) => role!)]);
  const matrices = [];
  for (const role of names) matrices.push(await readAccess(database, { config, role }));
  const relations = config.dbSchemas.flatMap((schema) =>
    cache.relationNames(schema).map((name) => cache.relation({ schema, name })!)
  );
  const cells = matrices.flatMap((matrix) => matrix.cells);
  const groups = Map.groupBy(cells, ({ role, relation }) => unquoted(`${role} ${relation}`));
  return [...groups.values()].flatMap((own) => {
    const { role, relation: name } = own[0]!;
    const relation = relations.find((each) => `${each.schema}.${each.name}` === unquoted(name));
    if (relation === undefined) return [];
    const expressions = own.flatMap(({ policies }) => policies)
      .flatMap(({ using, check }) => [using ?? "", check ?? ""]);
    const claims = new Map(expressions.flatMap((each) => claimsOf(each, relation)));
    return claims.size === 0 ? [] : [{ relation, role: unquoted(role), claims }];
  });
}

/** Roles that policies name. The login role need not be a member of them. */
const policyRoles: Statement = {
  text:
    "select distinct rolname from pg_policy join pg_roles r on r.oid = any (polroles) order by 1",
  params: [],
  use: "rows",
};

const unquoted = (name: string) => name.replaceAll('"', "");

/** Returns the columns that an expression compares to a call, each with the claim that it names. */
function claimsOf(using: string, { columns }: Relation): readonly (readonly [string, string])[] {
  const [, arrow, argument] = /->> '([^']+)'|\('([^']+)'::text\)/.exec(using) ?? [];
  const compared = using.matchAll(/"?(\w+)"? = \(*\s*(?:SELECT )?\(*(?:\w+\.)?\w+\(/g);
  const reversed = using.matchAll(/\)(?:::\w+)?\)* = "?(\w+)"?/g);
  return [...compared, ...reversed].map(([, name = ""]) => name)
    .filter((name) => columns.some((column) => column.name === name))
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
  const { schema, name } = relation;
  const row = `${schema}.${name} ${id}`;
  if (rows.has(row)) return;
  // Tables that refer to each other end the recursion.
  rows.set(row, "");
  const filled = relation.columns.filter((column) =>
    isRequired(column) || columns.includes(column.name) || relation.primaryKey.includes(column.name)
  );
  for (const key of cache.relationships(relation, schema)) {
    const parent = key.kind === "many-to-one" ? cache.relation(key.foreign) : undefined;
    const isFilled = key.kind === "many-to-one" &&
      key.pairs.every(([own]) => filled.some((column) => column.name === own));
    if (parent?.isView === false && isFilled) addRow(rows, parent, { id, cache, columns: [] });
  }
  const values = filled.map((column) => literal(valueOf(column, id)));
  const { text } = compile(
    sql`insert into ${ident(schema, name)} (${
      join(filled.map((column) => ident(column.name)))
    }) overriding system value values (${join(values)})`,
  );
  rows.delete(row);
  rows.set(row, text);
}

const isRequired = (column: Column) =>
  !column.nullable && column.default === null && !column.generated;

/** Returns the statements. One that fails behind those before it is a comment. */
async function triedInserts(
  database: Database,
  rows: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
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
  const path = `/${encodeURIComponent(name)}`;
  if (primaryKey.length === 0) return [`# ${schema}.${name} has no primary key`];
  const rowOf = (id: number) =>
    primaryKey.map((key) => `${key}=eq.${valueOf(columnOf(relation, key), id)}`).join("&");
  const isPlain = ({ name, generated }: Column) =>
    !generated && !claims.has(name) && !primaryKey.includes(name);
  const plain = columns.filter(isPlain);
  const changed = plain.find(({ baseType }) => /char|text/.test(baseType)) ?? plain[0];
  const body = (names: readonly string[], id: number, owner: number) =>
    JSON.stringify(Object.fromEntries(
      names.map((each) => [each, valueOf(columnOf(relation, each), claims.has(each) ? owner : id)]),
    ));
  const inserted = columns.filter((column) => isRequired(column) || claims.has(column.name))
    .map((column) => column.name);
  const profile = schema === config.dbSchemas[0]
    ? []
    : [`  Accept-Profile: ${schema}`, `  Content-Profile: ${schema}`];
  const requests = [first, second].flatMap((id) => [
    `${callerOf(role, first)} GET ${path}?${rowOf(id)}&select=${primaryKey.join(",")}`,
    ...changed === undefined
      ? []
      : [`${callerOf(role, first)} PATCH ${path}?${rowOf(id)} ${body([changed.name], id, id)}`],
    `${callerOf(role, first)} DELETE ${path}?${rowOf(id)}`,
    `${callerOf(role, first)} POST ${path} ${
      body([...new Set([...primaryKey, ...inserted])], third, id)
    }`,
  ]);
  const open = `anonymous GET ${path}?${rowOf(first)}&select=${primaryKey.join(",")}`;
  return [...requests, open].flatMap((line) => [line, ...profile]);
}

function columnOf({ columns }: Relation, name: string): Column {
  return columns.find((column) => column.name === name)!;
}

/** Returns a value of a column's type as text, which differs for each id where the type allows it. */
function valueOf({ name, baseType, enumLabels }: Column, id: number): string {
  if (enumLabels.length > 0) return enumLabels[0]!;
  if (/^(?:big|small)?int|^numeric|^double|^real/.test(baseType)) return String(id);
  const [, value] = values.find(([pattern]) => pattern.test(baseType)) ?? [];
  if (value === undefined) return `x${id}${/mail/i.test(name) ? "@example.com" : ""}`;
  return value.replace("#", String(id));
}

const values: readonly (readonly [type: RegExp, value: string])[] = [
  [/\[\]$/, "{}"],
  [/^uuid/, "00000000-0000-4000-8000-000000#"],
  [/^bool/, "false"],
  [/^(?:date|timestamp)/, "2030-01-01"],
  [/^time/, "12:00"],
  [/^json/, "{}"],
];
