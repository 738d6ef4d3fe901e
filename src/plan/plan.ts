/** Plans a request: resolves all names in the schema cache and chooses the representation. @module
 */
import { errors } from "../errors/catalogue.ts";
import type { TargetNameUse } from "../errors/target_name_warning.ts";
import type { ApiRequest, OptionsTarget, Payload } from "../request/api_request.ts";
import { noBytes } from "../request/body/body_decoder.ts";
import type { PayloadFormat } from "../request/body/payload.ts";
import type { Relation, Routine, SchemaCache } from "../schema_cache/schema_cache.ts";
import {
  type OptionsConfig,
  type OptionsPlan,
  planOptions,
  relationMethods,
  rootMethods,
  rootMethodsWithBatch,
  routineMethods,
} from "./allowed_methods.ts";
import {
  type CallConfig,
  type CallPlan,
  overloadsWithoutArguments,
  planCall,
  planCallResult,
  routinesNamed,
} from "./call_plan.ts";
import { type CountPlan, planCount, planResultCount } from "./count_plan.ts";
import {
  type MutateConfig,
  type MutatePlan,
  planDelete,
  planInsert,
  planPut,
  planUpdate,
} from "./mutate_plan.ts";
import {
  negotiate,
  type NegotiationConfig,
  type Representation,
  type RepresentedTarget,
} from "./negotiate.ts";
import { lowerMaxRows } from "./max_rows.ts";
import { withoutNumberKind } from "./number_kinds.ts";
import { type TagConfig, type Tagging, taggingOf, writePrecondition } from "./preconditions.ts";
import { cursorPageOf } from "./read_node.ts";
import { planRead, type ReadPlan } from "./read_plan.ts";
import { isRetrySafeRead } from "./retry_safe.ts";
import { planRoot, type RootConfig, type RootPlan } from "./root_plan.ts";
import { insertedVersionOf, rowVersionOf } from "./row_version.ts";
import { nameSuggesters } from "./suggest.ts";

export type Plan =
  | {
    readonly kind: "read";
    readonly relation: Relation;
    readonly read: ReadPlan;
    readonly count: CountPlan;
    readonly representation: Representation;
    readonly headersOnly: boolean;
    /** Null if the response has no entity tag. */
    readonly tagging: Tagging | null;
  }
  | {
    readonly kind: "mutate";
    readonly action: "insert" | "update" | "put" | "delete";
    readonly mutate: MutatePlan;
    readonly representation: Representation;
    readonly tagging: Tagging | null;
  }
  | {
    readonly kind: "call";
    readonly call: CallPlan;
    readonly count: CountPlan;
    readonly representation: Representation;
    readonly headersOnly: boolean;
    readonly tagging: Tagging | null;
  }
  | RootPlan
  | OptionsPlan;

/** Returns how the rows of a read or a call are read. */
export function readOf(plan: Extract<Plan, { kind: "read" | "call" }>): ReadPlan {
  return plan.kind === "read" ? plan.read : plan.call.read;
}

/** Returns the aliased embeds that a request addresses by their target's name. */
export function targetNameUsesOf(
  plan: Extract<Plan, { kind: "read" | "mutate" | "call" }>,
): readonly TargetNameUse[] {
  switch (plan.kind) {
    case "read":
      return plan.read.targetNameUses;
    case "mutate":
      return plan.mutate.targetNameUses;
    case "call":
      return plan.call.read.targetNameUses;
    default:
      return plan satisfies never;
  }
}

/** Options that planning depends on. */
export type PlanConfig =
  & CallConfig
  & MutateConfig
  & NegotiationConfig
  & OptionsConfig
  & RootConfig
  & TagConfig;

/** Plans any request. Throws the errors of names, relationships, bodies and media types. */
export function plan(request: ApiRequest, cache: SchemaCache, config: PlanConfig): Plan {
  const { action } = request;
  switch (action.kind) {
    case "read":
      return planReadAction(request, findRelation(request.schema, action.relation, cache), {
        headersOnly: action.headersOnly,
        cache,
        config,
      });
    case "insert":
    case "update":
    case "put":
    case "delete":
      return planMutateAction(request, action, cache, config);
    case "call":
      return planCallAction(request, action, cache, config);
    case "root":
      return planRoot(request, action, cache, config);
    case "options":
      return planOptions(
        allowedMethodsOf(request, action.target, cache, config),
        action.target.kind,
        config,
      );
    default:
      return action satisfies never;
  }
}

/** Throws `202` or `205` if the relation or function of a request does not exist. */
export function checkTarget({ action, schema }: ApiRequest, cache: SchemaCache): void {
  if (action.kind === "read") findRelation(schema, action.relation, cache);
  else if (action.kind === "call") routinesNamed({ schema, name: action.routine }, cache);
}

