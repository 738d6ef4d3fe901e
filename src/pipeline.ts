/**
 * The stages of a request in order, timed; the only place where errors are caught.
 *
 * @module
 */
import { authenticate } from "./auth/authenticate.ts";
import type { Identity } from "./auth/jwt_cache.ts";
import {
  type BatchReply,
  type Database,
  discardBody,
  type Statement,
} from "./database/database.ts";
import type { Dialect } from "./dialect.ts";
import { errors } from "./errors/catalogue.ts";
import type { TargetNameUse } from "./errors/target_name_warning.ts";
import { errorResponse, toServiceError } from "./errors/error_response.ts";
import { DatabaseError, ServiceError } from "./errors/service_error.ts";
import { formatServerTiming } from "./http/server_timing.ts";
import { checkWithoutBody, plan, targetNameUsesOf } from "./plan/plan.ts";
import type { RootPlan } from "./plan/root_plan.ts";
import type { ApiRequest, Payload } from "./request/api_request.ts";
import { parseHead, receivePayload, type RequestHead } from "./request/parse_request.ts";
import type { RequestPieces } from "./request/pieces.ts";
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
import { targetNameHeaders } from "./response/warning.ts";
import type { SchemaCache } from "./schema_cache/schema_cache.ts";
import { readShape, type Shape } from "./shapes/shape.ts";
import type { ShapeCache, Understood } from "./shapes/shape_cache.ts";
import type { Snapshot } from "./snapshot.ts";
import { Stopwatch, type TraceStage } from "./stopwatch.ts";
import {
  checkResult,
  type DataPlan,
  doubt,
  estimateOf,
  explainedLines,
  isDoubtful,
  isEndOverridable,
  queryOf,
  type RequestTransaction,
  requestTransaction,
  rootFactsOf,
  rootTransaction,
  transactionError,
  type TransactionOwner,
  unsaid,
} from "./transaction.ts";

/** What a request is answered from: one snapshot, and where the data are. */
export interface PipelineContext {
  readonly snapshot: Snapshot;
  /** Of that snapshot. */
  readonly shapes: ShapeCache;
  readonly database: Database;
  readonly dialect: Dialect;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Whole seconds until the next attempt to connect. */
  readonly retryAfter: () => number;
  readonly traceStage: TraceStage | null;
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
  /** Aliased embeds that the request addressed by their targets' names, which is deprecated. */
  readonly targetNameUses: readonly TargetNameUse[];
}

/**
 * Answers a request of these pieces. Never rejects. `statements` takes those of the request; null when
 * nobody wants them.
 */
export async function answer(
  request: Request,
  pieces: RequestPieces,
  { context, statements }: {
    readonly context: PipelineContext;
    readonly statements: Statement[] | null;
  },
): Promise<Outcome> {
  const { serverTimingEnabled } = context.snapshot.config;
  const stopwatch = new Stopwatch(serverTimingEnabled, context.traceStage);
  let identity: Identity | null = null;
  const targetNameUses: TargetNameUse[] = [];
  try {
    const identified = identify(pieces, context);
    identity = identified instanceof Promise ? await identified : identified;
    stopwatch.lap("jwt");
    const reply = await serve(request, {
      pieces,
      identity,
      context,
      stopwatch,
      statements,
      targetNameUses,
    });
    stopwatch.lap("response");
    const { role } = identity;
    return { reply: timed(reply, stopwatch), role, thrown: null, error: null, targetNameUses };
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
    return { reply, role: identity?.role ?? null, thrown, error, targetNameUses };
  }
}

function identify(
  { headers }: RequestPieces,
  { snapshot, now }: PipelineContext,
): Identity | Promise<Identity> {
  const { config, auth } = snapshot;
  return authenticate(headers["authorization"] ?? null, {
    ...auth,
    now: Math.floor(now() / 1000),
    dbAnonRole: config.dbAnonRole,
    jwtAud: config.jwtAud,
  });
}

/** What the stages behind authentication work with. */
interface Serving {
  readonly pieces: RequestPieces;
  readonly identity: Identity;
  readonly context: PipelineContext;
  readonly stopwatch: Stopwatch;
  readonly statements: Statement[] | null;
  /** Takes those of the request. */
  readonly targetNameUses: TargetNameUse[];
}

function serve(request: Request, serving: Serving): Promise<Reply> {
  const { cache, cacheError } = serving.context.snapshot;
  if (cache === null) throw cacheError ?? errors.noSchemaCache();
  const shape = readShape(serving.pieces);
  const known = shape === null ? none : understand(request, shape, serving);
  const goOn = ({ understood, payload }: Known) => {
    if (understood === undefined) {
      return serveUnknown(request, payload, { ...serving, shape, cache });
    }
    serving.stopwatch.lap("parse");
    return runWarning(request, understood, serving);
  };
  return known instanceof Promise ? known.then(goOn) : goOn(known);
}

/** What a request is served with whose shape is not known. */
interface ServingUnknown extends Serving {
  readonly shape: Shape | null;
  readonly cache: SchemaCache;
}

