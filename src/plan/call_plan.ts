/**
 * Which overload a call means, and with which arguments.
 *
 * @module
 */
import type { Dialect } from "../dialect.ts";
import { errors } from "../errors/catalogue.ts";
import { quotable, quotableList } from "../errors/quoting.ts";
import type { ErrorTexts } from "../errors/service_error.ts";
import type { AccessMode, IsolationLevel } from "../database/database.ts";
import type { ParamValue } from "../sql/fragment.ts";
import { fieldsToJson } from "../request/form.ts";
import type { ApiRequest, Payload } from "../request/api_request.ts";
import type {
  Parameter,
  QualifiedName,
  Routine,
  SchemaCache,
} from "../schema_cache/schema_cache.ts";
import { planRead, type ReadConfig, type ReadPlan } from "./read_plan.ts";
import { nameSuggesters, suggest } from "./suggest.ts";

/** How the arguments reach the function. */
export type CallArguments =
  /** Text values by parameter; several for a variadic one. */
  | { readonly kind: "values"; readonly values: readonly ArgumentValue[] }
  /** Keys of a JSON object, or of the first object of an array. */
  | {
    readonly kind: "json";
    readonly parameters: readonly Parameter[];
    readonly json: string | Uint8Array;
    readonly shape: "object" | "array";
  }
  /** The whole body for the single unnamed parameter. */
  | { readonly kind: "whole"; readonly parameter: Parameter; readonly value: ParamValue };

/** A parameter with its text, or texts when it is variadic. */
export interface ArgumentValue {
  readonly parameter: Parameter;
  readonly values: readonly (string | Uint8Array)[];
}

/** A call. */
export interface CallPlan {
  readonly routine: Routine;
  readonly arguments: CallArguments;
  /** Name of the result's only column; null when the result is a row type. */
  readonly scalarColumn: string | null;
  readonly access: AccessMode;
  readonly isolation: IsolationLevel | null;
  /** How the result is read. */
  readonly read: ReadPlan;
}

/** Options that calling depends on. */
export interface CallConfig extends ReadConfig {
  readonly dialect: ReadConfig["dialect"] & Pick<Dialect, "scalarColumn">;
}

type CallAction = Extract<ApiRequest["action"], { kind: "call" }>;

/** Plans a call. Raises `202`, `203` and what planning the result raises. */
export function planCall(
  request: ApiRequest,
  action: CallAction,
  cache: SchemaCache,
  config: CallConfig,
): CallPlan {
  const given = givenArguments(request, action);
  const routine = chooseRoutine(given, cache);
  return {
    routine,
    arguments: argumentsOf(routine, given),
    scalarColumn: routine.returns.composite ? null : config.dialect.scalarColumn,
    access: action.method === "POST" && routine.volatility === "volatile"
      ? "read write"
      : "read only",
    isolation: isolationOf(routine.isolation),
    read: planResult(request, routine, cache, config),
  };
}

/** Honours `repeatable read` and `serializable`; everything else is null. */
export function isolationOf(text: string | null): IsolationLevel | null {
  const lower = text?.toLowerCase();
  return lower === "repeatable read" || lower === "serializable" ? lower : null;
}

/** Plans how the result of a function is read. */
export function planResult(
  { query, window, schema }: ApiRequest,
  routine: Routine,
  cache: SchemaCache,
  config: ReadConfig,
): ReadPlan {
  const relation = routine.returns.relation;
  const known = relation === null ? undefined : cache.relation(relation);
  return planRead(
    {
      query,
      window,
      schema,
      source: {
        kind: "rows",
        alias: relation?.name ?? routine.name,
        relation: known ?? null,
        origin: relation ?? routine,
      },
      purpose: "result",
    },
    cache,
    config,
  );
}

/** What a request offers for choosing among overloads. */
interface Given {
  readonly name: QualifiedName;
  readonly post: boolean;
  readonly payload: Payload | null;
  /** Names and values of the query string or the form. */
  readonly values: NamedValues;
  /** Names, sorted and without duplicates. */
  readonly keys: readonly string[];
  /** How many names the body has beside them. */
  readonly moreKeys: number;
}

/** Texts, or their UTF-8. */
type NamedValues = readonly (readonly [name: string, value: string | Uint8Array])[];

function givenArguments(request: ApiRequest, { routine, method }: CallAction): Given {
  const { payload, query, schema } = request;
  const values = payload?.kind === "form"
    ? payload.fields
    : method === "POST"
    ? []
    : query.callArguments;
  const names = payload?.kind === "json"
    ? query.columns ?? payload.keys ?? []
    : payload?.kind === "form"
    ? payload.keys
    : values.map(([name]) => name);
  return {
    name: { schema, name: routine },
    post: method === "POST",
    payload,
    values,
    keys: [...new Set(names)].sort(),
    moreKeys: payload === null || payload.kind === "raw" ? 0 : payload.moreKeys,
  };
}

function chooseRoutine(given: Given, cache: SchemaCache): Routine {
  const candidates = cache.routines(given.name);
  const named = candidates.filter((candidate) => matchesNames(candidate, given));
  const matching = named.length > 0
    ? named
    : candidates.filter((candidate) => takesWholeBody(candidate, given));
  if (matching.length > 1) throw errors.ambiguousFunction(matching.map(signature));
  const [routine] = matching;
  if (routine === undefined) throw errors.noFunction(noFunctionTexts(given, candidates, cache));
  return routine;
}

