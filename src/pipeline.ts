/**
 * The stages of a request in order, timed; the only place where errors are caught.
 *
 * @module
 */
import { authenticate } from "./auth/authenticate.ts";
import type { Identity } from "./auth/jwt_cache.ts";
import { type BatchReply, type Database, discardBody } from "./database/database.ts";
import type { Dialect } from "./dialect.ts";
import { errors } from "./errors/catalogue.ts";
import { errorResponse, toServiceError } from "./errors/error_response.ts";
import { DatabaseError, ServiceError } from "./errors/service_error.ts";
import { formatServerTiming } from "./http/server_timing.ts";
import { plan } from "./plan/plan.ts";
import type { RootPlan } from "./plan/root_plan.ts";
import type { ApiRequest } from "./request/api_request.ts";
import { parseRequest } from "./request/parse_request.ts";
import type { Reply } from "./response/reply.ts";
import {
  respondToCall,
  respondToMutation,
  respondToOptions,
  respondToPlan,
  respondToRead,
  type ResponseConfig,
} from "./response/response.ts";
import { respondToRoot } from "./response/root.ts";
import type { SchemaCache } from "./schema_cache/schema_cache.ts";
import type { Snapshot } from "./snapshot.ts";
import { Stopwatch } from "./stopwatch.ts";
import {
  checkResult,
  type DataPlan,
  estimateOf,
  explainedLines,
  isEndOverridable,
  type RequestTransaction,
  requestTransaction,
  rootFactsOf,
  rootTransaction,
  transactionError,
} from "./transaction.ts";

/** What a request is answered from: one snapshot, and where the data are. */
export interface PipelineContext {
  readonly snapshot: Snapshot;
  readonly database: Database;
  readonly dialect: Dialect;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Whole seconds until the next attempt to connect. */
  readonly retryAfter: () => number;
}

/** An answer, and what the log wants to know beside it. */
export interface Outcome {
  readonly reply: Reply;
  /** Null when authentication failed. */
  readonly role: string | null;
  /** What was thrown, when the reply is an error. */
  readonly thrown: unknown;
  /** The error as it was answered. */
  readonly error: ServiceError | null;
}

/** Answers a request. Never rejects. */
export async function answer(request: Request, context: PipelineContext): Promise<Outcome> {
  const stopwatch = new Stopwatch(context.snapshot.config.serverTimingEnabled);
  let identity: Identity | null = null;
  try {
    identity = await identify(request, context);
    stopwatch.lap("jwt");
    const reply = await serve(request, identity, context, stopwatch);
    stopwatch.lap("response");
    return { reply: timed(reply, stopwatch), role: identity.role, thrown: null, error: null };
  } catch (thrown) {
    const { dialect, snapshot, retryAfter } = context;
    const authenticated = identity?.authenticated ?? false;
    const error = toServiceError(thrown, { authenticated, dialect });
    const response = errorResponse(error, {
      dialect,
      verbosity: snapshot.config.clientErrorVerbosity,
      retryAfter: retryAfter(),
    });
    const { status, statusText, headers, body } = response;
    const reply: Reply = {
      status,
      ...(statusText === undefined ? {} : { statusText }),
      headers,
      content: body,
      length: body?.length ?? null,
    };
    return { reply, role: identity?.role ?? null, thrown, error };
  }
}

function identify(
  request: Request,
  { snapshot, now }: PipelineContext,
): Identity | Promise<Identity> {
  const { config, auth } = snapshot;
  return authenticate(request.headers.get("authorization"), {
    ...auth,
    now: Math.floor(now() / 1000),
    dbAnonRole: config.dbAnonRole,
    jwtAud: config.jwtAud,
  });
}

