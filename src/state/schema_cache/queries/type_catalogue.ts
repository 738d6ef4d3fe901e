/** Reads enums, composite types, domains and function results. Generated clients need these types,
 * which the schema cache lacks. @module */

type TypedName = readonly [name: string, type: string];

/** Types of columns, parameters and results. The texts of types are outputs of `format_type`. */
export interface TypeCatalogue {
  readonly enums: readonly (readonly [
    schema: string,
    name: string,
    text: string,
    labels: readonly string[],
  ])[];
  /** Composite types, including the row types of relations. */
  readonly composites: readonly (readonly [
    schema: string,
    name: string,
    text: string,
    isRelation: boolean,
    attributes: readonly TypedName[],
  ])[];
  /** Domains and their base types. */
  readonly domains: readonly (readonly [text: string, base: string])[];
  readonly results: readonly (readonly [
    schema: string,
    name: string,
    parameterTypes: readonly string[],
    type: string,
    /** Columns of OUT, INOUT and TABLE parameters. */
    columns: readonly TypedName[],
    isSet: boolean,
    /** True if the result has one row at most: not a set, or a set declared with `ROWS 1`. */
    isToOne: boolean,
  ])[];
  /** Columns of views that INSERT and UPDATE cannot assign. */
  readonly readOnlyColumns: readonly (readonly [
    schema: string,
    view: string,
    columns: readonly string[],
  ])[];
}

/** Parameters: exposed schemas as `regnamespace[]`. The search path must be empty. */
export const typeCatalogueQuery = `
with types as (
  select t.oid, t.typtype, t.typrelid, t.typbasetype, n.nspname, t.typname,
    format_type(t.oid, null) as text, n.oid = any ($1::regnamespace[]) as exposed
  from pg_type t join pg_namespace n on n.oid = t.typnamespace
)
select json_build_object(
  'enums', coalesce((
    select json_agg(json_build_array(t.nspname, t.typname, t.text, (
      select json_agg(enumlabel order by enumsortorder) from pg_enum where enumtypid = t.oid
    )) order by t.nspname, t.typname)
    from types t where t.typtype = 'e'
  ), '[]'),
  'composites', coalesce((
    select json_agg(json_build_array(t.nspname, t.typname, t.text, c.relkind <> 'c', (
      select coalesce(
        json_agg(json_build_array(a.attname, format_type(a.atttypid, null)) order by a.attnum), '[]'
      )
      from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    )) order by t.nspname, t.typname)
    from types t join pg_class c on c.oid = t.typrelid
    where t.typtype = 'c' and t.exposed and c.relkind in ('c', 'r', 'v', 'm', 'f', 'p')
  ), '[]'),
  'domains', coalesce((
    select json_agg(json_build_array(t.text, format_type(t.typbasetype, null)))
    from types t where t.typtype = 'd'
  ), '[]'),
  'results', coalesce((
    select json_agg(json_build_array(
      n.nspname, p.proname,
      (
        select coalesce(json_agg(format_type(a.type, null) order by a.place), '[]')
        from unnest(p.proargtypes) with ordinality a (type, place)
      ),
      format_type(p.prorettype, null),
      (
        select coalesce(json_agg(
          json_build_array(coalesce(a.name, ''), format_type(a.type, null)) order by a.place
        ), '[]')
        from unnest(p.proallargtypes, p.proargnames, p.proargmodes)
          with ordinality a (type, name, mode, place)
        where a.mode in ('o', 'b', 't')
      ),
      p.proretset, not p.proretset or p.prorows = 1
    ) order by n.nspname, p.proname, p.oid)
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.oid = any ($1::regnamespace[]) and p.prokind = 'f'
  ), '[]'),
  'readOnlyColumns', coalesce((
    select json_agg(json_build_array(v.nspname, v.relname, v.columns))
    from (
      select n.nspname, c.relname, json_agg(a.attname order by a.attnum) as columns
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where n.oid = any ($1::regnamespace[]) and c.relkind = 'v'
        and pg_relation_is_updatable(c.oid, true) & 28 = 28
        and not pg_column_is_updatable(c.oid, a.attnum, true)
      group by n.nspname, c.relname
    ) v
  ), '[]')
)::text`;