/** Serves a request of which nothing is known but its body, if that was received. */
async function serveUnknown(
  request: Request,
  received: Payload | null,
  serving: ServingUnknown,
): Promise<Reply> {
  const { pieces, shape, cache, context, stopwatch } = serving;
  const { snapshot, shapes } = context;
  const head = parseHead(pieces, snapshot.config);
  const payload = received ?? await receive(request, head, serving);
  const parsed = payload === null ? head.request : { ...head.request, payload };
  stopwatch.lap("parse");
  const planned = plan(parsed, cache, snapshot.config);
  stopwatch.lap("plan");
  switch (planned.kind) {
    case "options":
      return respondToOptions(planned.allow);
    case "root":
      return describe(request, parsed, planned, serving);
    case "read":
    case "mutate":
    case "call": {
      const query = (quiet: boolean) => queryOf(planned, quiet);
      const asked = { plan: planned, query };
      const example = { pieces, payload, reader: head.reader, query };
      if (shape !== null) shapes.learn(shape, example);
      return runWarning(request, { request: parsed, asked }, serving);
    }
    default:
      return planned satisfies never;
  }
}

/**
 * Receives the body; null where the request has none. A long body is received only by a request that
 * cannot be refused without it.
 */
function receive(
  request: Request,
  { request: parsed, reader }: RequestHead,
  { cache, context: { snapshot } }: ServingUnknown,
): Promise<Payload> | null {
  if (reader === null) return null;
  return receivePayload(
    request,
    reader,
    () => checkWithoutBody(parsed, reader.format, cache, snapshot.config),
  );
}

/** What is known of a request by its shape. */
interface Known {
  /** Undefined when nothing is. */
  readonly understood: Understood | undefined;
  /** The body, where it was received. */
  readonly payload: Payload | null;
}

const none: Known = { understood: undefined, payload: null };

/** Looks whether a request is of a known shape; receives its body when it may be. */
function understand(
  request: Request,
  shape: Shape,
  { pieces, context: { shapes } }: Serving,
): Known | Promise<Known> {
  const reader = shapes.bodyReader(shape);
  if (reader === undefined) return none;
  if (reader === null) return { understood: shapes.understand(shape, pieces, null), payload: null };
  return receivePayload(request, reader).then((payload) => ({
    understood: shapes.understand(shape, pieces, payload),
    payload,
  }));
}

/** Answers the root with a description of what the role may use. */
async function describe(
  request: Request,
  parsed: ApiRequest,
  planned: RootPlan,
  { identity, context, stopwatch, statements, cache }: ServingUnknown,
): Promise<Reply> {
  const { config } = context.snapshot;
  const batch = rootTransaction(parsed, planned, ownerOf(request, identity, context), config);
  statements?.push(...batch.statements);
  const reply = await context.database.transaction(batch);
  stopwatch.lap("transaction");
  return respondToRoot(parsed, planned, { facts: rootFactsOf(reply), cache, config });
}

/** Runs a request's transaction. The reply warns of what is deprecated in the request. */
function runWarning(request: Request, understood: Understood, serving: Serving): Promise<Reply> {
  const uses = targetNameUsesOf(understood.asked.plan);
  if (uses.length === 0) return run(request, understood, serving);
  serving.targetNameUses.push(...uses);
  const warning = targetNameHeaders(uses, serving.context.dialect);
  return run(request, understood, serving)
    .then((reply) => ({ ...reply, headers: [...reply.headers, ...warning] }));
}

/** Runs a request's transaction; as one that runs code of the database's own with `isLoud`. */
async function run(
  request: Request,
  understood: Understood,
  serving: Serving,
  isLoud = false,
): Promise<Reply> {
  const { request: parsed, asked } = understood;
  const { identity, context, stopwatch, statements } = serving;
  const { config } = context.snapshot;
  const owner = ownerOf(request, identity, context);
  const transaction = requestTransaction(parsed, asked, owner, { config, isLoud });
  statements?.push(...transaction.batch.statements);
  let reply: BatchReply | null = null;
  try {
    reply = await context.database.transaction(transaction.batch);
    stopwatch.lap("transaction");
    const told = transaction.quiet ? unsaid(reply) : reply;
    const answered = respond(parsed, asked.plan, { reply: told, transaction, context });
    if (answered.content !== reply.body.content) discardBody(reply.body);
    return answered;
  } catch (error) {
    if (reply !== null) {
      discardBody(reply.body);
      throw error;
    }
    if (!isDoubtful(transaction, asked.plan, error)) {
      throw transactionError(error, transaction);
    }
    return await runLoudly(request, understood, serving);
  }
}

/** What went differently when nothing was told to the database's code is not tried again. */
async function runLoudly(
  request: Request,
  understood: Understood,
  serving: Serving,
): Promise<Reply> {
  const reply = await run(request, understood, serving, true);
  doubt(understood.asked.plan);
  return reply;
}

function ownerOf(
  request: Request,
  identity: Identity,
  { snapshot }: PipelineContext,
): TransactionOwner {
  const defaults = snapshot.roles.get(identity.role);
  return { identity, defaults, signal: () => request.signal };
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

/**
 * Whether the log shows an error beside the request's line: failures of the database and of
 * connections always, the service's own where the dialect wants it.
 */
export function isLoggedFailure(
  { thrown, error }: Outcome,
  { ownFailures }: Pick<Dialect, "ownFailures">,
): boolean {
  if (error === null || error.facts.status < 500) return false;
  if (thrown instanceof DatabaseError) return true;
  if (!(thrown instanceof ServiceError) || !error.facts.own) return false;
  return ownFailures === "logged" || error.facts.code.startsWith(connectionGroup);
}

/** Group 0 of the error codes. */
const connectionGroup = "0";