/**
 * The overload that a request without arguments means; where none can be called so, all of them, since
 * who asks for the methods has no arguments yet. Raises `202` when there is none at all, and `203`.
 */
export function overloadsWithoutArguments(
  name: QualifiedName,
  cache: SchemaCache,
): readonly Routine[] {
  const given: Given = { name, post: false, payload: null, values: [], keys: [], moreKeys: 0 };
  const candidates = cache.routines(name);
  const callable = candidates.some((candidate) => matchesNames(candidate, given));
  return callable || candidates.length === 0 ? [chooseRoutine(given, cache)] : candidates;
}

/** The overloads of a name, whatever their arguments. Raises `202` when there is none. */
export function routinesNamed(name: QualifiedName, cache: SchemaCache): readonly Routine[] {
  const overloads = cache.routines(name);
  if (overloads.length > 0) return overloads;
  const full = quotable(`${name.schema}.${name.name}`);
  throw errors.noFunction({
    message: `Could not find the function ${full} in the schema cache`,
    details: `Searched for the function ${full}, but no matches were found in the schema cache.`,
    hint: similarRoutine(name, cache),
  });
}

/** The single unnamed parameter has the empty name: `{"":1}` names it, and it may be left out. */
function matchesNames({ parameters }: Routine, given: Given): boolean {
  const isRaw = given.payload?.kind === "raw";
  if (parameters.length === 0) return given.keys.length === 0 && !isRaw;
  const keys = new Set(given.keys);
  const known = new Set(parameters.map(({ name }) => name));
  // The type of a raw body chooses; beside other parameters an argument cannot be passed without a name.
  if (known.has("") && (isRaw || (keys.has("") && parameters.length > 1))) return false;
  return parameters.every(({ name, required }) => !required || keys.has(name)) &&
    given.keys.every((key) => known.has(key));
}

function takesWholeBody({ parameters }: Routine, { post, payload }: Given): boolean {
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

function argumentsOf({ parameters }: Routine, given: Given): CallArguments {
  const { payload, keys } = given;
  const [first] = parameters;
  if (first?.name === "" && parameters.length === 1) {
    const body = wholeBody(payload);
    if (body !== null) {
      const value = first.type === "bytea" ? { binary: body } : body;
      return { kind: "whole", parameter: first, value };
    }
  }
  const wanted = new Set(keys);
  const supplied = parameters.filter(({ name }) => wanted.has(name));
  if (payload?.kind === "json" && supplied.length > 0) {
    return { kind: "json", parameters: supplied, json: payload.text, shape: payload.shape };
  }
  return {
    kind: "values",
    values: supplied.map((parameter) => ({
      parameter,
      values: valuesOf(parameter, given.values),
    })),
  };
}

/** All values of a variadic parameter; the last one of any other. */
function valuesOf(
  { name, variadic }: Parameter,
  values: NamedValues,
): ArgumentValue["values"] {
  const all = values.filter(([key]) => key === name).map(([, value]) => value);
  return variadic ? all : all.slice(-1);
}

/** The body as one value, where a form is a JSON object; null where there is none. */
function wholeBody(payload: Payload | null): Uint8Array | null {
  switch (payload?.kind) {
    case "json":
      return payload.text;
    case "raw":
      return payload.bytes;
    case "form":
      return payload.fields.length === 0 ? null : fieldsToJson(payload.fields);
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
  given: Given,
  candidates: readonly Routine[],
  cache: SchemaCache,
): ErrorTexts {
  const { schema, name } = given.name;
  const full = quotable(`${schema}.${name}`);
  const raw = given.payload?.kind === "raw";
  return {
    message: `Could not find the function ${full}${
      raw ? "" : messageKeys(given)
    } in the schema cache`,
    details: `Searched for the function ${full}${
      searchedFor(given)
    }, but no matches were found in the schema cache.`,
    hint: raw ? null : hintFor(given, candidates, cache),
  };
}

function messageKeys({ keys, moreKeys }: Given): string {
  return keys.length === 0 ? " without parameters" : `(${quotableList(keys, moreKeys)})`;
}

function searchedFor({ payload, keys, moreKeys }: Given): string {
  if (payload?.kind === "raw") return ` with a single unnamed ${payload.type} parameter`;
  const named = keys.length === 0
    ? " without parameters"
    : ` with parameter${keys.length === 1 ? "" : "s"} ${quotableList(keys, moreKeys)}`;
  // A body of lines or form fields is never taken as a whole.
  return payload?.kind === "json" && payload.source === "json"
    ? `${named} or with a single unnamed json/jsonb parameter`
    : named;
}

function hintFor(
  given: Given,
  candidates: readonly Routine[],
  cache: SchemaCache,
): string | null {
  if (candidates.length === 0) return similarRoutine(given.name, cache);
  const { schema, name } = given.name;
  const lists = candidates.filter(({ parameters }) => parameters.every(({ name }) => name !== ""))
    .map(({ parameters }) => `(${parameters.map((p) => p.name).sort().join(", ")})`);
  const found = suggest(`(${given.keys.join(", ")})`, lists, 0.33);
  return found && `Perhaps you meant to call the function ${schema}.${name}${found}`;
}

function similarRoutine({ schema, name }: QualifiedName, cache: SchemaCache): string | null {
  const found = cache.derived(nameSuggesters).routines(schema)(name, 0.75);
  return found && `Perhaps you meant to call the function ${schema}.${found}`;
}
