/** Runs the script of a request, once for each `Idempotency-Key`: a second request with the key gets the
 * answer of the first. @module */
import { BatchDeadline } from "../lib/time_limits.ts";
import { OperationError } from "../batch/operation_error.ts";
import {
  type Batch,
  type BatchResult,
  discardBody,
  type HeldResult,
  type Statement,
} from "../database/batch.ts";
import type { Caller } from "../database/database.ts";
import { errors } from "../errors/catalogue.ts";
import { DatabaseError, isCanceled, ServiceError } from "../errors/service_error.ts";
import { systemClock } from "../lib/clock.ts";
import { targetNameUsesOf } from "../plan/plan.ts";
import type { Payload } from "../request/api_request.ts";
import {
  hasIdempotencyKey,
  readIdempotencyKey,
  requestFingerprint,
} from "../request/idempotency_key.ts";
import { keptAnswer, type KeptReply, replyOfKept } from "../response/kept_reply.ts";
import type { Reply } from "../response/reply.ts";
import { closingStatement, KeyTakenError, type RequestKey } from "../transaction/idempotency.ts";
import type { TransactionOwner } from "../transaction/preamble.ts";
import { applyResultChecks } from "../transaction/result_checks.ts";
import {
  type BatchHead,
  batchOf,
  buildScript,
  type DividedParam,
  mayWrite,
  type RequestOperation,
  type RequestScript,
} from "../transaction/script.ts";
import { keyErrorOf, statementError } from "../transaction/script_errors.ts";
import { buildReplayScript } from "../transaction/service_scripts.ts";
import { withBookmark, withReplicas } from "./bookmarks.ts";
import type { Exchange } from "./exchange.ts";
import type { PayloadRequest } from "./plan_request.ts";
import { replyOf } from "./reply.ts";

/** The operations of an exchange, and its body. */
export interface RequestOperations {
  readonly operations: readonly RequestOperation[];
  /** Null for a plain request. */
  readonly batch: BatchHead | null;
  /** Null without a body. */
  readonly payload: Payload | null;
}

/** Runs the operations of an exchange in one transaction, and makes the reply of their results. */
export function run(exchange: Exchange, work: RequestOperations): Promise<Reply> {
  const [operation] = work.operations;
  exchange.targetNameUses = work.batch === null
    ? targetNameUsesOf(operation!.planned.plan)
    : work.operations.flatMap(({ planned }) => targetNameUsesOf(planned.plan));
  const owner = ownerOf(exchange);
  return hasKey(exchange, work)
    ? runOnce(exchange, work, owner)
    : new ScriptRun(exchange, work, { owner, key: null }).execute();
}

/** Runs a plain request. */
export function runPlain(
  exchange: Exchange,
  { request, planned, payload }: PayloadRequest,
): Promise<Reply> {
  const operation: RequestOperation = {
    request,
    planned,
    facts: null,
    referenceChecks: noReferences,
  };
  return run(exchange, { operations: [operation], batch: null, payload });
}

const noReferences: RequestOperation["referenceChecks"] = [];

/** Returns the role of an exchange, with its settings. */
export function ownerOf(
  { identity, identifiers, context: { snapshot: { roles, cache } } }: Exchange,
): TransactionOwner {
  const { byRole, loginSetsTimeout } = roles;
  const { role } = identity!;
  const usesSetCommands = cache?.data.isDistributed === true;
  const defaults = byRole.get(role);
  return { identity: identity!, defaults, loginSetsTimeout, identifiers, usesSetCommands };
}

/** Whether work takes effect once: it writes, and its request has a key. */
function hasKey(
  { pieces, context: { snapshot: { config } } }: Exchange,
  { operations }: RequestOperations,
): boolean {
  return config.idempotencyTable !== null && hasIdempotencyKey(pieces) &&
    operations.some(({ planned }) => mayWrite(planned.plan, config));
}

/**
 * Writes, and keeps the reply; returns the kept reply if the key is in its table. A key that leaves the table
 * between both transactions is tried once more. Throws `154` and `155`.
 */
async function runOnce(
  exchange: Exchange,
  work: RequestOperations,
  owner: TransactionOwner,
): Promise<Reply> {
  const { pieces, context: { counters, snapshot: { config } } } = exchange;
  const key: RequestKey = {
    table: config.idempotencyTable!,
    text: readIdempotencyKey(pieces),
    fingerprint: await requestFingerprint(pieces, work.payload),
    ttlSeconds: config.idempotencyTtl,
  };
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      return await new ScriptRun(exchange, work, { owner, key }).execute();
    } catch (error) {
      if (!(error instanceof KeyTakenError)) throw error;
    }
    const kept = await readKept(exchange, work, { owner, key });
    if (kept === "other request") throw errors.idempotencyKeyReused();
    if (kept === null) continue;
    counters.replayed();
    return kept;
  }
  throw errors.idempotencyKeyInProgress();
}

