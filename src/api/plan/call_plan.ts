/** Plans a call of a function: chooses the overload and its arguments. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { quotable, quotableList } from "../../base/errors/quoting.ts";
import type { ErrorTexts } from "../../base/errors/service_error.ts";
import type { AccessMode, IsolationLevel } from "../../database/transaction.ts";
import type { ParamValue } from "../../base/sql/fragment.ts";
import { fieldsToJson } from "../request/body/form.ts";
import { isArgumentOrFilter } from "../request/url/query_params.ts";
import { hasArgumentsInBody } from "../request/body/payload.ts";
import type { ApiRequest } from "../request/api_request.ts";
import type { QueryParams } from "../request/url/query_types.ts";
import type {
  Parameter,
  QualifiedName,
  Routine,
  SchemaCache,
} from "../../state/schema_cache/schema_cache.ts";
import { lowerMaxRows } from "./read/max_rows.ts";
import { type PlanContext, planRead, type ReadPlan } from "./read/read_plan.ts";
import { suggest } from "./suggest.ts";
import type { Payload } from "../request/body/body_decoder.ts";

type CallArguments =
  /** Texts by parameter. A variadic parameter has several. */
  | { readonly kind: "values"; readonly values: readonly ArgumentValue[] }
  /** Keys of the JSON object, or of the first object of the array. */
  | {
    readonly kind: "json";
    readonly parameters: readonly Parameter[];
    readonly json: string | Uint8Array;
    readonly shape: "object" | "array";
    /** Whether the values are fields of CSV. Parameters of type `json` and `jsonb` parse them as JSON. */
    readonly isCsv: boolean;
  }
  | { readonly kind: "whole"; readonly parameter: Parameter; readonly value: ParamValue };

export interface ArgumentValue {
  readonly parameter: Parameter;
  readonly values: readonly string[];
}

export interface CallPlan {
  readonly routine: Routine;
  readonly arguments: CallArguments;
  /** Name of the single column of the result; null if the result is a row type. */
  readonly scalarColumn: string | null;
  readonly access: AccessMode;
  readonly isolation: IsolationLevel | null;
  readonly read: ReadPlan;
}

type CallAction = Extract<ApiRequest["action"], { kind: "call" }>;

/** Plans a call. Throws `202`, `203` and the errors of planning the result. */
export function planCall(action: CallAction, context: PlanContext): CallPlan {
  const { request, cache, config } = context;
  const input = callInputOf(request, action, cache);
  const routine = chooseRoutine(input, cache);
  return {
    routine,
    arguments: argumentsOf(routine, input),
    scalarColumn: routine.returns.composite ? null : config.dialect.scalarColumn,
    access: action.method === "POST" && routine.volatility === "volatile"
      ? "read write"
      : "read only",
    isolation: isolationOf(routine.isolation),
    read: planCallResult(routine, context),
  };
}

/** Returns `repeatable read` or `serializable`; null for other values. */
export function isolationOf(text: string | null): IsolationLevel | null {
  const lower = text?.toLowerCase();
  return lower === "repeatable read" || lower === "serializable" ? lower : null;
}

export function planCallResult(
  routine: Routine,
  { request, cache, config }: PlanContext,
): ReadPlan {
  const { relation } = routine.returns;
  const read = planRead(
    {
      ...request,
      query: withoutDoubleReadings(request.query, routine, cache),
      source: {
        kind: "result",
        alias: relation?.name ?? routine.name,
        relation: relation === null ? null : cache.relation(relation) ?? null,
        origin: relation ?? routine,
        routine,
        ...relation === null ? { columns: routine.returns.columns } : {},
      },
      maxRows: lowerMaxRows(config.dbMaxRows, routine.maxRows),
    },
    cache,
    config,
  );
  return routine.returns.set ? read : { ...read, cutAt: null };
}

interface CallInput {
  readonly name: QualifiedName;
  readonly post: boolean;
  readonly payload: Payload | null;
  /** Names and values of the query string or the form. */
  readonly values: ArgumentTexts;
  /** Names of the arguments, sorted and without duplicates. */
  readonly keys: readonly string[];
  /** Number of further names in the body that are not in `keys`. */
  readonly moreKeys: number;
}

/** Resolves texts that may be an argument, a clause or a filter, such as `name=sim.saw`. Such a
 * text is an argument if the function has a parameter of the name. */
