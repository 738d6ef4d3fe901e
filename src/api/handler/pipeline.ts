/** Runs the stages of a request in order. Only this module turns errors into responses. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { errorResponse, toServiceError } from "../../base/errors/error_response.ts";
import { isCanceled, ServiceError } from "../../base/errors/service_error.ts";
import { OperationError } from "../transaction/operation_error.ts";
import { isBatch } from "./batch/batch_head.ts";
import { asRead } from "../request/query_request.ts";
import { adviceFor } from "../response/advice.ts";
import { type Reply, withBookmark } from "../response/reply.ts";
import { respondToOptions } from "../response/response.ts";
import { respondToRoot, servedMetadata } from "../response/root.ts";
import { admit } from "./admission.ts";
import { respondToBatch } from "./batch_request.ts";
import { buildRootScript, schemaMetadataOf } from "../transaction/service_scripts.ts";
import { withReplicas } from "../transaction/bookmarks.ts";
import { readableQuery, RoleColumns } from "./column_privileges.ts";
import type { Exchange } from "./exchange.ts";
import type { PlannedRequest } from "./plan_cache/plan_cache.ts";
import { planRequest, type RequestPlan } from "./plan_request.ts";
import { actorOf, runPlain } from "./run.ts";
import { runTransaction } from "../transaction/script_run.ts";

/** Runs the stages of a request. Never rejects. */
export async function answer(exchange: Exchange): Promise<Reply> {
  exchange.startTime();
  let reply: Reply;
  try {
    const admitted = admit(exchange);
    if (admitted !== null) await admitted;
    reply = await respond(exchange);
    exchange.stopwatch.lap("response");
    if (reply.status < 400) exchange.context.guard?.succeeded?.(exchange);
  } catch (thrown) {
    reply = failureReply(exchange, thrown);
  } finally {
    exchange.deadline?.clear();
    for (const file of exchange.files) file.close();
  }
  if (exchange.operation !== null) {
    exchange.context.counters.operations.increment(exchange.operation);
  }
  if (exchange.hasEntered) leaveAfter(reply, exchange);
  return reply;
}

/** Removes a request from the requests in progress when the body of its reply has ended. */
function leaveAfter({ ended }: Reply, { context: { inFlight } }: Exchange): void {
  if (ended === undefined) inFlight.leave();
  else void ended.then(() => inFlight.leave());
}

/** Makes the reply to a request that failed. */
export function failureReply(exchange: Exchange, caught: unknown): Reply {
  const { identity, role, raw, context: { dialect, snapshot, counters, appState } } = exchange;
  const cause = caught instanceof OperationError ? caught.cause : caught;
  const isOverdue = isCanceled(cause) && exchange.deadline?.isOver === true;
  const thrown = isOverdue ? errors.requestTimeout() : cause;
  const own = toServiceError(thrown, { authenticated: identity?.authenticated ?? false, dialect });
  const error = caught instanceof OperationError
    ? new ServiceError({ ...own.fields, operation: thrown === cause ? caught.operation : null })
    : own;
  const { own: isOwn, code } = error.fields;
  if (isOwn && code === errors.preconditionFailed.code) counters.failedPreconditions.increment();
  const { cache, config } = snapshot;
  const { plan } = exchange;
  const advised = {
    raw: asRead(raw, config),
    role,
    cache: cache?.data ?? null,
    plan,
    config,
  };
  const advice = adviceFor(error.fields, advised);
  const isAdvised = advice !== null && config.clientErrorVerbosity === "advise" &&
    error.fields.isAdviceHidden !== true;
  const sent = isAdvised ? new ServiceError({ ...error.fields, hint: advice }) : error;
  const { status, statusText, headers, body } = errorResponse(sent, {
    dialect,
    verbosity: config.clientErrorVerbosity,
    retryAfter: appState.retryAfter(),
  });
  exchange.failure = { thrown, error, advice };
  return {
    status,
    ...(statusText === undefined ? {} : { statusText }),
    headers,
    content: body,
    length: body?.length ?? null,
  };
}

/** Plans the request and executes the plan. */
function respond(exchange: Exchange): Promise<Reply> {
  if (isBatch(exchange.raw, exchange.context.snapshot.config)) return respondToBatch(exchange);
  const planned = planRequest(exchange, null);
  return planned instanceof Promise
    ? planned.then((plan) => carryOut(exchange, plan))
    : carryOut(exchange, planned);
}

function carryOut(exchange: Exchange, request: RequestPlan): Promise<Reply> {
  switch (request.kind) {
    case "options":
      return Promise.resolve(respondToOptions(request));
    case "root":
      return describe(exchange, request);
    case "data":
      return request.columns === null && request.planned.query.unversioned === undefined
        ? runPlain(exchange, request)
        : executeByColumns(exchange, request);
    default:
      return request satisfies never;
  }
}

/** Answers with a description of the API: a document, or its metadata. */
async function describe(
  exchange: Exchange,
  { request, plan: planned, cache }: Extract<RequestPlan, { kind: "root" }>,
): Promise<Reply> {
  const { context: { bookmarkHeader, snapshot: { config } } } = exchange;
  const permitted = permittedOperations(exchange);
  if (permitted !== null && exchange.rootReply === "metadata") {
    throw errors.unknownOperation('mcp-tools = "operations" has a tool for each operation', true);
  }
  const transaction = buildRootScript(request, planned, actorOf(exchange), config);
  const result = await runTransaction(exchange, withReplicas(exchange, transaction));
  exchange.stopwatch.lap("transaction");
  const found = schemaMetadataOf(result);
  const { schema, fallbacks } = planned;
  const metadata = found === null || fallbacks.length === 0
    ? found
    : servedMetadata(found, schema, cache);
  if (exchange.rootReply !== "metadata") {
    const described = bookmarkHeader === null ? config : { ...config, bookmarkHeader };
    const source = { metadata, cache, config: described, permitted };
    const reply = await respondToRoot(request, planned, source);
    return withBookmark(reply, result);
  }
  const content = new TextEncoder().encode(metadata ?? "null");
  return { status: 200, headers: [], content, length: content.length };
}

/** Returns the requests that the role of an exchange may send; null for all. */
export function permittedOperations({ role, context: { guard } }: Exchange) {
  const operations = guard?.operations?.() ?? null;
  if (operations === null || guard?.binds?.(role ?? "") === false) return null;
  return operations.flatMap((each) =>
    "problem" in each || !each.roles.includes(role ?? "") ? [] : [each]
  );
}

/** Executes a request. If the role may not read row versions, the statement does not read them. */
async function executeByColumns(
  exchange: Exchange,
  request: PlannedRequest & { readonly columns: RoleColumns | null },
): Promise<Reply> {
  const { context: { columnPrivileges }, identity } = exchange;
  const columns = request.columns ??
    new RoleColumns(columnPrivileges, identity!.role, exchange);
  const planned = await readableQuery(request.planned, columns);
  return await columns.guard(runPlain(exchange, { ...request, planned }));
}
