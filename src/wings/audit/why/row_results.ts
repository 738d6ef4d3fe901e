/** The rows that a request concerns, and how policies decide about them for the caller. @module */
import type { AccessCell } from "../access/cells.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import { parseJsonObject } from "../../../base/lib/json_object.ts";
import type { MutatePlan } from "../../../api/plan/write/mutate_plan.ts";
import type { ReadPlan } from "../../../api/plan/read/read_plan.ts";
import { rowsText } from "../policy_test/expectation.ts";
import { renderConditions } from "../../../api/query/condition.ts";
import { renderFromWhere, rootSource } from "../../../api/query/from_where.ts";
import { renderGroups } from "../../../api/query/read.ts";
import type { Relation } from "../../../state/schema_cache/schema_cache.ts";
import {
  and,
  catalogueSql,
  compile,
  ident,
  join,
  literal,
  or,
} from "../../../base/sql/fragment.ts";
import { param, quoteIdent, type Sql, sql } from "../../../base/sql/fragment.ts";
import { needsOf, type RowPlan, type TableTraits } from "./needs.ts";
import type { WrittenRows } from "../../../api/plan/write/written_column.ts";

type Texts = readonly string[];

/** Applies the settings of the request, reads the first column of a query, and rolls back. */
export type ReadTexts = (query: Sql, before?: readonly Sql[]) => Promise<Texts>;

/** The cells of the caller for a relation, by action. */
export type Cells = ReadonlyMap<AccessCell["action"], AccessCell>;

interface RowSource {
  readonly relation: Relation;
  readonly traits: TableTraits;
  readonly cells: Cells;
  readonly read: ReadTexts;
}

/** A row, and the policies that decide about it. */
export interface RowResult {
  readonly kind: RowKind;
  /** Empty if the caller cannot convert the row to JSON. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly isAllowed: boolean;
  /** Results are `true`, `false`, `null` or an error. */
  readonly policies: readonly Readonly<Record<"name" | "expression" | "result", string>>[];
}

/** Maximum number of rows in an explanation. */
export const maxRows = 20;

class RowsNotShown extends Error {}

/** Returns the results for rows, or the reason for their absence; null if the request concerns no row. */
export async function rowResults(
  plan: RowPlan,
  source: RowSource,
): Promise<readonly RowResult[] | string | null> {
  const rules = rulesOf(plan);
  const actions = Object.values(rules).flat().map(([action]) => source.cells.get(action)?.may);
  if (actions.some((may) => may === undefined || may === "no")) return null;
  const resultsOf = async (kind: RowKind, texts: Texts) =>
    (await evaluateRules(source, rules[kind] ?? [], texts)).map((row) => ({ ...row, kind }));
  try {
    if (plan.kind === "mutate" && plan.mutate.kind === "insert") {
      const { met, added } = await insertedRows(plan.mutate, source);
      return [...await resultsOf("row in conflict", met), ...await resultsOf("new row", added)];
    }
    const mutate = plan.kind === "read" ? null : plan.mutate;
    const type = ident(source.relation.schema, source.relation.name);
    const where = renderConditions(mutate?.where ?? [], ident(source.relation.name));
    const from = plan.kind === "read" ? fromOf(plan.read) : sql` from ${type} where ${and(where)}`;
    const texts = await existingRows(source, from);
    const results = await resultsOf("row", texts);
    if (mutate?.kind !== "update") return results;
    if (mutate.key !== null) throw new RowsNotShown("rows not shown: each has its own body");
    const allowed = texts.filter((_, at) => results[at]!.isAllowed);
    const changed = await newRows(source, mutate.rows, sql`v::${type}`, allowed);
    return [...results, ...await resultsOf("new row", changed)];
  } catch (error) {
    if (error instanceof RowsNotShown) return error.message;
    if (error instanceof DatabaseError) return `rows not shown: ${error.failure.message}`;
    throw error;
  }
}

/** Returns the existing rows that an insert conflicts with, and the new rows. */
async function insertedRows(
  { rows, conflict, nested }: Extract<MutatePlan, { kind: "insert" }>,
  source: RowSource,
) {
  if (nested !== null) throw new RowsNotShown("rows not shown: the insert is nested");
  const { relation: { schema, name }, traits } = source;
  const type = ident(schema, name);
  const base = sql`pg_catalog.jsonb_populate_record(null::${type}, ${objectOf(traits.defaults)})`;
  const added = await newRows(source, rows, base, [""]);
  const key = conflict?.resolution === "merge" ? conflict.target.columns : null;
  if (key === null || added.length === 0) return { met: [], added };
  const columns = key.map((column) => ident(name, column));
  const values = join(columns.map((column) => sql`${column}::pg_catalog.text`));
  const keys = await source.read(
    valuesQuery(source, sql`pg_catalog.jsonb_build_array(${values})`, added),
  );
  const isSame = (texts: readonly (string | null)[]) =>
    and(columns.map((column, at) => sql`${column} = ${param(texts[at]!)}`));
  const where = or(keys.map((texts) => isSame(JSON.parse(texts))));
  return { met: await existingRows(source, sql` from ${type} where ${where}`), added };
}

