/** Checks of relations, sequences, views and functions in the exposed schemas. @module */
import { isNotOfExtension } from "../../../../state/schema_cache/queries/extensions.ts";
import { looksSecret, refersToUser } from "./user_columns.ts";
import { functionName, functionPath, grantee, grantsOf, revokeBy } from "./inputs.ts";

/** Whether a view has `security_invoker`. */
export const isInvokerView = (view: string): string =>
  `coalesce((
    select o.option_value::boolean from pg_options_to_table(${view}.reloptions) o
    where o.option_name = 'security_invoker'
  ), false)`;

/**
 * Common table expressions.
 *
 * - `direct_uses`: the relations that a view reads, for exposed views and for views that they read.
 * - `default_sequences`: the sequences for which an INSERT into a relation calls `nextval`. The
 *   relation is a table, or a view that PostgreSQL can insert into by itself. Identity columns need
 *   no privilege.
 * - `write_steps`: the relations that a write to an exposed view reaches, without triggers and rules.
 *   `checked` is the role whose privileges and policies apply; NULL is the role of the request. The
 *   stored query of such a view names the view, then its source, then relations of subqueries.
 * - `view_bounds`: whether a condition bounds the rows that a view of `write_steps` shows, and whether
 *   WITH CHECK OPTION also bounds the rows that it writes.
 * - `owner_writes`: tables that a view writes without policies, because none applies to its owner.
 */
export const relationInputs = `
direct_uses (view, relation) as (
  select c.oid, d.refobjid
  from relations c
    join pg_rewrite w on w.ev_class = c.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
      and d.refclassid = 'pg_class'::regclass and d.refobjid <> c.oid
  where c.relkind in ('v', 'm')
  union
  select u.relation, d.refobjid
  from direct_uses u
    join pg_class c on c.oid = u.relation and c.relkind in ('v', 'm')
    join pg_rewrite w on w.ev_class = c.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
      and d.refclassid = 'pg_class'::regclass and d.refobjid <> c.oid
),
default_sequences as (
  select c.oid as relation, s.oid as sequence, format('%I.%I', n.nspname, s.relname) as name
  from (
    select c.oid, c.oid as stored_in from relations c where c.relkind <> 'v'
    union all
    select c.oid, u.relation from relations c join direct_uses u on u.view = c.oid
    where c.relkind = 'v' and exists (
        select from privileges p where p.oid = c.oid and p.inserts
      ) and pg_relation_is_updatable(c.oid, false) & 8 <> 0
  ) c
    join pg_attrdef d on d.adrelid = c.stored_in
    join pg_depend dep on dep.classid = 'pg_attrdef'::regclass and dep.objid = d.oid
      and dep.refclassid = 'pg_class'::regclass
    join pg_class s on s.oid = dep.refobjid and s.relkind = 'S'
    join pg_namespace n on n.oid = s.relnamespace
),
write_steps (view, relation, checked) as (
  select c.oid, c.oid, null::oid
  from relations c
  where c.relkind = 'v' and exists (
      select from privileges p where p.oid = c.oid and not p.owns
        and pg_relation_is_updatable(c.oid, false)
          & (case when p.inserts then 8 else 0 end + case when p.updates or p.deletes then 20 else 0 end) <> 0
    )
  union
  select s.view, source.oid, case when ${isInvokerView("c")} then null else c.relowner end
  from write_steps s
    join pg_class c on c.oid = s.relation and c.relkind = 'v'
    join pg_rewrite w on w.ev_class = c.oid and w.ev_type = '1'
    cross join lateral (
      select named.id[1]::oid as oid
      from regexp_matches(w.ev_action::text, ' :relid (\\d+) ', 'g') with ordinality named (id, n)
      where named.id[1]::oid <> c.oid
      order by named.n limit 1
    ) source
  where not exists (select from pg_rewrite o where o.ev_class = c.oid and o.ev_type <> '1')
),
view_bounds as (
  select s.view, bool_or(bounded.shows) as shows,
    bool_or(c.oid = s.view and coalesce(bounded.option = 'cascaded'
      or bounded.option = 'local' and bounded.shows, false)) as writes
  from write_steps s
    join pg_class c on c.oid = s.relation
    join pg_rewrite w on w.ev_class = c.oid and w.ev_type = '1'
    cross join lateral (
      select substring(w.ev_action::text from
          ':jointree \\{FROMEXPR :fromlist \\(\\{RANGETBLREF :rtindex \\d+\\}\\) :quals (<>|\\{)') = '{'
          as shows,
        (select o.option_value from pg_options_to_table(c.reloptions) o
          where o.option_name = 'check_option') as option
    ) bounded
  group by s.view
),
owner_writes as (
  select s.view, format('%I.%I', n.nspname, t.relname) as name, t.relrowsecurity
  from write_steps s
    join pg_class t on t.oid = s.relation and t.relkind in ('r', 'p', 'f')
    join pg_namespace n on n.oid = t.relnamespace
    join pg_roles o on o.oid = s.checked
  where has_table_privilege(o.oid, t.oid, 'INSERT, UPDATE, DELETE') and (
      not t.relrowsecurity or o.rolsuper or o.rolbypassrls
      or not t.relforcerowsecurity and pg_has_role(o.oid, t.relowner, 'USAGE')
    )
)`;

