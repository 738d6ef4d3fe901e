/** Reads what `svc init` needs to know: schemas, roles, relations of the chosen schemas. @module */
import { readJson } from "../../../database/read_rows.ts";
import type { Database } from "../../../database/database.ts";
import { refersToUser } from "../diagnosis/queries/user_columns.ts";
import type { SchemaSize } from "../../../state/schema_cache/likely_schema.ts";
import { isNotOfExtension } from "../../../state/schema_cache/queries/extensions.ts";
import { schemaContents } from "../../../state/schema_cache/queries/schema_contents.ts";

/** Default name of the login role. */
export const usualLoginRole = "authenticator";

export interface ServerFacts {
  readonly database: string;
  /** Whether the user is a superuser or has CREATEROLE. */
  readonly createsRoles: boolean;
  /** Roles whose names begin with the name of the usual login role. */
  readonly loginRoles: readonly string[];
  /** User-defined schemas; schemas with relations or functions come first. */
  readonly schemas: readonly SchemaSize[];
}

/** A role that exists. */
export interface RoleFacts {
  readonly name: string;
  readonly inherits: boolean;
  /** Whether the login role may set the role. */
  readonly isGranted: boolean;
}

/** A relation on which privileges may be granted. */
export interface RelationFacts {
  readonly schema: string;
  readonly name: string;
  /** The name; with its schema if several schemas are chosen. */
  readonly label: string;
  /** Schema and name, quoted for SQL. */
  readonly sql: string;
  /** Whether requests can write the relation. */
  readonly isWritable: boolean;
  /** Sequences in defaults of the columns, quoted for SQL. */
  readonly sequences: readonly string[];
  /** Columns that may contain the claim `sub` of a row's owner; empty for views and tables with policies. */
  readonly ownerColumns: readonly OwnerColumn[];
}

/** A column of text, numbers or UUIDs. */
export interface OwnerColumn {
  readonly name: string;
  /** Quoted for SQL. */
  readonly sql: string;
  /** Type to which the claim is cast. */
  readonly type: string;
  readonly hasDefault: boolean;
  /** Whether the column's name or foreign key suggests that it refers to a user. */
  readonly refersToUser: boolean;
}

export interface FunctionFacts {
  /** Name and argument types, quoted for SQL. */
  readonly sql: string;
  /** Whether a policy, a view, a default or a constraint calls the function with the caller's rights. */
  readonly isUsed: boolean;
}

/** A role that owns a schema or objects in it. */
export interface OwnerFacts {
  /** Quoted for SQL. */
  readonly sql: string;
  /** Whether the connected role has the owner's privileges, and may change the owner's default privileges. */
  readonly isOurs: boolean;
}

/** The state of the database on which the SQL depends. */
export interface TargetFacts {
  readonly version: number;
  /** Chosen schemas that do not exist. */
  readonly missingSchemas: readonly string[];
  readonly relations: readonly RelationFacts[];
  /** Number of functions that PUBLIC may call. */
  readonly publicFunctions: number;
  readonly functions: readonly FunctionFacts[];
  /** Owners of the schemas, their relations and their functions. */
  readonly owners: readonly OwnerFacts[];
  /** Schemas in which PUBLIC may create objects. */
  readonly openSchemas: readonly string[];
  readonly roles: readonly RoleFacts[];
  /** The names of roles and schemas, quoted for SQL where that is needed. */
  readonly quoted: Readonly<Record<string, string>>;
}

export interface TargetNames {
  /** At least one schema. Requests that name no schema use the first. */
  readonly schemas: readonly string[];
  readonly loginRole: string;
  readonly anonRole: string;
  /** Role of requests with a token, or null. */
  readonly userRole: string | null;
}

/** Reads the server and its schemas. Rejects if the database cannot be reached. */
export async function readServer(database: Database): Promise<ServerFacts> {
  return await readJson(database, { text: serverQuery, params: [], use: "rows" });
}

export async function readTarget(
  database: Database,
  { schemas, loginRole, anonRole, userRole }: TargetNames,
): Promise<TargetFacts> {
  const roles = [loginRole, anonRole, ...(userRole === null ? [] : [userRole])];
  const params = [JSON.stringify(schemas), JSON.stringify(roles), loginRole];
  return await readJson(database, { text: targetQuery, params, use: "rows" });
}

const serverQuery = `
with ${schemaContents}
select json_build_object(
  'database', current_database(),
  'createsRoles', (
    select r.rolsuper or r.rolcreaterole from pg_roles r where r.rolname = current_user
  ),
  'loginRoles', (
    select coalesce(json_agg(r.rolname), '[]') from pg_roles r
    where starts_with(r.rolname, '${usualLoginRole}')
  ),
  'schemas', (
    select coalesce(json_agg(s order by s.relations + s.functions = 0, s.name), '[]')
    from (select name, relations, functions from contents) s
  )
)::text`;

