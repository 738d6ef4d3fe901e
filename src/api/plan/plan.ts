/** Plans a request: resolves names, and chooses the representation. @module */
import type { Config } from "../../state/config/options.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { TargetNameUse } from "../../base/errors/target_name_warning.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { maxAffectedPrefix } from "../request/preferences.ts";
import { noBytes, type Payload } from "../request/body/body_decoder.ts";
import type { PayloadFormat } from "../request/body/payload.ts";
import type { Relation, Routine, SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import {
  type OptionsPlan,
  planOptions,
  relationMethods,
  rootMethods,
  rootMethodsWithBatch,
  routineMethods,
} from "./allowed_methods.ts";
import {
  type CallPlan,
  overloadsWithoutArguments,
  planCall,
  planCallResult,
  routinesNamed,
} from "./call_plan.ts";
import { type CountPlan, planCount, planResultCount } from "./read/count_plan.ts";
import {
  type MutatePlan,
  planDelete,
  planInsert,
  planPut,
  planUpdate,
} from "./write/mutate_plan.ts";
import { negotiate, type Representation, type RepresentedTarget } from "./negotiate.ts";
import { lowerMaxRows } from "./read/max_rows.ts";
import { type Tagging, taggingOf, writePrecondition } from "./write/preconditions.ts";
import { type PlanContext, planRead, type ReadConfig, type ReadPlan } from "./read/read_plan.ts";
import { isRetrySafeRead } from "./retry_safe.ts";
import { planRoot, type RootPlan } from "./root_plan.ts";
import { insertedVersionOf, rowVersionOf } from "./write/row_version.ts";
import { suggest } from "./suggest.ts";
import type { Resource } from "../request/action.ts";

export type Plan =
  | {
    readonly kind: "read";
    readonly relation: Relation;
    readonly read: ReadPlan;
    readonly count: CountPlan;
    readonly representation: Representation;
    readonly headersOnly: boolean;
    /** How the response gets an entity tag; null for a response without a tag. */
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

export function readOf(plan: Extract<Plan, { kind: "read" | "call" }>): ReadPlan {
  return plan.kind === "read" ? plan.read : plan.call.read;
}

/** Returns deprecated uses: embeds with an alias that a request addresses by the target's name. */
export function targetNameUsesOf(
  plan: Extract<Plan, { kind: "read" | "mutate" | "call" }>,
): readonly TargetNameUse[] {
  return (plan.kind === "mutate" ? plan.mutate : readOf(plan)).targetNameUses;
}

/** Options that planning depends on. */
export type PlanConfig = Config & ReadConfig;

interface RequestContext extends PlanContext {
  readonly config: PlanConfig;
}

/** Plans any request. Throws the errors of names, relationships, bodies and media types. */
export function plan(request: ApiRequest, cache: SchemaCache, config: PlanConfig): Plan {
  const { action, schema } = request;
  const context = { request, cache, config };
  switch (action.kind) {
    case "read":
      return planReadAction(findRelation(schema, action.relation, cache), action, context);
    case "insert":
    case "update":
    case "put":
    case "delete":
      return planMutateAction(action, context);
    case "call":
      return planCallAction(action, context);
    case "root":
      return planRoot(request, action, cache, config);
    case "options":
      return planOptions(allowedMethodsOf(action.target, context), action.target.kind, config);
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
 * Plans a request with a body of no rows. Throws the errors of {@linkcode plan} that do not depend
 * on the body.
 *
 * Returns null for a call, whose errors depend on the arguments, for example to choose an overload:
 * {@linkcode plan} throws them.
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
      checkRoutineResponse(routine, { request, cache, config });
      checkMaxAffected(request, routine);
    }
    return null;
  }
  // A PUT without the key in its body fails, so the placeholder has the key.
  const keys = action.kind === "put" ? findRelation(schema, action.relation, cache).primaryKey : [];
  return plan({ ...request, payload: rowsPlaceholder(keys, format) }, cache, config);
}

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
  relation: Relation,
  { headersOnly }: { readonly headersOnly: boolean },
  context: RequestContext,
): Plan {
  const { request, cache, config } = context;
  const { bounds, preferences } = request;
  const source = { kind: "relation", relation } as const;
  const maxRows = lowerMaxRows(config.dbMaxRows, relation.maxRows);
  const read = planRead({ ...request, source, maxRows }, cache, config);
  const represented = represent({ kind: "relation", relation }, context);
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
      // Rows that are sent uncounted have no `cutAt`: their headers cannot report a truncation.
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
  return root.kind === "cursor";
}

