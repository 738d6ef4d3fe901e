/** Checks of keys and indexes. @module */
import { conditionOf } from "./policy_checks.ts";

/** Common table expression: valid indexes for searches by keys, with their columns in order. */
export const indexInputs = `
indexes as materialized (
  select i.indrelid, i.indpred is null as is_full, (i.indkey::int2[])[0:i.indnkeyatts - 1] as keys from pg_index i
    join tables t on t.oid = i.indrelid join pg_class c on c.oid = i.indexrelid
    join pg_am a on a.oid = c.relam and a.amname in ('btree', 'hash') where i.indisvalid
)`;

/** Each SELECT returns: finding, whether it concerns the anonymous role, subject, roles, objects, SQL. */
export const indexChecks: readonly string[] = [
  // The column `objects` has what `svc check --measure` needs: table, columns, owner and rows.
  `select 'foreign-key-index', false, format('%I on %s', k.conname, k.name), '{}'::text[],
    array[k.name, named.columns, quote_ident(pg_get_userbyid(k.relowner)), k.rows::text],
    array[format('create index %son %s (%s);',
      case k.relkind when 'p' then '' else 'concurrently ' end, k.name, named.columns)] from (
      select k.conrelid, k.conname, k.conkey, t.relkind, t.name, t.relowner, t.rows
      from pg_constraint k join tables t on t.oid = k.conrelid
      where k.contype = 'f' and k.conparentid = 0 and not exists (
        select from indexes i where i.indrelid = k.conrelid and i.is_full
          and i.keys[1:cardinality(k.conkey)] @> k.conkey ) ) k cross join lateral (
      select string_agg(quote_ident(a.attname), ', ' order by array_position(k.conkey, a.attnum)) as columns
      from pg_attribute a where a.attrelid = k.conrelid and a.attnum = any (k.conkey) ) named`,

  `select 'no-primary-key', false, c.name, '{}', '{}', '{}' from relations c
  where c.relkind in ('r', 'p') and not exists (
      select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p'
    )`,

  `select 'index-duplicate', false, d.indexrelid::regclass::text, '{}', array_agg(k.indexrelid::regclass::text),
    array[format('drop index %s%s;', case t.relkind when 'p' then '' else 'concurrently ' end, d.indexrelid::regclass)]
  from tables t join pg_index d on d.indrelid = t.oid and not d.indisunique and not d.indisexclusion and d.indisvalid
    join pg_index k on k.indrelid = t.oid and k.indisvalid and (k.indisunique or k.indexrelid < d.indexrelid)
      and k.indkey::int2[] = d.indkey::int2[] and k.indclass = d.indclass and k.indcollation = d.indcollation
      and (k.indnkeyatts, k.indoption::int2[], pg_get_expr(k.indexprs, t.oid), pg_get_expr(k.indpred, t.oid)) is not
        distinct from (d.indnkeyatts, d.indoption::int2[], pg_get_expr(d.indexprs, t.oid), pg_get_expr(d.indpred, t.oid))
  group by t.relkind, d.indexrelid`,
];

/** Expression: as JSON, the policies that call functions, or that compare an unindexed column of a
 * large table. `columns` maps an operand to the name of a column that an index could use. */
export const costlyPolicies = `(
  select coalesce(json_agg(json_build_object(
    'label', y.label, 'policy', y.policy, 'relation', y.relation,
    'owner', quote_ident(pg_get_userbyid(t.relowner)), 'rows', t.rows,
    'conditions', array[${conditionOf("p")}, ${conditionOf("p", "polwithcheck")}],
    'calls', coalesce(f.names, '{}'), 'isVolatile', coalesce(f.is_volatile, false),
    'columns', coalesce(c.columns, '{}'), 'isPartitioned', t.relkind = 'p' ) order by y.polrelid, y.polname), '[]')
  from policies y join pg_policy p on p.oid = y.oid join tables t on t.oid = y.polrelid left join (
      select policy, coalesce(array_agg(name) filter (where provolatile = 's'), '{}') as names,
        bool_or(provolatile = 'v') as is_volatile from policy_functions group by policy ) f on f.policy = y.oid
    left join (
      select d.objid, d.refobjid, json_object_agg(format(case a.atttypid when 'varchar'::regtype
        then '(%I)::text' else '%I' end, a.attname), quote_ident(a.attname)) as columns from pg_depend d
        join tables t on t.oid = d.refobjid and t.rows >= 1000
        join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid and a.attnum > 0
        left join indexes i on i.indrelid = d.refobjid and i.keys[1] = a.attnum
      where d.classid = 'pg_policy'::regclass and d.refclassid = 'pg_class'::regclass and i.indrelid is null
      group by d.objid, d.refobjid
    ) c on c.objid = y.oid and c.refobjid = y.polrelid and y.polpermissive and y.polcmd in ('r', '*')
  -- 2077 and 3294 are current_setting().
  where y.relrowsecurity and (f.names <> '{}' or c.columns is not null
    or concat(p.polqual, p.polwithcheck) like any ('{%:funcid 2077 %,%:funcid 3294 %}'))
)`;
