/** Plans one request, or takes the cached plan of its shape. @module */
import type { OperationReferences } from "./batch/batch_references.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { OptionsPlan } from "../plan/allowed_methods.ts";
import { BodyPlan } from "../plan/body_plan.ts";
import { checkTarget, plan, type PlanConfig } from "../plan/plan.ts";
import { checkQuerySize } from "../plan/query_limits.ts";
import type { RootPlan } from "../plan/root_plan.ts";
import { mayChangeSession } from "../plan/retry_safe.ts";
import { namesSelectable } from "../plan/read/shown_columns.ts";
import type { PlannedRequest } from "./plan_cache/plan_cache.ts";
import { type QueryShape, readQueryShape } from "./plan_cache/query_shape.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { noBytes, type Payload } from "../request/body/body_decoder.ts";
import { type BodySource, type LongBodyChecks, readBody } from "../request/body/body.ts";
import { parseHead } from "../request/parse_request.ts";
import type { PayloadReader } from "../request/body/payload.ts";
import {
  acceptedQueries,
  parameterReader,
  type QueryTarget,
  readQueryTarget,
  requestInQuery,
  withParameters,
} from "../request/query_request.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import { queryOf } from "../transaction/data_plan.ts";
import { RoleColumns } from "./column_privileges.ts";
import type { Exchange } from "./exchange.ts";
import { bodySource } from "./receive_body.ts";

/** An operation of a batch, with the data that its planning needs. */
interface PlannedPart {
  readonly raw: RawRequest;
  readonly body: Uint8Array;
  /** The columns that the role of the request may select. */
  readonly columns: RoleColumns;
  /** References from and to other operations, or null. Plans with references are not cached. */
  readonly references: OperationReferences | null;
}

/** The request to plan: an exchange's, an operation's, or the GET of a query request. */
interface PlanningInput {
  readonly exchange: Exchange;
  readonly raw: RawRequest;
  readonly part: PlannedPart | null;
  readonly cache: SchemaCache;
}

/** The plan of a request: rows, a description of the API, or OPTIONS. */
export type RequestPlan =
  | (PlannedRequest & {
    readonly kind: "data";
    /** The columns on which the plan depends; null for a request without `**`. */
    readonly columns: RoleColumns | null;
  })
  | {
    readonly kind: "root";
    readonly request: ApiRequest;
    readonly plan: RootPlan;
    readonly cache: SchemaCache;
  }
  | OptionsPlan;

/** Plans an exchange, or an operation of its batch. Uses the cached plan of its shape if there is
 * one. Waits only for a body. */
export function planRequest(
  exchange: Exchange,
  part: PlannedPart | null,
): RequestPlan | Promise<RequestPlan> {
  const { context: { snapshot: { cache, cacheError, config } } } = exchange;
  if (cache === null) throw cacheError ?? errors.noSchemaCache();
  const { raw } = part ?? exchange;
  const target = readQueryTarget(raw, config);
  const input = { exchange, raw, part, cache };
  return target === null ? planByShape(input) : planQuery(input, target);
}

/** Returns the source of the body. The body of an operation has arrived with its batch. */
function sourceOf({ exchange, part }: PlanningInput, reader: PayloadReader): BodySource {
  return part === null ? bodySource(exchange, reader) : { kind: "bytes", bytes: part.body };
}

/** Plans a query request. Receives its parameters, and plans the equivalent GET. */
async function planQuery(input: PlanningInput, target: QueryTarget): Promise<RequestPlan> {
  const { raw, cache, exchange: { context: { guard, snapshot: { config } } } } = input;
  const check = (request: RawRequest) =>
    checkTarget(parseHead({ ...request, query: "" }, config).request, cache);
  if (raw.method === "OPTIONS" && target.form === "path") {
    checkGuard({ ...input, raw: { ...raw, path: target.path } }, null, null);
    check({ ...raw, method: "GET", path: target.path });
    const acceptQuery = acceptedQueries(target.isRoutine);
    return { kind: "options", allow: "OPTIONS,POST", acceptQuery };
  }
  const request = requestInQuery(raw, target);
  // JSON arguments of a function are received later, as the body of a POST is.
  if (request.method === "QUERY") return planByShape({ ...input, raw: request });
  // A guard disables this check: its errors would show names to clients that the guard refuses.
  const checks = guard === null ? { head: () => check(request) } : {};
  const payload = await readBody(sourceOf(input, parameterReader), parameterReader, checks);
  const parameters = payload.kind === "raw" ? payload.bytes : noBytes;
  return planByShape({ ...input, raw: withParameters(request, parameters) });
}

