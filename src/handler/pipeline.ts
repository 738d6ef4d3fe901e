/**
 * Runs the stages of a request in order and times them. Only this module turns errors into responses.
 *
 * @module
 */
import { authenticate } from "../auth/authenticate.ts";
import type { Credential } from "../auth/credential.ts";
import type { Identity } from "../auth/jwt_cache.ts";
import type { FetchScope } from "../auth/remote_key_set.ts";
import type { RevocationIndex } from "../auth/revocations.ts";
import type { Statement } from "../database/batch.ts";
import type { Caller, Database } from "../database/database.ts";
import type { Dialect } from "../dialect.ts";
import { errors } from "../errors/catalogue.ts";
import type { TargetNameUse } from "../errors/target_name_warning.ts";
import { errorResponse, toServiceError } from "../errors/error_response.ts";
import { DatabaseError, ServiceError } from "../errors/service_error.ts";
import type { RequestIdentifiers } from "../http/request_id.ts";
import { formatServerTiming } from "../http/server_timing.ts";
import { plan } from "../plan/plan.ts";
import { Admission } from "../rate_limits/rate_limiter.ts";
import { limitedResource } from "../rate_limits/resource.ts";
import type { PlanCache } from "../plan_cache/plan_cache.ts";
import type { ApiRequest, Payload } from "../request/api_request.ts";
import type { LongBodyChecks, ReceivingOptions } from "../request/body.ts";
import { BodyPace } from "../request/body_pace.ts";
import type { DivisionOptions } from "../request/divided_body.ts";
import { hasIdempotencyKey } from "../request/idempotency_key.ts";
import type { PayloadReader } from "../request/payload.ts";
import { asRead } from "../request/query_request.ts";
import { receivePayload } from "../request/parse_request.ts";
import type { RawRequest } from "../request/raw_request.ts";
import { adviceFor } from "../response/advice.ts";
import type { Reply } from "../response/reply.ts";
import { respondToOptions } from "../response/response.ts";
import { respondToRoot } from "../response/root.ts";
import { isDivisibleInsert } from "../plan/divisible_insert.ts";
import type { SpoolFile } from "../lib/spool_file.ts";
import { systemClock } from "../lib/clock.ts";
import { schedule } from "../lib/timers.ts";
import type { RequestService } from "../service/request_service.ts";
import type { Snapshot } from "../service/snapshot.ts";
import { type ColumnPrivileges, RoleColumns } from "./column_privileges.ts";
import type { EarlyPrivilegeCheck } from "./early_privilege.ts";
import type { Uploads } from "./uploads.ts";
import { executeVersioned } from "./versioned_request.ts";
import type { RequestTiming } from "../observe/request_timing.ts";
import { Stopwatch, type TraceStage } from "../observe/stopwatch.ts";
import type { RouteNames } from "./route_names.ts";
import type { AddedHeaders } from "./sent_headers.ts";
import type { RequestsInFlight } from "./in_flight.ts";
import { isBatch, respondToBatch } from "./batch_request.ts";
import { OperationError } from "../batch/operation_error.ts";
import { beforeDeadline, callerOf, failureOf } from "./request_timeout.ts";
import { checkBeforeToken, type CheckedRequest, checkIdentity } from "./request_checks.ts";
import { withBookmark, withReplicas } from "./bookmarks.ts";
import { buildRootTransaction, schemaMetadataOf } from "../transaction/transaction.ts";
import { ownerOf, timedTransaction, withHeaders } from "./execute.ts";
import { planRequest, type RequestPlan } from "./plan_request.ts";
import { executeSelectable } from "./selectable_request.ts";