/**
 * Plans a request with a body of no rows. Throws the errors that {@linkcode plan} throws whatever the body holds.
 *
 * Returns null for a call. Errors that depend on its arguments, such as the choice of an overload, are left to
 * {@linkcode plan}.
 */
export function planWithoutBody(
  request: ApiRequest,
  format: PayloadFormat,
  cache: SchemaCache,
  config: PlanConfig,
): Plan | null {
  const { action, schema } = request;
  if (action.kind === "call") {
    const [routine, ...others] = routinesNamed({ schema, name: action.routine }, cache);
    if (routine === undefined || others.length > 0) checkPreferences(request);
    else {
      checkRoutineResponse(request, routine, cache, config);
      checkMaxAffected(request, routine);
    }
    return null;
  }
  // A PUT without the key in its body fails, so the placeholder has the key.
  const keys = action.kind === "put" ? findRelation(schema, action.relation, cache).primaryKey : [];
  return plan({ ...request, payload: rowsPlaceholder(keys, format) }, cache, config);
}

/** Returns a body without rows that has these keys. */
function rowsPlaceholder(keys: readonly string[], format: PayloadFormat): Payload {
  const source = format === "raw" ? "json" : format;
  return { kind: "json", source, shape: "array", keys, moreKeys: 0, text: noBytes };
}

type MutateAction = Extract<
  ApiRequest["action"],
  { kind: "insert" | "update" | "put" | "delete" }
>;

const mutations = {
  insert: planInsert,
  update: planUpdate,
  put: planPut,
  delete: planDelete,
} as const;

function planReadAction(
  request: ApiRequest,
  relation: Relation,
  { headersOnly, cache, config }: {
    readonly headersOnly: boolean;
    readonly cache: SchemaCache;
    readonly config: PlanConfig;
  },
): Plan {
  const { query, bounds, schema, preferences, selectable } = request;
  const source = { kind: "relation", relation } as const;
  const maxRows = lowerMaxRows(config.dbMaxRows, relation.maxRows);
  const read = planRead(
    { query, bounds, schema, source, purpose: "read", preferences, selectable, maxRows },
    cache,
    config,
  );
  const represented = represent(request, { kind: "relation", relation }, cache, config);
  checkPreferences(request);
  const count = pageCount(read, planCount(preferences.count, bounds, maxRows, cache.data));
  const isHeld = count.kind !== "none" || preferences.maxRows !== null && read.cutAt !== null;
  const representation = isHeld ? represented : withoutCount(read, represented, cache);
  const { format } = representation;
  const version = () => isOfRows(read) ? rowVersionOf(relation, config) : null;
  return {
    kind: "read",
    relation,
    read: fitToFormat(
      // The head of lines that leave at once cannot say that rows are missing.
      format.kind === "ndjson" && !format.isCounted ? { ...read, cutAt: null } : read,
      representation,
    ),
    count,
    representation,
    headersOnly,
    tagging: headersOnly ? null : taggingOf(request, representation, config, version),
  };
}

function isPage({ root }: ReadPlan): boolean {
  return cursorPageOf(root) !== null;
}

/** Returns how the total is counted. A page by a cursor does not hold all rows. */
function pageCount(read: ReadPlan, count: CountPlan): CountPlan {
  return count.kind === "page" && isPage(read) ? { ...count, kind: "exact" } : count;
}

/** Whether a result shows rows of the relation, each with its version. */
function isOfRows(read: ReadPlan): boolean {
  const { grouped, distinct } = read.root;
  return !grouped && distinct === null && !isPage(read);
}

/**
 * Lets lines of JSON leave as soon as PostgreSQL has them, unless a function of the query may set
 * `response.*`.
 */
function withoutCount(
  read: ReadPlan,
  representation: Representation,
  cache: SchemaCache,
): Representation {
  const { format } = representation;
  // The links of a page need all of its rows.
  if (format.kind !== "ndjson" || isPage(read)) return representation;
  const isCounted = !isRetrySafeRead({ kind: "read", read, representation }, cache);
  return { ...representation, format: { ...format, isCounted } };
}

function planMutateAction(
  request: ApiRequest,
  action: MutateAction,
  cache: SchemaCache,
  config: PlanConfig,
): Plan {
  const relation = findRelation(request.schema, action.relation, cache);
  const mutate = mutations[action.kind](request, relation, cache, config);
  checkPreferences(request);
  const representation = represent(request, { kind: "relation", relation }, cache, config);
  const { read } = mutate;
  const nested = mutate.kind === "insert" ? mutate.nested : null;
  if (nested !== null && representation.explain !== null) {
    throw errors.notNestable([relation.name], "It has no execution plan");
  }
  const fitting = read === null ? mutate : { ...mutate, read: fitToFormat(read, representation) };
  const precondition = writePrecondition(request, relation, config);
  const version = () => {
    if (!isOfRows(read!)) return null;
    const isInserted = mutate.kind === "insert" && nested === null;
    return isInserted ? insertedVersionOf(relation, config) : rowVersionOf(relation, config);
  };
  return {
    kind: "mutate",
    action: action.kind,
    mutate: precondition === null ? fitting : { ...fitting, precondition },
    representation,
    tagging: read === null ? null : taggingOf(request, representation, config, version),
  };
}

