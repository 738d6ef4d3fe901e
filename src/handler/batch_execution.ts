/**
 * Executes the transaction of a batch, and makes its reply or its error.
 *
 * @module
 */
import { BatchDeadline } from "../batch/batch_deadline.ts";
import { batchReply, type OperationReply } from "../batch/batch_reply.ts";
import { OperationError } from "../batch/operation_error.ts";
import type { Config } from "../config/options.ts";
import type { Batch, BatchResult, HeldResult } from "../database/batch.ts";
import { errors } from "../errors/catalogue.ts";
import { DatabaseError, type FailedOperation, ServiceError } from "../errors/service_error.ts";
import { systemClock } from "../lib/clock.ts";
import { rowsOfFailedCheck } from "../query/result_reference.ts";
import { keptAnswer, type KeptReply } from "../response/kept_reply.ts";
import type { Reply } from "../response/reply.ts";
import {
  type BatchQueries,
  type BatchTransaction,
  buildBatchTransaction,
  type OperationQuery,
} from "../transaction/batch_transaction.ts";
import type { DataPlan } from "../transaction/data_plan.ts";
import { closingStatement, keyError, type RequestKey } from "../transaction/idempotency.ts";
import type { TransactionOwner } from "../transaction/preamble.ts";
import { applyResultChecks } from "../transaction/result_checks.ts";
import {
  buildReplayTransaction,
  estimateOf,
  isEndOverridable,
  statementError,
} from "../transaction/transaction.ts";
import { withBookmark, withReplicas } from "./bookmarks.ts";
import { makeReply, replay, timedTransaction } from "./execute.ts";
import { writeOnce } from "./keyed_write.ts";
import type { Exchange } from "./pipeline.ts";
import { isCanceled } from "./request_timeout.ts";
import { hasHeader } from "./sent_headers.ts";

/** A planned operation. */
export interface PlannedOperation extends OperationQuery {
  readonly facts: FailedOperation;
}

/** A batch whose operations are planned. */
export interface PlannedBatch extends Omit<BatchQueries, "key" | "operations"> {
  readonly operations: readonly PlannedOperation[];
  readonly owner: TransactionOwner;
}

/** Executes a batch, once for each `Idempotency-Key`. Throws an {@linkcode OperationError}. */
export async function executeBatch(
  exchange: Exchange,
  batch: PlannedBatch,
  key: RequestKey | null,
): Promise<Reply> {
  if (key === null) return await new BatchRun(exchange, batch, null).execute();
  return await writeOnce({
    write: () => new BatchRun(exchange, batch, key).execute(),
    readKept: () => readKept(exchange, batch, key),
    onReplayed: exchange.context.onReplayed,
  });
}

async function readKept(
  exchange: Exchange,
  { request, owner }: PlannedBatch,
  key: RequestKey,
): Promise<KeptReply | null> {
  const { context: { snapshot: { config } } } = exchange;
  return await replay(
    exchange,
    buildReplayTransaction(request, { plan: null, key }, owner, config),
  );
}

/** One transaction of a batch. */
class BatchRun {
  readonly #exchange: Exchange;
  readonly #batch: PlannedBatch;
  readonly #key: RequestKey | null;
  readonly #built: BatchTransaction;
  readonly #deadline: BatchDeadline;
  /** Results of the operations that have ended, by their positions. */
  readonly #results: HeldResult[] = [];
  /** Made before COMMIT, if the commit depends on it. */
  #reply: Reply | null = null;

  constructor(exchange: Exchange, batch: PlannedBatch, key: RequestKey | null) {
    const { caller, context: { snapshot: { config } } } = exchange;
    this.#exchange = exchange;
    this.#batch = batch;
    this.#key = key;
    this.#built = buildBatchTransaction({ ...batch, key }, batch.owner, config);
    const { deadline = null } = caller;
    this.#deadline = new BatchDeadline(config.batchTimeout * 1000, deadline, systemClock);
  }