/** State that all requests of a snapshot share. */
export interface PipelineContext {
  readonly snapshot: Snapshot;
  /** Plans of that snapshot. */
  readonly planCache: PlanCache;
  /** Columns that roles may select, by the schema cache of that snapshot. */
  readonly columnPrivileges: ColumnPrivileges;
  readonly database: Database;
  readonly revocations: RequestService["revocations"];
  readonly dialect: Dialect;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Long bodies that are stored or arriving. */
  readonly uploads: Uploads;
  readonly inFlight: RequestsInFlight;
  readonly earlyPrivilege: EarlyPrivilegeCheck;
  /** Whole seconds until the next attempt to connect. */
  readonly retryAfter: () => number;
  readonly traceStage: TraceStage | null;
  /** Receives the name of a policy of `rate-limits` that refuses a request. */
  readonly onRateLimited: (policy: string) => void;
  /** Called when a request with an `Idempotency-Key` gets the answer of an earlier one. */
  readonly onReplayed: () => void;
  /** Receives the number of operations of a batch. */
  readonly onBatch: (operations: number) => void;
  /** Called when a precondition of a request does not hold. */
  readonly onPreconditionFailed: () => void;
  /** Name of the header with bookmarks; null if the database has no standbys. */
  readonly bookmarkHeader: string | null;
  /** Headers that responses have beside those of their replies. */
  readonly addedHeaders: AddedHeaders;
  readonly routes: RouteNames;
}

/** A reply, and the data that the log needs. */
export interface PipelineResult {
  readonly reply: Reply;
  /** Null when authentication failed. */
  readonly role: string | null;
  /** The thrown value if the reply is an error. */
  readonly thrown: unknown;
  /** The error that the client receives. */
  readonly error: ServiceError | null;
  /** A hint for the error, which has none; null without one. */
  readonly advice: string | null;
  /** Aliased embeds that the request addressed by their targets' names, which is deprecated. */
  readonly targetNameUses: readonly TargetNameUse[];
}

/** One request on its way through the stages. */
export interface Exchange {
  readonly request: Request;
  readonly pieces: RawRequest;
  readonly context: PipelineContext;
  readonly stopwatch: Stopwatch;
  /** Work that continues after the response. */
  readonly scope: FetchScope;
  /** Collects the statements of the request for the log; null if the log omits them. */
  readonly statements: Statement[] | null;
  /** Collects the aliased embeds that the request addresses by their targets' names. */
  readonly targetNameUses: TargetNameUse[];
  /** Collects the temporary files of the request. */
  readonly files: SpoolFile[];
  readonly checked: CheckedRequest;
  readonly identifiers: RequestIdentifiers;
  /** Measures the database; null if nothing needs it. */
  readonly timing: RequestTiming | null;
  /** `metadata` answers the root with the JSON of `SchemaMetadata`. Default: `document`. */
  readonly rootReply?: "document" | "metadata" | undefined;
  readonly caller: Caller;
  /** Returns the client's address; null if it is unknown. */
  readonly client: () => string | null;
  /** Returns true while other clients wait for a connection; null if they never do. */
  readonly isContended: (() => boolean) | null;
}

/** Inputs of {@linkcode runPipeline} besides the request. */
export interface PipelineInput extends
  Pick<
    Exchange,
    "client" | "context" | "identifiers" | "isContended" | "scope" | "statements" | "timing"
  > {
  readonly credential: Credential;
  /** The identity of a request that is part of an authenticated one. Default: the token's. */
  readonly identity?: Identity;
  /** The answer to the root: the description of the API, or the metadata that it is made of. */
  readonly rootReply?: Exchange["rootReply"];
  /** An error that an earlier check found; null for none. */
  readonly refusal: ServiceError | null;
}

