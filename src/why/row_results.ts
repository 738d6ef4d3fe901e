/** The rows that a request concerns, and the results of policies on them as the caller has them. @module */
import type { Statement } from "../database/batch.ts";
import { DatabaseError } from "../errors/service_error.ts";
import { renderConditions } from "../query/condition.ts";
import { renderFromWhere, rootSource } from "../query/from_where.ts";
import { renderGroups } from "../query/read.ts";
import {
  and,
  catalogueSql,
  compile,
  ident,
  join,
  literal,
  param,
  smallNumber,
  type Sql,
  sql,
} from "../sql/fragment.ts";
import type { DataPlan } from "../transaction/data_plan.ts";
import { whereOf } from "./needs.ts";
import type { RelationRights } from "./relation_facts.ts";
import {
  expressionsOf,
  type PolicyRule,
  type RuleExpression,
  rulesOf,
} from "./request_policies.ts";

/** A plan with rows of a relation. */
export type RowPlan = Extract<DataPlan, { kind: "read" | "mutate" }>;

/** A row, and the policies that decide about it. */
export interface RowResult {
  readonly kind: "row" | "new row" | "row in conflict";
  /** As PostgreSQL prints the composite type. */
  readonly text: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly isAllowed: boolean;
  /** `result` is `true`, `false`, `null` or an error. */
  readonly policies: readonly (RuleExpression & { readonly result: string })[];
}

type TableRow = Pick<RowResult, "text" | "values">;

/** Reads rows in a transaction that begins as that of the request, and rolls back. */
export type ReadRows = (
  query: Statement,
  before?: readonly Statement[],
) => Promise<readonly (readonly (string | null)[])[]>;

/** Most rows of an explanation. */
export const maxRows = 20;
const limit = sql` limit ${smallNumber(String(maxRows))}`;

/** Returns the results of rows; null if the login may not see the rows that the role may not see. */
export async function rowResults(
  plan: RowPlan,
  facts: RelationRights,
  read: ReadRows,
): Promise<readonly RowResult[] | null> {
  const { old, added, conflicting } = rulesOf(plan);
  const [type, own] = [ident(facts.schema, facts.name), ident(facts.name)];
  const rowsOf = (of: Sql) => sql`select ${of}::text, to_jsonb(${of})::text`;
  const table = { type, own, facts, read };
  const existing = (from: Sql) =>
    readRows(table, sql`${rowsOf(own)}${from}${limit}`, [asOwner(facts)]);
  if (plan.kind === "mutate" && plan.mutate.kind === "insert") {
    const { rows: { json, columns }, conflict } = plan.mutate;
    const defaults = Object.entries(facts.defaults).map(([column, text]) =>
      sql`${literal(column)}, ${catalogueSql(text)}`
    );
    const body = param(JSON.stringify(bodyRows(json, columns)));
    const inserted = await readRows(
      table,
      sql`${rowsOf(sql`r`)}
from jsonb_array_elements(${body}::jsonb) b cross join lateral
  jsonb_populate_record(null::${type}, jsonb_build_object(${join(defaults)}) || b) r${limit}`,
    ) ?? [];
    const key = conflicting.length === 0 ? [] : conflict?.target.columns ?? [];
    const same = key.map((column) => sql`${own}.${ident(column)} = (v::${type}).${ident(column)}`);
    const met = same.length === 0
      ? []
      : await existing(sql` from ${type} join ${texts(inserted)} on ${and(same)}`);
    if (met === null) return null;
    return [
      ...await resultsOf(table, met, { kind: "row in conflict", rules: conflicting }),
      ...await resultsOf(table, inserted, { kind: "new row", rules: added }),
    ];
  }
  const candidates = await existing(fromWhereOf(plan));
  if (candidates === null) return null;
  const found = await resultsOf(table, candidates, { kind: "row", rules: old });
  if (plan.kind !== "mutate" || plan.mutate.kind !== "update") return found;
  const { json, columns } = plan.mutate.rows;
  const changed = await readRows(
    table,
    sql`${rowsOf(sql`r`)}
from ${texts(found.filter(({ isAllowed }) => isAllowed))} cross join lateral
  jsonb_populate_record(v::${type}, ${
      param(JSON.stringify(bodyRows(json, columns)[0] ?? {}))
    }::jsonb) r`,
  );
  return [...found, ...await resultsOf(table, changed ?? [], { kind: "new row", rules: added })];
}