function withoutDoubleReadings(
  query: QueryParams,
  name: QualifiedName,
  cache: SchemaCache,
): QueryParams {
  const isDouble = ({ value }: QueryParams["filters"][number]) =>
    isArgumentOrFilter(value.operation);
  if (query.clauses.length === 0 && !query.filters.some(isDouble)) return query;
  const parameters = new Set(
    cache.routines(name).flatMap((routine) => routine.parameters.map((each) => each.name)),
  );
  const clauses = query.clauses.filter((clause) => !parameters.has(clause.name));
  const filters = query.filters.filter((filter) =>
    !isDouble(filter) || !parameters.has(filter.value.field.name)
  );
  const names = new Set([
    ...clauses.map((clause) => clause.name),
    ...filters.filter(isDouble).map(({ value }) => value.field.name),
  ]);
  const callArguments = query.callArguments.filter(([name]) => !names.has(name));
  return { ...query, filters, clauses, callArguments };
}

type ArgumentTexts = readonly (readonly [name: string, value: string])[];

function callInputOf(request: ApiRequest, action: CallAction, cache: SchemaCache): CallInput {
  const { payload, schema } = request;
  const { routine } = action;
  const query = withoutDoubleReadings(request.query, { schema, name: routine }, cache);
  const values = payload?.kind === "form"
    ? payload.fields
    : hasArgumentsInBody(action)
    ? []
    : query.callArguments;
  const names = payload?.kind === "json"
    ? query.columns ?? payload.keys ?? []
    : payload?.kind === "form"
    ? payload.keys
    : values.map(([name]) => name);
  return {
    name: { schema, name: routine },
    post: hasArgumentsInBody(action),
    payload,
    values,
    keys: [...new Set(names)].sort(),
    moreKeys: payload !== null && "moreKeys" in payload ? payload.moreKeys : 0,
  };
}

function chooseRoutine(input: CallInput, cache: SchemaCache): Routine {
  const candidates = cache.routines(input.name);
  const named = candidates.filter((candidate) => matchesNames(candidate, input));
  const whole = candidates.filter((candidate) => takesWholeBody(candidate, input));
  const { payload } = input;
  const value = payload?.kind === "json" ? payload.value : undefined;
  if (value === "mixed" && whole.length === 0) throw errors.mixedKeys();
  const matching = named.length > 0 && (value === undefined || whole.length === 0) ? named : whole;
  if (matching.length > 1) throw errors.ambiguousFunction(matching.map(signature));
  const [routine] = matching;
  if (routine === undefined) {
    throw errors.noFunction(input.name, noFunctionTexts(input, candidates, cache), input.keys);
  }
  return routine;
}

/**
 * Returns the overload for a request without arguments. If each overload needs arguments, returns
 * all of them, because OPTIONS has no arguments. Throws `202` if no function has the name, and
 * `203`.
 */
export function overloadsWithoutArguments(
  name: QualifiedName,
  cache: SchemaCache,
): readonly Routine[] {
  const input: CallInput = { name, post: false, payload: null, values: [], keys: [], moreKeys: 0 };
  const candidates = cache.routines(name);
  const callable = candidates.some((candidate) => matchesNames(candidate, input));
  return callable || candidates.length === 0 ? [chooseRoutine(input, cache)] : candidates;
}

/** Returns all overloads of a name. Throws `202` if no function has the name. */
export function routinesNamed(name: QualifiedName, cache: SchemaCache): readonly Routine[] {
  const overloads = cache.routines(name);
  if (overloads.length > 0) return overloads;
  const full = quotable(`${name.schema}.${name.name}`);
  throw errors.noFunction(name, {
    message: `Could not find the function ${full} in the schema cache`,
    details: `Searched for the function ${full}, but no matches were found in the schema cache.`,
    hint: similarRoutine(name, cache),
  });
}

/** Returns whether an overload accepts the names. A single unnamed parameter has the empty name: a
 * request may name it by `{"":1}`, or omit it. */
function matchesNames({ parameters }: Routine, input: CallInput): boolean {
  const isRaw = input.payload?.kind === "raw";
  if (parameters.length === 0) return input.keys.length === 0 && !isRaw;
  const keys = new Set(input.keys);
  const names = new Set(parameters.map(({ name }) => name));
  // A raw body is matched later, by its type. If there are other parameters, an unnamed parameter
  // cannot receive a named argument.
  if (names.has("") && (isRaw || (keys.has("") && parameters.length > 1))) return false;
  return parameters.every(({ name, required }) => !required || keys.has(name)) &&
    input.keys.every((key) => names.has(key));
}