/** Runs the stages of a request, in the order of `request_checks.ts`. Never rejects. */
export async function runPipeline(
  request: Request,
  pieces: RawRequest,
  input: PipelineInput,
): Promise<PipelineResult> {
  const { context, scope, statements, client, credential, refusal, identifiers, timing } = input;
  const { snapshot: { config }, inFlight } = context;
  const stopwatch = new Stopwatch(config.serverTimingEnabled, context.traceStage);
  const targetNameUses: TargetNameUse[] = [];
  const admission = startAdmission(pieces, context, client);
  const checked: CheckedRequest = {
    request,
    pieces,
    credential,
    config,
    admission,
    addedHeaders: [],
  };
  const caller = callerOf(request, config);
  const exchange: Exchange = {
    request,
    caller,
    client,
    isContended: input.isContended,
    rootReply: input.rootReply,
    pieces,
    context,
    stopwatch,
    scope,
    statements,
    targetNameUses,
    files: [],
    checked,
    identifiers,
    timing,
  };
  let identity: Identity | null = null;
  let hasEntered = false;
  let result: Omit<PipelineResult, "targetNameUses">;
  try {
    if (refusal !== null) throw refusal;
    checkBeforeToken(checked);
    const authenticated = input.identity ?? authenticateRequest(exchange, config.jwtAud);
    identity = authenticated instanceof Promise
      ? await beforeDeadline(authenticated, caller)
      : authenticated;
    checkIdentity(checked, identity);
    stopwatch.lap("jwt");
    inFlight.enter(config.serverMaxRequests);
    hasEntered = true;
    const reply = await respond(exchange, identity);
    stopwatch.lap("response");
    const { role } = identity;
    result = { reply: timed(reply, stopwatch), role, thrown: null, error: null, advice: null };
  } catch (thrown) {
    result = failedResult(thrown, identity, exchange);
  } finally {
    caller.deadline?.clear();
    for (const file of exchange.files) void file.close();
  }
  if (hasEntered) leaveAfter(result.reply, inFlight);
  if (admission !== null) checked.addedHeaders.push(...admission.headers());
  const reply = withHeaders(result.reply, checked.addedHeaders);
  return { ...result, reply, targetNameUses };
}

/** Ends a request in flight with its body. */
function leaveAfter({ ended }: Reply, inFlight: RequestsInFlight): void {
  if (ended === undefined) inFlight.leave();
  else void ended.then(() => inFlight.leave());
}

/** Begins to count a request; returns null without policies. */
export function startAdmission(
  pieces: RawRequest,
  { snapshot: { rateLimits: limits, config }, onRateLimited: onRefused }: PipelineContext,
  client: () => string | null,
): Admission | null {
  if (limits === null) return null;
  const { serverQueryMethod } = config;
  const dbRootSpec = isBatch(pieces, config) ? null : config.dbRootSpec;
  const resource = limitedResource(pieces, { serverQueryMethod, dbRootSpec });
  return new Admission({ limits, onRefused, client: client(), resource });
}

/** Makes the reply to a request that failed. */
export function failedResult(
  caught: unknown,
  identity: Identity | null,
  { pieces, caller, context }: Pick<Exchange, "caller" | "context" | "pieces">,
): Omit<PipelineResult, "targetNameUses"> {
  const { dialect, snapshot, retryAfter } = context;
  const cause = caught instanceof OperationError ? caught.cause : caught;
  const thrown = failureOf(cause, caller);
  const ownError = toServiceError(thrown, {
    authenticated: identity?.authenticated ?? false,
    dialect,
  });
  const error = caught instanceof OperationError
    ? new ServiceError({
      ...ownError.fields,
      operation: thrown === cause ? caught.operation : null,
    })
    : ownError;
  if (isPreconditionFailure(error)) context.onPreconditionFailed();
  const { config, serverVersion } = snapshot;
  const role = identity?.role ?? null;
  const advised = { pieces: asRead(pieces, config), role, serverVersion, config };
  const advice = adviceFor(error.fields, advised);
  const isAdvised = advice !== null && config.clientErrorVerbosity === "advise";
  const sent = isAdvised ? new ServiceError({ ...error.fields, hint: advice }) : error;
  const { status, statusText, headers, body } = errorResponse(sent, {
    dialect,
    verbosity: config.clientErrorVerbosity,
    retryAfter: retryAfter(),
  });
  const reply: Reply = {
    status,
    ...(statusText === undefined ? {} : { statusText }),
    headers,
    content: body,
    length: body?.length ?? null,
  };
  return { reply, role, thrown, error, advice };
}