function planCallAction(
  request: ApiRequest,
  action: Extract<ApiRequest["action"], { kind: "call" }>,
  cache: SchemaCache,
  config: PlanConfig,
): Plan {
  const call = planCall(request, action, cache, config);
  const { routine } = call;
  const representation = represent(request, { kind: "routine", routine }, cache, config);
  checkPreferences(request);
  checkMaxAffected(request, routine);
  const { preferences, bounds } = request;
  const { set } = routine.returns;
  const maxRows = lowerMaxRows(config.dbMaxRows, routine.maxRows);
  const resultCount = planResultCount(preferences.count, bounds, maxRows, set);
  const count = set ? pageCount(call.read, resultCount) : resultCount;
  return {
    kind: "call",
    call: { ...call, read: fitToFormat(call.read, representation) },
    count,
    representation,
    headersOnly: action.method === "HEAD",
    tagging: action.method === "HEAD" || routine.returns.void
      ? null
      : taggingOf(request, representation, config, () => null),
  };
}

function represent(
  { accept, query: { defaultSelect } }: ApiRequest,
  target: RepresentedTarget,
  cache: SchemaCache,
  config: PlanConfig,
): Representation {
  return negotiate({ accept, defaultSelect, target }, cache, config);
}

/**
 * Removes conversions to JSON when the format is an aggregate over rows of a relation, which takes
 * the original values. Removes those of numbers when the format is not JSON.
 */
function fitToFormat(read: ReadPlan, { format }: Representation): ReadPlan {
  const takesOriginal = format.kind === "aggregate" && format.over !== null;
  const isOther = format.kind === "aggregate" || format.kind === "csv" || format.kind === "value";
  if (!isOther) return read;
  const items = read.root.items.map((item) => {
    const plain = withoutNumberKind(item);
    return takesOriginal && plain.kind === "column" ? { ...plain, convert: null } : plain;
  });
  return { ...read, root: { ...read.root, items } };
}

function checkPreferences({ preferences }: ApiRequest): void {
  if (preferences.handling === "strict" && preferences.invalid.length > 0) {
    throw errors.invalidPreferences(preferences.invalid);
  }
}

function checkMaxAffected({ preferences }: ApiRequest, { returns }: Routine): void {
  if (preferences.handling === "strict" && preferences.maxAffected !== null && !returns.set) {
    throw errors.maxAffectedOnSingle();
  }
}

/**
 * Maximum number of relations of a schema for which an error suggests a similar name. Searching
 * larger schemas takes too long.
 */
const maxRelationsForHint = 500;

function findRelation(schema: string, name: string, cache: SchemaCache): Relation {
  const relation = cache.relation({ schema, name });
  if (relation !== undefined) return relation;
  const isSmall = cache.relationNames(schema).length < maxRelationsForHint;
  const similar = isSmall ? cache.derived(nameSuggesters).relations(schema)(name, 0.75) : null;
  throw errors.noRelation({ schema, name }, similar === null ? null : { schema, name: similar });
}

function allowedMethodsOf(
  request: ApiRequest,
  target: OptionsTarget,
  cache: SchemaCache,
  config: PlanConfig,
): string {
  switch (target.kind) {
    case "root":
      return config.batchMaxOperations > 0 ? rootMethodsWithBatch : rootMethods;
    case "relation":
      return relationMethods(findRelation(request.schema, target.relation, cache));
    case "routine":
      return allowedMethodsOfRoutine(request, target.routine, cache, config);
    default:
      return target satisfies never;
  }
}

/** Returns the methods of a function, after the checks of a call without arguments. */
function allowedMethodsOfRoutine(
  request: ApiRequest,
  name: string,
  cache: SchemaCache,
  config: PlanConfig,
): string {
  const overloads = overloadsWithoutArguments({ schema: request.schema, name }, cache);
  checkRoutineResponse(request, overloads[0]!, cache, config);
  return routineMethods(overloads);
}

/** Runs the checks that depend only on the function. */
function checkRoutineResponse(
  request: ApiRequest,
  routine: Routine,
  cache: SchemaCache,
  config: PlanConfig,
): void {
  planCallResult(request, routine, cache, config);
  represent(request, { kind: "routine", routine }, cache, config);
  checkPreferences(request);
}