async function serve(
  request: Request,
  identity: Identity,
  context: PipelineContext,
  stopwatch: Stopwatch,
): Promise<Reply> {
  const { snapshot } = context;
  if (snapshot.cache === null) throw snapshot.cacheError ?? errors.noSchemaCache();
  const parsed = await parseRequest(request, snapshot.config);
  stopwatch.lap("parse");
  const planned = plan(parsed, snapshot.cache, snapshot.config);
  stopwatch.lap("plan");
  switch (planned.kind) {
    case "options":
      return respondToOptions(planned.allow);
    case "root":
      return await describe(request, parsed, planned, {
        identity,
        context,
        stopwatch,
        cache: snapshot.cache,
      });
    case "read":
    case "mutate":
    case "call":
      return await run(request, parsed, planned, { identity, context, stopwatch });
    default:
      return planned satisfies never;
  }
}

/** Answers the root with a description of what the role may use. */
async function describe(
  request: Request,
  parsed: ApiRequest,
  planned: RootPlan,
  { identity, context, stopwatch, cache }: {
    readonly identity: Identity;
    readonly context: PipelineContext;
    readonly stopwatch: Stopwatch;
    readonly cache: SchemaCache;
  },
): Promise<Reply> {
  const { config, roles } = context.snapshot;
  const owner = { identity, defaults: roles.get(identity.role) };
  const batch = rootTransaction(parsed, planned, owner, config);
  const reply = await context.database.transaction({ ...batch, signal: request.signal });
  stopwatch.lap("transaction");
  return respondToRoot(parsed, planned, { facts: rootFactsOf(reply), cache, config });
}

async function run(
  request: Request,
  parsed: ApiRequest,
  planned: DataPlan,
  { identity, context, stopwatch }: {
    readonly identity: Identity;
    readonly context: PipelineContext;
    readonly stopwatch: Stopwatch;
  },
): Promise<Reply> {
  const { config, roles } = context.snapshot;
  const owner = { identity, defaults: roles.get(identity.role) };
  const transaction = requestTransaction(parsed, planned, owner, config);
  const reply = await context.database
    .transaction({ ...transaction.batch, signal: request.signal })
    .catch((error: unknown) => {
      throw transactionError(error, transaction);
    });
  stopwatch.lap("transaction");
  try {
    const answered = respond(parsed, planned, { reply, transaction, context });
    if (answered.content !== reply.body.content) discardBody(reply.body);
    return answered;
  } catch (error) {
    discardBody(reply.body);
    throw error;
  }
}

/** Makes the reply of a transaction that ended well. */
function respond(
  parsed: ApiRequest,
  planned: DataPlan,
  { reply, transaction, context }: {
    readonly reply: BatchReply;
    readonly transaction: RequestTransaction;
    readonly context: PipelineContext;
  },
): Reply {
  const { config } = context.snapshot;
  checkResult(parsed, planned, reply);
  const lines = explainedLines(reply, transaction);
  if (lines !== null) return respondToPlan(parsed, planned, lines);
  const responseConfig: ResponseConfig = {
    txOverridable: isEndOverridable(config),
    dialect: context.dialect,
    verbosity: config.clientErrorVerbosity,
  };
  switch (planned.kind) {
    case "read": {
      const estimate = estimateOf(reply, transaction);
      return respondToRead(parsed, planned, reply, { ...responseConfig, estimate });
    }
    case "mutate":
      return respondToMutation(parsed, planned, reply, responseConfig);
    case "call":
      return respondToCall(parsed, planned, reply, responseConfig);
    default:
      return planned satisfies never;
  }
}

function timed(reply: Reply, stopwatch: Stopwatch): Reply {
  const timings = stopwatch.timings();
  if (timings === null) return reply;
  const header = ["Server-Timing", formatServerTiming(timings)] as const;
  return { ...reply, headers: [...reply.headers, header] };
}

/** Whether an error is a failure of the database or of the way to it, as the log wants to know. */
export function isDatabaseFailure({ thrown, error }: Outcome): boolean {
  if (error === null || error.facts.status < 500) return false;
  return thrown instanceof DatabaseError || (thrown instanceof ServiceError && error.facts.own);
}
