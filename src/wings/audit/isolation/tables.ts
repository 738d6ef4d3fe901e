/** Tables with row-level security, changes of their rows, and objects that may reveal rows in spite
 * of policies. @module */
import { isInvokerView } from "../diagnosis/queries/relation_checks.ts";

/** How a world differs from the fixtures. */
export type Change = "changed" | "deleted" | "inserted";

/** A table with row-level security. */
export interface PolicyTable {
  readonly schema: string;
  readonly name: string;
  /** The name as SQL. */
  readonly sql: string;
  /** The columns that the caller may select. */
  readonly access: "all" | "some" | "no";
  /** Names of the primary key columns. */
  readonly keys: readonly string[];
  /** Lists of alternatives, of which the first that succeeds is used. Each ends in a condition on `t`. */
  readonly changes: Readonly<Record<Change, readonly (readonly string[])[]>>;
  readonly causes: readonly Cause[];
}

/** An object that may reveal hidden rows, and the reason. */
export interface Cause {
  readonly isConstraint: boolean;
  /** Name of the object. */
  readonly name: string;
  /** The name of the object in requests or errors. */
  readonly word: string;
  readonly why: string;
}

/** Parameters: the role of the caller, and fresh values as JSON. `others` are expressions for other
 * values of a column, by category of its type; the most different value comes first. */