/** Reads the answer that is kept for a key; null if the key is not in the table. Its bookmark covers the write. */
async function readKept(
  exchange: Exchange,
  { operations, batch }: RequestOperations,
  { owner, key }: { readonly owner: TransactionOwner; readonly key: RequestKey },
): Promise<KeptReply | null> {
  const { context: { snapshot: { config } } } = exchange;
  const [{ request, planned: { plan } }] = operations as readonly [RequestOperation];
  const queries = operations.map(({ planned }) => planned);
  const script = batch === null
    ? buildReplayScript(request, { plan, queries, key }, owner, config)
    : buildReplayScript(batch.request, { plan: null, queries, key }, owner, config);
  const result = await runTransaction(exchange, withReplicas(exchange, script));
  exchange.stopwatch.lap("transaction");
  const kept = replyOfKept(result);
  return kept === null || kept === "other request" ? kept : withBookmark(kept, result);
}

/** Runs a transaction of an exchange, or of `caller` in its place. */
export function runTransaction(
  exchange: Exchange,
  batch: Batch,
  caller: Caller = exchange,
): Promise<BatchResult> {
  const { context: { database }, statements, timing } = exchange;
  statements?.push(...batch.statements);
  return timing === null
    ? database.transaction(batch, caller)
    : timing.measure(() => database.transaction(batch, caller));
}

/** Whom a script belongs to. */
interface RunOwner {
  readonly owner: TransactionOwner;
  /** Null without an `Idempotency-Key`. */
  readonly key: RequestKey | null;
}

/** One transaction of an exchange. */
class ScriptRun {
  readonly #exchange: Exchange;
  readonly #work: RequestOperations;
  readonly #owner: TransactionOwner;
  readonly #key: RequestKey | null;
  readonly #divided: DividedParam | null;
  readonly #script: RequestScript;
  /** The time of a batch; null for a plain request, which has that of its exchange. */
  readonly #deadline: BatchDeadline | null;
  /** Results of the operations of a batch that have ended. */
  readonly #held: HeldResult[] = [];
  /** Made before COMMIT, if the commit depends on it. */
  #reply: Reply | null = null;

  constructor(exchange: Exchange, work: RequestOperations, { owner, key }: RunOwner) {
    const { deadline, context: { snapshot: { config } } } = exchange;
    this.#exchange = exchange;
    this.#work = work;
    this.#owner = owner;
    this.#key = key;
    this.#divided = dividedOf(work);
    this.#script = buildScript({ ...work, key, divided: this.#divided }, owner, config);
    this.#deadline = work.batch === null
      ? null
      : new BatchDeadline(config.batchTimeout * 1000, deadline, systemClock);
  }

