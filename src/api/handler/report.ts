/** Reports requests to the observer and to the metrics. @module */
import type { Statement } from "../../database/transaction.ts";
import { redactKeys } from "../../base/lib/redact.ts";
import { errorMembers } from "../../base/errors/error_response.ts";
import { DatabaseError, ServiceError } from "../../base/errors/service_error.ts";
import { spanOf } from "../../base/http/trace_context.ts";
import type { FinishedRequest } from "../../base/observe/observation.ts";
import type { RequestMetrics } from "../../base/observe/request_metrics.ts";
import type { Reply } from "../response/reply.ts";
import type { HandlerState } from "../../state/app_state/handler_state.ts";
import { type Exchange, pathHostOf, type RequestFailure } from "./exchange.ts";
import { unknownRoute } from "./route_names.ts";

/** Reports a request after its response. */
export function reportRequest(exchange: Exchange, reply: Reply): void {
  const { statements, context: { appState } } = exchange;
  if (statements !== null) reportStatements(appState, statements, reply.status);
  reportOutcome(exchange);
  appState.observe(new LazyFinishedRequest(exchange, reply) as unknown as FinishedRequest);
  reply.failure?.then((cause) => reportAborted(exchange, cause));
}

/** Reports the failure and the warnings of a request. Writes no line to the access log. */
export function reportOutcome(exchange: Exchange): void {
  const { failure, targetNameUses, request, credential, raw, context: { appState } } = exchange;
  if (targetNameUses.length > 0) {
    const { method } = request;
    const target = targetOf(exchange);
    appState.observe({ kind: "target-names-used", uses: targetNameUses, method, target });
  }
  if (failure !== null) reportFailure(exchange, failure);
  else if (credential.source === "none" && raw.headers["authorization"] !== undefined) {
    reportAdvice(exchange, "Authorization has no effect: write Bearer before the token");
  }
}

function reportFailure(
  { request, context: { appState } }: Exchange,
  { thrown, error, advice }: RequestFailure,
): void {
  appState.handleFailure(thrown);
  const reason = error.fields.shedReason;
  if (reason !== undefined) appState.observe({ kind: "request-shed", reason });
  // A failure that follows from the client's disconnect is not logged.
  if (isLoggedFailure(thrown, error, appState) && !request.signal.aborted) {
    const kind = error.fields.own && error.fields.code === "003"
      ? "pool-timeout"
      : "request-failed";
    appState.observe({ kind, error: errorMembers(error, appState.dialect) });
  } else if (error.fields.code === "X00" && !request.signal.aborted) {
    appState.observe({ kind: "unexpected-error", error: thrown });
  }
  if (advice !== null && appState.dialect.advice === "logged") {
    const { code, message } = errorMembers(error, appState.dialect);
    appState.observe({ kind: "error-advised", code, message, advice });
  }
}

/** Reports that a part of a request has no effect. */
export function reportAdvice({ context: { appState } }: Exchange, advice: string): void {
  if (appState.dialect.advice === "logged") appState.observe({ kind: "request-advised", advice });
}

/** Returns whether an error is logged in addition to the access log. Failures of the database and of
 * connections are always logged. Failures of svc are logged if the dialect requires it. */
function isLoggedFailure(
  thrown: unknown,
  { fields }: ServiceError,
  { dialect: { ownFailures } }: Pick<HandlerState, "dialect">,
): boolean {
  if (fields.status < 500) return false;
  // Under overload, log lines of refused requests would add to the load.
  if (fields.shedReason !== undefined) return false;
  if (thrown instanceof DatabaseError) return true;
  if (fields.code === outageCode) return false;
  if (!(thrown instanceof ServiceError) || !fields.own) return false;
  return ownFailures === "logged" || fields.code.startsWith(connectionGroup);
}

/** Code of requests whose keys cannot be fetched. The outage is logged elsewhere, once. */
const outageCode = "310";

/** First digit of error codes of connections. */
const connectionGroup = "0";

/** Reports a body that ended early, unless the client has disconnected. */
function reportAborted(exchange: Exchange, cause: unknown): void {
  const { request, context: { appState } } = exchange;
  if (request.signal.aborted) return;
  const error = errorMembers(cause, appState.dialect);
  const target = targetOf(exchange);
  appState.observe({ kind: "response-aborted", method: request.method, target, error });
}

/** Reports the statements of a request in their order, without texts that contain values. Outside
 * of batches, statements with `use: "rows"` come last, such as the estimate of a count. */
function reportStatements(
  appState: HandlerState,
  statements: readonly Statement[],
  status: number,
): void {
  const isBatch = statements.some(({ use }) => use === "held");
  const kept = isBatch ? [] : statements.filter(({ use }) => use === "rows");
  const ordered = [...statements.filter((statement) => !kept.includes(statement)), ...kept];
  const texts = ordered.filter(({ hasValues }) => hasValues !== true).map(({ text }) => text);
  appState.observe({ kind: "request-queried", status, texts });
}

