/** The tables on which a live query depends. Their oids are also in the records of changes. @module */
import { metadataTransaction } from "../../database/transaction.ts";
import type { Database } from "../../database/database.ts";
import { liveErrors } from "./live_errors.ts";
import type { ReadPlan } from "../../api/plan/read/read_plan.ts";
import { reachOf } from "../../api/plan/retry_safe.ts";
import { isOnWorkers } from "../../state/schema_cache/queries/distributed_relations.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import { recordSql } from "./live_schema.ts";
import { type DependentTables, type LiveScope, scopeTypes } from "./scope.ts";

/** Returns the tables of a plan that was made with `cache`. Reads the database once per schema
 * cache, unless a trigger is missing. Rejects with `181` if changes of a table are not recorded. */
export async function dependentTables(
  { root, relation }: ReadPlan,
  cache: SchemaCache,
  database: Pick<Database, "transaction">,
): Promise<DependentTables> {
  const { relations, functions } = reachOf(root, relation, cache);
  const names = relations.map(({ schema, name }) => [schema, name]);
  const params = [JSON.stringify(names), JSON.stringify(functions)];
  const tableCache = cache.derived(noTables);
  const tables = tableCache.get(params.join()) ??
    await readTables(params, database, cache.data.isDistributed === true);
  tableCache.set(params.join(), tables);
  return tables;
}

const noTables = () => new Map<string, DependentTables>();

const noTriggers = "Citus has no triggers on distributed tables, so they have no live queries";

async function readTables(
  params: readonly string[],
  database: Pick<Database, "transaction">,
  isDistributed: boolean,
): Promise<DependentTables> {
  const statement = { text: dependenciesQuery(isDistributed), params, use: "rows" } as const;
  const { rows } = await database.transaction(metadataTransaction([statement]));
  const tables: readonly TableRow[] = JSON.parse(rows.at(-1)![0]![0]!);
  const [, name, , , isWorkers] = tables.find(([, , isMissing]) => isMissing) ?? [];
  if (name !== undefined) {
    throw liveErrors.changesNotRecorded(
      name.join("."),
      isWorkers ? noTriggers : recordSql(...name),
    );
  }
  return new Map(tables.map(([oid, , , scope]) => [oid, scope]));
}

type TableRow = readonly [
  oid: number,
  name: readonly [schema: string, name: string],
  isMissing: boolean,
  scope: LiveScope | null,
  isWorkers: boolean,
];

/** Condition: the table `t` is on workers of Citus. Only local tables may have triggers. */
const onWorkers = `exists (select from pg_catalog.pg_dist_partition o
    where o.logicalrelid = t.oid and ${isOnWorkers})`;

/**
 * Parameters: a JSON array of pairs of schema and name, the root first, and a JSON array of names of
 * row functions. `via` is how the query uses an object. Tables with `root` or `view` need a trigger;
 * `part` means a partition or a parent.
 */
const dependenciesQuery = (isDistributed: boolean) =>
  `with recursive dep (place, classid, objid, via) as (
  select r.place, 'pg_class'::regclass::oid, c.oid, 'root'
  from json_array_elements($1) with ordinality r (name, place)
    join pg_namespace n on n.nspname = r.name->>0 join pg_class c on c.relnamespace = n.oid and c.relname = r.name->>1
  union select 1e6, o.* from pg_proc p join pg_type t on t.oid = p.proargtypes[0] and t.typtype = 'c'
    join pg_type u on u.oid = p.prorettype cross join lateral (values ('pg_proc'::regclass::oid, p.oid, 'other'),
      ('pg_class'::regclass::oid, u.typrelid, 'root')) o (classid, objid, via)
  where p.proname in (select json_array_elements_text($2)) and p.oid >= 16384 and o.objid <> 0
  union select dep.place, x.* from dep cross join lateral (
    select d.refclassid, d.refobjid, case when d.refclassid = 'pg_class'::regclass and o.via = 'view'
      and dep.via in ('root', 'view') then 'view' else 'other' end
    from (select 'pg_rewrite'::regclass::oid as classid, w.oid as objid, 'view' as via
        from pg_rewrite w join pg_class v on v.oid = w.ev_class and v.relkind = 'v'
        where dep.classid = 'pg_class'::regclass and w.ev_class = dep.objid
      union all select 'pg_policy'::regclass, oid, 'other' from pg_policy
        where dep.classid = 'pg_class'::regclass and polrelid = dep.objid
      union all select dep.classid, dep.objid, 'other' where dep.classid = 'pg_proc'::regclass
    ) o join pg_depend d on d.classid = o.classid and d.objid = o.objid
    where d.refclassid in ('pg_class'::regclass, 'pg_proc'::regclass) and d.refobjid <> dep.objid
    union all select dep.classid, h.oid, case when dep.via in ('root', 'part') then 'part' else 'other' end
    from pg_inherits i cross join lateral (values (inhrelid, inhparent), (inhparent, inhrelid)) h (oid, other)
    where dep.classid = 'pg_class'::regclass and h.other = dep.objid
  ) x
), tables as (
  select c.oid, json_build_array(n.nspname, c.relname) as name, min(dep.place) as place,
    bool_or(dep.via in ('root', 'view')) as is_needed, bool_and(dep.place = 1 and dep.via in ('root', 'part')) as is_root
  from dep join pg_class c on c.oid = dep.objid and c.relkind in ('r', 'p') and c.oid >= 16384
    join pg_namespace n on n.oid = c.relnamespace
  where dep.classid = 'pg_class'::regclass group by c.oid, n.nspname
)
select coalesce(json_agg(json_build_array(t.oid::int8, t.name, t.is_needed and coalesce(r.events & 60, 0) <> 60,
  case when t.is_root then (
    select json_build_object('column', a.attname, 'type', y.typname) from pg_attribute a join pg_type y on y.oid = a.atttypid
      left join pg_collation l on l.oid = a.attcollation
    where r.scopes = 1 and a.attrelid = t.oid and a.attname = r.scope and coalesce(l.collisdeterministic, true)
      and y.oid = any ('{${Object.keys(scopeTypes).join()}}'::regtype[])
  ) end, ${isDistributed ? onWorkers : "false"}) order by t.place), '[]')::text
from tables t cross join lateral (
  -- The bits 4, 8, 16 and 32 are INSERT, DELETE, UPDATE and TRUNCATE.
  select bit_or(g.tgtype::int) as events, count(distinct s.scope) as scopes, min(s.scope) as scope
  from pg_trigger g join pg_proc p on p.oid = g.tgfoid join pg_namespace n on n.oid = p.pronamespace
    cross join lateral (select case when p.proname ~ '^scope_' then substr(p.proname, 7) end as scope) s
  where g.tgrelid = t.oid and n.nspname = 'svc_live' and g.tgenabled in ('A', 'O')
) r`;
