/** Renders how keys of written rows are passed between the statements of a nested insert. They are
 * JSON in settings of the transaction. @module */
import type { DatabaseFailure } from "../../base/errors/service_error.ts";
import type { InsertLevel } from "../plan/write/insert_level.ts";
import {
  catalogueSql,
  emptySql,
  ident,
  join,
  literal,
  or,
  ownName,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import { raise, raisedDetail } from "../../base/sql/raise.ts";

export const bodySetting: Sql = literal("svc.body");
export const sentRows: Sql = ownName("rows");
export const writtenRows: Sql = ownName("source");
/** Table of stored keys: the number `n` of each row, the number `p` of its parent row, and its keys
 * as texts. */
export const keptKeys: Sql = ownName("keys");

/** The rows stored in a setting: all rows of a level, or the rows of the first or second attempt to insert. */
export type KeptRows = "level" | "inserted" | "repeated";

function settingOf(level: number, rows: KeptRows): Sql {
  return literal(`svc.${rows}_${level}`);
}

export function keptText(level: number, rows: KeptRows): Sql {
  return sql`pg_catalog.current_setting(${settingOf(level, rows)}, true)`;
}

/** Renders the stored keys of a level as a FROM item, with the columns of {@linkcode keptKeys}. */
export function levelRows(
  level: Pick<InsertLevel, "keys">,
  number: number,
  alias: Sql,
  rows: KeptRows = "level",
): Sql {
  const texts = level.keys.map((_, position) => sql`, ${keyColumn(position)} text`);
  const columns = sql`n bigint, p bigint, action text${join(texts, emptySql)}`;
  return sql`pg_catalog.json_to_recordset(${
    keptText(number, rows)
  }::pg_catalog.json) as ${alias}(${columns})`;
}

export function keyValue({ keys }: InsertLevel, alias: Sql, name: string): Sql {
  const position = keys.findIndex((key) => key.name === name);
  return sql`cast(${alias}.${keyColumn(position)} as ${catalogueSql(keys[position]!.type)})`;
}

export function keyColumn(position: number): Sql {
  return ident(`k${position + 1}`);
}

/** Detail of the error if rows of several levels need different values in a foreign key column. */
export const unequalRows = "unequal rows";

/** Renders the value of a column that several levels fill. It fails if their values differ. A level
 * without a row has NULL. */
export function sharedValue(values: readonly Sql[]): Sql {
  if (values.length === 1) return values[0]!;
  const differ = values.flatMap((one, position) =>
    values.slice(position + 1).map((other) => sql`${one} <> ${other}`)
  );
  const failure = sql`case when ${or(differ)} then ${raise(literal(unequalRows))} end`;
  return sql`case when ${failure} is null then coalesce(${join(values)}) end`;
}

/** Matches the detail of the error for a level that wrote more or fewer rows than were sent. */
const lostRows = /^([0-9]+) sent, ([0-9]+) written$/;

/** Returns how many rows were sent and written, from an error of PostgreSQL; null for other errors. */
export function lostRowsOf(
  error: DatabaseFailure,
): { readonly sent: string; readonly written: string } | null {
  const match = lostRows.exec(raisedDetail(error) ?? "");
  return match === null ? null : { sent: match[1]!, written: match[2]! };
}

/** Matches the detail of the error for a row of the body that matches no row of the table. */
const unfoundRow = /^row ([0-9]+) (empty|hidden|lost|skipped)$/;

/** Returns the unmatched row of the body (its number, from 1) and the reason, from an error of
 * PostgreSQL; null for other errors. */
export function unfoundRowOf(error: DatabaseFailure) {
  const [, row, reason] = unfoundRow.exec(raisedDetail(error) ?? "") ?? [];
  return row === undefined ? null : { row, reason };
}

export function keepRows(level: number, rows: KeptRows = "level", table: Sql = keptKeys): Sql {
  const all =
    sql`select coalesce(pg_catalog.json_agg(${table}), '[]')::pg_catalog.text from ${table}`;
  return keepText(level, rows, sql`(${all})`);
}

export function keepText(level: number, rows: KeptRows, text: Sql): Sql {
  return sql`pg_catalog.set_config(${settingOf(level, rows)}, ${text}, true)`;
}

const sentCount = sql`(select pg_catalog.count(*) from ${sentRows})`;

/** Renders a statement that evaluates `value`. It fails if `table` has more or fewer rows than were
 * sent. */
export function keepIfEqual(value: Sql, table: Sql, sent: Sql = sentCount): Sql {
  // OFFSET 0 keeps PostgreSQL from counting the rows for each use of the counts.
  const counts =
    sql`(select ${sent} as sent, (select pg_catalog.count(*) from ${table}) as written offset 0) as ${
      ownName("counts")
    }`;
  const failure = raise(sql`sent || ' sent, ' || written || ' written'`);
  return sql`select from ${counts} where case when sent = written then ${value} else ${failure} end is null`;
}

/**
 * Renders a statement that evaluates `value`. It fails if a sent row has no key, or if `isLost`
 * holds: an inserted row is not among the keys. The error depends on `isEmpty`, whether a sent row
 * has NULL in a key column. It also depends on `mayHide`, whether policies may hide existing rows.
 * Otherwise, a trigger has skipped the row.
 */
export function keepIfFound(
  value: Sql,
  { isLost, isEmpty, mayHide }: Readonly<Record<"isEmpty" | "isLost" | "mayHide", Sql>>,
): Sql {
  const facts =
    sql`(select ${sentCount} = (select pg_catalog.count(*) from ${keptKeys}) as complete, ${isLost} as lost offset 0) as ${
      ownName("facts")
    }`;
  const reason =
    sql`case when ${isEmpty} then 'empty' when lost then 'lost' when ${mayHide} then 'hidden' else 'skipped' end`;
  // EXCEPT, because the planner may choose a slow nested loop for NOT EXISTS.
  const unfound =
    sql`select pg_catalog.min(n) from (select n from ${sentRows} except select n from ${keptKeys}) as ${
      ownName("unfound")
    }`;
  const first = sql`select n || ' ' || ${reason} from ${sentRows} where n = (${unfound})`;
  const failure = raise(sql`'row ' || coalesce((${first}), '0 lost')`);
  return sql`select from ${facts} where case when complete and not lost then ${value} else ${failure} end is null`;
}
