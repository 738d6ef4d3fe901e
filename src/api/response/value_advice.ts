/** Hints for values that PostgreSQL rejects. The error does not name the column or parameter. The
 * request and its plan show which columns and parameters are possible. @module */
import { fieldsOfCondition } from "../plan/values/planned_values.ts";
import type { Condition, ReadNode } from "../plan/read_node.ts";
import { readOf } from "../plan/plan.ts";
import type { DataPlan } from "../transaction/data_plan.ts";
import type { Column, Relation } from "../../state/schema_cache/schema_cache.ts";
import type { AdviceContext } from "./advice_context.ts";
import { paramsOf } from "./request_parts.ts";

/** A column or a parameter of a function. */
interface Receiver extends Pick<Column, "name" | "baseType" | "enumLabels" | "declaredType"> {
  readonly kind: "column" | "parameter";
  readonly maxLength: number | null;
}

const integerRanges: ReadonlyMap<string, bigint> = new Map([
  ["smallint", 2n ** 15n],
  ["integer", 2n ** 31n],
  ["bigint", 2n ** 63n],
]);

/** Types that accept any text, or that reject it with an SQLSTATE other than 22P02. */
const textTypes = /^(text|character|character varying|name|citext|date|time|interval|ts|xml)/;

/** By SQLSTATE: whether a value for this column or parameter can cause the error. */
const refusals: Readonly<Record<string, (receiver: Receiver) => boolean>> = {
  "22001": ({ maxLength, baseType }) => maxLength !== null || /^bit\b/.test(baseType),
  "22003": ({ baseType }) => /^(smallint|integer|bigint|numeric|real|double|money)/.test(baseType),
  "22007": ({ baseType }) => /^(date|time|interval)/.test(baseType),
  "22008": ({ baseType }) => /^(date|time|interval)/.test(baseType),
  "22P02": ({ baseType, enumLabels }) =>
    enumLabels.length > 0 || baseType.endsWith("[]") || !textTypes.test(baseType),
};

/** Maximum number of listed columns. A longer list does not help. */
const maxListed = 5;

