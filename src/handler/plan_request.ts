/**
 * Plans one request, by its shape if the plan cache knows that.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { OptionsPlan } from "../plan/allowed_methods.ts";
import { checkTarget, checkWithoutBody, plan } from "../plan/plan.ts";
import { checkQuerySize } from "../plan/query_size.ts";
import type { RootPlan } from "../plan/root_plan.ts";
import { namesSelectable } from "../plan/shown_columns.ts";
import type { PlannedRequest } from "../plan_cache/plan_cache.ts";
import { type QueryShape, readQueryShape } from "../plan_cache/query_shape.ts";
import type { ApiRequest, Payload } from "../request/api_request.ts";
import { noBytes } from "../request/body_decoder.ts";
import type { LongBodyChecks } from "../request/body.ts";
import { parseHead, type RequestHead } from "../request/parse_request.ts";
import type { PayloadReader } from "../request/payload.ts";
import {
  acceptedQueries,
  parameterReader,
  type QueryTarget,
  readQueryTarget,
  requestInQuery,
  withParameters,
} from "../request/query_request.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";
import type { Query } from "../query/query.ts";
import { type DataPlan, queryOf } from "../transaction/data_plan.ts";
import type { Stopwatch } from "../observe/stopwatch.ts";
import type { RoleColumns } from "./column_privileges.ts";
import type { PayloadRequest } from "./execute.ts";
import type { PipelineContext } from "./pipeline.ts";

/**
 * Receives the body of a request. `head` returns the request without its body; `checks` may refuse a
 * long body early.
 */
export type ReceiveBody = (
  reader: PayloadReader,
  head: () => ApiRequest,
  checks: Pick<LongBodyChecks, "head" | "keys">,
) => Promise<Payload>;

/** A request to plan, and what planning depends on. */
export interface PlanningInput {
  readonly pieces: RawRequest;
  readonly context: Pick<PipelineContext, "planCache" | "snapshot">;
  readonly stopwatch: Stopwatch;
  readonly receive: ReceiveBody;
  /** Returns the columns that the role of the request may select. */
  readonly columns: () => RoleColumns;
  /** References from and to other operations of a batch. Default: none. */
  readonly references?: RequestReferences;
}

/** References of a request. Its plan is not cached. */
export interface RequestReferences {
  /** Adds the names of its values to a request. */
  bind(request: ApiRequest): ApiRequest;
  /** Returns the SQL of the plan. */
  query(plan: DataPlan): Query;
}

/** The plan of a request: of one that needs rows, of the description of the API, or of OPTIONS. */
export type RequestPlan =
  | (PayloadRequest & {
    readonly kind: "data";
    /** The columns that the plan depends on; null for a request without `**`. */
    readonly columns: RoleColumns | null;
  })
  | {
    readonly kind: "root";
    readonly request: ApiRequest;
    readonly plan: RootPlan;
    readonly cache: SchemaCache;
  }
  | OptionsPlan;

/** Plans a request. Uses the cached plan of its shape if there is one. */
export function planRequest(input: PlanningInput): RequestPlan | Promise<RequestPlan> {
  const { pieces, context: { snapshot: { cache, cacheError, config } } } = input;
  if (cache === null) throw cacheError ?? errors.noSchemaCache();
  const target = readQueryTarget(pieces, config);
  return target === null ? planByShape(input, cache) : planQuery(input, target, cache);
}

/** Plans a query request: receives its parameters, and plans the GET that it stands for. */
async function planQuery(
  input: PlanningInput,
  target: QueryTarget,
  cache: SchemaCache,
): Promise<RequestPlan> {
  const { pieces, context: { snapshot: { config } }, receive } = input;
  if (pieces.method === "OPTIONS" && target.form === "path") {
    checkTarget(
      parseHead({ ...pieces, method: "GET", path: target.path, query: "" }, config).request,
      cache,
    );
    return {
      kind: "options",
      allow: "OPTIONS,POST",
      acceptQuery: acceptedQueries(target.isRoutine),
    };
  }
  const request = requestInQuery(pieces, target);
  // JSON arguments are received as those of POST.
  if (request.method === "QUERY") return planByShape({ ...input, pieces: request }, cache);
  const head = () => parseHead({ ...request, query: "" }, config).request;
  const payload = await receive(parameterReader, head, { head: () => checkTarget(head(), cache) });
  const parameters = payload.kind === "raw" ? payload.bytes : noBytes;
  return planByShape({ ...input, pieces: withParameters(request, parameters) }, cache);
}