function planByShape(input: PlanningInput): RequestPlan | Promise<RequestPlan> {
  const { raw, part, exchange: { context: { planCache, snapshot: { config } } } } = input;
  const hasReferences = part !== null && part.references !== null;
  const shape = hasReferences ? null : readQueryShape(raw, config);
  const needs = checkGuard(input, shape, null);
  const reader = shape === null ? undefined : planCache.bodyReader(shape);
  if (shape === null || reader === undefined) return planUncached(input, shape, null, needs);
  if (reader === null) return planLooked(input, shape, null);
  // The body is read before the look-up, because plans are cached by shape and keys of the body.
  const checks = needs === "text" ? {} : { isDivisible: divisibility(input, reader) };
  return readBody(sourceOf(input, reader), reader, checks)
    .then((received) => {
      checkGuard(input, shape, received);
      return planLooked(input, shape, received);
    });
}

/** Checks a request by the guard. Returns which part of the body the guard needs. */
function checkGuard(
  { exchange, raw, part }: PlanningInput,
  shape: QueryShape | null,
  payload: Payload | null,
): "text" | "keys" {
  const { guard } = exchange.context;
  if (guard === null) return "keys";
  const body = payload === null ? null : part?.references?.withMembers(payload) ?? payload;
  return guard.check(exchange, { raw, shape, payload: body, isPart: part !== null });
}

/** Returns a function that decides whether a body too long for one statement can be divided. For
 * such a body, the function plans the request. */
function divisibility(input: PlanningInput, reader: PayloadReader): LongBodyChecks["isDivisible"] {
  const { raw, cache, exchange: { context: { snapshot: { config } } } } = input;
  let body: BodyPlan | null = null;
  return (payload) => {
    body ??= new BodyPlan({ request: parseHead(raw, config).request, reader, cache, config });
    return body.isDivisible(payload);
  };
}

/** Returns the cached plan of a shape; plans the request if the shape is not cached. */
function planLooked(
  input: PlanningInput,
  shape: QueryShape,
  received: Payload | null,
): RequestPlan | Promise<RequestPlan> {
  const { raw, part, exchange: { context: { planCache }, stopwatch } } = input;
  const found = planCache.lookup(shape, raw, received);
  if (found === undefined) return planUncached(input, shape, received);
  if (part === null) stopwatch.lap("parse");
  return { kind: "data", ...found, columns: null };
}

/** Parses and plans a request whose shape is not cached. */
async function planUncached(
  input: PlanningInput,
  shape: QueryShape | null,
  received: Payload | null,
  needs: "text" | "keys" = "keys",
): Promise<RequestPlan> {
  const { raw, part, cache, exchange } = input;
  const { stopwatch, context: { guard, planCache, snapshot: { config } } } = exchange;
  const { request: head, reader } = parseHead(raw, config);
  if (raw.received !== undefined) checkQuerySize(head.query);
  const columns = selectableColumns(input, head);
  const complete = (sent: ApiRequest): ApiRequest => {
    if (received === null && sent.payload !== null) checkGuard(input, shape, sent.payload);
    const parsed = part?.references?.bind(sent) ?? sent;
    if (part === null) stopwatch.lap("parse");
    return columns === null ? parsed : { ...parsed, selectable: columns };
  };
  const first = reader === null
    ? planBodiless(complete(head), cache, config)
    : await new BodyPlan({ request: head, reader, cache, config }).receive(
      received === null ? sourceOf(input, reader) : { kind: "payload", payload: received },
      // A guard disables early checks: their errors would show names to clients that it refuses.
      { complete, isChecked: guard === null, isWhole: needs === "text" },
    );
  const { request } = first;
  // Columns that were not cached are read now, and the request is planned again with them.
  const isOutdated = await columns?.readUnknown() === true;
  const planned = isOutdated ? plan(request, cache, config) : first.planned;
  if (part === null) stopwatch.lap("plan");
  if (planned.kind === "options") return planned;
  if (planned.kind === "root") return { kind: "root", request, plan: planned, cache };
  const query = part?.references?.query(planned) ?? queryOf(planned);
  // Plans that depend on the role are not cached, because roles share the plan of a shape.
  if (shape !== null && columns === null) {
    planCache.insert(shape, { raw, payload: request.payload, reader, query });
  }
  const traits = { isRetrySafe: false, mayChangeSession: mayChangeSession(planned, cache) };
  const uncached = { plan: planned, query, kind: null, ...traits };
  return { kind: "data", request, planned: uncached, columns };
}

/** Plans a request that needs no body. */
function planBodiless(request: ApiRequest, cache: SchemaCache, config: PlanConfig) {
  return { request, planned: plan(request, cache, config) };
}

/** Returns the columns that the role may select; null for a request without `**`. */
function selectableColumns(
  { part, exchange }: PlanningInput,
  { query: { select } }: ApiRequest,
): RoleColumns | null {
  if (!namesSelectable(select)) return null;
  const { identity, context: { columnPrivileges } } = exchange;
  return part?.columns ?? new RoleColumns(columnPrivileges, identity!.role, exchange);
}
