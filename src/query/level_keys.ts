/**
 * Renders how the statements of a nested insert pass the keys of written rows on: as JSON, in settings of the
 * transaction.
 *
 * @module
 */
import type { InsertLevel } from "../plan/insert_level.ts";
import { catalogueSql, emptySql, ident, join, literal, type Sql, sql } from "../sql/fragment.ts";

/** Name of the setting that has the body. */
export const bodySetting: Sql = literal("svc.body");
/** Table of the rows to insert. */
export const sentRows: Sql = ident("svc_rows");
/** Table of the rows that an insert returns. */
export const writtenRows: Sql = ident("svc_source");
/** Table of the keys to keep: the number `n` of each row, that of the row around (`p`), and its keys as texts. */
export const keptKeys: Sql = ident("svc_keys");

function settingOf(level: number): Sql {
  return literal(`svc.level_${level}`);
}

/** Renders the keys that a level has kept as a FROM item, with the columns of {@linkcode keptKeys}. */
export function levelRows(level: InsertLevel, number: number, alias: Sql): Sql {
  const texts = level.keys.map((_, position) => sql`, ${keyColumn(position)} text`);
  const setting = sql`pg_catalog.current_setting(${settingOf(number)}, true)`;
  const columns = sql`n bigint, p bigint, action text${join(texts, emptySql)}`;
  return sql`pg_catalog.json_to_recordset(${setting}::json) as ${alias}(${columns})`;
}

/** Renders a key of a written row in the type of its column. */
export function keyValue({ keys }: InsertLevel, alias: Sql, name: string): Sql {
  const position = keys.findIndex((key) => key.name === name);
  return sql`cast(${alias}.${keyColumn(position)} as ${catalogueSql(keys[position]!.type)})`;
}

/** Returns the column of a key, by its position. */
export function keyColumn(position: number): Sql {
  return ident(`k${position + 1}`);
}

/** Message of the error that a level raises if it wrote other rows than were sent. */
const lostRows = /"([0-9]+) sent, ([0-9]+) written"/;

/** Returns how many rows were sent and written if an error of PostgreSQL is about that; null for others. */
export function lostRowsOf(
  { sqlstate, message }: { readonly sqlstate: string; readonly message: string },
): { readonly sent: string; readonly written: string } | null {
  const found = sqlstate === "2203A" ? lostRows.exec(message) : null;
  return found === null ? null : { sent: found[1]!, written: found[2]! };
}

/** Renders the setting that keeps the keys of a level. */
export function keepKeys(level: number): Sql {
  const all = sql`select coalesce(pg_catalog.json_agg(${keptKeys}), '[]')::text from ${keptKeys}`;
  return sql`pg_catalog.set_config(${settingOf(level)}, (${all}), true)`;
}

const sentCount = sql`(select count(*) from ${sentRows})`;

/** Renders `select` of an expression, which fails if a table does not have as many rows as were sent. */
export function keepIfEqual(kept: Sql, table: Sql, sent: Sql = sentCount): Sql {
  // OFFSET 0 keeps PostgreSQL from counting several times.
  const counts =
    sql`(select ${sent} as sent, (select count(*) from ${table}) as written offset 0) as svc_counts`;
  // The message of the error carries both numbers.
  const message = sql`'strict $."' || sent || ' sent, ' || written || ' written"'`;
  const failure = sql`pg_catalog.jsonb_path_query_first('{}', cast(${message} as jsonpath))::text`;
  return sql`select from ${counts} where case when sent = written then ${kept} else ${failure} end is null`;
}
