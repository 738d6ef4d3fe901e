/** Reads privileges and policies of a role on a relation, and on those below a view. @module */
import type { Statement } from "../database/batch.ts";
import type { QualifiedName, Routine } from "../schema_cache/schema_cache.ts";
import { compile, param, type Sql, sql } from "../sql/fragment.ts";

/** A policy that applies to the role. Expressions name all but the columns of the table with schemas. */
export interface Policy {
  readonly name: string;
  /** As `pg_policy.polcmd`: `*` for all commands. */
  readonly command: "r" | "a" | "w" | "d" | "*";
  readonly isPermissive: boolean;
  readonly using: string | null;
  readonly check: string | null;
  /** Columns of the table that it reads. */
  readonly columns: readonly string[];
}

/** A relation, and the role whose privileges on it count. */
export interface RelationRights extends QualifiedName {
  readonly isTable: boolean;
  /** The caller; below a view the view's owner, unless the view has `security_invoker`. */
  readonly role: string;
  readonly owner: string;
  /** Names as SQL; `columns` by name. */
  readonly quoted: Readonly<Record<"relation" | "schema" | "role", string>> & {
    readonly columns: Readonly<Record<string, string>>;
  };
  readonly hasSchemaUsage: boolean;
  /** Columns of the primary key. */
  readonly key: readonly string[];
  /** Columns that the view above reads; null for the requested relation. */
  readonly columnsRead: readonly string[] | null;
  /** Columns by privilege. */
  readonly granted: Readonly<Record<"select" | "insert" | "update", readonly string[]>>;
  readonly mayDelete: boolean;
  readonly arePoliciesApplied: boolean;
  readonly policies: readonly Policy[];
  /** Default expressions that call no volatile function, by column. */
  readonly defaults: Readonly<Record<string, string>>;
}

