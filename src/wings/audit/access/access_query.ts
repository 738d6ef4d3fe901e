/**
 * Reads the access of request roles: the query, and the shape of its result. Names are quoted for
 * SQL. Lists by role have the order of `roles`. Bits: 1 SELECT, 2 EXECUTE, 4 UPDATE, 8 INSERT, 16
 * DELETE. @module
 */
import { inputs } from "../diagnosis/queries/inputs.ts";
import { isInvokerView } from "../diagnosis/queries/relation_checks.ts";

/** A policy. `using` and `check` are expressions as printed by PostgreSQL. */
export interface AccessPolicy {
  readonly name: string;
  readonly permissive: boolean;
  readonly using: string | null;
  readonly check: string | null;
}

type List = readonly string[] | null;

/** A relation, or a function. `events` are the bits of the writes that a relation supports. */
export type AccessRow = readonly [
  schema: string,
  name: string,
  events: number,
  /** Whether a view reads with the rights of its owner, although it could have `security_invoker`. */
  isOwnerView: boolean,
  columnCount: number,
  /** Policies of the relation: command, positions of the roles in `roles` (null for all roles), expressions. */
  policies: readonly (readonly [string, readonly number[] | null, AccessPolicy])[] | null,
  rights: readonly RightsRow[],
];

/** The privileges of a role. `hasUsage` is USAGE on the schema; `columns` are granted columns by action. */
type RightsRow = readonly [
  hasUsage: boolean,
  hasPolicies: boolean,
  privileges: number,
  columns: Readonly<Record<string, List>> | null,
  below: Below | null,
];

/**
 * Access to the relations that a view reads, as the roles that read them. `past` are tables whose
 * policies do not apply, and `bounded` are tables whose policies apply. `missing` are GRANTs
 * without which reads fail. `unread` has the bits of actions that need these reads, `writes` the
 * bits of granted writes.
 */
type Below = readonly [past: List, bounded: List, missing: List, unread: number, writes: number];

/** The result of the query. */
export interface AccessResult {
  readonly roles: readonly (readonly [name: string, quoted: string])[];
  readonly objects: readonly AccessRow[];
}

const privilegeBits = (role: string, relation: string, test: string) =>
  `${test}(${role}, ${relation}, 'SELECT')::int + ${test}(${role}, ${relation}, 'UPDATE')::int * 4
    + ${test}(${role}, ${relation}, 'INSERT')::int * 8 + has_table_privilege(${role}, ${relation}, 'DELETE')::int * 16`;

const grantedColumns = (action: string) =>
  `'${action}', case when not has_table_privilege(r.oid, c.oid, '${action}')
          and has_any_column_privilege(r.oid, c.oid, '${action}') then (
          select json_agg(quote_ident(a.attname) order by a.attnum) from columns a
          where a.attrelid = c.oid and has_column_privilege(r.oid, c.oid, a.attnum, '${action}')) end`;

const policiesApply = (role: string, table: string) =>
  `(${table}.relrowsecurity and not (${role}.rolsuper or ${role}.rolbypassrls)
    and (${table}.relforcerowsecurity or not pg_has_role(${role}.oid, ${table}.relowner, 'USAGE')))`;

/**
 * Parameters: exposed and extra schemas as JSON arrays, a role to include, the only role or NULL,
 * the maximum number of objects of each kind. `steps` are the relations below a view. `checked` is
 * the role that reads a relation; NULL is the caller. `stored` is the owner of a materialized view,
 * which is refreshed with the rights of the owner. `written` are the writes that reach a relation. A
 * write reaches the first relation in the rule of a view without INSTEAD OF triggers and rules.
 */
