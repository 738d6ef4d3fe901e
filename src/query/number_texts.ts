/** Renders numbers as texts, which become JSON strings (`Prefer: numbers=string`). @module */
import type { NumberKind } from "../plan/read_node.ts";
import { ident, join, type Sql, sql } from "../sql/fragment.ts";
import type { Output } from "./output.ts";

const row = ident("svc_numbers");

export function withNumberTexts(query: Sql, outputs: readonly Output[]): Sql {
  const isNamed = outputs.every(({ key }) => key !== null);
  if (!isNamed || outputs.every(({ number }) => number === undefined)) return query;
  // Two output columns may have one key.
  const names = outputs.map((_, position) => ident(`n${position + 1}`));
  const rows = sql`(${query}) as ${row}(${join(names)})`;
  // OFFSET 0 makes PostgreSQL compute a value once that the conversion reads several times.
  const isRepeated = outputs.some(({ number }) => number === "unknown");
  const source = isRepeated ? sql`(select * from ${rows} offset 0) as ${row}` : rows;
  const columns = outputs.map(({ key, number }, position) =>
    sql`${numberAsText(sql`${row}.${names[position]!}`, number)} as ${ident(key!)}`
  );
  return sql`select ${join(columns)} from ${source}`;
}

/** Renders one value. PostgreSQL decides about a value of unknown type. */
export function numberAsText(value: Sql, kind: NumberKind | undefined): Sql {
  switch (kind) {
    case undefined:
      return value;
    case "number":
      return sql`cast(${value} as pg_catalog.text)`;
    case "array":
      return sql`cast(${value} as pg_catalog.text[])`;
    case "unknown":
      return sql`case when pg_catalog.pg_typeof(${value})::oid = any (array(${numberTypes})) then pg_catalog.to_json(cast(${value} as pg_catalog.text)) when pg_catalog.pg_typeof(${value})::oid = any (array(${arrayTypes})) then pg_catalog.to_json(cast(cast(${value} as pg_catalog.text) as pg_catalog.text[])) else pg_catalog.to_json(${value}) end`;
    default:
      return kind satisfies never;
  }
}

const numberTypes: Sql = withDomains(
  sql`select oid from pg_catalog.pg_type where typnamespace = 'pg_catalog'::regnamespace and typname in ('int8', 'numeric')`,
);

const arrayTypes: Sql = withDomains(
  sql`select typarray from pg_catalog.pg_type where typarray <> 0 and oid in (${numberTypes})`,
);

function withDomains(types: Sql): Sql {
  return sql`with recursive svc_types(oid) as (${types} union select svc_domain.oid from pg_catalog.pg_type as svc_domain join svc_types on svc_domain.typbasetype = svc_types.oid) select oid from svc_types`;
}
