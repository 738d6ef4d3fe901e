/** A request on its way to its response, and the state that requests share. @module */
import { type RequestTiming, Stopwatch } from "../../base/observe/stopwatch.ts";
import type { Credential } from "../../state/auth/credential.ts";
import type { Identity } from "../../state/auth/jwt_cache.ts";
import type { Statement } from "../../database/transaction.ts";
import type { Caller, Database } from "../../database/database.ts";
import type { Dialect } from "../../base/dialect.ts";
import type { Counter } from "../../base/observe/metric_registry.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";
import type { TargetNameUse } from "../../base/errors/target_name_warning.ts";
import { clientAddress } from "../../base/http/client_address.ts";
import type { RequestIdentifiers } from "../../base/http/request_id.ts";
import { Deadline } from "../../base/lib/time_limits.ts";
import { systemClock } from "../../base/lib/clock.ts";
import type { BodySpool } from "../../base/lib/body_spool.ts";
import type { SpoolFile } from "../../base/lib/spool_file.ts";
import type { PlanCache } from "./plan_cache/plan_cache.ts";
import type { QueryShape } from "./plan_cache/query_shape.ts";
import type { Payload } from "../request/body/body_decoder.ts";
import type { Admission } from "../../state/rate_limits/rate_limiter.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Reply } from "../response/reply.ts";
import type { HandlerState } from "../../state/app_state/handler_state.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import type {
  BrokenOperation,
  DescribedOperation,
} from "../response/openapi/described_operation.ts";
import type { DataPlan } from "../transaction/data_plan.ts";
import type { ColumnPrivileges } from "./column_privileges.ts";
import type { RequestsInFlight } from "./in_flight.ts";
import type { RouteNames } from "./route_names.ts";

/** Data about a request that `Request` does not have. */
export interface RequestInfo {
  /** Peer address without port; null for Unix sockets. Policies of `rate-limits` by address count
   * all requests without an address together. */
  readonly client?: string | null;
  /**
   * Keeps the runtime running until the promise settles, even after the response: a Worker's
   * `ctx.waitUntil`. Without this function, a load of the schema cache may delay a response.
   */
  readonly waitUntil?: (work: Promise<void>) => void;
  /** Returns whether other clients wait for a connection. Slow bodies are then refused. */
  readonly isContended?: () => boolean;
  /** Called when the whole body has arrived. */
  readonly bodyReceived?: () => void;
  /** Path to serve, if it differs from the URL's path: the path without the tenant's name. Default:
   * the path of the URL. */
  readonly path?: string;
  /** Whether the access log and the console omit the request. Default: false. */
  readonly isUnlogged?: boolean;
  /** The caller's identity. Only code in this process can set it. Default: the identity of the token. */
  readonly identity?: Identity;
  /** Whether the server sets `Content-Length` for a body in memory. Default: false. */
  readonly setsContentLength?: boolean;
}

/** State that all requests with one snapshot share. */
export interface Context {
  readonly snapshot: Snapshot;
  /** Cached plans for the snapshot. */
  readonly planCache: PlanCache;
  /** Columns that roles may select, for the schema cache of the snapshot. */
  readonly columnPrivileges: ColumnPrivileges;
  readonly appState: HandlerState;
  readonly database: Database;
  readonly dialect: Dialect;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Stores unread bodies, and counts the bytes in temporary files. */
  readonly bodySpool: BodySpool;
  readonly inFlight: RequestsInFlight;
  readonly counters: RequestCounters;
  /** Name of the header with bookmarks; null if the database has no standbys. */
  readonly bookmarkHeader: string | null;
  readonly routes: RouteNames;
  /** The identity of requests without a token; null if they need one. */
  readonly anonymous: Identity | null;
  /** The parts of wings that answer the requests to their paths, in place of the stages. */
  readonly pathHosts: readonly PathHost[];
  /** Decides which requests may be planned; null if all may be. */
  readonly guard: RequestGuard | null;
  /** Returns the context of the current snapshot. */
  readonly current: () => Context;
  /** The early answers, in the order in which they are tried. */
  readonly earlyAnswers: readonly EarlyAnswer[];
  /** The steps that change replies of the stages, in order. */
  readonly replySteps: readonly ReplyStep[];
  /** The steps that change all replies, in order, after `replySteps`. */
  readonly headerSteps: readonly ReplyStep[];
}