function isPreconditionFailure({ fields: { own, code } }: ServiceError): boolean {
  return own && code === errors.preconditionFailed.code;
}

/** Verifies the token of a request, which must be for `audience` unless that is null. */
export function authenticateRequest(
  { context: { snapshot, revocations, now }, scope, checked: { credential } }: Pick<
    Exchange,
    "checked" | "context" | "scope"
  >,
  audience: string | null,
): Identity | Promise<Identity> {
  const { config, auth } = snapshot;
  const authenticateBy = (index: RevocationIndex | null) =>
    authenticate(credential.token, {
      ...auth,
      now: Math.floor(now() / 1000),
      skewSeconds: config.jwtSkew,
      revocations: index,
      scope,
      dbAnonRole: config.dbAnonRole,
      jwtAud: audience,
    });
  const index = credential.token === null ? null : revocations.current();
  return index instanceof Promise ? index.then(authenticateBy) : authenticateBy(index);
}

/** Plans the request and executes the plan. */
function respond(exchange: Exchange, identity: Identity): Promise<Reply> {
  const { pieces, context, stopwatch } = exchange;
  if (isBatch(pieces, context.snapshot.config)) {
    return respondToBatch(exchange, identity, (reader, checks) => {
      const options = { ...bodyOptions(exchange), checks };
      return receivePayload(exchange.request, reader, options);
    });
  }
  const planned = planRequest({
    pieces,
    context,
    stopwatch,
    columns: () => new RoleColumns(context.columnPrivileges, identity.role, exchange.caller),
    receive: (reader, head, checks) => {
      const privilege = () => checkPrivilege(exchange, identity, head());
      const options = receivingOptions(exchange, reader, {
        head,
        checks: { ...checks, privilege },
      });
      return receivePayload(exchange.request, reader, options);
    },
  });
  const proceed = (request: RequestPlan) => carryOut(exchange, identity, request);
  return planned instanceof Promise ? planned.then(proceed) : proceed(planned);
}

async function carryOut(
  exchange: Exchange,
  identity: Identity,
  request: RequestPlan,
): Promise<Reply> {
  switch (request.kind) {
    case "options":
      return respondToOptions(request);
    case "root":
      return await describe(exchange, identity, request);
    case "data":
      return request.columns === null
        ? await executeVersioned(exchange, identity, request)
        : await executeSelectable(exchange, identity, { ...request, columns: request.columns });
    default:
      return request satisfies never;
  }
}

function receivingOptions(
  exchange: Exchange,
  { isQuery }: PayloadReader,
  { head, checks }: { readonly head: () => ApiRequest; readonly checks: LongBodyChecks },
): ReceivingOptions {
  const options = { ...bodyOptions(exchange), checks };
  if (isQuery === true) return { ...options, ...queryLimit(exchange.context.snapshot.config) };
  return { ...options, division: divisionOf(exchange, head) };
}

/** Returns the limits of a body. */
export function bodyOptions(
  { context: { snapshot: { config } }, caller: { deadline = null }, isContended }: Pick<
    Exchange,
    "caller" | "context" | "isContended"
  >,
): Pick<ReceivingOptions, "timeout"> & { readonly maxBytes: number } {
  const { serverMaxBodySize: maxBytes, serverBodyTimeout } = config;
  const pace = isContended === null ? null : new BodyPace(isContended, systemClock);
  return {
    maxBytes,
    timeout: { milliseconds: serverBodyTimeout * 1000, schedule, deadline, pace },
  };
}

/** Returns the lower one of the limits of all bodies and of queries. */
function queryLimit(
  { serverMaxBodySize, serverMaxQueryBody }: Snapshot["config"],
): Pick<ReceivingOptions, "maxBytes" | "tooLarge"> {
  const isLower = serverMaxBodySize > 0 &&
    (serverMaxQueryBody === 0 || serverMaxBodySize < serverMaxQueryBody);
  if (isLower) return { maxBytes: serverMaxBodySize };
  return { maxBytes: serverMaxQueryBody, tooLarge: errors.queryTooLarge };
}

