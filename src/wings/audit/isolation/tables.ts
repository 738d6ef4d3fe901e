/** Tables with row-level security, and the objects that may show their rows past the policies. @module */
import { isInvokerView } from "../diagnosis/queries/relation_checks.ts";

/** A column; its name and type are SQL. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  /** `typcategory` of PostgreSQL. */
  readonly category: string;
  readonly isKey: boolean;
  readonly isUnique: boolean;
  readonly isGenerated: boolean;
  /** Whether a foreign key refers to it. */
  readonly isReferenced: boolean;
  /** The table and the column that it refers to. */
  readonly parent: readonly [table: string, column: string] | null;
}

/** A table with row-level security. */
export interface PolicyTable {
  readonly schema: string;
  readonly name: string;
  /** The name as SQL. */
  readonly sql: string;
  /** The columns that the caller may select. */
  readonly access: "all" | "some" | "no";
  readonly columns: readonly TableColumn[];
  /** Condition on a row `t` to which no row refers. */
  readonly unreferenced: string;
  readonly causes: readonly Cause[];
}

/** An object that may show hidden rows, and why. */
export interface Cause {
  readonly kind: "constraint" | "view" | "function" | "policy";
  /** Name of the object. */
  readonly name: string;
  /** The name by which requests reach it. */
  readonly word: string;
  readonly why: string;
}

/** The first of them explains a leak. */
const kinds: readonly Cause["kind"][] = ["constraint", "function", "view", "policy"];

/** Returns the table that a leak is of, and the object that shows its rows. `isNamed` takes the objects of tables. */
export function explainLeak(
  tables: readonly PolicyTable[],
  isNamed: (cause: Cause) => boolean,
): readonly [PolicyTable, Pick<Cause, "name" | "why">] {
  const found = kinds.flatMap((kind) =>
    tables.flatMap((table) =>
      table.causes.filter((cause) => cause.kind === kind && isNamed(cause))
        .map((cause) => [table, cause] as const)
    )
  );
  const { schema, name } = tables[0]!;
  const why = "policies that do not restrict this request";
  return found[0] ?? [tables[0]!, { name: `${schema}.${name}`, why }];
}

/** Parameter: the role of the caller. */
export const tablesQuery = `with recursive
tables as (
  select c.oid, n.nspname, c.relname, format('%I.%I', n.nspname, c.relname) as sql
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relrowsecurity and c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and pg_has_role(c.relowner, 'USAGE')
),
above (base, oid) as (
  select t.oid, t.oid from tables t union
  select a.base, w.ev_class from above a join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = a.oid
    and d.classid = 'pg_rewrite'::regclass join pg_rewrite w on w.oid = d.objid
),
below (base, oid) as (
  select t.oid, t.oid from tables t union select b.base, i.inhrelid from below b join pg_inherits i on i.inhparent = b.oid
),
causes (base, kind, name, word, why) as (
  select t.oid, 'constraint', k.conname::text, k.conname::text, case k.contype when 'f' then 'a foreign key' else 'a unique key' end
  from tables t join pg_constraint k on t.oid in (k.conrelid, k.confrelid) where k.contype in ('p', 'u', 'f', 'x')
  union all
  select t.oid, 'constraint', c.relname::text, c.relname::text, 'a unique index'
  from tables t join pg_index i on i.indrelid = t.oid and i.indisunique join pg_class c on c.oid = i.indexrelid
  union all
  select a.base, 'view', format('%s.%s', n.nspname, c.relname), c.relname::text,
    case c.relkind when 'm' then 'a materialized view' else 'a view that runs as its owner' end
  from above a join pg_class c on c.oid = a.oid join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'm' or c.relkind = 'v' and not ${isInvokerView("c")}
  union all
  select b.base, 'view', format('%s.%s', n.nspname, c.relname), c.relname::text, 'a partition or child without the policies'
  from below b join pg_class c on c.oid = b.oid join pg_namespace n on n.oid = c.relnamespace where b.oid <> b.base
  union all
  select t.oid, 'function', format('%s.%s', n.nspname, p.proname), p.proname::text, 'a function that runs as its owner'
  from tables t cross join pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.prosecdef and n.nspname !~ '^pg_'
  union all
  select t.oid, 'policy', p.polname::text, c.relname::text, format('a policy of %s that reads %s', c.relname, t.relname)
  from tables t join pg_depend d on d.refobjid = t.oid and d.classid = 'pg_policy'::regclass
    join pg_policy p on p.oid = d.objid and p.polrelid <> t.oid join pg_class c on c.oid = p.polrelid
)
select coalesce(json_agg(json_build_object('schema', t.nspname, 'name', t.relname, 'sql', t.sql,
  'access', case when has_table_privilege($1, t.oid, 'SELECT') then 'all'
    when has_any_column_privilege($1, t.oid, 'SELECT') then 'some' else 'no' end,
  'columns', (
    select json_agg(json_build_object('name', quote_ident(a.attname), 'type', format_type(a.atttypid, a.atttypmod), 'category', y.typcategory,
      'isKey', exists (select from pg_index i where i.indrelid = t.oid and i.indisprimary and a.attnum = any (i.indkey)),
      'isUnique', exists (select from pg_index i where i.indrelid = t.oid and i.indisunique and a.attnum = any (i.indkey)),
      'isGenerated', a.attgenerated <> '', 'isReferenced', exists (
        select from pg_constraint k where k.confrelid = t.oid and k.contype = 'f' and a.attnum = any (k.confkey)),
      'parent', (select json_build_array(k.confrelid::regclass::text, quote_ident(b.attname)) from pg_constraint k
        join pg_attribute b on b.attrelid = k.confrelid and b.attnum = k.confkey[1]
        where k.conrelid = t.oid and k.contype = 'f' and k.conkey = array[a.attnum] limit 1)) order by a.attnum)
    from pg_attribute a join pg_type y on y.oid = a.atttypid where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped),
  'unreferenced', coalesce((
    select string_agg(format('not exists (select from %s x where %s)', k.conrelid::regclass, (
      select string_agg(format('x.%I = t.%I', f.attname, o.attname), ' and ') from unnest(k.conkey, k.confkey) u (own, other)
        join pg_attribute f on f.attrelid = k.conrelid and f.attnum = u.own
        join pg_attribute o on o.attrelid = k.confrelid and o.attnum = u.other)), ' and ')
    from pg_constraint k where k.confrelid = t.oid and k.contype = 'f'), 'true'),
  'causes', (select coalesce(json_agg(c), '[]') from causes c where c.base = t.oid)
) order by t.sql), '[]')::text from tables t`;