function takesWholeBody({ parameters }: Routine, { post, payload }: CallInput): boolean {
  const [parameter] = parameters;
  if (!post || parameters.length !== 1 || parameter!.name !== "") return false;
  switch (payload?.kind) {
    case "json":
      return payload.source === "json" &&
        (parameter!.type === "json" || parameter!.type === "jsonb");
    case "raw":
      return parameter!.type === payload.type;
    default:
      return false;
  }
}

function argumentsOf({ parameters }: Routine, input: CallInput): CallArguments {
  const { payload, keys } = input;
  const [first] = parameters;
  if (first?.name === "" && parameters.length === 1) {
    const body = wholeBody(payload);
    if (body !== null) {
      const value = first.type === "bytea" ? { binary: body } : body;
      return { kind: "whole", parameter: first, value };
    }
  }
  const keySet = new Set(keys);
  const supplied = parameters.filter(({ name }) => keySet.has(name));
  if (payload?.kind === "json" && supplied.length > 0) {
    const { text: json, shape, source } = payload;
    return { kind: "json", parameters: supplied, json, shape, isCsv: source === "csv" };
  }
  return {
    kind: "values",
    values: supplied.map((parameter) => ({ parameter, values: valuesOf(parameter, input.values) })),
  };
}

function valuesOf({ name, variadic }: Parameter, values: ArgumentTexts): ArgumentValue["values"] {
  const all = values.filter(([key]) => key === name).map(([, value]) => value);
  return variadic ? all : all.slice(-1);
}

/** Returns the body as one value; null for an empty body. A form becomes a JSON object. */
function wholeBody(payload: Payload | null): Uint8Array | null {
  switch (payload?.kind) {
    case "json":
      return payload.text;
    case "raw":
      return payload.bytes;
    case "form":
      return payload.fields.length === 0 ? null : fieldsToJson(payload.fields);
    case "patch":
    case undefined:
      return null;
    default:
      return payload satisfies never;
  }
}

/** `schema.name(a => integer, b => text)` */
function signature({ schema, name, parameters }: Routine): string {
  const list = parameters.map((parameter) => `${parameter.name} => ${parameter.type}`);
  return `${schema}.${name}(${list.join(", ")})`;
}

function noFunctionTexts(
  input: CallInput,
  candidates: readonly Routine[],
  cache: SchemaCache,
): ErrorTexts {
  const { schema, name } = input.name;
  const full = quotable(`${schema}.${name}`);
  const raw = input.payload?.kind === "raw";
  return {
    message: `Could not find the function ${full}${
      raw ? "" : messageKeys(input)
    } in the schema cache`,
    details: `Searched for the function ${full}${
      searchedParameters(input)
    }, but no matches were found in the schema cache.`,
    hint: raw ? null : functionHint(input, candidates, cache),
  };
}

function messageKeys({ keys, moreKeys }: CallInput): string {
  return keys.length === 0 ? " without parameters" : `(${quotableList(keys, moreKeys)})`;
}

function searchedParameters({ payload, keys, moreKeys }: CallInput): string {
  if (payload?.kind === "raw") return ` with a single unnamed ${payload.type} parameter`;
  const named = keys.length === 0
    ? " without parameters"
    : ` with parameter${keys.length === 1 ? "" : "s"} ${quotableList(keys, moreKeys)}`;
  // CSV and form bodies never match the single unnamed parameter as a whole.
  return payload?.kind === "json" && payload.source === "json"
    ? `${named} or with a single unnamed json/jsonb parameter`
    : named;
}

function functionHint(
  input: CallInput,
  candidates: readonly Routine[],
  cache: SchemaCache,
): string | null {
  if (candidates.length === 0) return similarRoutine(input.name, cache);
  const { schema, name } = input.name;
  const lists = candidates.filter(({ parameters }) => parameters.every(({ name }) => name !== ""))
    .map(({ parameters }) => `(${parameters.map((p) => p.name).sort().join(", ")})`);
  const match = suggest(`(${input.keys.join(", ")})`, lists, 0.33);
  return match && `Perhaps you meant to call the function ${schema}.${name}${match}`;
}

function similarRoutine({ schema, name }: QualifiedName, cache: SchemaCache): string | null {
  const match = suggest(name, cache.routineNames(schema), 0.75);
  return match && `Perhaps you meant to call the function ${schema}.${match}`;
}
