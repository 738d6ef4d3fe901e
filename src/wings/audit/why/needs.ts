/** The privileges that a plan needs, and properties of tables that the access matrix lacks. @module */
import type { AccessCell } from "../access/cells.ts";
import { fieldsOfCondition } from "../../../api/plan/values/planned_values.ts";
import { neededColumns } from "../../../api/plan/read/read_plan.ts";
import type { QualifiedName, Routine } from "../../../state/schema_cache/schema_cache.ts";
import { param, type Sql, sql } from "../../../base/sql/fragment.ts";
import { type DataPlan, relationOf } from "../../../api/transaction/data_plan.ts";

/** A plan that reads or writes rows of a relation. */
export type RowPlan = Extract<DataPlan, { kind: "read" | "mutate" }>;

/** A privilege that a request needs. `columns` are empty for DELETE. `use` is a phrase: `the answer reads`. */
export interface Need {
  readonly action: AccessCell["action"];
  readonly columns: readonly string[];
  readonly use: string;
}

type PlanNeed = readonly [Need["action"], use: string, columns: readonly string[] | "all"];

/** Returns the privileges that a caller needs for a plan. */
export function needsOf(plan: RowPlan): readonly Need[] {
  const all = relationOf(plan)!.columns.map(({ name }) => name);
  return planNeeds(plan).map(([action, use, columns]) => {
    // A name that is not a column is a function of the row, which reads all columns.
    const isWhole = columns === "all" || columns.some((name) => !all.includes(name));
    return { action, use, columns: isWhole ? all : all.filter((name) => columns.includes(name)) };
  }).filter(({ columns }, at) => at === 0 || columns.length > 0);
}

function planNeeds(plan: RowPlan): readonly PlanNeed[] {
  if (plan.kind === "read") {
    const { relation, read: { root } } = plan;
    return [["select", "the answer reads", neededColumns({ root, relation })]];
  }
  const { kind, returning } = plan.mutate;
  const conflict = kind === "insert" ? plan.mutate.conflict : null;
  const { columns } = kind === "insert" || kind === "update" ? plan.mutate.rows : { columns: [] };
  const filters = kind === "insert" ? [] : plan.mutate.where.flatMap(fieldsOfCondition);
  const merged = conflict?.resolution === "merge" ? conflict.columns : [];
  return [
    [kind === "patch" ? "update" : kind, "the body sets", columns.map(({ name }) => name)],
    ["update", "the upsert sets", merged],
    ["select", "the upsert compares", conflict?.target.columns ?? []],
    ["select", "the filter reads", filters.map(({ column }) => column)],
    ["select", "the representation reads", returning === "none" ? [] : returning],
  ];
}

/** Properties of a table. */
export interface TableTraits {
  readonly owner: string;
  /** Columns of the table that a policy reads, by the policy's quoted name. */
  readonly policyColumns: Readonly<Record<string, readonly string[]>> | null;
  /** Functions that a policy calls and the role may not call, by the policy's quoted name. */
  readonly deniedFunctions: Readonly<Record<string, readonly string[]>> | null;
  /** Default expressions by column, except expressions that call a volatile function. */
  readonly defaults: Readonly<Record<string, string>> | null;
  readonly generated: Readonly<Record<string, string>> | null;
}

/** Returns the query for the {@linkcode TableTraits} of a role as JSON; no row for views and foreign tables. */
export function tableTraitsQuery({ schema, name }: QualifiedName, role: string): Sql {
  return sql`select pg_catalog.json_build_object('owner', pg_catalog.pg_get_userbyid(c.relowner),
  'policyColumns', (select pg_catalog.json_object_agg(pg_catalog.quote_ident(p.polname), array(
      select distinct k.attname from pg_depend d
        join pg_attribute k on k.attrelid = d.refobjid and k.attnum = d.refobjsubid and k.attnum > 0
      where d.classid = 'pg_policy'::pg_catalog.regclass and d.objid = p.oid and d.refobjid = c.oid))
    from pg_policy p where p.polrelid = c.oid),
  'deniedFunctions', (select pg_catalog.json_object_agg(pg_catalog.quote_ident(p.polname), array(
      select distinct f.oid::pg_catalog.regprocedure::pg_catalog.text from pg_depend d
        left join pg_operator o on d.refclassid = 'pg_operator'::pg_catalog.regclass and o.oid = d.refobjid
        join pg_proc f on f.oid = o.oprcode
          or d.refclassid = 'pg_proc'::pg_catalog.regclass and f.oid = d.refobjid
        join pg_roles r on r.rolname = ${param(role)}
      where d.classid = 'pg_policy'::pg_catalog.regclass and d.objid = p.oid
        and not pg_catalog.has_function_privilege(r.oid, f.oid, 'EXECUTE')))
    from pg_policy p where p.polrelid = c.oid), 'defaults', e.defaults, 'generated', e.generated)::pg_catalog.text
from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join lateral (
  select pg_catalog.json_object_agg(k.attname, e.text) filter (where k.attgenerated <> '') as generated,
    pg_catalog.json_object_agg(k.attname, e.text) filter (where k.attgenerated = '' and not exists (
      select from pg_catalog.regexp_matches(e.tree, 'funcid (\\d+)', 'g') m
        join pg_proc f on f.oid = m[1]::pg_catalog.oid and f.provolatile = 'v')) as defaults
  from (select *, adbin::pg_catalog.text as tree, pg_catalog.pg_get_expr(adbin, adrelid) as text from pg_attrdef) e
    join pg_attribute k on k.attrelid = e.adrelid and k.attnum = e.adnum where e.adrelid = c.oid) e
where n.nspname = ${param(schema)} and c.relname = ${param(name)} and c.relkind in ('r', 'p')`;
}

/** Returns the query for a function's name in the access matrix, and for the owner if it runs as owner. */
export function routineTraitsQuery({ schema, name, parameters }: Routine): Sql {
  const types = parameters.map(({ type }) => type).join(", ");
  return sql`select pg_catalog.json_build_array(
  pg_catalog.format('%I.%I(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)),
  case when p.prosecdef then pg_catalog.pg_get_userbyid(p.proowner) end)::pg_catalog.text
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname = ${param(schema)} and p.proname = ${param(name)}
  and pg_catalog.oidvectortypes(p.proargtypes) = ${param(types)}`;
}