/** Reads rows as the owner, in the text form of the composite type. */
async function existingRows(source: RowSource, from: Sql): Promise<Texts> {
  const { relation: { schema, name, columns }, traits: { owner }, read } = source;
  const builtIn = columns.filter((c) => !c.baseType.includes(".") || c.enumLabels.length > 0);
  const paths = [[name], [schema, name], ...builtIn.map((column) => [name, column.name])];
  const names = new Set(paths.map((parts) => parts.map(quoteIdent).join(".")));
  // Other names are refused: they may be user-defined functions, which the owner must not run.
  const identifiers = compile(from).text.match(/(?:"(?:[^"]|"")*"\.?)+\(?/g) ?? [];
  const other = identifiers.filter((text) => !names.has(text)).at(-1);
  if (other !== undefined) throw new RowsNotShown(`rows not shown: the filter uses ${other}`);
  const query = sql`select case when pg_catalog.octet_length(t) <= 100000 then t else '' end
from (select (${ident(name)}.*)::pg_catalog.text as t${from} limit 20) s`;
  // With these settings, the read fails if policies apply to the owner. User-defined operators are not found.
  const asOwner = sql`select pg_catalog.set_config('role', ${param(owner)}, true),
  pg_catalog.set_config('row_security', 'off', true), pg_catalog.set_config('search_path', 'pg_temp', true)`;
  const texts = await read(query, [asOwner]).catch((error) => {
    const isRefused = error instanceof DatabaseError && error.failure.sqlstate === "42501";
    throw isRefused
      ? new RowsNotShown(`to see hidden rows, log in as ${owner}: --db-uri=postgres://${owner}@…`)
      : error;
  });
  if (texts.includes("")) throw new RowsNotShown("rows not shown: one is longer than 100 kB");
  return texts;
}

/** Builds new rows as the caller, for each `v` of `from` and each object of the body. A row is
 * `base`, then the values of the body, then generated columns. */
async function newRows(
  { relation: { schema, name }, traits, read }: RowSource,
  { json, shape, columns, defaults }: WrittenRows,
  base: Sql,
  from: Texts,
): Promise<Texts> {
  const [type, alias] = [ident(schema, name), ident(name)];
  const names = param(JSON.stringify(columns.map((column) => column.name)));
  const texts = sql`${param(JSON.stringify(from))}::pg_catalog.json`;
  const body = shape === "array"
    ? param(json)
    : sql`pg_catalog.jsonb_build_array(${param(json)}::pg_catalog.jsonb)`;
  const isSet = defaults ? sql`b ? k` : sql`true`;
  return await read(sql`select (g.*)::pg_catalog.text from (
  select r.* from pg_catalog.json_array_elements_text(${texts}) v cross join pg_catalog.jsonb_array_elements(${body}::pg_catalog.jsonb) b
    cross join lateral pg_catalog.jsonb_populate_record(${base}, (
      select coalesce(pg_catalog.jsonb_object_agg(k, b -> k) filter (where ${isSet}), '{}')
      from pg_catalog.jsonb_array_elements_text(${names}::pg_catalog.jsonb) k)) r limit 20
) as ${alias} cross join lateral
  pg_catalog.jsonb_populate_record((${alias}.*)::${type}, ${objectOf(traits.generated)}) g`);
}

/** Renders an object of expressions from the catalogue. */
function objectOf(expressions: TableTraits["defaults"]): Sql {
  const members = Object.entries(expressions ?? {}).map(([column, text]) =>
    sql`pg_catalog.jsonb_build_object(${literal(column)}, ${catalogueSql(text)})`
  );
  return join([sql`'{}'::pg_catalog.jsonb`, ...members], sql` || `);
}

