/** Reads the functions that PostgreSQL finds for `row.name`. @module */

/** A function in the result of {@linkcode rowFunctionsQuery}; null for rows of several relations. */
export type RowFunctionRow = readonly [
  name: string,
  schema: string | null,
  relation: string | null,
  /** Null without a comment that may have a tag. */
  comment: string | null,
];

/**
 * Parameters: the exposed schemas and `db-extra-search-path` as `regnamespace[]`.
 *
 * A function of a relation that has children takes their rows too, so it counts for all relations.
 */
export const rowFunctionsQuery = `
select coalesce(json_agg(
  json_build_array(f.name, f.schema, f.relation, f.comment)
  order by f.name, f.schema, f.relation, f.comment
), '[]')::text
from (
  select distinct p.proname as name,
    case when not c.relhassubclass then n.nspname end as schema,
    case when not c.relhassubclass then c.relname end as relation,
    case when d.description like '%@%' then d.description end as comment
  from pg_proc p
    join pg_type t on t.oid = p.proargtypes[0]
    left join pg_class c on c.oid = t.typrelid and c.relkind in ('r', 'p', 'v', 'm', 'f')
    left join pg_namespace n on n.oid = c.relnamespace
    left join pg_description d
      on d.classoid = 'pg_proc'::regclass and d.objoid = p.oid and d.objsubid = 0
  where p.pronargs > 0 and p.pronargs - p.pronargdefaults <= 1
    and (
      p.pronamespace = any ($1::regnamespace[]) and p.prokind in ('f', 'a')
      or p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f'
    )
    and (
      c.oid is not null
      or t.oid in (
        'record'::regtype, '"any"'::regtype, 'anyelement'::regtype, 'anynonarray'::regtype
      )
      or t.typname in ('anycompatible', 'anycompatiblenonarray')
        and t.typnamespace = 'pg_catalog'::regnamespace
    )
) f`;
