/** Runs the stages of a request in order. Only this module turns errors into responses. @module */
import { errors } from "../errors/catalogue.ts";
import { errorResponse, toServiceError } from "../errors/error_response.ts";
import { isCanceled, ServiceError } from "../errors/service_error.ts";
import { OperationError } from "../batch/operation_error.ts";
import { isBatch } from "../batch/batch_head.ts";
import { asRead } from "../request/query_request.ts";
import { adviceFor } from "../response/advice.ts";
import type { Reply } from "../response/reply.ts";
import { respondToOptions } from "../response/response.ts";
import { admit } from "./admission.ts";
import { respondToBatch } from "./batch_request.ts";
import { describe } from "./describe.ts";
import type { Exchange } from "./exchange.ts";
import { planRequest, type RequestPlan } from "./plan_request.ts";
import { runPlain } from "./run.ts";
import { executeByColumns } from "./column_request.ts";

/** Runs the stages of a request. Never rejects. */
export async function answer(exchange: Exchange): Promise<Reply> {
  exchange.startTime();
  let reply: Reply;
  try {
    const admitted = admit(exchange);
    if (admitted !== null) await admitted;
    reply = await respond(exchange);
    exchange.stopwatch.lap("response");
  } catch (thrown) {
    reply = failureReply(exchange, thrown);
  } finally {
    exchange.deadline?.clear();
    for (const file of exchange.files) file.close();
  }
  if (exchange.hasEntered) leaveAfter(reply, exchange);
  return reply;
}

/** Ends a request in flight with its body. */
function leaveAfter({ ended }: Reply, { context: { inFlight } }: Exchange): void {
  if (ended === undefined) inFlight.leave();
  else void ended.then(() => inFlight.leave());
}

/** Makes the reply to a request that failed. */
export function failureReply(exchange: Exchange, caught: unknown): Reply {
  const { identity, role, pieces, context: { dialect, snapshot, counters, service } } = exchange;
  const cause = caught instanceof OperationError ? caught.cause : caught;
  const isOverdue = isCanceled(cause) && exchange.deadline?.isOver === true;
  const thrown = isOverdue ? errors.requestTimeout() : cause;
  const own = toServiceError(thrown, { authenticated: identity?.authenticated ?? false, dialect });
  const error = caught instanceof OperationError
    ? new ServiceError({ ...own.fields, operation: thrown === cause ? caught.operation : null })
    : own;
  const { own: isOwn, code } = error.fields;
  if (isOwn && code === errors.preconditionFailed.code) counters.preconditionFailed();
  const { cache, config } = snapshot;
  const advised = { pieces: asRead(pieces, config), role, cache: cache?.data ?? null, config };
  const advice = adviceFor(error.fields, advised);
  const isAdvised = advice !== null && config.clientErrorVerbosity === "advise";
  const sent = isAdvised ? new ServiceError({ ...error.fields, hint: advice }) : error;
  const { status, statusText, headers, body } = errorResponse(sent, {
    dialect,
    verbosity: config.clientErrorVerbosity,
    retryAfter: service.retryAfter(),
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
  if (isBatch(exchange.pieces, exchange.context.snapshot.config)) return respondToBatch(exchange);
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
