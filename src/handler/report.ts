/**
 * Reports requests to the observer.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import type { Statement } from "../database/batch.ts";
import { errorFacts } from "../errors/error_response.ts";
import type { RequestIdentifiers } from "../http/request_id.ts";
import type { SpanContext } from "../http/trace_context.ts";
import type { FinishedRequest } from "../observe/observation.ts";
import type { RequestTiming } from "../observe/request_timing.ts";
import type { RequestService } from "../service/request_service.ts";
import { isLoggedFailure, type PipelineResult } from "./pipeline.ts";
import { spanOf } from "./request_identifiers.ts";

/** Facts about a request beside its reply. */
export interface RequestFacts {
  /** Time of arrival, in epoch milliseconds. */
  readonly time: number;
  readonly durationMs: number;
  readonly config: LogConfig;
  /** Returns the client's address; null if it is not known. */
  readonly client: () => string | null;
  readonly identifiers: RequestIdentifiers;
  /** Null if nothing measures the database. */
  readonly timing: RequestTiming | null;
  readonly route: string;
}

type LogConfig = Pick<Config, "logQueryString">;

/** Reports a request that has been answered. */
export function reportRequest(
  service: RequestService,
  request: Request,
  { result, ...facts }: RequestFacts & { readonly result: PipelineResult },
): void {
  reportOutcome(service, request, { result, config: facts.config });
  service.observe(new LazyFinishedRequest(request, result, { facts, service }));
  const { failure } = result.reply;
  failure?.then((cause) => reportAborted(service, request, { cause, config: facts.config }));
}

/** Reports the failure and the warnings of a request, without its line in the access log. */
export function reportOutcome(
  service: RequestService,
  request: Request,
  { result, config }: { readonly result: PipelineResult; readonly config: LogConfig },
): void {
  const { thrown, error, advice, targetNameUses } = result;
  if (error !== null) service.handleFailure(thrown);
  const reason = error?.fields.shedReason;
  if (reason !== undefined) service.observe({ kind: "request-shed", reason });
  if (targetNameUses.length > 0) {
    const target = loggedTarget(request.url, config);
    const { method } = request;
    service.observe({ kind: "target-names-used", uses: targetNameUses, method, target });
  }
  // A failure that follows from the client's disconnect is not logged.
  if (error !== null && isLoggedFailure(result, service.dialect) && !request.signal.aborted) {
    const kind = error.fields.own && error.fields.code === "003"
      ? "pool-timeout"
      : "request-failed";
    service.observe({ kind, error: errorFacts(error, service.dialect) });
  } else if (error?.fields.code === "X00" && !request.signal.aborted) {
    service.observe({ kind: "unexpected-error", error: thrown });
  }
  if (error !== null && advice !== null && service.dialect.advice === "logged") {
    const { code, message } = errorFacts(error, service.dialect);
    service.observe({ kind: "error-advised", code, message, advice });
  }
}

/** Reports a body that ended early, unless that follows from the client's disconnect. */
function reportAborted(
  service: RequestService,
  request: Request,
  { cause, config }: { readonly cause: unknown; readonly config: LogConfig },
): void {
  if (request.signal.aborted) return;
  const error = errorFacts(cause, service.dialect);
  const { method, url } = request;
  const target = loggedTarget(url, config);
  service.observe({ kind: "response-aborted", method, target, error });
}

/**
 * Reports the statements of a request. The estimate of a count, the only one with rows, is last; those of a
 * batch are in order.
 */
export function reportStatements(
  service: RequestService,
  statements: readonly Statement[],
  status: number,
): void {
  const isBatch = statements.some(({ use }) => use === "held");
  const kept = isBatch ? [] : statements.filter(({ use }) => use === "rows");
  const ordered = [...statements.filter((statement) => !kept.includes(statement)), ...kept];
  const texts = ordered.map(({ text }) => text);
  service.observe({ kind: "request-queried", status, texts });
}

/** A finished request. It reads its fields on first use, since most requests are not logged. */
class LazyFinishedRequest implements FinishedRequest {
  readonly kind = "request-finished";
  readonly status: number;
  readonly durationMs: number;
  readonly #request: Request;
  readonly #result: PipelineResult;
  readonly #facts: RequestFacts;
  readonly #service: RequestService;
  #span: SpanContext | null | undefined;

  constructor(
    request: Request,
    result: PipelineResult,
    { facts, service }: { readonly facts: RequestFacts; readonly service: RequestService },
  ) {
    this.status = result.reply.status;
    this.durationMs = facts.durationMs;
    this.#request = request;
    this.#result = result;
    this.#facts = facts;
    this.#service = service;
  }

  get length(): number | null {
    return this.#result.reply.length;
  }

  get role(): string | null {
    return this.#result.role;
  }

  get time(): number {
    return this.#facts.time;
  }

  get client(): string | null {
    return this.#facts.client();
  }

  get method(): string {
    return this.#request.method;
  }

  get target(): string {
    return loggedTarget(this.#request.url, this.#facts.config);
  }

  get route(): string {
    return this.#facts.route;
  }

  /** HTTP/2 requests have no `Host` header, but neither have some of HTTP/1.0. */
  get protocol(): string | null {
    return this.#request.headers.has("host") ? "HTTP/1.1" : null;
  }

  get referer(): string | null {
    return this.#request.headers.get("referer");
  }

  get userAgent(): string | null {
    return this.#request.headers.get("user-agent");
  }

  get queueMs(): number | null {
    return this.#facts.timing?.queueMs ?? null;
  }

  get databaseMs(): number | null {
    return this.#facts.timing?.databaseMs ?? null;
  }

  get requestId(): string | null {
    return this.#facts.identifiers.requestId;
  }

  get traceId(): string | null {
    return this.#spanContext?.traceId ?? null;
  }

  get spanId(): string | null {
    return this.#spanContext?.spanId ?? null;
  }

  get code(): string | null {
    const { error } = this.#result;
    return error === null ? null : errorFacts(error, this.#service.dialect).code;
  }

  get tenant(): string | null {
    return this.#service.snapshot.auth.tenant?.name ?? null;
  }

  get #spanContext(): SpanContext | null {
    return this.#span ??= spanOf(this.#request.headers, this.#service);
  }
}

/** Returns path and query of an absolute URL, without the query if the log omits it. */
function loggedTarget(url: string, { logQueryString }: LogConfig): string {
  const path = url.indexOf("/", url.indexOf("//") + 2);
  const target = path === -1 ? "/" : url.slice(path);
  const mark = logQueryString ? -1 : target.indexOf("?");
  return mark === -1 ? target : target.slice(0, mark);
}
