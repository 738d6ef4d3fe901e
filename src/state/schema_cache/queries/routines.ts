/** Reads functions: of the exposed schemas, for calls by name and for relationships, and
 * functions that PostgreSQL finds for `row.name`. @module */
import { domainBases } from "./relations.ts";

/** An input parameter in a row of {@linkcode routinesQuery}. */
export type ParameterRow = readonly [
  name: string,
  type: string,
  required: boolean,
  variadic: boolean,
  /** Type below all domains; null or missing if the type is not a domain. */
  baseType?: string | null,
];

/** A row of {@linkcode routinesQuery}. If the result is a domain, the type is its base type. */
export type RoutineRow = readonly [
  schema: string,
  name: string,
  comment: string | null,
  parameters: readonly ParameterRow[],
  returnsSet: boolean,
  returnsComposite: boolean,
  returnsVoid: boolean,
  typeSchema: string,
  typeName: string,
  /** True if the result type is the row type of a table or view. */
  returnsRelation: boolean,
  volatility: string,
  /** Settings of the function, as `name=value`. */
  settings: readonly string[] | null,
  /** Name of the result type if it is a domain; null otherwise. */
  domain: string | null,
  /** Names of the result's columns; null for rows of a relation and for other results. */
  columns: readonly string[] | null,
];

/**
 * Parameters: exposed schemas as `regnamespace[]`. The query omits procedures, aggregates, window
 * functions and trigger functions, and functions whose unnamed parameters a request cannot supply.
 */
export const routinesQuery = `
with recursive ${domainBases}
select json_build_array(
  n.nspname, p.proname, d.description, coalesce(inputs.list, '[]'::json), p.proretset,
  base.typtype = 'c' or coalesce(p.proargmodes && '{t,b,o}', false), p.prorettype = 'void'::regtype,
  bn.nspname, base.typname, row_of.oid is not null, p.provolatile, to_json(p.proconfig),
  (select t.typname from pg_type t where t.oid = domain.oid),
  case
    when p.proargmodes && '{t,b,o}' then (
      select json_agg(coalesce(u.name, '') order by u.place)
      from unnest(p.proargnames, p.proargmodes) with ordinality u (name, mode, place)
      where u.mode in ('t', 'b', 'o')
    )
    when base.typtype = 'c' and row_of.oid is null then (
      select json_agg(a.attname order by a.attnum)
      from pg_attribute a
      where a.attrelid = base.typrelid and a.attnum > 0 and not a.attisdropped
    )
  end
)::text
from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  left join domain_bases domain on domain.oid = p.prorettype
  join pg_type base on base.oid = coalesce(domain.base, p.prorettype)
  join pg_namespace bn on bn.oid = base.typnamespace
  left join pg_class row_of
    on row_of.oid = base.typrelid and row_of.relkind in ('r', 'p', 'v', 'm', 'f')
  left join pg_description d
    on d.classoid = 'pg_proc'::regclass and d.objoid = p.oid and d.objsubid = 0
  cross join lateral (
    select
      json_agg(json_build_array(
        i.name, format_type(i.type, null), i.position <= p.pronargs - p.pronargdefaults,
        coalesce(i.mode = 'v', false),
        (select format_type(d.base, null) from domain_bases d where d.oid = i.type)
      ) order by i.position) as list,
      array_agg(i.type) filter (where i.name = '') as unnamed
    from (
      select coalesce(u.name, '') as name, u.type, u.mode, row_number() over (order by u.place) as position
      from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames, p.proargmodes)
        with ordinality u (type, name, mode, place)
      where u.type is not null and coalesce(u.mode, 'i') in ('i', 'b', 'v')
    ) i
  ) inputs
where p.pronamespace = any ($1::regnamespace[]) and p.prokind = 'f'
  and p.prorettype <> 'trigger'::regtype
  and (
    inputs.unnamed is null
    or cardinality(inputs.unnamed) = 1 and inputs.unnamed[1] in (
      'bytea'::regtype, 'json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'xml'::regtype
    )
  )`;

/** A function that takes a row of one relation and returns rows of another. */
export type ComputedRow = readonly [
  schema: string,
  name: string,
  origin: number,
  foreign: number,
  toOne: boolean,
];

/** Parameters: exposed schemas as `regnamespace[]`. Relations have their oid. */
export const computedRelationshipsQuery = `
select coalesce(json_agg(json_build_array(
  n.nspname, p.proname, origin.typrelid::int8, result.typrelid::int8,
  not p.proretset or p.prorows = 1
)), '[]')::text
from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  join pg_type origin on origin.oid = p.proargtypes[0] and origin.typtype = 'c'
  join pg_type result on result.oid = p.prorettype and result.typtype = 'c'
where p.pronamespace = any ($1::regnamespace[]) and p.prokind = 'f' and p.pronargs = 1`;

/** A row function. `schema` and `relation` are null if it takes rows of several relations. */
export type RowFunctionRow = readonly [
  name: string,
  schema: string | null,
  relation: string | null,
  /** Null if the comment cannot contain a tag. */
  comment: string | null,
];

/**
 * Parameters: the exposed schemas and `db-extra-search-path` as `regnamespace[]`.
 *
 * A function of a relation that has children takes their rows, too, so it applies to all relations.
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