  /** Executes the script, and makes its reply. */
  async execute(): Promise<Reply> {
    const { context: { uploads }, stopwatch } = this.#exchange;
    const divided = this.#divided;
    let result: BatchResult;
    try {
      result = divided === null
        ? await this.#transact()
        : await uploads.run(divided.pieces, () => this.#transact());
    } catch (error) {
      throw this.#errorOf(error);
    } finally {
      this.#deadline?.clear();
    }
    stopwatch.lap("transaction");
    try {
      const reply = this.#reply ?? this.#replyOf(result);
      if (reply.content !== result.body.content) discardBody(result.body);
      return withBookmark(reply, result);
    } catch (error) {
      discardBody(result.body);
      throw error;
    }
  }

  #transact(): Promise<BatchResult> {
    const exchange = this.#exchange;
    const { operations: [operation], batch } = this.#work;
    const owned = batch !== null || exchange.context.bookmarkHeader === null ? null : {
      request: operation!.request,
      plan: operation!.planned.plan,
      owner: this.#owner,
    };
    const transaction = withReplicas(exchange, this.#toBatch(), owned);
    const deadline = this.#deadline;
    if (deadline === null) return runTransaction(exchange, transaction);
    return runTransaction(exchange, transaction, {
      deadline,
      timing: exchange.timing,
      get signal() {
        return exchange.signal;
      },
    });
  }

  /** Returns the transaction for the database. Its results decide about a COMMIT that depends on them. */
  #toBatch(): Batch {
    const transaction = batchOf(this.#script);
    const { batch } = this.#work;
    const common: Batch = batch === null ? transaction : {
      ...transaction,
      maxHeldBytes: this.#exchange.context.snapshot.config.batchMaxBytes,
      events: { begun: () => this.#begin(), held: (at, result) => this.#hold(at, result) },
    };
    if (common.access !== "read write" || !this.#isDecided) return common;
    const { transaction: block } = common;
    if (block.form !== "block") throw new Error("a decided transaction is a block");
    return {
      ...common,
      transaction: { ...block, end: [] },
      closing: (result) => this.#close(result),
    };
  }

  /** Whether the results can refuse the commit: by their checks or size, or as an answer to keep. */
  get #isDecided(): boolean {
    const { access, end, checks } = this.#script;
    if (access !== "read write" || end !== "commit") return false;
    if (this.#key !== null || checks.some((each) => each.length > 0)) return true;
    const { operations, batch } = this.#work;
    if (batch === null) return false;
    const { canCancel = true } = this.#exchange.context.database;
    return !canCancel ||
      operations.some(({ planned: { plan } }) =>
        plan.kind !== "mutate" || plan.mutate.read !== null
      );
  }

  #begin(): void {
    this.#held.length = 0;
    this.#deadline?.begin();
  }

  #hold(position: number, result: HeldResult): void {
    this.#held[this.#script.statements[position]!.operation!] = result;
  }

  /** Makes the reply before COMMIT. */
  #close(result: BatchResult): Statement | null {
    if (this.#deadline?.isBatchOver) throw this.#timeout();
    const reply = this.#reply = this.#replyOf(result);
    if (this.#key === null) return null;
    const { context: { snapshot: { config } } } = this.#exchange;
    return closingStatement(this.#key, keptAnswer(reply, config));
  }

  #replyOf(result: BatchResult): Reply {
    const { operations, batch } = this.#work;
    const finished = { script: this.#script, operations, batch, result, held: this.#held };
    return replyOf(finished, this.#exchange.context);
  }

  #timeout(): OperationError {
    const { context: { snapshot: { config } } } = this.#exchange;
    return new OperationError(errors.batchTimeout(config.batchTimeout), null);
  }

  #errorOf(error: unknown): unknown {
    const { operations: [operation], batch } = this.#work;
    if (error instanceof DatabaseError) {
      const ofKey = keyErrorOf(error, this.#script);
      if (ofKey !== null) return ofKey;
      if (batch === null) return statementError(error, this.#script, operation!);
    }
    return batch === null ? error : this.#batchErrorOf(error);
  }

  /** Returns the error of the operation with the lowest position that fails. */
  #batchErrorOf(error: unknown): unknown {
    if (error instanceof OperationError) return error;
    if (this.#isOverdue(error)) return this.#timeout();
    const { operations } = this.#work;
    if (isTooExpensive(error)) return this.#failureAt(this.#held.length, error);
    if (!(error instanceof DatabaseError)) return new OperationError(error, null);
    const index = this.#script.statements[error.statement]?.operation;
    const refused = this.#refusedBefore(index ?? this.#held.length);
    if (refused !== null) return refused;
    if (isCanceled(error) && this.#deadline?.isBatchOver) return this.#timeout();
    if (index === undefined) return new OperationError(error, null);
    const operation = operations[index]!;
    return new OperationError(statementError(error, this.#script, operation), operation.facts);
  }

  /** Returns the error of an operation, unless one before it is refused. */
  #failureAt(index: number, error: unknown): OperationError {
    const { facts } = this.#work.operations[index]!;
    return this.#refusedBefore(index) ?? new OperationError(error, facts);
  }

  /** Whether the time of the batch was over when it waited again, for a connection that was lost. */
  #isOverdue(error: unknown): boolean {
    const isTimeout = error instanceof ServiceError &&
      error.fields.code === errors.requestTimeout.code;
    return isTimeout && this.#exchange.deadline?.isOver !== true;
  }

  /** Returns the error of the first operation before a position whose result is refused; null for none. */
  #refusedBefore(end: number): OperationError | null {
    for (let index = 0; index < Math.min(end, this.#held.length); index++) {
      try {
        applyResultChecks(this.#script.checks[index]!, this.#held[index]!.columns);
      } catch (error) {
        return new OperationError(error, this.#work.operations[index]!.facts);
      }
    }
    return null;
  }
}

/** Returns the body of a plain request in pieces; null for a whole body. */
function dividedOf({ payload, batch }: RequestOperations): DividedParam | null {
  if (batch !== null || payload?.kind !== "json" || payload.pieces === undefined) return null;
  return { placeholder: payload.text, pieces: payload.pieces };
}

/** Whether the planner's cost of an operation exceeds the limit. */
function isTooExpensive(error: unknown): boolean {
  return error instanceof ServiceError && error.fields.code === errors.queryTooExpensive.code;
}
