/** Plans values: columns with casts and calls of functions. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { Value, ValueArgument, ValueCall } from "../../request/url/value_types.ts";
import { type FullTextOperator, isFullText, operatorWords } from "../../request/url/operators.ts";
import { type FieldScope, planField, type ValueRules } from "./fields.ts";
import type { Condition, ExtensionObject, PlannedArgument, PlannedValue } from "../read_node.ts";
import { suggest } from "../suggest.ts";
import {
  type ArgumentKind,
  isAggregateName,
  timeParts,
  timeUnits,
  type ValueFunction,
  valueFunctions,
} from "./value_functions.ts";
import { needsDocument, typeOf } from "./type_of_value.ts";
import type { SchemaCache } from "../../../state/schema_cache/schema_cache.ts";
import { findDistance, isTextType, similaritySchema } from "./search_operators.ts";

export interface ValuePlace {
  readonly takesAggregate: boolean;
  /** Conditions on the rows that the aggregate reads. */
  readonly filter: readonly Condition[];
}

export const rowPlace: ValuePlace = { takesAggregate: false, filter: [] };

export function hasAggregateCall({ field, steps }: Value): boolean {
  return field === null || steps.some((step) => step.kind === "call" && isAggregateName(step.name));
}

/** Plans a value. Throws `123`, `164`, `165`, `166` and `167`. */
export function planValue(value: Value, scope: FieldScope, place: ValuePlace): PlannedValue {
  let planned: PlannedValue;
  let aggregates = 0;
  const countAggregate = (name: string, signature: string) => {
    if (!scope.values.aggregates) throw errors.aggregatesDisabled();
    if (!place.takesAggregate) throw errors.invalidArguments(name, "a condition of 'having'");
    if (++aggregates > 1) throw errors.invalidArguments(name, `${signature} of a plain value`);
  };
  if (value.field === null) {
    countAggregate("count", "count()");
    const called = valueFunctions.get("count")!;
    planned = aggregateOf(called, null, [], place);
  } else planned = { kind: "column", field: planField(value.field, scope) };
  for (const step of value.steps) {
    if (step.kind === "cast") {
      planned = { kind: "cast", value: planned, type: step.type };
      continue;
    }
    const called = findFunction(step.name, scope.values);
    if (called.isAggregate) countAggregate(called.name, called.signature);
    const args = planArguments(step, called, { before: planned, scope });
    planned = called.isAggregate
      ? aggregateOf(called, planned, args, place)
      : planFunctionCall(called, { before: planned, scope }, value, args);
  }
  return planned;
}

function aggregateOf(
  { name }: ValueFunction,
  argument: PlannedValue | null,
  args: readonly PlannedArgument[],
  { filter }: ValuePlace,
): PlannedValue {
  return {
    kind: "aggregate",
    function: name,
    argument,
    arguments: args.filter(({ kind }) => kind !== "distinct"),
    distinct: args.some(({ kind }) => kind === "distinct"),
    filter,
  };
}

function findFunction(name: string, { functions }: ValueRules): ValueFunction {
  const isAllowed = (name: string) =>
    isAggregateName(name) || functions.includes("*") || functions.includes(name);
  const valueFunction = valueFunctions.get(name);
  if (valueFunction !== undefined && isAllowed(name)) return valueFunction;
  const others = [...valueFunctions.keys()].filter((other) => other !== name && isAllowed(other));
  throw errors.unknownFunction(name, suggest(name, others, minSimilarity));
}

const minSimilarity = 0.6;

interface CallPlace {
  /** The value before the call. */
  readonly before: PlannedValue;
  readonly scope: FieldScope;
}

function planArguments(
  call: ValueCall,
  called: ValueFunction,
  place: CallPlace,
): readonly PlannedArgument[] {
  const { kinds, required, repeats, signature, name } = called;
  const count = call.arguments.length;
  const isCounted = count >= required && (repeats || count <= kinds.length);
  const refuse = () => errors.invalidArguments(name, signature);
  if (!isCounted) throw refuse();
  const planned = call.arguments.map((argument, index) => {
    const kind = kinds[Math.min(index, kinds.length - 1)]!;
    const planned = planArgument(argument, kind, { ...place, function: name });
    // Arguments are matched by position, so an optional argument cannot be skipped.
    if (planned === null) throw refuse();
    return planned;
  });
  return kinds[0] === "kind" ? withTextQuery(planned) : planned;
}

/** Replaces the operator and the text of a full-text search by one argument, its query. */
function withTextQuery(
  [operator, text, language, ...others]: readonly PlannedArgument[],
): readonly PlannedArgument[] {
  const query: PlannedArgument = {
    kind: "textQuery",
    operator: textOf(operator) as FullTextOperator,
    text: textOf(text),
    language: language === undefined ? null : textOf(language),
  };
  return language === undefined ? [query] : [query, language, ...others];
}

function textOf(argument: PlannedArgument | undefined): string {
  return argument !== undefined && "text" in argument ? argument.text : "";
}