interface TableSource {
  readonly type: Sql;
  readonly own: Sql;
  readonly facts: RelationRights;
  readonly read: ReadRows;
}

/** Without row level security, a table of which the owner may not see all rows is an error. */
function asOwner({ owner }: RelationRights): Statement {
  const query = sql`
select set_config('role', ${param(owner)}, true), set_config('row_security', 'off', true)`;
  return { ...compile(query), use: "none" };
}

async function readRows(
  { read }: TableSource,
  query: Sql,
  before: readonly Statement[] = [],
): Promise<readonly TableRow[] | null> {
  try {
    const rows = await read({ ...compile(query), use: "rows" }, before);
    return rows.map(([text, values]) => ({ text: text!, values: JSON.parse(values!) }));
  } catch (error) {
    if (error instanceof DatabaseError) return null;
    throw error;
  }
}

/** Renders rows as the column `v`. */
function texts(rows: readonly TableRow[]): Sql {
  return sql`json_array_elements_text(${
    param(JSON.stringify(rows.map(({ text }) => text)))
  }::json) v`;
}

/** Renders FROM and WHERE of the existing rows that a request reads or changes. */
function fromWhereOf(plan: RowPlan): Sql {
  if (plan.kind === "read") {
    const { root } = plan.read;
    const options = { ranges: false, joined: false, groups: renderGroups };
    return renderFromWhere(root, rootSource(root), options);
  }
  const { schema, name } = plan.mutate.relation;
  const conditions = renderConditions(whereOf(plan.mutate), ident(name));
  return sql` from ${ident(schema, name)} where ${and(conditions)}`;
}

/** Returns the rows of a body with the written columns alone. */
function bodyRows(json: string | Uint8Array, columns: readonly { readonly name: string }[]) {
  const parsed = JSON.parse(typeof json === "string" ? json : new TextDecoder().decode(json));
  const rows: readonly object[] = Array.isArray(parsed) ? parsed : [parsed];
  const isWritten = (name: string) => columns.some((column) => column.name === name);
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => isWritten(name)))
  );
}

async function resultsOf(
  table: TableSource,
  rows: readonly TableRow[],
  { kind, rules }: { readonly kind: RowResult["kind"]; readonly rules: readonly PolicyRule[] },
): Promise<readonly RowResult[]> {
  const { facts } = table;
  const byRule = facts.arePoliciesApplied && rows.length > 0
    ? rules.map((rule) => expressionsOf(facts, rule))
    : [];
  const results = new Map<string, readonly string[]>();
  for (const { expression } of byRule.flat()) {
    if (!results.has(expression)) results.set(expression, await evaluate(table, expression, rows));
  }
  return rows.map((row, index) => {
    const policies = byRule.map((each) =>
      each.map((one) => ({ ...one, result: results.get(one.expression)![index]! }))
    );
    const isTrue = ({ result }: { readonly result: string }) => result === "true";
    const isAllowed = policies.every((each) =>
      each.some((one) => one.policy.isPermissive && isTrue(one)) &&
      each.every((one) => one.policy.isPermissive || isTrue(one))
    );
    const unique = new Map(policies.flat().map((one) => [one.policy.name + one.expression, one]));
    return { ...row, kind, isAllowed, policies: [...unique.values()] };
  });
}

async function evaluate(
  { type, own, read }: TableSource,
  expression: string,
  rows: readonly TableRow[],
): Promise<readonly string[]> {
  const query = sql`select (${catalogueSql(expression)})::text
from (select (v::${type}).* from ${texts(rows)}) as ${own}`;
  try {
    const found = await read({ ...compile(query), use: "rows" });
    return found.map(([value]) => value ?? "null");
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return rows.map(() => `error ${error.failure.sqlstate}: ${error.failure.message}`);
  }
}