/** Each SELECT returns: finding, whether it concerns the anonymous role, subject, roles, objects, SQL. */
export const relationChecks: readonly string[] = [
  // Leaves out roles that lack USAGE on the schema, other than the anonymous role.
  `select 'nothing-readable', p.anonymous, p.role, '{}'::text[], array_agg(p.name order by p.name),
    array_agg(format('grant select on %s to %s;', p.name, p.role) order by p.name)
  from privileges p
    join relations c on c.oid = p.oid
    join schemas s on s.name = c.schema
  where p.anonymous or has_schema_privilege(p.role_oid, s.oid, 'USAGE')
  group by p.role, p.anonymous
  having not bool_or(p.reads)`,

  // If the anonymous role does not exist yet, it will have only the privileges of PUBLIC.
  `select 'nothing-readable', true, quote_ident($3::text), '{}', array_agg(c.name order by c.name),
    array_agg(format('grant select on %s to %I;', c.name, $3::text) order by c.name)
  from relations c
  where $3::text is not null and not exists (select from roles r where r.anonymous)
  having count(*) > 0 and not bool_or(exists (
    select from aclexplode(c.relacl) a where a.grantee = 0 and a.privilege_type = 'SELECT'
  ))`,

  `select 'sequence-usage', bool_or(p.anonymous), d.name, array_agg(distinct p.role),
    array_agg(distinct p.name),
    array_agg(distinct format('grant usage on sequence %s to %s;', d.name, p.role))
  from privileges p
    join default_sequences d on d.relation = p.oid
  where p.inserts and not has_sequence_privilege(p.role_oid, d.sequence, 'USAGE, UPDATE')
  group by d.name`,

  // The SQL adds a policy for reads if there is no policy: row-level security would hide all rows.
  `select 'write-without-rls', bool_or(p.anonymous), c.name, array_agg(p.role order by p.role), '{}',
    array[format('alter table %s enable row level security;', c.name)]
      || case when exists (select from pg_policy y where y.polrelid = c.oid) then '{}'
        else array[format('create policy %I on %s for select using (true);',
          left(c.relname, 58) || '_read', c.name)] end
      || replace(format(E'-- Writes need a policy, such as this one with a condition of yours:\\n'
        'create policy writes on %s to %s using (%s);', c.name,
        string_agg(p.role, ', ' order by p.role), coalesce(${ownCondition("c.oid")}, 'false')),
        E'\\n', E'\\n-- ')
  from privileges p
    join relations c on c.oid = p.oid
  where c.relkind in ('r', 'p') and not c.relrowsecurity and not p.owns and (p.inserts or p.updates or p.deletes)
  group by c.oid, c.name, c.relname`,

  // If a view has no security_invoker, the role of the request writes without policies of the tables.
  `select 'write-without-rls', bool_or(p.anonymous), c.name, array_agg(distinct p.role),
    -- NULL precedes the names if the view writes rows that it does not show.
    case when b.shows then array[null] else '{}'::text[] end || array_agg(distinct w.name),
    case when b.shows then array[format('alter view %s set (check_option = cascaded);', c.name)]
      when bool_and(w.relrowsecurity) and (select number from version) >= 150000
        and not ${isInvokerView("c")}
      then array[format('alter view %s set (security_invoker = true);', c.name)]
      else array_agg(distinct ${
    revokeBy(
      "c.relowner",
      `'revoke insert, update, delete on %s from %s;', c.name, ${grantee}`,
    )
  }) end
  from privileges p
    join relations c on c.oid = p.oid
    join owner_writes w on w.view = c.oid
    join view_bounds b on b.view = c.oid and not (b.shows and b.writes)
    join ${grantsOf("'INSERT', 'UPDATE', 'DELETE'")}
  where (p.inserts or p.updates or p.deletes) and not p.owns
  group by c.oid, c.name, c.reloptions, b.shows`,

  `select 'rls-without-policy', false, c.name, '{}', '{}',
    array[coalesce(
      format('create policy %I on %s using (', left(c.relname, 58) || '_own', c.name)
        || ${ownCondition("c.oid")} || ');',
      format('create policy %I on %s for select%s using (true);', left(c.relname, 58) || '_read',
        c.name, (select ' to ' || r.name from roles r where r.anonymous))
    )]
  from relations c
  where c.relrowsecurity and not exists (select from pg_policy y where y.polrelid = c.oid)`,

  `select 'secret-readable', true, c.name, array[p.role],
    array_agg(quote_ident(a.attname) order by a.attnum), '{}'
  from privileges p join relations c on c.oid = p.oid
    join pg_attribute a on a.attrelid = c.oid and ${looksSecret("a")}
  where p.anonymous and has_column_privilege(p.role_oid, c.oid, a.attnum, 'SELECT')
  group by c.name, p.role`,

  ownersViews("view-owner-rights", "t.relkind in ('r', 'p') and t.relrowsecurity"),

  `select 'definer-search-path', false, ${functionName}, '{}', '{}',
    array[format('alter %s %s set search_path = %s, pg_temp;',
      case p.prokind when 'p' then 'procedure' else 'function' end, ${functionName}, ${functionPath})]
  from pg_proc p
    join schemas s on s.oid = p.pronamespace
  where p.prosecdef and p.prokind in ('f', 'p', 'w')
    and not exists (select from unnest(p.proconfig) c where c ~* '^search_path=')
    and ${isNotOfExtension("pg_proc", "p")}`,

  `select 'session-state', false, ${functionName}, '{}', w.names, '{}'
  from pg_proc p
    join schemas s on s.oid = p.pronamespace
    join pg_language l on l.oid = p.prolang and l.lanname not in ('internal', 'c')
    cross join lateral (select array_agg(name order by place) as names from (values
      (1, 'a setting', '\\mset_config\\s*\\([^;]*,\\s*(false|''f'')\\s*\\)|(^|;|\\m(begin|then|else|loop))\\s*set\\s+(?!local\\M)\\w'),
      (2, 'a temporary table', '\\mcreate\\s+temp(orary)?\\M(?![^;]*\\mon\\s+commit\\s+drop\\M)'),
      (3, 'a lock', '\\mpg_(try_)?advisory_lock'),
      (4, 'a prepared statement', '\\m(prepare|deallocate)\\s+\\w')
    ) texts (place, name, pattern) where p.prosrc ~* pattern) w
  where w.names is not null and ${isNotOfExtension("pg_proc", "p")}`,

  `select 'truncate', p.anonymous, p.role, '{}', array_agg(distinct p.name), array_agg(distinct ${
    revokeBy("c.relowner", `'revoke truncate on %s from %s;', p.name, ${grantee}`)
  })
  from privileges p
    join relations c on c.oid = p.oid
    join ${grantsOf("'TRUNCATE'")}
  where p.truncates and not p.owns and p.relkind in ('r', 'p', 'f')
  group by p.role, p.anonymous`,
];