export const accessQuery = `with recursive ${inputs},
callers as materialized (
  select r.*, row_number() over (order by r.rolname) as position from roles r, login l
  where $4::text is null or r.rolname = $4 and (r.is_login or l.rolsuper or pg_has_role(l.oid, r.oid, l.set_option))
),
tables as (
  select c.*, format('%I.%I', n.nspname, c.relname) as name, quote_ident(n.nspname) as schema
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p', 'v', 'm', 'f')
),
exposed as materialized (
  select t.* from relations r join tables t on t.oid = r.oid order by r.name collate "C" limit $5::int
),
columns as not materialized (select a.* from pg_attribute a where a.attnum > 0 and not a.attisdropped),
steps (view, relation, checked, stored, rule, written) as (
  select c.oid, c.oid, null::oid, null::oid, null::oid, pg_relation_is_updatable(c.oid, false)
  from exposed c where c.relkind in ('v', 'm') union
  select s.view, d.oid, case when ${isInvokerView("c")} then s.stored else c.relowner end,
    case c.relkind when 'm' then c.relowner else s.stored end, w.oid, case d.oid::text
      when (regexp_match(w.ev_action::text, format(' :relid (?!%s )(\\d+) ', c.oid)))[1]
      then s.written & ~(select coalesce(bit_or(i.bits), 0) from (
        select (g.tgtype & 12) * 2 + (g.tgtype & 16) / 4 from pg_trigger g where g.tgrelid = c.oid
        union all select 1 << o.ev_type::text::int from pg_rewrite o where o.ev_class = c.oid and o.is_instead
      ) i (bits)) else 0 end
  from steps s join pg_class c on c.oid = s.relation and c.relkind in ('v', 'm')
    join pg_rewrite w on w.ev_class = c.oid and w.ev_type = '1'
    cross join lateral (select distinct d.refobjid as oid from pg_depend d where d.classid = 'pg_rewrite'::regclass
      and d.objid = w.oid and d.refclassid = 'pg_class'::regclass and d.refobjid <> c.oid) d
),
below as materialized (
  select s.view, r.oid as role, json_build_array(
    json_agg(distinct t.name) filter (where t.relrowsecurity and not ${policiesApply("o", "t")}),
    json_agg(distinct t.name) filter (where s.stored is null and ${policiesApply("o", "t")}),
    json_agg(distinct format('grant select on %s to %I;', t.name, o.rolname)) filter (where not is_read),
    coalesce(bit_or(21 & ~s.written) filter (where not is_read), 0),
    bit_and(${privilegeBits("o.oid", "t.oid", "has_any_column_privilege")} | ~s.written)) as facts
  from steps s cross join callers r join pg_roles o on o.oid = coalesce(s.checked, r.oid) join tables t on t.oid = s.relation
    cross join lateral (select s.stored is not null or has_table_privilege(o.oid, t.oid, 'SELECT') or not exists (
      select from pg_depend d where d.classid = 'pg_rewrite'::regclass and d.objid = s.rule and d.refobjid = t.oid
        and not case d.refobjsubid when 0 then has_any_column_privilege(o.oid, t.oid, 'SELECT')
          else has_column_privilege(o.oid, t.oid, d.refobjsubid::int2, 'SELECT') end)) reads (is_read)
  where s.relation <> s.view group by s.view, r.oid
),
rights as materialized (
  select c.oid, json_agg(json_build_array(has_schema_privilege(r.oid, c.relnamespace, 'USAGE'), ${
  policiesApply("r", "c")
},
    ${privilegeBits("r.oid", "c.oid", "has_table_privilege")},
    case when g.attrelid is not null then json_build_object(
      ${
  ["select", "insert", "update"].map(grantedColumns).join(",\n      ")
}) end, b.facts) order by r.position) as list
  from exposed c cross join callers r left join column_grants g on g.attrelid = c.oid left join below b
    on b.view = c.oid and b.role = r.oid group by c.oid
),
policies as materialized (
  select p.polrelid, json_agg(json_build_array(p.polcmd, case when not 0 = any (p.polroles) then (
      select coalesce(json_agg(r.position - 1), '[]') from callers r
      where exists (select from unnest(p.polroles) x where pg_has_role(r.oid, x, 'USAGE'))) end, json_build_object('name', quote_ident(p.polname), 'permissive', p.polpermissive,
      'using', pg_get_expr(p.polqual, p.polrelid), 'check', pg_get_expr(p.polwithcheck, p.polrelid))
    ) order by p.polpermissive desc, p.polname) as list
  from pg_policy p join exposed c on c.oid = p.polrelid group by p.polrelid
)
select json_build_object(
  'roles', (select coalesce(json_agg(json_build_array(r.rolname, r.name) order by r.position), '[]') from callers r),
  'objects', (select coalesce(json_agg(o.row), '[]') from (select json_build_array(c.schema, c.name,
    case when c.relkind in ('r', 'p') then 28 when c.relkind = 'm' or exists (
        select from pg_foreign_table f join pg_foreign_server s on s.oid = f.ftserver
          join pg_foreign_data_wrapper w on w.oid = s.srvfdw and w.fdwhandler = 0 where f.ftrelid = c.oid) then 0 else pg_relation_is_updatable(c.oid, true) end,
    c.relkind = 'v' and v.number >= 150000 and not ${isInvokerView("c")},
    (select count(*) from columns a where a.attrelid = c.oid), y.list, x.list) as row
    from version v cross join exposed c left join rights x on x.oid = c.oid left join policies y on y.polrelid = c.oid
    union all
    (select json_build_array(s.name, f.name, 0, false, 0, null, (
      select json_agg(json_build_array(has_schema_privilege(r.oid, s.oid, 'USAGE'), false,
        has_function_privilege(r.oid, p.oid, 'EXECUTE')::int * 2, null, null) order by r.position) from callers r))
    from pg_proc p join schemas s on s.oid = p.pronamespace and s.exposed
      cross join lateral (select format('%s.%I(%s)', s.name, p.proname,
        pg_get_function_identity_arguments(p.oid))) f (name)
    where p.prokind = 'f' and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
      and (p.pronargs = 1 and p.proargtypes[0] in
        ('bytea'::regtype, 'json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'xml'::regtype) or not exists (
        select from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames, p.proargmodes)
          i (type, name, mode) where coalesce(i.mode, 'i') in ('i', 'b', 'v') and coalesce(i.name, '') = ''))
    order by f.name collate "C" limit $5::int)) o)
)::text`;