export const tablesQuery = `with recursive
tables as (
  select c.oid, n.nspname, c.relname, format('%I.%I', n.nspname, c.relname) as sql
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relrowsecurity and c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and pg_has_role(c.relowner, 'USAGE')
),
reach (base, oid) as (
  select t.oid, t.oid from tables t union
  select r.base, l.oid from reach r cross join lateral (
    select w.ev_class from pg_depend d join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and w.oid = d.objid
    where d.refclassid = 'pg_class'::regclass and d.refobjid = r.oid
    union all select i.inhrelid from pg_inherits i where i.inhparent = r.oid) l (oid)
),
causes (base, place, name, word, why) as (
  select t.oid, 1, k.conname::text, k.conname::text, 'a foreign key'
  from tables t join pg_constraint k on t.oid in (k.conrelid, k.confrelid) and k.contype = 'f'
  union all
  select t.oid, 1, c.relname::text, c.relname::text, 'a unique key'
  from tables t join pg_index i on i.indrelid = t.oid and (i.indisunique or i.indisexclusion) join pg_class c on c.oid = i.indexrelid
  union all
  select t.oid, 2, format('%s.%s', n.nspname, p.proname), p.proname::text, 'a function that runs as its owner'
  from tables t cross join pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.prosecdef and n.nspname !~ '^pg_'
  union all
  select r.base, 3, format('%s.%s', n.nspname, c.relname), c.relname::text, case c.relkind when 'm' then 'a materialized view'
    when 'v' then 'a view that runs as its owner' else 'a partition or child without the policies' end
  from reach r join pg_class c on c.oid = r.oid join pg_namespace n on n.oid = c.relnamespace
  where r.base <> r.oid and not (c.relkind = 'v' and ${isInvokerView("c")})
),
ways (category, place, expression) as (values
  ('uuid', 1, 'md5(coalesce(%1$s::text, ''''))::uuid'), ('B', 1, 'not coalesce(%1$s, false)'),
  ('N', 1, 'coalesce(%1$s, 0) + 7919'), ('N', 2, 'coalesce(%1$s, 0) + 1'), ('S', 1, 'coalesce(%1$s::text, '''') || ''x'''),
  ('D', 1, 'coalesce(%1$s, now()) + interval ''1 day'''), ('T', 1, 'coalesce(%1$s, interval ''0'') + interval ''1 day'''),
  ('A', 1, '%1$s || %1$s'), ('E', 1, '(select e from unnest(enum_range(null::%2$s)) e where e is distinct from %1$s limit 1)'),
  ('U', 1, '''{"svc": 1}'''), (null, 3, '(select o.%3$s from %4$s o where o.%3$s is distinct from %1$s order by 1 desc limit 1)'),
  (null, 4, 'null')
),
columns as (
  select t.oid, a.attnum, quote_ident(a.attname) as name, (i.indisprimary is not null) as is_unique, coalesce(i.indisprimary, false) as is_key,
    parent is not null as has_parent, format_type(a.atttypid, a.atttypmod) as type, array (
      select format(w.expression, 't.' || quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
        coalesce(parent[2], quote_ident(a.attname)), coalesce(parent[1], t.sql))
      from ways w where w.category is null or parent is null and w.category = case when a.atttypid = 'uuid'::regtype then 'uuid'
        when exists (select from ways o where o.category = y.typcategory) then y.typcategory else 'U' end
      order by w.place) as others, exists (
      select from pg_constraint k where k.confrelid = t.oid and k.contype = 'f' and a.attnum = any (k.confkey)) as is_referenced
  from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    join pg_type y on y.oid = a.atttypid
    left join lateral (select bool_or(i.indisprimary) as indisprimary from pg_index i
      where i.indrelid = t.oid and i.indisunique and a.attnum = any (i.indkey)) i on true
    left join lateral (select array[k.confrelid::regclass::text, quote_ident(b.attname)] from pg_constraint k
      join pg_attribute b on b.attrelid = k.confrelid and b.attnum = k.confkey[1]
      where k.conrelid = t.oid and k.contype = 'f' and k.conkey = array[a.attnum] limit 1) p (parent) on true
),
inserts as (
  select c.oid, parents, format('insert into %s as t (%s) overriding system value select %s from %1$s t where true', t.sql,
    string_agg(c.name, ', ' order by c.attnum), string_agg(case when not c.is_unique or c.has_parent and parents = 1 then 't.' || c.name
      else coalesce(quote_literal(fresh), c.others[1]) end, ', ' order by c.attnum)) as statement
  from tables t join columns c on c.oid = t.oid cross join generate_series(1, 2) parents left join lateral (
    select v ->> 1 from json_array_elements($2::json) v where c.type ~ (v ->> 0) and not c.has_parent limit 1) f (fresh) on true
  group by c.oid, t.sql, parents
)
select coalesce(json_agg(json_build_object('schema', t.nspname, 'name', t.relname, 'sql', t.sql,
  'access', case when has_table_privilege($1, t.oid, 'SELECT') then 'all'
    when has_any_column_privilege($1, t.oid, 'SELECT') then 'some' else 'no' end,
  'keys', (select coalesce(json_agg(a.attname order by a.attnum), '[]') from pg_index i
    join pg_attribute a on a.attrelid = t.oid and a.attnum = any (i.indkey) where i.indrelid = t.oid and i.indisprimary),
  'changes', json_build_object(
    'changed', (select coalesce(json_agg((
      select json_agg(format('update %s t set %s = %s where true', t.sql, c.name, other)) from unnest(c.others) other) order by c.attnum), '[]')
      from columns c where c.oid = t.oid and not (c.is_key or c.is_referenced)),
    'deleted', json_build_array(json_build_array(format('delete from %s t where %s', t.sql, coalesce((
      select string_agg(format('not exists (select from %s x where %s)', k.conrelid::regclass, (
        select string_agg(format('x.%I = t.%I', f.attname, o.attname), ' and ') from unnest(k.conkey, k.confkey) u (own, other)
          join pg_attribute f on f.attrelid = k.conrelid and f.attnum = u.own
          join pg_attribute o on o.attrelid = k.confrelid and o.attnum = u.other)), ' and ')
      from pg_constraint k where k.confrelid = t.oid and k.contype = 'f'), 'true')))),
    'inserted', (select json_build_array(coalesce(json_agg(i.statement order by i.parents), '[]')) from inserts i where i.oid = t.oid)),
  'causes', (select coalesce(json_agg(json_build_object('isConstraint', c.place = 1, 'name', c.name, 'word', c.word, 'why', c.why)
    order by c.place), '[]') from causes c where c.base = t.oid)
) order by t.sql), '[]')::text from tables t`;