/**
 * Returns a SELECT for a finding about views that read relations `t` with the rights of the view's
 * owner. `condition` selects the relations. An inner view with `security_invoker` reads as the
 * request's role, so it is not followed. An inner view without it has a separate finding.
 */
export function ownersViews(finding: string, condition: string): string {
  return `select '${finding}', false, format('%I.%I', n.nspname, v.relname), '{}',
    array_agg(distinct format('%I.%I', tn.nspname, t.relname)),
    case when (select number from version) < 150000 then '{}' else
      array[format('alter view %I.%I set (security_invoker = true);', n.nspname, v.relname)] end
  from pg_class v
    join pg_namespace n on n.oid = v.relnamespace
    join (select distinct view, relation from direct_uses) u on u.view = v.oid
    join pg_class t on t.oid = u.relation and ${condition}
    join pg_namespace tn on tn.oid = t.relnamespace
  where v.relkind = 'v' and not ${isInvokerView("v")}
  group by n.nspname, v.relname`;
}

/** Expression that compares the claim `sub` with the first column that refers to a user; NULL if
 * there is no such column. */
function ownCondition(relation: string): string {
  return `(
    select format('%I = (current_setting(''request.jwt.claims'', true)::json ->> ''sub'')%s', a.attname,
      case when a.atttypid in ('text'::regtype, 'varchar'::regtype) then ''
        else '::' || format_type(a.atttypid, null) end)
    from pg_attribute a
    where a.attrelid = ${relation} and a.attnum > 0 and not a.attisdropped and a.atttypid in
      ('text'::regtype, 'varchar'::regtype, 'uuid'::regtype, 'int'::regtype, 'bigint'::regtype)
      and ${refersToUser("a")}
    order by a.attnum limit 1
  )`;
}