/** Returns how the total is counted. A page by a cursor never contains all rows. */
function pageCount(read: ReadPlan, count: CountPlan): CountPlan {
  return count.kind === "page" && isPage(read) ? { ...count, kind: "exact" } : count;
}

/** Returns whether each row of a result is a row of the relation, and so has a version. */
function isOfRows(read: ReadPlan): boolean {
  const { kind, distinct } = read.root;
  return kind !== "grouped" && distinct === null && !isPage(read);
}

/** Returns a representation whose lines are sent at once, without a count, unless a function of the
 * query may set `response.*`. */
function withoutCount(
  read: ReadPlan,
  representation: Representation,
  cache: SchemaCache,
): Representation {
  const { format } = representation;
  // A page by a cursor is counted, because its links need all of its rows.
  if (format.kind !== "ndjson" || isPage(read)) return representation;
  const isCounted = !isRetrySafeRead({ kind: "read", read, representation }, cache);
  return { ...representation, format: { ...format, isCounted } };
}

function planMutateAction(action: MutateAction, context: RequestContext): Plan {
  const { request, cache, config } = context;
  const relation = findRelation(request.schema, action.relation, cache);
  const mutate = mutations[action.kind]({ ...context, relation });
  checkPreferences(request);
  const representation = represent({ kind: "relation", relation }, context);
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
  action: Extract<ApiRequest["action"], { kind: "call" }>,
  context: RequestContext,
): Plan {
  const { request, config } = context;
  const call = planCall(action, context);
  const { routine } = call;
  const representation = represent({ kind: "routine", routine }, context);
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
  target: RepresentedTarget,
  { request: { accept, query: { defaultSelect } }, cache, config }: RequestContext,
): Representation {
  return negotiate({ accept, defaultSelect, target }, cache, config);
}

/** Adapts a plan to its format: user-defined aggregates receive rows of unconverted values. */
function fitToFormat(read: ReadPlan, { format }: Representation): ReadPlan {
  if (format.kind !== "aggregate" || format.over === null) return read;
  const items = read.root.items.map((item) =>
    item.kind === "column" ? { ...item, convert: null } : item
  );
  return { ...read, root: { ...read.root, items } };
}

function checkPreferences({ action, preferences }: ApiRequest): void {
  const { kind } = action;
  const isBounded = kind === "update" || kind === "delete" ||
    kind === "call" && action.method === "POST";
  // Other requests ignore `max-affected`, so that its number may be unreadable in them.
  const invalid = isBounded
    ? preferences.invalid
    : preferences.invalid.filter((token) => !token.startsWith(maxAffectedPrefix));
  if (preferences.handling === "strict" && invalid.length > 0) {
    throw errors.invalidPreferences(invalid);
  }
}

function checkMaxAffected({ preferences }: ApiRequest, { returns }: Routine): void {
  if (preferences.handling === "strict" && preferences.maxAffected !== null && !returns.set) {
    throw errors.maxAffectedOnSingle();
  }
}

/** Maximum number of relations for a hint. PostgREST suggests no name from larger schemas. */
const maxRelationsForHint = 500;

function findRelation(schema: string, name: string, cache: SchemaCache): Relation {
  const relation = cache.relation({ schema, name });
  if (relation !== undefined) return relation;
  const names = cache.relationNames(schema);
  const similar = names.length < maxRelationsForHint ? suggest(name, names, 0.75) : null;
  throw errors.noRelation({ schema, name }, similar === null ? null : { schema, name: similar });
}

function allowedMethodsOf(target: Resource, context: RequestContext): string {
  const { request, cache, config } = context;
  switch (target.kind) {
    case "root":
      return config.batchMaxOperations > 0 ? rootMethodsWithBatch : rootMethods;
    case "relation":
      return relationMethods(findRelation(request.schema, target.relation, cache));
    case "routine":
      return allowedMethodsOfRoutine(target.routine, context);
    default:
      return target satisfies never;
  }
}

/** Returns the methods of a function, after the same checks as for a call without arguments. */
function allowedMethodsOfRoutine(name: string, context: RequestContext): string {
  const { request: { schema }, cache } = context;
  const overloads = overloadsWithoutArguments({ schema, name }, cache);
  checkRoutineResponse(overloads[0]!, context);
  return routineMethods(overloads);
}

function checkRoutineResponse(routine: Routine, context: RequestContext): void {
  planCallResult(routine, context);
  represent({ kind: "routine", routine }, context);
  checkPreferences(context.request);
}