async function evaluateRules(source: RowSource, rules: readonly PolicyRule[], texts: Texts) {
  if (texts.length === 0) return [];
  const values = await evaluate(
    source,
    sql`pg_catalog.to_jsonb(${ident(source.relation.name)}.*)`,
    texts,
  );
  const results = new Map<string, Texts>();
  const byRule = rules.map(([action, clause]) => ({ clause, ...source.cells.get(action)! }))
    .filter(({ may }) => may !== "all").map(({ clause, policies }) =>
      policies.flatMap((policy) => {
        const expression = clause === "using" ? policy.using : policy.check ?? policy.using;
        return expression === null ? [] : [{ ...policy, expression }];
      })
    );
  for (const { expression } of byRule.flat()) {
    const result = results.get(expression);
    results.set(expression, result ?? await evaluate(source, catalogueSql(expression), texts));
  }
  return texts.map((_, at) => {
    const tests = byRule.map((rule) =>
      rule.map((test) => ({ ...test, result: results.get(test.expression)![at]! }))
    );
    const isAllowed = tests.every((rule) =>
      rule.some(({ permissive, result }) => permissive && result === "true") &&
      rule.every(({ permissive, result }) => permissive || result === "true")
    );
    const unique = new Map(tests.flat().map((one) => [one.name + one.expression, one]));
    const row = parseJsonObject(values[at]!) ?? {};
    return { values: row, isAllowed, policies: [...unique.values()] };
  });
}

/** Evaluates an expression on rows as the caller. An error becomes the result. */
async function evaluate(source: RowSource, expression: Sql, texts: Texts): Promise<Texts> {
  return await source.read(valuesQuery(source, expression, texts)).catch((error) => {
    if (!(error instanceof DatabaseError)) throw error;
    return texts.map(() => `error ${error.failure.sqlstate}: ${error.failure.message}`);
  });
}

function valuesQuery({ relation: { schema, name } }: RowSource, value: Sql, texts: Texts): Sql {
  const json = param(JSON.stringify(texts));
  const rows = sql`select (v::${
    ident(schema, name)
  }).* from pg_catalog.json_array_elements_text(${json}::pg_catalog.json) v`;
  return sql`select coalesce((${value})::pg_catalog.text, 'null') from (${rows}) as ${ident(name)}`;
}

/** Renders FROM and WHERE of a read. Embeds with `!inner` do not restrict the rows. */
function fromOf({ root }: ReadPlan): Sql {
  const embeds = root.embeds.map((embed) => ({ ...embed, inner: false }));
  const options = { ranges: false, joined: false, groups: renderGroups };
  return renderFromWhere({ ...root, embeds }, rootSource(root), options);
}

/** Returns `; 2 rows left out by limit=1`: rows that the caller sees, and that are not in the response. */
export async function leftOutOf(plan: ReadPlan, rows: number | null, read: ReadTexts) {
  const { cutAt, root: { range: { limit, offset }, embeds, kind, distinct } } = plan;
  const cut = rows === cutAt ? "db-max-rows" : String(rows) === limit ? "limit" : null;
  const causes = [
    ...cut === null ? [] : [`${cut}=${rows}`],
    ...offset === null ? [] : [`offset=${offset}`],
    ...embeds.flatMap(({ inner, key }) => inner ? [`!inner of ${key}`] : []),
  ];
  if (rows === null || causes.length === 0 || kind === "grouped" || distinct !== null) return "";
  const query = sql`select pg_catalog.count(*)::pg_catalog.text from (select${
    fromOf(plan)
  } limit 10001) t`;
  const [count] = await read(query).catch(() => []);
  const number = Number(count) - rows;
  return number > 0 ? `; ${rowsText(number)} left out by ${causes.join(", ")}` : "";
}

/** An action, and the clause of its policies that decides. `check` means USING if a policy has no WITH CHECK. */
type PolicyRule = readonly [action: AccessCell["action"], clause: "using" | "check"];

/** Existing rows, new rows, and rows that an upsert updates. */
type RowKind = "row" | "new row" | "row in conflict";

/** Returns the rules for each kind of row. See PostgreSQL documentation, CREATE POLICY, "Policies
 * Applied by Command Type". */
function rulesOf(plan: RowPlan): Readonly<Partial<Record<RowKind, readonly PolicyRule[]>>> {
  const reading: PolicyRule = ["select", "using"];
  if (plan.kind === "read") return { row: [reading] };
  const { kind } = plan.mutate;
  const reads = needsOf(plan).some(({ action }) => action === "select") ? [reading] : [];
  if (kind === "delete") return { row: [[kind, "using"], ...reads] };
  const [old, updated]: readonly PolicyRule[] = [["update", "using"], ["update", "check"]];
  if (kind !== "insert") return { row: [old!, ...reads], "new row": [updated!, ...reads] };
  const added: PolicyRule = [kind, "check"];
  if (plan.mutate.conflict?.resolution !== "merge") return { "new row": [added, ...reads] };
  return { "row in conflict": [old!, reading], "new row": [added, updated!, reading] };
}