/** Plans an argument. Returns null if the argument is not of the kind. Throws `166`. */
function planArgument(
  argument: ValueArgument,
  kind: ArgumentKind,
  place: CallPlace & { readonly function: string },
): PlannedArgument | null {
  switch (kind) {
    case "n":
      return constantOf(argument, ["number"], place, null);
    case "f":
      return isFraction(argument) ? constantOf(argument, ["number"], place, null) : null;
    case "text":
      return constantOf(argument, ["text"], place, null);
    case "v":
      return constantOf(argument, ["number", "text"], place, constantType(argument, place)) ??
        valueOf(argument, place);
    case "s":
      return constantOf(argument, ["number", "text"], place, "text") ?? valueOf(argument, place);
    case "unit":
    case "part":
    case "kind":
      return wordOf(argument, argumentWords[kind]);
    case "q":
      return constantOf(argument, ["number", "text"], place, null);
    case "lang":
    case "zone": {
      const word = plainWord(argument);
      if (word !== null) return { kind: "constant", text: word, type: null };
      return constantOf(argument, ["text"], place, null);
    }
    case "name": {
      const text = argument.kind === "text" ? argument.text : plainWord(argument);
      return text === null || text === "" ? null : { kind: "name", text };
    }
    case "distinct":
      return plainWord(argument) === "distinct" ? { kind: "distinct" } : null;
    default:
      return kind satisfies never;
  }
}

const textQueryWords: ReadonlySet<string> = new Set(operatorWords.filter(isFullText));

/** Allowed words by kind of argument. */
const argumentWords = { unit: timeUnits, part: timeParts, kind: textQueryWords } as const;

function isFraction(argument: ValueArgument): boolean {
  return argument.kind !== "number" || (Number(argument.text) >= 0 && Number(argument.text) <= 1);
}

type ConstantType = Extract<PlannedArgument, { kind: "constant" }>["type"];

function constantOf(
  argument: ValueArgument,
  kinds: readonly ("number" | "text")[],
  { scope }: CallPlace,
  type: ConstantType,
): PlannedArgument | null {
  switch (argument.kind) {
    case "number":
    case "text":
      return kinds.includes(argument.kind) ? { kind: "constant", text: argument.text, type } : null;
    case "parameter": {
      const text = scope.values.texts.get(argument.name);
      if (text === undefined) throw errors.missingText(argument.name);
      return { kind: "constant", text, type };
    }
    default:
      return null;
  }
}

/** Plans a value that is an argument of a call. It must not contain an aggregate. */
function valueOf(argument: ValueArgument, { scope }: CallPlace): PlannedArgument | null {
  if (argument.kind !== "value" || hasAggregateCall(argument.value)) return null;
  return { kind: "value", value: planValue(argument.value, scope, rowPlace) };
}

function wordOf(argument: ValueArgument, words: ReadonlySet<string>): PlannedArgument | null {
  const word = plainWord(argument);
  return word !== null && words.has(word) ? { kind: "word", text: word } : null;
}

function plainWord(argument: ValueArgument): string | null {
  if (argument.kind !== "value" || argument.value.steps.length > 0) return null;
  const { field } = argument.value;
  return field === null || field.path.length > 0 ? null : field.name;
}

/** Returns the type to which a constant is cast, or null. Without a cast, PostgreSQL would assume
 * that the constant has the type of the value before the call. */
function constantType(
  { kind, ...argument }: ValueArgument,
  { before, scope, function: name }: CallPlace & { readonly function: string },
): ConstantType {
  const isSum = name === "add" || name === "sub";
  const type = isSum ? timeType(before, scope) : null;
  if (kind === "number" && type === "date") return "integer";
  if (kind === "number") {
    return "text" in argument && argument.text.includes(".") ? "numeric" : null;
  }
  return isSum && (kind === "text" || type !== null) ? "interval" : null;
}

/** Returns `date` for dates, `time` for other types of dates and times, and null for all further types. */
function timeType(value: PlannedValue, scope: FieldScope): "date" | "time" | null {
  const type = typeOf(value, scope) ?? "";
  if (type === "date") return "date";
  return /^(?:time|interval)/.test(type) ? "time" : null;
}

/**
 * Plans a call. Throws `167` if an extension lacks the operator or function for the value's type.
 */
function planFunctionCall(
  { name, needs, kinds }: ValueFunction,
  { before, scope }: CallPlace,
  { field }: Value,
  args: readonly PlannedArgument[],
): PlannedValue {
  const isRank = kinds[0] === "kind" && name !== "ts_headline" && needsDocument(before, scope);
  const value: PlannedValue = isRank
    ? { kind: "document", value: before, language: languageOf(args) }
    : before;
  const call = { kind: "call", function: name, value, arguments: args } as const;
  if (needs === null) return call;
  const type = typeOf(before, scope);
  const extension = needs.kind === "distance"
    ? distanceOf(needs.operator, type, scope.cache)
    : similarityOf(name, type, scope.cache);
  if (extension === null) throw errors.noOperator(name, { column: field?.name ?? "count", type });
  return { ...call, extension };
}

function distanceOf(
  operator: string,
  type: string | null,
  cache: SchemaCache,
): ExtensionObject | null {
  const distance = type === null ? null : findDistance(operator, type, cache);
  return distance === null ? null : { schema: distance.schema, rightType: distance.right };
}

function similarityOf(
  name: string,
  type: string | null,
  cache: SchemaCache,
): ExtensionObject | null {
  const schema = isTextType(type) ? similaritySchema(name, cache) : null;
  return schema === null ? null : { schema, rightType: null };
}

function languageOf([query]: readonly PlannedArgument[]): string | null {
  return query?.kind === "textQuery" ? query.language : null;
}