function planByShape(
  input: PlanningInput,
  cache: SchemaCache,
): RequestPlan | Promise<RequestPlan> {
  const { pieces, context: { snapshot: { config } }, stopwatch } = input;
  const shape = input.references === undefined ? readQueryShape(pieces, config) : null;
  const found = shape === null ? notCached : lookupPlan(input, shape);
  const proceed = ({ planned, payload }: CacheLookup) => {
    if (planned === undefined) return planUncached(input, { shape, cache, received: payload });
    stopwatch.lap("parse");
    return { kind: "data", ...planned, payload, columns: null } as const;
  };
  return found instanceof Promise ? found.then(proceed) : proceed(found);
}

/** Result of a look-up in the plan cache. */
interface CacheLookup {
  /** Undefined if the shape is not cached. */
  readonly planned: PlannedRequest | undefined;
  /** The body; null if it was not received. */
  readonly payload: Payload | null;
}

const notCached: CacheLookup = { planned: undefined, payload: null };

/** Looks a shape up. Receives the body first if the shape may be cached. */
function lookupPlan(
  { pieces, context: { planCache, snapshot }, receive }: PlanningInput,
  shape: QueryShape,
): CacheLookup | Promise<CacheLookup> {
  const reader = planCache.bodyReader(shape);
  if (reader === undefined) return notCached;
  if (reader === null) return { planned: planCache.lookup(shape, pieces, null), payload: null };
  const head = () => parseHead(pieces, snapshot.config).request;
  return receive(reader, head, {}).then((payload) => ({
    planned: planCache.lookup(shape, pieces, payload),
    payload,
  }));
}

/** Parses and plans a request whose shape is not cached. */
async function planUncached(
  input: PlanningInput,
  { shape, cache, received }: {
    readonly shape: QueryShape | null;
    readonly cache: SchemaCache;
    readonly received: Payload | null;
  },
): Promise<RequestPlan> {
  const { pieces, context: { snapshot: { config }, planCache }, stopwatch } = input;
  const head = parseHead(pieces, config);
  if (pieces.received !== undefined) checkQuerySize(head.request.query);
  const payload = received ?? await receiveBody(input, head, cache);
  const sent = payload === null ? head.request : { ...head.request, payload };
  const parsed = input.references?.bind(sent) ?? sent;
  stopwatch.lap("parse");
  const columns = namesSelectable(parsed.query.select) ? input.columns() : null;
  const request = columns === null ? parsed : { ...parsed, selectable: columns };
  let planned = plan(request, cache, config);
  // The first plan has looked up the columns of its relations.
  if (await columns?.readUnknown()) planned = plan(request, cache, config);
  stopwatch.lap("plan");
  switch (planned.kind) {
    case "options":
      return planned;
    case "root":
      return { kind: "root", request, plan: planned, cache };
    case "read":
    case "mutate":
    case "call": {
      const query = input.references?.query(planned) ?? queryOf(planned);
      // Requests of one shape have the same plan only if it does not depend on the role.
      if (shape !== null && columns === null) {
        planCache.insert(shape, { pieces, payload, reader: head.reader, query });
      }
      const uncached = { plan: planned, query, kind: null, isRetrySafe: false };
      return { kind: "data", request, planned: uncached, payload, columns };
    }
    default:
      return planned satisfies never;
  }
}

/**
 * Receives the body; null if the request has none. Rejects the request before it receives a long
 * body, if the body cannot change that, and after the body's keys if they are invalid.
 */
function receiveBody(
  { receive, context: { snapshot: { config } } }: PlanningInput,
  { request, reader }: RequestHead,
  cache: SchemaCache,
): Promise<Payload> | null {
  if (reader === null) return null;
  return receive(reader, () => request, {
    head: () => checkWithoutBody(request, reader.format, cache, config),
    keys: (payload: Payload) => void plan({ ...request, payload }, cache, config),
  });
}