/** Counts events of requests. */
export type RequestCounters = Readonly<
  Record<
    "batchOperations" | "failedPreconditions" | "operations" | "rateLimited" | "replays",
    Counter
  >
>;

/** The part of a wing that answers the requests to its paths, in place of the stages. */
export interface PathHost {
  /** Route of the host's requests in metrics. Default: the route of the exchange. */
  readonly route?: string;
  /** Returns whether a raw path belongs to the host. */
  matches(path: string): boolean;
  /** Answers a request to a path that `matches`. Never rejects. */
  respond(exchange: Exchange): Promise<Reply>;
  /** Returns the origins that CORS allows: `none` for no origin, null for any. Default: the API's origins. */
  allowedOrigins?(path: string): readonly string[] | null | "none";
}

/** A request to check: an exchange, or an operation of its batch. */
export interface GuardedRequest {
  /** The request to plan. For a query request, this is the equivalent GET. */
  readonly raw: RawRequest;
  /** Null if the plan of the request cannot be cached. */
  readonly shape: QueryShape | null;
  /** Null before the body has arrived, and for a request without a body. */
  readonly payload: Payload | null;
  /** Whether the request is an operation of a batch. */
  readonly isPart: boolean;
}

/** Decides which requests of a snapshot are permitted. */
export interface RequestGuard {
  /** Returns the permitted requests. Default: unknown. */
  operations?(): readonly (BrokenOperation | DescribedOperation)[];
  /** Checks a request. It is called with the head, and again with the body. Returns which part of
   * the body the second call needs. Throws the error for a request that is not permitted. */
  check(exchange: Exchange, request: GuardedRequest): "text" | "keys";
  /** Returns whether requests of a role are restricted. Default: true. */
  binds?(role: string): boolean;
  /** Called after each successful request. */
  succeeded?(exchange: Exchange): void;
}

/** Opens the guard of a snapshot; null if all requests are permitted. */
export type OpenGuard = (snapshot: Snapshot) => RequestGuard | null;

/** Returns the reply to a request; null if a later early answer or the stages must reply. */
export type EarlyAnswer = (exchange: Exchange) => Reply | Promise<Reply> | null;

/** Returns the reply, with what this step changes in it. */
export type ReplyStep = (reply: Reply, exchange: Exchange) => Reply;

/** Cause of an error response. */
export interface RequestFailure {
  readonly thrown: unknown;
  /** The error that the client receives. */
  readonly error: ServiceError;
  /** A hint for an error that lacks one, or null. */
  readonly advice: string | null;
}

/** The parts of a request that are known from its head. */
export interface ExchangeHead {
  /** The request in the form that database code sees. */
  readonly raw: RawRequest;
  readonly credential: Credential;
  readonly identifiers: RequestIdentifiers;
  /** The error for a head that is too long, or null. */
  readonly refusal: ServiceError | null;
  /** Measures the time of the database; null if nothing reports the time. */
  readonly timing: RequestTiming | null;
  readonly info: RequestInfo;
}

