/**
 * Executes the plan of a request: its transaction, or both transactions of an `Idempotency-Key`.
 *
 * @module
 */
import type { Identity } from "../auth/jwt_cache.ts";
import { type Batch, type BatchResult, discardBody, type WriteBatch } from "../database/batch.ts";
import type { Caller, Database } from "../database/database.ts";
import type { RequestIdentifiers } from "../http/request_id.ts";
import type { Deadline } from "../lib/request_deadline.ts";
import type { RequestTiming } from "../observe/request_timing.ts";
import { targetNameUsesOf } from "../plan/plan.ts";
import type { PlannedRequest } from "../plan_cache/plan_cache.ts";
import type { ApiRequest, Payload } from "../request/api_request.ts";
import {
  hasIdempotencyKey,
  readIdempotencyKey,
  requestFingerprint,
} from "../request/idempotency_key.ts";
import { keptAnswer, type KeptReply, replyOfKept } from "../response/kept_reply.ts";
import type { Reply } from "../response/reply.ts";
import {
  type PlanResult,
  respondToCall,
  respondToMutation,
  respondToPlan,
  respondToRead,
  type ResponseConfig,
} from "../response/response.ts";
import { targetNameHeaders } from "../response/warning.ts";
import type { Snapshot } from "../service/snapshot.ts";
import type { DataPlan } from "../transaction/data_plan.ts";
import type { RequestKey } from "../transaction/idempotency.ts";
import type { TransactionOwner } from "../transaction/preamble.ts";
import {
  buildReplayTransaction,
  buildTransaction,
  checkBatchResult,
  estimateOf,
  explainedLines,
  isEndOverridable,
  mayWrite,
  type PlannedQuery,
  type RequestTransaction,
  transactionError,
} from "../transaction/transaction.ts";
import { withBookmark, withReplicas } from "./bookmarks.ts";
import { writeOnce } from "./keyed_write.ts";
import type { Exchange, PipelineContext } from "./pipeline.ts";

/** A planned request, and its body; null if it has none. */
export interface PayloadRequest extends PlannedRequest {
  readonly payload: Payload | null;
}

/** A planned request of a role. */
interface OwnedRequest extends PlannedRequest {
  readonly owner: TransactionOwner;
}

/** Executes a plan, and makes the reply of its result. */
export async function execute(
  exchange: Exchange,
  identity: Identity,
  { request, planned, payload }: PayloadRequest,
): Promise<Reply> {
  const { context: { snapshot, onReplayed }, identifiers } = exchange;
  exchange.targetNameUses.push(...targetNameUsesOf(planned.plan));
  const owner = ownerOf(identity, snapshot, identifiers);
  const owned = { request, planned: withDivided(planned, payload), owner };
  const reading = keyOf(exchange, planned, payload);
  if (reading === null) return await transact(exchange, owned);
  const key = await reading;
  return await writeOnce({
    write: () => transact(exchange, owned, key),
    readKept: () => readKept(exchange, owned, key),
    onReplayed,
  });
}

function withDivided(planned: PlannedQuery, payload: Payload | null): PlannedQuery {
  if (payload?.kind !== "json" || payload.pieces === undefined) return planned;
  return { ...planned, divided: { placeholder: payload.text, pieces: payload.pieces } };
}

/** Returns the key of a write; null for a request without one, or one that cannot write. */
function keyOf(
  { pieces, context: { snapshot: { config } } }: Exchange,
  { plan }: PlannedQuery,
  payload: Payload | null,
): Promise<RequestKey> | null {
  const { idempotencyTable: table, idempotencyTtl: ttlSeconds } = config;
  if (table === null || !hasIdempotencyKey(pieces) || !mayWrite(plan, config)) return null;
  const text = readIdempotencyKey(pieces);
  return requestFingerprint(pieces, payload)
    .then((fingerprint) => ({ table, text, fingerprint, ttlSeconds }));
}

/** Executes a plan's transaction. The reply of a write with a key is made, and kept, before COMMIT. */
async function transact(
  exchange: Exchange,
  { request, planned, owner }: OwnedRequest,
  key: RequestKey | null = null,
): Promise<Reply> {
  const { caller, context, stopwatch, statements, timing } = exchange;
  const { snapshot: { config }, database, uploads } = context;
  const replyOf = (result: BatchResult) =>
    checkedReply(request, planned.plan, { result, transaction, context });
  const answer = (result: BatchResult) => keptAnswer(replyOf(result), config);
  const keyed = key === null ? null : { key, answer };
  const transaction = buildTransaction(request, { ...planned, keyed }, owner, config);
  const batch = withReplicas(exchange, transaction.batch, { request, plan: planned.plan, owner });
  statements?.push(...batch.statements);
  let result: BatchResult;
  try {
    const run = () => timedTransaction(database, batch, { caller, timing });
    const { divided = null } = planned;
    result = divided === null ? await run() : await uploads.run(divided.pieces, run);
  } catch (error) {
    throw transactionError(error, transaction);
  }
  stopwatch.lap("transaction");
  try {
    const reply = replyOf(result);
    if (reply.content !== result.body.content) discardBody(result.body);
    return withBookmark(reply, result);
  } catch (error) {
    discardBody(result.body);
    throw error;
  }
}