/** Status of a failure after the client has disconnected, as in nginx. */
const clientClosedRequest = 499;

/** Returns the status that is counted and logged for a request. */
function reportedStatus(
  { signal }: Pick<Request, "signal">,
  status: number,
  failure: RequestFailure | null = null,
): number {
  const hasLeft = failure?.error.fields.clientLeft === true || status >= 500 && signal.aborted;
  return hasLeft ? clientClosedRequest : status;
}

/** Adds a request to the metrics. The request is active until its response body has ended. */
export function recordRequest(
  metrics: RequestMetrics,
  { request, exchange, reply }: {
    readonly request: Request;
    readonly exchange: Exchange | null;
    /** Null if the handler threw an error. */
    readonly reply: Reply | null;
  },
): void {
  const { method } = request;
  const status = reportedStatus(request, reply?.status ?? 500, exchange?.failure);
  if (reply?.ended === undefined) metrics.end();
  else void reply.ended.then(() => metrics.end());
  metrics.record({
    method,
    route: exchange === null ? unknownRoute : routeOf(exchange),
    status,
    seconds: (exchange?.durationMs ?? 0) / 1000,
    requestBytes: status < 400 && exchange !== null ? bodyLength(exchange) : null,
    responseBytes: method === "HEAD" ? null : reply?.length ?? null,
  });
}

/** Returns the `Content-Length` of a request, or null. */
function bodyLength({ raw: { headers } }: Exchange): number | null {
  const text = headers["content-length"];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function routeOf(exchange: Exchange): string {
  const { route, context: { routes }, raw: { path } } = exchange;
  return route ?? pathHostOf(exchange)?.route ?? routes.of(path);
}

type FieldReader<Field> = (exchange: Exchange, reply: Reply) => Field;

/** The fields of a finished request. The protocol is null without `Host`, which HTTP/2 and some
 * requests of HTTP/1.0 do not have. */
const finishedFields: {
  readonly [Name in Exclude<keyof FinishedRequest, "kind">]-?: FieldReader<FinishedRequest[Name]>;
} = {
  status: ({ request, failure }, { status }) => reportedStatus(request, status, failure),
  durationMs: ({ durationMs }) => durationMs,
  length: (_, { length }) => length,
  role: ({ role }) => role,
  apiKey: ({ identity }) => identity?.key?.name ?? null,
  time: ({ time }) => time,
  client: ({ client }) => client,
  method: ({ request }) => request.method,
  target: targetOf,
  route: routeOf,
  protocol: ({ request: { headers } }) => headers.has("host") ? "HTTP/1.1" : null,
  referer: ({ request: { headers } }) => headers.get("referer"),
  userAgent: ({ request: { headers } }) => headers.get("user-agent"),
  queueMs: ({ timing }) => timing?.queueMs ?? null,
  databaseMs: ({ timing }) => timing?.databaseMs ?? null,
  requestId: ({ identifiers }) => identifiers.requestId,
  traceId: (exchange) => spanContextOf(exchange)?.traceId ?? null,
  spanId: (exchange) => spanContextOf(exchange)?.spanId ?? null,
  code: ({ failure, context: { dialect } }) =>
    failure === null ? null : errorMembers(failure.error, dialect).code,
  operation: ({ operation }) => operation,
  tenant: ({ context: { snapshot } }) => snapshot.auth.tenant?.name ?? null,
};

/** A finished request. Its fields are computed at their first use, because most requests are not logged. */
class LazyFinishedRequest {
  readonly kind = "request-finished";
  readonly #exchange: Exchange;
  readonly #reply: Reply;

  constructor(exchange: Exchange, reply: Reply) {
    this.#exchange = exchange;
    this.#reply = reply;
  }

  static {
    for (const [name, read] of Object.entries(finishedFields)) {
      Object.defineProperty(this.prototype, name, {
        get(this: LazyFinishedRequest) {
          return read(this.#exchange, this.#reply);
        },
      });
    }
  }
}

function spanContextOf({ request: { headers }, context: { appState } }: Exchange) {
  return spanOf(headers, appState);
}

/** Returns path and query of an exchange without API keys. The query is left out if the log must
 * not contain it. */
function targetOf({ request: { url }, context: { snapshot: { config } } }: Exchange): string {
  const path = url.indexOf("/", url.indexOf("//") + 2);
  const target = path === -1 ? "/" : url.slice(path);
  const mark = config.logQueryString ? -1 : target.indexOf("?");
  return redactKeys(mark === -1 ? target : target.slice(0, mark));
}
