/** Renders values from results that earlier statements of a transaction have stored in settings. @module */
import type { Statement } from "../../database/transaction.ts";
import type { DatabaseFailure } from "../../base/errors/service_error.ts";
import {
  compile,
  ident,
  join,
  literal,
  ordinal,
  ownName,
  param,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import { raise, raisedDetail } from "../../base/sql/raise.ts";

export type ResultPart =
  | { readonly kind: "only"; readonly column: string }
  /** A column of the row at a position, from 0. */
  | { readonly kind: "row"; readonly index: number; readonly column: string }
  | { readonly kind: "all"; readonly column: string }
  | { readonly kind: "scalar" };

export interface ResultValue {
  readonly operation: number;
  readonly part: ResultPart;
}

/** A JSON body, to whose objects members are added. */
export interface BodyWithMembers {
  readonly text: Uint8Array;
  readonly shape: "object" | "array";
  readonly members: readonly { readonly name: string; readonly value: ResultValue }[];
}

export function renderBody(body: BodyWithMembers): Sql {
  return body.shape === "object" ? renderObject(body) : renderObjects(body);
}

/** Renders the expression that stores the rows of a result as a JSON array. Its value is not NULL. */
export function keepResult(operation: number, rows: Sql): Sql {
  return sql`pg_catalog.set_config(${settingOf(operation)}, (${rows})::pg_catalog.text, true)`;
}

function settingOf(operation: number): Sql {
  return literal(`svc.result_${operation}`);
}

function resultOf({ operation }: ResultValue): Sql {
  return sql`pg_catalog.current_setting(${settingOf(operation)}, true)::pg_catalog.json`;
}

/** Returns a value as JSON; NULL if the row lacks the column. */
function jsonOf(value: ResultValue): Sql {
  const { part } = value;
  if (part.kind === "scalar") return sql`(${resultOf(value)} -> 0)`;
  return sql`(${rowOf(value)} -> ${literal(columnOf(part))})`;
}

function jsonValuesOf(value: ResultValue): Sql {
  return sql`array(select ${ownName("result")}.value -> ${literal(columnOf(value.part))}
    from pg_catalog.json_array_elements(${resultOf(value)}) as ${ownName("result")}(value))`;
}

function rowOf(value: ResultValue): Sql {
  const index = value.part.kind === "row" ? value.part.index : 0;
  return sql`(${resultOf(value)} -> ${ordinal(index)})`;
}

function columnOf(part: ResultPart): string {
  return part.kind === "scalar" ? "" : part.column;
}

/** Renders an object: its original text, with the members inserted before its end. */
function renderObject({ text, members }: BodyWithMembers): Sql {
  const added = members.map(({ name, value }) => ({ name, json: jsonOf(value) }));
  return withMembers(sql`${param(text.subarray())}::pg_catalog.text`, added);
}

const objects = ownName("object");
const values = ownName("values");

/** Renders an array of objects, in their order. The stored results are read once for all of them. */
function renderObjects({ text, members }: BodyWithMembers): Sql {
  const read = members.map(({ value }, index) =>
    sql`${value.part.kind === "all" ? jsonValuesOf(value) : jsonOf(value)} as ${valueColumn(index)}`
  );
  const added = members.map(({ name, value }, index) => {
    const json = sql`${values}.${valueColumn(index)}`;
    return { name, json: value.part.kind === "all" ? sql`${json}[${objects}.number]` : json };
  });
  const object = withMembers(sql`${objects}.value::pg_catalog.text`, added);
  return sql`(select coalesce(pg_catalog.json_agg(${object} order by ${objects}.number), '[]')
    from pg_catalog.json_array_elements(${
    param(text.subarray())
  }::pg_catalog.json) with ordinality as
    ${objects}(value, number), (select ${join(read)} offset 0) as ${values})`;
}

function valueColumn(index: number): Sql {
  return ident(`v${index + 1}`);
}

const space = literal(" \t\r\n");

function withMembers(
  object: Sql,
  members: readonly { readonly name: string; readonly json: Sql }[],
): Sql {
  const open = sql`pg_catalog.left(pg_catalog.rtrim(${object}, ${space}), -1)`;
  // A comma precedes the members, unless the text before the object's end is only a brace.
  const comma = sql`case when pg_catalog.btrim(${open}, ${space}) <> '{' then ',' end`;
  const added = members.map(({ name, json }, index) =>
    sql`${index === 0 ? comma : sql`','`}, ${
      literal(`${JSON.stringify(name)}:`)
    }, coalesce(${json}::pg_catalog.text, 'null')`
  );
  return sql`pg_catalog.concat(${open}, ${join(added)}, '}')::pg_catalog.json`;
}

/** Returns how many rows a result has, from an error of a check; null for other errors. */
export function rowsOfFailedCheck(error: DatabaseFailure): number | null {
  const [, rows] = /^([0-9]+) rows$/.exec(raisedDetail(error) ?? "") ?? [];
  return rows === undefined ? null : Number(rows);
}

/** Renders a check of a result. If a column of all rows is referenced, `body` must have as many objects. */
export function resultCheck(value: ResultValue, body: Uint8Array): Statement {
  const { part } = value;
  const holds = part.kind === "row"
    ? sql`n > ${ordinal(part.index)}`
    : part.kind !== "all"
    ? sql`n = 1`
    : sql`n = pg_catalog.json_array_length(${param(body)}::pg_catalog.json)`;
  const check = sql`select case when ${holds} then '' else ${raise(sql`n || ' rows'`)} end
    from (select pg_catalog.json_array_length(${resultOf(value)}) as n offset 0) as ${
    ownName("result")
  }`;
  return { ...compile(check), use: "none", isShared: true };
}
