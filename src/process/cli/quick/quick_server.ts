/** The data of a database on which the defaults of quick mode depend. @module */
import { metadataTransaction, type Statement } from "../../../database/transaction.ts";
import type { Database } from "../../../database/database.ts";
import { compile, param, sql } from "../../../base/sql/fragment.ts";
import type { SchemaSize } from "../../../state/schema_cache/likely_schema.ts";
import { schemaContents } from "../../../state/schema_cache/queries/schema_contents.ts";

/** A schema with relations or functions that do not belong to an extension. */
export interface FilledSchema extends SchemaSize {
  /** Number of tables and views that the login role owns. */
  readonly owned: number;
}

/** A role that may run requests without a token. */
export interface AnonymousCandidate {
  readonly name: string;
  /** Schemas on which the role has the privilege USAGE. */
  readonly schemas: readonly string[];
}

/** Data of a database and the role that logs in. */
export interface QuickServer {
  readonly database: string;
  /** PostgreSQL's `server_version`. */
  readonly version: string;
  /** The role that logs in. */
  readonly user: string;
  readonly isSuperuser: boolean;
  readonly bypassesRls: boolean;
  /** Whether the server is a standby. */
  readonly isStandby: boolean;
  /** Whether `default_transaction_read_only` is on for the login role. */
  readonly isReadOnly: boolean;
  /** In alphabetical order. */
  readonly schemas: readonly FilledSchema[];
  /**
   * Roles named `web_anon` and `anon` that the login role may take, without those that bypass
   * row-level security.
   */
  readonly candidates: readonly AnonymousCandidate[];
  /** Whether the login role may set the role of an option; null if the option is unset or the role
   * does not exist. */
  readonly maySetAnonRole: boolean | null;
}

/** Reads the data. Rejects if the database is unreachable. */
export async function readQuickServer(
  database: Database,
  anonRole: string | null,
): Promise<QuickServer> {
  const text = await readText(database, { text: serverQuery, params: [anonRole], use: "rows" });
  return JSON.parse(text ?? "");
}

/** Returns a relation of a schema that a role may read: the largest table, otherwise a view, otherwise null. */
export function readExample(
  database: Database,
  { schema, role }: { readonly schema: string; readonly role: string },
): Promise<string | null> {
  const query = sql`
select c.relname::pg_catalog.text from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = ${param(schema)} and c.relkind in ('r', 'p', 'v', 'm', 'f')
  and not c.relispartition and pg_catalog.has_table_privilege(${param(role)}, c.oid, 'select')
order by c.relkind in ('r', 'p') desc,
  greatest(c.reltuples, pg_catalog.pg_stat_get_live_tuples(c.oid)) desc, c.relname
limit 1`;
  return readText(database, { ...compile(query), use: "rows" });
}

async function readText(database: Database, statement: Statement): Promise<string | null> {
  const { rows } = await database.transaction(metadataTransaction([statement]));
  return rows.at(-1)?.[0]?.[0] ?? null;
}

const serverQuery = `
with ${schemaContents}, schema as (
  select * from contents where relations + functions > 0
), setting as (
  select case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end
    as privilege
), anonymous as (
  select json_build_object('name', r.rolname, 'schemas', (
      select coalesce(json_agg(n.name), '[]') from schema n
      where pg_catalog.has_schema_privilege(r.oid, n.oid, 'usage')
    )) as role
  from pg_catalog.pg_roles r
  where r.rolname in ('web_anon', 'anon') and not r.rolsuper and not r.rolbypassrls
    and pg_catalog.pg_has_role(r.oid, (select privilege from setting))
)
select json_build_object(
  'database', current_database(), 'version', split_part(current_setting('server_version'), ' ', 1),
  'user', current_user, 'isSuperuser', login.rolsuper, 'bypassesRls', login.rolbypassrls,
  'isStandby', pg_catalog.pg_is_in_recovery(),
  'isReadOnly', (select reset_val = 'on' from pg_catalog.pg_settings
    where name = 'default_transaction_read_only'),
  'schemas', (select coalesce(json_agg(json_build_object('name', name,
    'relations', relations, 'functions', functions, 'owned', owned) order by name), '[]') from schema),
  'maySetAnonRole', (select pg_catalog.pg_has_role(r.oid, (select privilege from setting))
    from pg_catalog.pg_roles r where r.rolname = $1),
  'candidates', (select coalesce(json_agg(role), '[]') from anonymous)
)::text
from pg_catalog.pg_roles login where login.rolname = current_user`;