/** Throws `42501` if the role lacks a privilege that no body can replace. */
async function checkPrivilege(
  { caller, context: { snapshot: { config }, earlyPrivilege } }: Exchange,
  { role }: Identity,
  request: ApiRequest,
): Promise<void> {
  // A function before the request may switch the role. PostgreSQL refuses a write by its access first.
  if (config.dbPreRequest !== null || config.dbReadOnly) return;
  await beforeDeadline(earlyPrivilege.check(request, role), caller);
}

/** Returns how a long body of a request is divided; only inserts are. */
function divisionOf(
  { pieces, context: { snapshot: { cache, config }, uploads }, files }: Exchange,
  head: () => ApiRequest,
): DivisionOptions | undefined {
  const { method } = pieces;
  if (method !== "POST" || cache === null) return undefined;
  // The whole body identifies a request with a key.
  if (config.idempotencyTable !== null && hasIdempotencyKey(pieces)) return undefined;
  const isDivisible = (payload: Payload | null) => {
    const request = head();
    if (request.action.kind !== "insert") return false;
    return isDivisibleInsert(plan({ ...request, payload: payload ?? noRows }, cache, config));
  };
  return uploads.division({ maxBytes: config.serverSpoolSize, files, isDivisible });
}

const noRows: Payload = {
  kind: "json",
  source: "json",
  shape: "array",
  keys: [],
  moreKeys: 0,
  text: new Uint8Array(0),
};

/** Responds to the root with a description of the API as the role may use it. */
async function describe(
  exchange: Exchange,
  identity: Identity,
  { request, plan: planned, cache }: Extract<RequestPlan, { kind: "root" }>,
): Promise<Reply> {
  const { caller, context, statements, identifiers, timing } = exchange;
  const { snapshot, snapshot: { config }, database } = context;
  const owner = ownerOf(identity, snapshot, identifiers);
  const batch = withReplicas(exchange, buildRootTransaction(request, planned, owner, config));
  statements?.push(...batch.statements);
  const result = await timedTransaction(database, batch, { caller, timing });
  exchange.stopwatch.lap("transaction");
  const metadata = schemaMetadataOf(result);
  if (exchange.rootReply !== "metadata") {
    const { bookmarkHeader } = context;
    const described = bookmarkHeader === null ? config : { ...config, bookmarkHeader };
    const reply = await respondToRoot(request, planned, { metadata, cache, config: described });
    return withBookmark(reply, result);
  }
  const content = new TextEncoder().encode(metadata ?? "null");
  return { status: 200, headers: [], content, length: content.length };
}

function timed(reply: Reply, stopwatch: Stopwatch): Reply {
  const timings = stopwatch.timings();
  if (timings === null) return reply;
  const header = ["Server-Timing", formatServerTiming(timings)] as const;
  return { ...reply, headers: [...reply.headers, header] };
}

/**
 * Returns whether the log shows an error in addition to the request's line. Failures of the database
 * and of connections are always logged; the service's own are logged if the dialect says so.
 */
export function isLoggedFailure(
  { thrown, error }: PipelineResult,
  { ownFailures }: Pick<Dialect, "ownFailures">,
): boolean {
  if (error === null || error.fields.status < 500) return false;
  // Under overload, their lines would add to the load.
  if (error.fields.shedReason !== undefined) return false;
  if (thrown instanceof DatabaseError) return true;
  if (error.fields.code === outageCode) return false;
  if (!(thrown instanceof ServiceError) || !error.fields.own) return false;
  return ownFailures === "logged" || error.fields.code.startsWith(connectionGroup);
}

/** Code of requests that need keys which cannot be fetched. The log has one line for the outage. */
const outageCode = "310";

/** Group 0 of the error codes. */
const connectionGroup = "0";