const targetQuery = `
with names as (
  select name, place from json_array_elements_text($1::json) with ordinality n (name, place)
),
schema as (select n.*, place from pg_namespace n join names on name = n.nspname),
relations as (
  select c.oid, c.relname, s.nspname, place, format('%I.%I', s.nspname, c.relname) as sql,
    c.relkind in ('r', 'p') or c.relkind in ('v', 'f') and pg_relation_is_updatable(c.oid, true) <> 0
      as writable
  from pg_class c join schema s on s.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and ${isNotOfExtension("pg_class", "c")}
),
functions as (
  select p.oid, p.proowner, p.proacl,
    format('%I.%I(%s)', s.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) as sql
  from pg_proc p join schema s on s.oid = p.pronamespace
  where p.prokind = 'f' and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
    and ${isNotOfExtension("pg_proc", "p")}
),
owners as (
  select s.nspowner as oid from schema s
  union select c.relowner from pg_class c join relations r on r.oid = c.oid
  union select f.proowner from functions f
),
-- The role pg_database_owner owns nothing: its only member, the database's owner, does.
creators as (
  select distinct r.oid, r.rolname
  from owners o join pg_roles n on n.oid = o.oid
    join pg_roles r on r.oid = case n.rolname when 'pg_database_owner'
      then (select d.datdba from pg_database d where d.datname = current_database())
      else n.oid end
)
select json_build_object(
  'version', current_setting('server_version_num')::int,
  'missingSchemas', (
    select coalesce(json_agg(name order by place), '[]') from names
    where name not in (select nspname from schema)
  ),
  'relations', (
    select coalesce(json_agg(json_build_object(
      'schema', r.nspname,
      'name', r.relname,
      'label', case when json_array_length($1::json) > 1 then r.nspname || '.' else '' end || r.relname,
      'sql', r.sql,
      'isWritable', r.writable,
      'sequences', (
        select coalesce(json_agg(distinct format('%I.%I', n.nspname, q.relname)), '[]')
        from pg_attrdef d
          join pg_depend p on p.classid = 'pg_attrdef'::regclass and p.objid = d.oid
            and p.refclassid = 'pg_class'::regclass
          join pg_class q on q.oid = p.refobjid and q.relkind = 'S'
          join pg_namespace n on n.oid = q.relnamespace
        where d.adrelid = r.oid
      ),
      'ownerColumns', (
        select coalesce(json_agg(json_build_object(
          'name', a.attname,
          'sql', quote_ident(a.attname),
          'type', format_type(coalesce(nullif(t.typbasetype, 0), t.oid), null),
          'hasDefault', a.atthasdef or a.attidentity <> '',
          'refersToUser', ${refersToUser("a")}
        ) order by a.attnum), '[]')
        from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid
        where c.oid = r.oid and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
          and a.attgenerated = '' and not exists (select from pg_policy p where p.polrelid = c.oid)
          and coalesce(nullif(t.typbasetype, 0), t.oid) in ('text'::regtype, 'varchar'::regtype, 'uuid'::regtype, 'int'::regtype, 'bigint'::regtype)
      )
    ) order by r.place, r.relname), '[]') from relations r
  ),
  'publicFunctions', (
    select count(*) from functions f
    where exists (
      select from aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
      where a.grantee = 0
    )
  ),
  'functions', (
    select coalesce(json_agg(json_build_object('sql', f.sql, 'isUsed', exists(
      select from pg_depend d where d.refclassid = 'pg_proc'::regclass and d.refobjid = f.oid
        and d.classid in ('pg_policy'::regclass, 'pg_rewrite'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass)
    )) order by f.sql), '[]') from functions f
  ),
  'owners', (
    select coalesce(json_agg(json_build_object(
      'sql', quote_ident(c.rolname),
      'isOurs', pg_has_role(c.oid, 'usage')
    ) order by c.rolname), '[]') from creators c
  ),
  'openSchemas', (
    select coalesce(json_agg(s.nspname order by s.place), '[]') from schema s where exists (
      select from aclexplode(s.nspacl) a where a.grantee = 0 and a.privilege_type = 'CREATE'
    )
  ),
  'roles', (
    select coalesce(json_agg(json_build_object(
      'name', r.rolname,
      'inherits', r.rolinherit,
      'isGranted', coalesce((
        select pg_has_role(l.oid, r.oid,
          case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end)
        from pg_roles l where l.rolname = $3::text
      ), false)
    )), '[]')
    from pg_roles r where r.rolname in (select json_array_elements_text($2::json))
  ),
  'quoted', (
    select json_object_agg(name, quote_ident(name))
    from (select name from names union select json_array_elements_text($2::json)) names
  )
)::text`;