/** Names the column or parameter whose type a value does not match; if unknown, all candidates. */
export function valueAdvice({ code }: { readonly code: string }, context: AdviceContext) {
  const receivers = receiversOf(context)?.filter((receiver) => refusals[code]!(receiver)) ?? [];
  const { misfits, fitting } = sortedFilters(receivers, context);
  const named = misfits.length > 0 ? misfits : receivers.filter((each) => !fitting.has(each));
  const [only, ...others] = new Set(named);
  const typeOf = ({ baseType, declaredType }: Receiver) =>
    code === "22001" ? declaredType : baseType;
  if (only === undefined || others.length >= maxListed) return null;
  if (others.length > 0) {
    const list = [only, ...others].map((each) => `${each.name} (${typeOf(each)})`);
    return `The value of one of these does not fit: ${list.join(", ")}`;
  }
  const filter = paramsOf(context.raw.query).find(({ name }) => name === only.name)?.value ?? "";
  const isNull = filter.replace(/^eq\.(?=null$)/, "is.").replace(/^neq\.(?=null$)/, "is.not_");
  if (isNull !== filter) return `Write ${only.name}=${isNull}`;
  const [, operator, elements] = /^(eq|cs|cd|ov)\.\[?([^{[\]]+)\]?$/.exec(filter) ?? [];
  if (only.baseType.endsWith("[]") && elements !== undefined) {
    return `Write ${only.name}=${operator === "eq" ? "cs" : operator}.{${elements}}`;
  }
  return only.enumLabels.length > 0
    ? `Write one of: ${only.enumLabels.join(", ")}`
    : `The ${only.kind} ${only.name} is ${typeOf(only)}`;
}

/** Divides the columns and parameters in the query string: their values match the type, or do not. */
function sortedFilters(receivers: readonly Receiver[], { raw }: AdviceContext) {
  const params = paramsOf(raw.query);
  const isGrouped = params.some(({ name }) => /^(not\.)?(and|or)$/.test(name));
  const misfits: Receiver[] = [];
  const fitting = new Set<Receiver>();
  for (const receiver of receivers) {
    const given = params.filter(({ name }) => name === receiver.name)
      .map(({ value }) => receiver.kind === "parameter" ? [value] : operandsOf(value));
    const fits = given.map((values) => values?.map((value) => fitOf(receiver, value)));
    if (fits.some((each) => each?.includes(false))) misfits.push(receiver);
    else if (!isGrouped && fits.length > 0 && fits.every((each) => each?.every(Boolean))) {
      fitting.add(receiver);
    }
  }
  return { misfits, fitting };
}

/** Returns the operands of a filter; undefined if an operator takes operands of another type. */
function operandsOf(filter: string): readonly string[] | undefined {
  const [, operator, text = ""] = /^(?:not\.)?(eq|neq|gte?|lte?|isdistinct|in)\.(.*)$/s
    .exec(filter) ?? [];
  if (operator !== "in") return operator === undefined ? undefined : [text];
  return text.includes('"') ? undefined : text.replace(/^\(|\)$/g, "").split(",");
}

/** Returns whether PostgreSQL accepts a value for the type; null if unknown. */
function fitOf({ baseType, enumLabels }: Receiver, value: string): boolean | null {
  if (enumLabels.length > 0) return enumLabels.includes(value);
  if (baseType.endsWith("[]")) return /^\s*[{[]/.test(value);
  const range = integerRanges.get(baseType);
  if (range !== undefined) return fitsInteger(value.trim(), range);
  switch (baseType) {
    case "numeric":
    case "real":
    case "double precision":
      return /^\s*(?:[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d+)(?:e[-+]?\d+)?|[-+]?inf(?:inity)?|nan)\s*$/i
        .test(value);
    case "boolean":
      return /^\s*(?:t|tru?e?|f|fal?s?e?|y|yes?|n|no|on|off?|0|1)\s*$/i.test(value);
    case "uuid":
      return /^\{?[\da-f]{4}(?:-?[\da-f]{4}){7}\}?$/i.test(value);
    default:
      return null;
  }
}

function fitsInteger(value: string, range: bigint): boolean | null {
  if (/^[-+]?0[xob]/i.test(value)) return null;
  if (!/^[-+]?\d[\d_]*$/.test(value)) return false;
  if (value.length > 40) return false;
  const number = BigInt(value.replaceAll(/[_+]/g, ""));
  return number >= -range && number < range;
}

/** Returns the columns and parameters that receive values of the request; null if some are unknown. */
function receiversOf(context: AdviceContext): readonly Receiver[] | null {
  const { plan = null } = context;
  if (plan === null) return null;
  if (plan.kind === "mutate") {
    const { mutate } = plan;
    const written = writtenNames(mutate);
    const filtered = "where" in mutate ? fieldNames(mutate.where ?? []) : [];
    return written && columnsNamed([...filtered, ...written], mutate.relation, "");
  }
  const { root, relation } = readOf(plan);
  const filtered = nodesOf(root).flatMap(({ node, path }) => {
    const source = path === "" ? relation : relationOfNode(node, context);
    return columnsNamed(fieldNames(node.conditions), source, path);
  });
  return plan.kind === "call" ? [...parametersOf(plan), ...filtered] : filtered;
}

function columnsNamed(names: readonly string[], relation: Relation | null, path: string) {
  const columns = relation?.columns.filter(({ name }) => names.includes(name)) ?? [];
  return columns.map((column): Receiver => ({
    ...column,
    kind: "column",
    name: path + column.name,
  }));
}

function parametersOf({ call: { routine } }: Extract<DataPlan, { kind: "call" }>) {
  return routine.parameters.map(({ name, type }): Receiver => {
    const kind = "parameter";
    return { kind, name, baseType: type, declaredType: type, enumLabels: [], maxLength: null };
  });
}

/** Returns the columns that receive values of the body; null for columns of nested rows. */
function writtenNames(
  mutate: Extract<DataPlan, { kind: "mutate" }>["mutate"],
): readonly string[] | null {
  switch (mutate.kind) {
    case "delete":
      return [];
    case "patch":
      return mutate.patches.written.map(({ column }) => column.name);
    case "insert":
      return mutate.nested === null ? mutate.rows.columns.map(({ name }) => name) : null;
    case "update":
      return mutate.rows.columns.map(({ name }) => name);
    default:
      return mutate satisfies never;
  }
}

function fieldNames(conditions: readonly Condition[]): readonly string[] {
  return conditions.flatMap(fieldsOfCondition).flatMap(({ column, path }) =>
    path.length === 0 ? [column] : []
  );
}

/** Lists a node of a read and all its embeds, each with the prefix of its filters. */
function nodesOf(
  node: ReadNode,
  path = "",
): readonly { readonly node: ReadNode; readonly path: string }[] {
  const embeds = node.embeds.flatMap(({ node, key }) => nodesOf(node, `${path}${key}.`));
  return [{ node, path }, ...embeds];
}

function relationOfNode({ relation }: ReadNode, { cache }: AdviceContext): Relation | null {
  return cache?.relations.find(({ schema, name }) =>
    schema === relation?.schema && name === relation.name
  ) ?? null;
}
