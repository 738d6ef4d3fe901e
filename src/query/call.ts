/**
 * A function call as an item of FROM.
 *
 * @module
 */
import type { ArgumentValue, CallPlan } from "../plan/call_plan.ts";
import type { Parameter } from "../schema_cache/schema_cache.ts";
import { catalogueSql, emptySql, ident, join, param, type Sql, sql } from "../sql/fragment.ts";
import { arrayOf } from "./array_literal.ts";

const argumentsAlias = ident("svc_args");

/**
 * The result's rows under an alias. A result that is not a row type has a single column, so that
 * untyped records work as well.
 */
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

function callArguments({ arguments: given }: CallPlan): Sql {
  switch (given.kind) {
    case "values":
      return join(given.values.map(valueArgument));
    case "json":
      return join(
        given.parameters.map((parameter) =>
          sql`${naming(parameter)}${argumentsAlias}.${ident(parameter.name)}`
        ),
      );
    case "whole":
      return sql`${param(given.value)}::${catalogueSql(given.parameter.callType)}`;
    default:
      return given satisfies never;
  }
}

function valueArgument({ parameter, values }: ArgumentValue): Sql {
  const value = parameter.variadic ? arrayOf(values) : values[0] ?? "";
  return sql`${naming(parameter)}${param(value)}::${catalogueSql(parameter.callType)}`;
}

/** `"a" := ` or `variadic "a" := ` */
function naming({ name, variadic }: Parameter): Sql {
  return sql`${variadic ? sql`variadic ` : emptySql}${ident(name)} := `;
}

/** The JSON body expanded to a row of arguments. */
function argumentSource({ arguments: given }: CallPlan): Sql | null {
  if (given.kind !== "json") return null;
  const columns = join(
    given.parameters.map(({ name, callType }) => sql`${ident(name)} ${catalogueSql(callType)}`),
  );
  const json = sql`${param(given.json)}::json`;
  return given.shape === "object"
    ? sql`json_to_record(${json}) as ${argumentsAlias}(${columns})`
    : sql`(select * from json_to_recordset(${json}) as svc_rows(${columns}) limit 1) as ${argumentsAlias}`;
}