/** Reads the answer that is kept for a key; null if the key is not in the table. */
async function readKept(
  exchange: Exchange,
  { request, planned: { plan }, owner }: OwnedRequest,
  key: RequestKey,
): Promise<KeptReply | null> {
  const { context: { snapshot: { config } } } = exchange;
  return await replay(exchange, buildReplayTransaction(request, { plan, key }, owner, config));
}

/** Executes the transaction that reads a kept answer. Its bookmark covers the write, whose row it sees. */
export async function replay(
  exchange: Exchange,
  transaction: WriteBatch,
): Promise<KeptReply | null> {
  const { caller, context, stopwatch, statements, timing } = exchange;
  const batch = withReplicas(exchange, transaction);
  statements?.push(...batch.statements);
  const result = await timedTransaction(context.database, batch, { caller, timing });
  stopwatch.lap("transaction");
  const kept = replyOfKept(result);
  return kept === null || kept === "other request" ? kept : withBookmark(kept, result);
}

/** Adds headers behind those of a reply. */
export function withHeaders(reply: Reply, added: Reply["headers"]): Reply {
  return added.length === 0 ? reply : { ...reply, headers: [...reply.headers, ...added] };
}

/** Returns the role of an identity, with its settings. */
export function ownerOf(
  identity: Identity,
  { roles }: Snapshot,
  identifiers: RequestIdentifiers,
): TransactionOwner {
  const { byRole, loginSetsTimeout } = roles;
  return { identity, defaults: byRole.get(identity.role), loginSetsTimeout, identifiers };
}

/** Runs a transaction. Measures it if there is a timing. */
export function timedTransaction(
  database: Database,
  batch: Batch,
  { caller, timing }: Pick<Exchange, "caller" | "timing">,
): Promise<BatchResult> {
  if (timing === null) return database.transaction(batch, caller);
  const timed = new TimedCaller(caller, timing);
  return timing.measure(() => database.transaction(batch, timed));
}

/** A request whose time in the queue is measured. */
class TimedCaller implements Caller {
  readonly timing: RequestTiming;
  readonly deadline: Deadline | null;
  readonly #caller: Caller;

  constructor(caller: Caller, timing: RequestTiming) {
    this.#caller = caller;
    this.deadline = caller.deadline ?? null;
    this.timing = timing;
  }

  get signal(): AbortSignal {
    return this.#caller.signal;
  }
}

/** Makes the reply of a transaction's result. Throws the error of a check that the result fails. */
function checkedReply(
  request: ApiRequest,
  plan: DataPlan,
  { result, transaction, context }: {
    readonly result: BatchResult;
    readonly transaction: RequestTransaction;
    readonly context: ReplyContext;
  },
): Reply {
  checkBatchResult(transaction, result);
  const lines = explainedLines(result, transaction);
  if (lines !== null) {
    return withTargetNames(respondToPlan(request, plan, lines), plan, context);
  }
  const estimate = estimateOf(result, transaction);
  return makeReply(request, plan, { result, estimate, context });
}

/** The inputs of replies beside request and result. */
export type ReplyContext = Pick<PipelineContext, "bookmarkHeader" | "dialect" | "snapshot">;

/** Makes the reply of a plan's result. `estimate` is the planner's number of rows; null without one. */
export function makeReply(
  request: ApiRequest,
  plan: DataPlan,
  { result, estimate, context }: {
    readonly result: PlanResult;
    readonly estimate: number | null;
    readonly context: ReplyContext;
  },
): Reply {
  const { bookmarkHeader, dialect, snapshot: { config } } = context;
  const responseConfig: ResponseConfig = {
    txOverridable: isEndOverridable(config),
    dialect,
    verbosity: config.clientErrorVerbosity,
    links: config.serverLinkHeader,
    hasStandbys: bookmarkHeader !== null,
  };
  const respond = () => {
    switch (plan.kind) {
      case "read":
        return respondToRead(request, plan, result, { ...responseConfig, estimate });
      case "mutate":
        return respondToMutation(request, plan, result, responseConfig);
      case "call":
        return respondToCall(request, plan, result, responseConfig);
      default:
        return plan satisfies never;
    }
  };
  return withTargetNames(respond(), plan, context);
}

/** Adds the warning about aliased embeds that are addressed by their targets' names. */
function withTargetNames(reply: Reply, plan: DataPlan, { dialect }: ReplyContext): Reply {
  return withHeaders(reply, targetNameHeaders(targetNameUsesOf(plan), dialect));
}