/** One request. If it is aborted or exceeds its time limit, its database work ends. */
export class Exchange implements Caller {
  readonly request: Request;
  readonly info: RequestInfo;
  readonly context: Context;
  readonly raw: RawRequest;
  readonly credential: Credential;
  readonly identifiers: RequestIdentifiers;
  readonly refusal: ServiceError | null;
  readonly timing: RequestTiming | null;
  readonly stopwatch: Stopwatch;
  /** Collects the statements of the request for the log; null if they are not logged. */
  readonly statements: Statement[] | null;
  /** Null until the token is verified. */
  identity: Identity | null;
  /** Whether the request has been added to the requests in progress. */
  hasEntered = false;
  /** Charges of `rate-limits`; null without policies. */
  admission: Admission | null = null;
  /** The time limit of the request; null if there is no limit. */
  deadline: Deadline | null = null;
  /** Deprecated uses: embeds with an alias that the request addresses by the target's name. */
  targetNameUses: readonly TargetNameUse[] = noUses;
  /** Temporary files of the request. */
  readonly files: SpoolFile[] = [];
  /** Null unless the reply is an error. */
  failure: RequestFailure | null = null;
  /** `metadata`: the root is answered with the JSON of `SchemaMetadata`. */
  rootReply: "document" | "metadata" = "document";
  /** A load of the schema cache that the request has caused and does not wait for. */
  reload: Promise<void> | null = null;
  /** The plan of a plain request, after planning. */
  plan: DataPlan | null = null;
  /** Name of the route for logs and metrics; null to derive it from the path. */
  route: string | null = null;
  /** Name of the operation that a guard recognised; null for other requests and for batches. */
  operation: string | null = null;
  /** Epoch milliseconds. */
  readonly time: number;
  readonly #startedAt: number;
  #durationMs: number | null = null;
  #client: string | null | undefined;

  constructor(
    request: Request,
    context: Context,
    { raw, credential, identifiers, refusal, timing, info }: ExchangeHead,
  ) {
    const { snapshot: { config }, appState } = context;
    this.request = request;
    this.info = info;
    this.identity = info.identity ?? null;
    this.context = context;
    this.raw = raw;
    this.credential = credential;
    this.identifiers = identifiers;
    this.refusal = refusal;
    this.timing = timing;
    this.statements = config.logQuery && info.isUnlogged !== true ? [] : null;
    const isTimed = config.serverTimingEnabled || appState.traceStage !== null;
    this.stopwatch = isTimed
      ? new Stopwatch(config.serverTimingEnabled, appState.traceStage)
      : noStopwatch;
    this.time = context.now();
    this.#startedAt = performance.now();
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  /** The role of the request; null before its token is verified. */
  get role(): string | null {
    return this.identity?.role ?? null;
  }

  /** The client's address; null if it is unknown. */
  get client(): string | null {
    if (this.#client === undefined) {
      const { client = null } = this.info;
      const { trustedProxies } = this.context.snapshot;
      this.#client = trustedProxies === null
        ? client
        : clientAddress(client, this.raw.headers, trustedProxies);
    }
    return this.#client;
  }

  /** Starts the time limit of the request. */
  startTime(): void {
    const { serverRequestTimeout: seconds } = this.context.snapshot.config;
    if (seconds === 0) return;
    this.deadline = new Deadline(seconds * 1000, systemClock);
    this.deadline.begin();
  }

  /** Milliseconds from the arrival to the first use of this property. */
  get durationMs(): number {
    return this.#durationMs ??= performance.now() - this.#startedAt;
  }
}

/** Returns the origins that CORS allows: `none` for no origin, null for any. */
export function allowedOrigins(
  exchange: Exchange,
): readonly string[] | null | "none" {
  const { context: { snapshot: { config } }, raw: { path } } = exchange;
  const host = pathHostOf(exchange);
  if (host?.allowedOrigins === undefined) return config.serverCorsAllowedOrigins;
  return host.allowedOrigins(path);
}

/** Returns the host that answers a request in place of the stages; undefined for most requests. */
export function pathHostOf({ context: { pathHosts }, raw: { path } }: Exchange) {
  return pathHosts.find((host) => host.matches(path));
}

const noStopwatch = new Stopwatch(false);
const noUses: readonly TargetNameUse[] = [];