  async execute(): Promise<Reply> {
    const { caller, context: { database }, statements, timing, stopwatch } = this.#exchange;
    statements?.push(...this.#built.statements);
    const timed = {
      deadline: this.#deadline,
      get signal() {
        return caller.signal;
      },
    };
    try {
      const batch = withReplicas(this.#exchange, this.#toBatch());
      const result = await timedTransaction(database, batch, { caller: timed, timing });
      stopwatch.lap("transaction");
      return withBookmark(this.#reply ?? this.#replyOf(result), result);
    } catch (error) {
      throw this.#errorOf(error);
    } finally {
      this.#deadline.clear();
    }
  }

  get #config(): Config {
    return this.#exchange.context.snapshot.config;
  }

  /** Returns the transaction for the database. Its results decide about a COMMIT that depends on them. */
  #toBatch(): Batch {
    const { access, transaction, statements, planContext, costLimits, dependsOnResults } =
      this.#built;
    const common = {
      statements,
      planContext,
      kind: null,
      ...(costLimits.length === 0 ? {} : { costLimits }),
      maxHeldBytes: this.#config.batchMaxBytes,
      events: {
        begun: () => this.#begin(),
        held: (statement: number, result: HeldResult) => {
          this.#results[this.#operationAt(statement)!] = result;
        },
      },
    };
    if (access === "read only") {
      return { ...common, access, transaction, body: "hold", retry: "never" };
    }
    const { canCancel = true } = this.#exchange.context.database;
    const isDecided = transaction.end === "commit" &&
      (this.#key !== null || dependsOnResults || !canCancel);
    if (!isDecided) return { ...common, access, transaction };
    return {
      ...common,
      access,
      transaction: { ...transaction, end: [] },
      closing: (result) => this.#close(result),
    };
  }

  #begin(): void {
    this.#results.length = 0;
    this.#deadline.begin();
  }

  /** Makes the reply before COMMIT. */
  #close(result: BatchResult) {
    if (this.#deadline.isBatchOver) throw this.#timeout();
    const reply = this.#reply = this.#replyOf(result);
    if (this.#key === null) return null;
    return closingStatement(this.#key, this.#setsCookie ? null : keptAnswer(reply, this.#config));
  }

  #timeout(): OperationError {
    return new OperationError(errors.batchTimeout(this.#config.batchTimeout), null);
  }

  /** Whether an operation sets a cookie: such an answer is not kept. */
  #setsCookie = false;

  /** Makes the reply. Throws the error of the first operation whose result is refused. */
  #replyOf({ rows }: Pick<BatchResult, "rows">): Reply {
    const replies = this.#batch.operations.map((_, index) => this.#operationReply(index, rows));
    this.#setsCookie = replies.some(({ reply }) => hasHeader("Set-Cookie", reply.headers));
    const { overrides } = this.#built;
    const [headers = null, status = null] = overrides === null ? [] : rows[overrides]?.[0] ?? [];
    try {
      return batchReply(replies, {
        preferences: this.#batch.request.preferences,
        isEndOverridable: isEndOverridable(this.#config),
        hasStandbys: this.#exchange.context.bookmarkHeader !== null,
        overrides: { headers, status },
      });
    } catch (error) {
      throw new OperationError(error, null);
    }
  }

  #operationReply(index: number, rows: BatchResult["rows"]): OperationReply {
    const { request, planned: { plan }, facts } = this.#batch.operations[index]!;
    const result = this.#results[index];
    if (result === undefined) throw new Error(`operation ${index} has no result`);
    try {
      applyResultChecks(this.#built.operations[index]!.checks, result.columns);
      const estimate = estimateOf({ rows }, this.#built.operations[index]!);
      const reply = makeReply(request, plan, { result, estimate, context: this.#exchange.context });
      return { id: facts.id, reply, isJson: isJson(plan) };
    } catch (error) {
      throw new OperationError(error, facts);
    }
  }

  /** Returns the operation of a statement; null for statements of the batch. */
  #operationAt(statement: number): number | null {
    const { operations } = this.#built;
    const index = operations.findIndex(({ first, end }) => statement >= first && statement < end);
    return index < 0 ? null : index;
  }

  /** Returns the error of the operation with the lowest position that fails. */
  #errorOf(error: unknown): unknown {
    if (error instanceof OperationError) return error;
    if (this.#isOverdue(error)) return this.#timeout();
    if (isTooExpensive(error)) return this.#nextRefused(error);
    if (!(error instanceof DatabaseError)) return new OperationError(error, null);
    const { key, statements, operations } = this.#built;
    const ofKey = key === null ? null : keyError(error, { first: key, closing: statements.length });
    if (ofKey !== null) return ofKey;
    const index = this.#operationAt(error.statement);
    const refused = this.#refusedBefore(index ?? this.#results.length);
    if (refused !== null) return refused;
    if (isCanceled(error) && this.#deadline.isBatchOver) return this.#timeout();
    if (index === null) return new OperationError(error, null);
    const { facts, referenceChecks } = this.#batch.operations[index]!;
    const check = referenceChecks[error.statement - operations[index]!.referenceChecks];
    const rows = check === undefined ? null : rowsOfFailedCheck(error.failure);
    const cause = check === undefined || rows === null
      ? statementError(error, operations[index]!)
      : errors.referenceWithoutValue(check.source, rows);
    return new OperationError(cause, facts);
  }

  /** Returns the error of the operation behind those that have ended, unless one of these is refused. */
  #nextRefused(error: unknown): OperationError {
    const index = this.#results.length;
    const { facts } = this.#batch.operations[index]!;
    return this.#refusedBefore(index) ?? new OperationError(error, facts);
  }

  /** Whether the time of the batch was over when it waited again, for a connection that was lost. */
  #isOverdue(error: unknown): boolean {
    const isTimeout = error instanceof ServiceError &&
      error.fields.code === errors.requestTimeout.code;
    return isTimeout && this.#exchange.caller.deadline?.isOver !== true;
  }

  /** Returns the error of the first operation before a position whose result is refused; null for none. */
  #refusedBefore(end: number): OperationError | null {
    for (let index = 0; index < Math.min(end, this.#results.length); index++) {
      try {
        applyResultChecks(this.#built.operations[index]!.checks, this.#results[index]!.columns);
      } catch (error) {
        return new OperationError(error, this.#batch.operations[index]!.facts);
      }
    }
    return null;
  }
}

/** Whether the planner's cost of an operation exceeds the limit. */
function isTooExpensive(error: unknown): boolean {
  return error instanceof ServiceError && error.fields.code === errors.queryTooExpensive.code;
}

/** Whether PostgreSQL or the service makes the body as JSON. */
function isJson({ representation: { format: { kind } } }: DataPlan): boolean {
  return kind === "array" || kind === "object" || kind === "geojson";
}
