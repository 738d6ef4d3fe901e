/** Runs the script of a request, once for each `Idempotency-Key`: a second request with the key gets the
 * answer of the first. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { targetNameUsesOf } from "../plan/plan.ts";
import {
  hasIdempotencyKey,
  readIdempotencyKey,
  requestFingerprint,
} from "../request/idempotency_key.ts";
import { discardBody } from "../../database/transaction.ts";
import { keptAnswer, type KeptReply, replyOfKept } from "../response/kept_reply.ts";
import { type Reply, withBookmark } from "../response/reply.ts";
import { closingStatement, KeyTakenError, type RequestKey } from "../transaction/idempotency.ts";
import type { TransactionActor } from "../transaction/preamble.ts";
import { mayWrite, type RequestOperation, type RequestWork } from "../transaction/script.ts";
import { buildReplayScript, type KeyedWork } from "../transaction/service_scripts.ts";
import { withReplicas } from "../transaction/bookmarks.ts";
import type { Exchange } from "./exchange.ts";
import type { PlannedRequest } from "./plan_cache/plan_cache.ts";
import { replyOf } from "./reply.ts";
import { type FinishedScript, runTransaction, ScriptRun } from "../transaction/script_run.ts";

/** Runs the operations of an exchange in one transaction. Returns the reply. */
export function run(exchange: Exchange, work: RequestWork): Promise<Reply> {
  const [operation] = work.operations;
  exchange.plan = work.batch === null ? operation!.planned.plan : null;
  exchange.targetNameUses = work.batch === null
    ? targetNameUsesOf(operation!.planned.plan)
    : work.operations.flatMap(({ planned }) => targetNameUsesOf(planned.plan));
  const actor = actorOf(exchange);
  return hasKey(exchange, work) ? runOnce(exchange, work, actor) : runScript(exchange, work, actor);
}

/** Runs the script of a request. Makes the reply before COMMIT if the commit depends on it. */
async function runScript(
  exchange: Exchange,
  work: RequestWork,
  actor: TransactionActor,
): Promise<Reply> {
  const { context } = exchange;
  let early: Reply | null = null;
  const close = (finished: FinishedScript) => {
    const reply = early = replyOf(finished, context);
    const { key } = work;
    return key === null ? [] : [closingStatement(key, keptAnswer(reply, context.snapshot.config))];
  };
  const finished = await new ScriptRun(exchange, work, { actor, close }).execute();
  exchange.stopwatch.lap("transaction");
  const { result } = finished;
  try {
    const reply = early ?? replyOf(finished, context);
    if (reply.content !== result.body.content) discardBody(result.body);
    return withBookmark(reply, result);
  } catch (error) {
    discardBody(result.body);
    throw error;
  }
}

export function runPlain(
  exchange: Exchange,
  { request, planned }: PlannedRequest,
): Promise<Reply> {
  const operation: RequestOperation = {
    request,
    planned,
    place: null,
    referenceChecks: noReferences,
  };
  const { payload } = request;
  return run(exchange, { operations: [operation], batch: null, payload, key: null });
}

const noReferences: RequestOperation["referenceChecks"] = [];

/** Returns the role of an exchange, and the role's settings. */
export function actorOf(
  { identity, identifiers, context: { snapshot: { roles, cache } } }: Exchange,
): TransactionActor {
  const { byRole, loginSetsTimeout } = roles;
  const { role } = identity!;
  const usesSetCommands = cache?.data.isDistributed === true;
  const defaults = byRole.get(role);
  return { identity: identity!, defaults, loginSetsTimeout, identifiers, usesSetCommands };
}

/** Returns whether a request is a write with an `Idempotency-Key`, so that it takes effect once. */
function hasKey(
  { raw, context: { snapshot: { config } } }: Exchange,
  { operations }: RequestWork,
): boolean {
  return config.idempotencyTable !== null && hasIdempotencyKey(raw) &&
    operations.some(({ planned }) => mayWrite(planned.plan, config));
}

/** Writes and stores the reply, or returns the stored reply of the key. If the key is removed from
 * the table between both transactions, the work is tried once more. Throws `154` and `155`. */
async function runOnce(
  exchange: Exchange,
  work: RequestWork,
  actor: TransactionActor,
): Promise<Reply> {
  const { raw, context: { counters, snapshot: { config } } } = exchange;
  const key: RequestKey = {
    table: config.idempotencyTable!,
    text: readIdempotencyKey(raw),
    fingerprint: await requestFingerprint(raw, work.payload),
    ttlSeconds: config.idempotencyTtl,
  };
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      return await runScript(exchange, { ...work, key }, actor);
    } catch (error) {
      if (!(error instanceof KeyTakenError)) throw error;
    }
    const kept = await readKept(exchange, { ...work, key }, actor);
    if (kept === "other request") throw errors.idempotencyKeyReused();
    if (kept === null) continue;
    counters.replays.increment();
    return kept;
  }
  throw errors.idempotencyKeyInProgress();
}

/** Reads the stored reply of a key; null if the key is not in the table. A read with the reply's
 * bookmark sees the write. */
async function readKept(
  exchange: Exchange,
  work: KeyedWork,
  actor: TransactionActor,
): Promise<KeptReply | null> {
  const script = buildReplayScript(work, actor, exchange.context.snapshot.config);
  const result = await runTransaction(exchange, withReplicas(exchange, script));
  exchange.stopwatch.lap("transaction");
  const kept = replyOfKept(result);
  return kept === null || kept === "other request" ? kept : withBookmark(kept, result);
}
