/** Queries the comment of a schema, and the privileges of the role. @module */
import type { Statement } from "../../database/transaction.ts";
import type { PrivilegeDetail, RootPlan } from "../plan/root_plan.ts";
import { arrayLiteral } from "../../base/sql/array_literal.ts";
import { compile, param, type Sql, sql } from "../../base/sql/fragment.ts";

/** A relation, and whether the role may read, insert, update and delete its rows. */
export type RelationPrivileges = readonly [
  name: string,
  selects: boolean,
  inserts: boolean,
  updates: boolean,
  deletes: boolean,
];

/** Metadata of a schema. Without privileges, it has only the comment. */
export interface SchemaMetadata {
  readonly comment: string | null;
  /** With `privileges` = `any`: names of relations on which the role has any privilege. */
  readonly relations?: readonly string[];
  /** With `privileges` = `methods`: relations on which the role has any privilege, with the privileges. */
  readonly privileges?: readonly RelationPrivileges[];
  readonly functions?: readonly string[];
  /** Overloads, with parameter types relative to the search path. */
  readonly overloads?: readonly (readonly [name: string, types: readonly string[]])[];
  /** Qualified parameter types that the search path finds by their unqualified name. */
  readonly visibleTypes?: readonly string[];
}

/**
 * Returns the statement. Its result is one row with one text column, the JSON of {@linkcode
 * SchemaMetadata}; no row if the schema does not exist. With fallbacks, the JSON is an object with
 * the metadata of all schemas.
 */
export function schemaMetadataQuery(
  { schema, fallbacks, privileges }: Pick<RootPlan, "schema" | "fallbacks" | "privileges">,
): Statement {
  const members = privileges === "none"
    ? comment
    : sql`${comment}, ${relations[privileges]}, ${permittedFunctions}`;
  if (fallbacks.length > 0) {
    const names = param(arrayLiteral([schema, ...fallbacks]));
    const objects =
      sql`select pg_catalog.json_object_agg(n.nspname, pg_catalog.json_build_object(${members}))::pg_catalog.text
from pg_catalog.pg_namespace n where n.nspname = any (${names}::pg_catalog.name[])`;
    return { ...compile(objects), use: "rows" };
  }
  const statement =
    sql`select pg_catalog.json_build_object(${members})::pg_catalog.text from pg_catalog.pg_namespace n where n.nspname = ${
      param(schema)
    }::pg_catalog.name`;
  return { ...compile(statement), use: "rows" };
}

const comment: Sql = sql`'comment', pg_catalog.obj_description(n.oid, 'pg_namespace')`;

const relationsWithPrivilege: Sql = sql`
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
`;

/** Privileges by method. A privilege on one column suffices; `has_any_column_privilege` includes
 * privileges on the table. */
const privilegesOfMethods: Sql = sql`pg_catalog.json_build_array(
  c.relname,
  pg_catalog.has_any_column_privilege(c.oid, 'SELECT'),
  pg_catalog.has_any_column_privilege(c.oid, 'INSERT'),
  pg_catalog.has_any_column_privilege(c.oid, 'UPDATE'),
  pg_catalog.has_table_privilege(c.oid, 'DELETE')
)`;

const relations: Readonly<Record<Exclude<PrivilegeDetail, "none">, Sql>> = {
  any: sql`'relations', (
    select coalesce(pg_catalog.json_agg(c.relname order by c.relname), '[]') ${relationsWithPrivilege}
  )`,
  methods: sql`'privileges', (
    select coalesce(pg_catalog.json_agg(${privilegesOfMethods} order by c.relname), '[]')
    ${relationsWithPrivilege}
  )`,
};

/** Functions; `overloaded` also contains functions that the role may not execute. */
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

/** Types visible in the search path. For arrays, the element type decides. */
const visibleTypes: Sql = sql`(
  select coalesce(pg_catalog.json_agg(
    pg_catalog.quote_ident(e.nspname) || '.' || pg_catalog.quote_ident(t.typname)
    order by e.nspname, t.typname
  ), '[]')
  from pg_catalog.pg_type t join pg_catalog.pg_namespace e on e.oid = t.typnamespace
  where e.nspname <> 'pg_catalog' and pg_catalog.pg_type_is_visible(t.oid) and t.oid in (
    select case a.typcategory when 'A' then a.typelem else a.oid end
    from pg_catalog.pg_proc f
      join pg_catalog.pg_type a on a.oid = any (f.proargtypes::pg_catalog.oid[])
    where f.pronamespace = n.oid and f.prokind = 'f'
  )
)`;

const permittedFunctions: Sql = sql`'functions', (
  select coalesce(pg_catalog.json_agg(p.proname order by p.proname), '[]')
  from ${functions} and not p.overloaded
), 'overloads', (
  select coalesce(pg_catalog.json_agg(
    pg_catalog.json_build_array(p.proname, ${parameterTypes}) order by p.oid
  ), '[]')
  from ${functions} and p.overloaded
), 'visibleTypes', ${visibleTypes}`;
