/**
 * The statement that asks what a description of a schema depends on beside the schema cache: the
 * schema's comment, and what the role may use.
 *
 * @module
 */
import type { Statement } from "../database/database.ts";
import { compile, param, type Sql, sql } from "../sql/fragment.ts";

/** What is asked. */
export interface SchemaMetadataRequest {
  readonly schema: string;
  /** Whether to ask what the role may use. */
  readonly followPrivileges: boolean;
}

/** The statement's only value, parsed. Without privileges there is nothing but the comment. */
export interface SchemaMetadata {
  readonly comment: string | null;
  /** Names of relations of which the role may use anything. */
  readonly relations?: readonly string[];
  /** Names of functions without overloads that the role may execute. */
  readonly functions?: readonly string[];
  /** Other functions that it may execute, with the types of their parameters in the search path. */
  readonly overloads?: readonly (readonly [name: string, types: readonly string[]])[];
  /** Types of parameters, qualified, that the search path finds by their bare name. */
  readonly visibleTypes?: readonly string[];
}

/** One row with one text column, the JSON of {@linkcode SchemaMetadata}; no row without the schema. */
export function schemaMetadataQuery(
  { schema, followPrivileges }: SchemaMetadataRequest,
): Statement {
  const facts = followPrivileges ? sql`${comment}, ${permitted}` : comment;
  const statement =
    sql`select pg_catalog.json_build_object(${facts})::text from pg_catalog.pg_namespace n where n.nspname = ${
      param(schema)
    }::name`;
  return { ...compile(statement), use: "rows" };
}

const comment: Sql = sql`'comment', pg_catalog.obj_description(n.oid, 'pg_namespace')`;

const relations: Sql = sql`(
  select coalesce(pg_catalog.json_agg(c.relname order by c.relname), '[]')
  from pg_catalog.pg_class c
  where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not c.relispartition
    and (
      pg_catalog.pg_has_role(c.relowner, 'USAGE')
      or pg_catalog.has_table_privilege(
        c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER'
      )
      or pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
    )
)`;

/** Aliased `p`; the number of functions of the same name counts those that are not permitted, too. */
const functions: Sql = sql`(
  select f.oid, f.proname, f.proargtypes,
    pg_catalog.count(*) over (partition by f.proname) > 1 as overloaded
  from pg_catalog.pg_proc f
  where f.pronamespace = n.oid and f.prokind = 'f'
) p where pg_catalog.has_function_privilege(p.oid, 'EXECUTE')`;

const parameterTypes: Sql = sql`(
  select coalesce(
    pg_catalog.json_agg(pg_catalog.format_type(a.type, null) order by a.place), '[]'
  )
  from pg_catalog.unnest(p.proargtypes) with ordinality a (type, place)
)`;

/** Of arrays the type of the elements counts. */
const visibleTypes: Sql = sql`(
  select coalesce(pg_catalog.json_agg(
    pg_catalog.quote_ident(e.nspname) || '.' || pg_catalog.quote_ident(t.typname)
    order by e.nspname, t.typname
  ), '[]')
  from pg_catalog.pg_type t join pg_catalog.pg_namespace e on e.oid = t.typnamespace
  where e.nspname <> 'pg_catalog' and pg_catalog.pg_type_is_visible(t.oid) and t.oid in (
    select case a.typcategory when 'A' then a.typelem else a.oid end
    from pg_catalog.pg_proc f
      join pg_catalog.pg_type a on a.oid = any (f.proargtypes::oid[])
    where f.pronamespace = n.oid and f.prokind = 'f'
  )
)`;

const permitted: Sql = sql`'relations', ${relations}, 'functions', (
  select coalesce(pg_catalog.json_agg(p.proname order by p.proname), '[]')
  from ${functions} and not p.overloaded
), 'overloads', (
  select coalesce(pg_catalog.json_agg(
    pg_catalog.json_build_array(p.proname, ${parameterTypes}) order by p.oid
  ), '[]')
  from ${functions} and p.overloaded
), 'visibleTypes', ${visibleTypes}`;
