/** Renders a function call as a FROM item. @module */
import type { ArgumentValue, CallPlan } from "../plan/call_plan.ts";
import type { Parameter } from "../../state/schema_cache/schema_cache.ts";
import {
  catalogueSql,
  emptySql,
  ident,
  join,
  ownName,
  param,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import { arrayLiteral } from "../../base/sql/array_literal.ts";
import { columnDefinition, fromJson } from "./written_rows.ts";
import { argumentFromJson } from "../plan/write/written_column.ts";
import type { PlanOption } from "../../base/http/media_type.ts";
import type { Explain } from "../plan/negotiate.ts";

type JsonArguments = Extract<CallPlan["arguments"], { kind: "json" }>;

const argumentsAlias = ownName("args");

/** Renders a call. A result that is not a row type becomes the value of one column, as a FROM item
 * cannot be a record without a type. */
export function renderCall(plan: CallPlan, alias: string): Sql {
  const call = sql`${ident(plan.routine.schema, plan.routine.name)}(${callArguments(plan)})`;
  const source = argumentSource(plan);
  if (plan.scalarColumn !== null) {
    const from = source === null ? emptySql : sql` from ${source}`;
    return sql`(select ${call} as ${ident(plan.scalarColumn)}${from}) as ${ident(alias)}`;
  }
  const rows = sql`${call} as ${ident(alias)}`;
  return source === null ? rows : sql`${source}, lateral ${rows}`;
}

function callArguments({ arguments: callArgs }: CallPlan): Sql {
  switch (callArgs.kind) {
    case "values":
      return join(callArgs.values.map(valueArgument));
    case "json":
      return join(
        callArgs.parameters.map((parameter) =>
          sql`${argumentName(parameter)}${jsonArgument(parameter, callArgs)}`
        ),
      );
    case "whole":
      return sql`${param(callArgs.value)}::${catalogueSql(callArgs.parameter.callType)}`;
    default:
      return callArgs satisfies never;
  }
}

function jsonArgument(parameter: Parameter, { isCsv }: JsonArguments): Sql {
  const value = sql`${argumentsAlias}.${ident(parameter.name)}`;
  const convert = argumentFromJson(parameter, { isText: isCsv });
  return fromJson(value, { fromJson: convert, type: parameter.callType });
}

function valueArgument({ parameter, values }: ArgumentValue): Sql {
  const value = parameter.variadic ? arrayLiteral(values) : values[0] ?? "";
  return sql`${argumentName(parameter)}${param(value)}::${catalogueSql(parameter.callType)}`;
}

function argumentName({ name, variadic }: Parameter): Sql {
  return sql`${variadic ? sql`variadic ` : emptySql}${ident(name)} := `;
}

function argumentDefinition(parameter: Parameter, { isCsv }: JsonArguments): Sql {
  const convert = argumentFromJson(parameter, { isText: isCsv });
  return columnDefinition({ name: parameter.name, type: parameter.callType, fromJson: convert });
}

/** Renders a JSON body as a row of arguments; null for other arguments. */
function argumentSource({ arguments: callArgs }: CallPlan): Sql | null {
  if (callArgs.kind !== "json") return null;
  const columns = join(callArgs.parameters.map((each) => argumentDefinition(each, callArgs)));
  const json = sql`${param(callArgs.json)}::pg_catalog.json`;
  return callArgs.shape === "object"
    ? sql`pg_catalog.json_to_record(${json}) as ${argumentsAlias}(${columns})`
    : sql`(select * from pg_catalog.json_to_recordset(${json}) as ${
      ownName("rows")
    }(${columns}) limit 1) as ${argumentsAlias}`;
}

const formats: Readonly<Record<Explain["format"], Sql>> = {
  text: sql`format text`,
  json: sql`format json`,
};

const options: Readonly<Record<PlanOption, Sql>> = {
  analyze: sql`analyze`,
  verbose: sql`verbose`,
  settings: sql`settings`,
  buffers: sql`buffers`,
  wal: sql`wal`,
};

/** Renders EXPLAIN. Its result is a text column with a row for each line. */
export function renderExplain(statement: Sql, explain: Explain): Sql {
  const list = [formats[explain.format], ...explain.options.map((option) => options[option])];
  return sql`explain (${join(list)}) ${statement}`;
}
