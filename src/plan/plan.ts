/**
 * What a request means here: every name looked up in the schema cache, the representation chosen.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { ApiRequest, OptionsTarget } from "../request/api_request.ts";
import type { Relation, Routine, SchemaCache } from "../schema_cache/schema_cache.ts";
import { type CallPlan, planCall } from "./call_plan.ts";
import { type CountPlan, planCount, planResultCount } from "./count_plan.ts";
import { type MutatePlan, planDelete, planInsert, planPut, planUpdate } from "./mutate_plan.ts";
import { canonicalText } from "../http/media_type.ts";
import { negotiate, type Representation } from "./negotiate.ts";
import { planRead, type ReadConfig, type ReadPlan } from "./read_plan.ts";
import { nameSuggesters } from "./suggest.ts";

export type Plan =
  | {
    readonly kind: "read";
    readonly relation: Relation;
    readonly read: ReadPlan;
    readonly count: CountPlan;
    readonly representation: Representation;
    readonly headersOnly: boolean;
  }
  | {
    readonly kind: "mutate";
    readonly action: "insert" | "update" | "put" | "delete";
    readonly mutate: MutatePlan;
    readonly representation: Representation;
  }
  | {
    readonly kind: "call";
    readonly call: CallPlan;
    readonly count: CountPlan;
    readonly representation: Representation;
    readonly headersOnly: boolean;
  }
  | { readonly kind: "root"; readonly headersOnly: boolean }
  | { readonly kind: "options"; readonly allow: string };

/** Plans any request. Raises what names, relationships, bodies and media types can be wrong about. */
export function plan(request: ApiRequest, cache: SchemaCache, config: ReadConfig): Plan {
  const { action } = request;
  switch (action.kind) {
    case "read":
      return planReading(request, findRelation(request.schema, action.relation, cache), {
        headersOnly: action.headersOnly,
        cache,
        config,
      });
    case "insert":
    case "update":
    case "put":
    case "delete":
      return planMutation(request, action, cache, config);
    case "call":
      return planCalling(request, action, cache, config);
    case "root":
      checkRootMedia(request);
      return { kind: "root", headersOnly: action.headersOnly };
    case "options":
      return { kind: "options", allow: allowOf(action.target, request.schema, cache) };
    default:
      return action satisfies never;
  }
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

function planReading(
  request: ApiRequest,
  relation: Relation,
  { headersOnly, cache, config }: {
    readonly headersOnly: boolean;
    readonly cache: SchemaCache;
    readonly config: ReadConfig;
  },
): Plan {
  const { query, window, schema, preferences } = request;
  const read = planRead(
    { query, window, schema, source: { kind: "relation", relation }, purpose: "read" },
    cache,
    config,
  );
  const representation = negotiate(request.accept);
  checkPreferences(request);
  const count = planCount(preferences.count, window, config.dbMaxRows);
  return { kind: "read", relation, read, count, representation, headersOnly };
}

function planMutation(
  request: ApiRequest,
  action: MutateAction,
  cache: SchemaCache,
  config: ReadConfig,
): Plan {
  const relation = findRelation(request.schema, action.relation, cache);
  const mutate = mutations[action.kind](request, relation, cache, config);
  checkPreferences(request);
  const representation = negotiate(request.accept);
  return { kind: "mutate", action: action.kind, mutate, representation };
}

function planCalling(
  request: ApiRequest,
  action: Extract<ApiRequest["action"], { kind: "call" }>,
  cache: SchemaCache,
  config: ReadConfig,
): Plan {
  const call = planCall(request, action, cache, config);
  const representation = negotiate(request.accept);
  checkPreferences(request);
  const { preferences, window } = request;
  const { set } = call.routine.returns;
  if (preferences.handling === "strict" && preferences.maxAffected !== null && !set) {
    throw errors.maxAffectedOnSingle();
  }
  const count = planResultCount(preferences.count, window, config.dbMaxRows, set);
  return { kind: "call", call, count, representation, headersOnly: action.method === "HEAD" };
}

function checkPreferences({ preferences }: ApiRequest): void {
  if (preferences.handling === "strict" && preferences.invalid.length > 0) {
    throw errors.invalidPreferences(preferences.invalid);
  }
}

const rootMedia: ReadonlySet<string> = new Set(["any", "json", "openapi"]);

function checkRootMedia({ accept }: ApiRequest): void {
  if (accept.some(({ kind }) => rootMedia.has(kind))) return;
  throw errors.notAcceptable(accept.map(canonicalText));
}

/** Names of big schemas are not searched for something similar: that would take long. */
const largestSuggestedSchema = 500;

function findRelation(schema: string, name: string, cache: SchemaCache): Relation {
  const relation = cache.relation({ schema, name });
  if (relation !== undefined) return relation;
  const few = cache.relationNames(schema).length < largestSuggestedSchema;
  const similar = few ? cache.derived(nameSuggesters).relations(schema)(name, 0.75) : null;
  throw errors.noRelation({ schema, name }, similar === null ? null : { schema, name: similar });
}

function allowOf(target: OptionsTarget, schema: string, cache: SchemaCache): string {
  switch (target.kind) {
    case "root":
      return "OPTIONS,GET,HEAD";
    case "relation":
      return relationMethods(findRelation(schema, target.relation, cache));
    case "routine":
      return routineMethods(cache.routines({ schema, name: target.routine }), {
        schema,
        name: target.routine,
      });
    default:
      return target satisfies never;
  }
}

function relationMethods(relation: Relation): string {
  const { insertable, updatable, deletable, primaryKey } = relation;
  return [
    "OPTIONS,GET,HEAD",
    ...(insertable ? ["POST"] : []),
    ...(insertable && updatable && primaryKey.length > 0 ? ["PUT"] : []),
    ...(updatable ? ["PATCH"] : []),
    ...(deletable ? ["DELETE"] : []),
  ].join(",");
}

/** The union over all overloads, since a client that asks has no arguments yet. */
function routineMethods(
  overloads: readonly Routine[],
  name: { readonly schema: string; readonly name: string },
): string {
  if (overloads.length === 0) {
    throw errors.noFunction({
      message: `Could not find the function ${name.schema}.${name.name} without parameters in ` +
        "the schema cache",
      details: `Searched for the function ${name.schema}.${name.name} without parameters, but ` +
        "no matches were found in the schema cache.",
    });
  }
  return overloads.every(({ volatility }) => volatility === "volatile")
    ? "OPTIONS,POST"
    : "OPTIONS,GET,HEAD,POST";
}