/** Returns the query for a JSON array of {@linkcode RelationRights}, the relation itself first. */
export function relationFactsStatement({ schema, name }: QualifiedName, role: string): Statement {
  const query = sql`
with recursive steps as (
  select c.oid, r.oid as role, 0 as depth, null::oid as rule
  from pg_class c join pg_namespace n on n.oid = c.relnamespace, pg_roles r
  where n.nspname = ${param(schema)} and c.relname = ${param(name)} and r.rolname = ${param(role)}
  union
  select d.refobjid, case when exists (
      select from pg_options_to_table(v.reloptions)
      where option_name = 'security_invoker' and option_value::boolean
    ) then s.role else v.relowner end, s.depth + 1, w.oid
  from steps s join pg_class v on v.oid = s.oid and v.relkind = 'v' and s.depth < 10
    join pg_rewrite w on w.ev_class = v.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
      and d.refclassid = 'pg_class'::regclass and d.refobjid <> v.oid
)
select coalesce(jsonb_agg(jsonb_build_object(
  'schema', n.nspname, 'name', c.relname, 'isTable', c.relkind in ('r', 'p'),
  'role', r.rolname, 'owner', pg_get_userbyid(c.relowner),
  'quoted', jsonb_build_object('relation', format('%I.%I', n.nspname, c.relname),
    'schema', quote_ident(n.nspname), 'role', quote_ident(r.rolname), 'columns', a.quoted),
  'hasSchemaUsage', has_schema_privilege(r.oid, n.oid, 'USAGE'),
  'key', coalesce((
    select jsonb_agg(k.attname) from pg_index i
      join pg_attribute k on k.attrelid = i.indrelid and k.attnum = any (i.indkey)
    where i.indrelid = c.oid and i.indisprimary), '[]'),
  'columnsRead', case when s.depth > 0 then (
    select coalesce(jsonb_agg(distinct k.attname), '[]') from pg_depend d
      join pg_attribute k on k.attrelid = d.refobjid and k.attnum = d.refobjsubid and k.attnum > 0
    where d.classid = 'pg_rewrite'::regclass and d.objid = s.rule and d.refobjid = c.oid) end,
  'granted', a.granted, 'mayDelete', has_table_privilege(r.oid, c.oid, 'DELETE'),
  'arePoliciesApplied', c.relrowsecurity and not (r.rolsuper or r.rolbypassrls)
    and (c.relforcerowsecurity or not pg_has_role(r.oid, c.relowner, 'USAGE')),
  'policies', coalesce((
    select jsonb_agg(jsonb_build_object(
      'name', p.polname, 'command', p.polcmd, 'isPermissive', p.polpermissive,
      'using', pg_get_expr(p.polqual, c.oid), 'check', pg_get_expr(p.polwithcheck, c.oid),
      'columns', (
        select coalesce(jsonb_agg(distinct k.attname), '[]') from pg_depend d
          join pg_attribute k on k.attrelid = d.refobjid and k.attnum = d.refobjsubid
        where d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refobjid = c.oid
          and k.attnum > 0)
    ) order by p.polpermissive desc, p.polname)
    from pg_policy p
    where p.polrelid = c.oid and (p.polroles = '{0}' or exists (
      select from unnest(p.polroles) x where pg_has_role(r.oid, x, 'USAGE')))), '[]'),
  'defaults', coalesce((
    select jsonb_object_agg(k.attname, pg_get_expr(e.adbin, e.adrelid)) from pg_attrdef e
      join pg_attribute k on k.attrelid = e.adrelid and k.attnum = e.adnum
    where e.adrelid = c.oid and k.attgenerated = '' and not exists (
      select from pg_depend d join pg_proc f on f.oid = d.refobjid
      where d.classid = 'pg_attrdef'::regclass and d.objid = e.oid
        and d.refclassid = 'pg_proc'::regclass and f.provolatile = 'v')
      and pg_get_expr(e.adbin, e.adrelid) !~ 'nextval\\(' ), '{}')
) order by s.depth, n.nspname, c.relname), '[]')::text
from steps s join pg_class c on c.oid = s.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
  join pg_namespace n on n.oid = c.relnamespace join pg_roles r on r.oid = s.role
  cross join lateral (
    select jsonb_object_agg(k.attname, quote_ident(k.attname)) as quoted,
      jsonb_build_object('select', ${having("SELECT")}, 'insert', ${having("INSERT")},
        'update', ${having("UPDATE")}) as granted
    from pg_attribute k where k.attrelid = c.oid and k.attnum > 0 and not k.attisdropped
  ) a`;
  return { ...compile(query), use: "rows" };
}

/** Renders the columns `k` on which the role has a privilege. */
function having(privilege: string): Sql {
  return sql`coalesce(jsonb_agg(k.attname order by k.attnum) filter (
    where has_column_privilege(r.oid, c.oid, k.attnum, ${param(privilege)})), '[]')`;
}

/** The privilege of a role on a function. */
export interface RoutineFacts {
  /** Name and types as SQL. */
  readonly name: string;
  readonly role: string;
  readonly mayExecute: boolean;
  /** The role that a SECURITY DEFINER function runs as; null for others. */
  readonly definer: string | null;
}

/** Returns the query for {@linkcode RoutineFacts} as JSON. */
export function routineFactsStatement(
  { schema, name, parameters }: Routine,
  role: string,
): Statement {
  const types = parameters.map(({ type }) => type).join(", ");
  const query = sql`
select jsonb_build_object('name', p.oid::regprocedure, 'role', quote_ident(r.rolname),
  'mayExecute', has_function_privilege(r.oid, p.oid, 'EXECUTE'),
  'definer', case when p.prosecdef then pg_get_userbyid(p.proowner) end)::text
from pg_proc p join pg_namespace n on n.oid = p.pronamespace, pg_roles r
where n.nspname = ${param(schema)} and p.proname = ${param(name)}
  and oidvectortypes(p.proargtypes) = ${param(types)} and r.rolname = ${param(role)}`;
  return { ...compile(query), use: "rows" };
}
