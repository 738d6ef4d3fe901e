/** Runs the script of a request in one transaction. @module */
import { OperationError } from "./operation_error.ts";
import type {
  HeldResult,
  OpenTransaction,
  ResultColumns,
  Statement,
  Transaction,
  TransactionResult,
} from "../../database/transaction.ts";
import type { Caller, Database } from "../../database/database.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { DatabaseError, isCanceled, isError } from "../../base/errors/service_error.ts";
import { systemClock } from "../../base/lib/clock.ts";
import { Deadline } from "../../base/lib/time_limits.ts";
import type { RequestTiming } from "../../base/observe/stopwatch.ts";
import { resultColumn } from "../query/query.ts";
import { checkCost } from "./cost_limit.ts";
import { keyError } from "./idempotency.ts";
import type { TransactionActor } from "./preamble.ts";
import { applyResultChecks } from "./result_checks.ts";
import {
  buildScript,
  type DividedParam,
  positionOf,
  type RequestScript,
  type RequestWork,
} from "./script.ts";
import { statementError } from "./script_errors.ts";
import { type ReadingRequest, withReplicas } from "./bookmarks.ts";

/** A request whose transactions run. */
export interface RunningRequest extends Caller, ReadingRequest {
  readonly context: ReadingRequest["context"] & {
    readonly database: Pick<Database, "embedded" | "transaction">;
  };
  readonly timing: RequestTiming | null;
  /** Collects the statements; null if they are not logged. */
  readonly statements: Statement[] | null;
}

/** A script that has run: completely, or up to COMMIT if the results decide about the commit. */
export interface FinishedScript {
  readonly script: RequestScript;
  readonly work: RequestWork;
  readonly result: TransactionResult;
  /** Results of a batch's operations. */
  readonly held: readonly HeldResult[];
}

/** Runs a transaction of a request, or of `caller` in its place. */
export function runTransaction(
  request: RunningRequest,
  transaction: Transaction,
  caller: Caller = request,
): Promise<TransactionResult> {
  const { context: { database }, statements, timing } = request;
  statements?.push(...transaction.statements);
  return timing === null
    ? database.transaction(transaction, caller)
    : timing.measure(() => database.transaction(transaction, caller));
}

/** Decides by the results. Throws to roll back; returns the statements to run before COMMIT. */
type CloseScript = (finished: FinishedScript) => readonly Statement[];

export class ScriptRun {
  readonly #request: RunningRequest;
  readonly #work: RequestWork;
  readonly #script: RequestScript;
  /** The time of a batch; null for a plain request, which uses the deadline of its caller. */
  readonly #deadline: Deadline | null;
  /** Results of the operations of a batch that have ended. */
  readonly #held: HeldResult[] = [];
  readonly #close: CloseScript;
  /** The statements that were sent last. */
  #sent: readonly Statement[];

  constructor(
    request: RunningRequest,
    work: RequestWork,
    { actor, close }: { readonly actor: TransactionActor; readonly close: CloseScript },
  ) {
    const { deadline, context: { snapshot: { config } } } = request;
    this.#request = request;
    this.#work = work;
    this.#close = close;
    this.#script = buildScript(work, actor, config);
    this.#sent = this.#script.transaction.statements;
    this.#deadline = work.batch === null
      ? null
      : new Deadline(config.batchTimeout * 1000, systemClock, deadline);
  }

  /** Executes the script. */
  async execute(): Promise<FinishedScript> {
    try {
      const result = await this.#start();
      return this.#finished(result.open === undefined ? result : await this.#finish(result));
    } catch (error) {
      throw this.#errorOf(error);
    } finally {
      this.#deadline?.clear();
    }
  }

  #start(): Promise<TransactionResult> {
    const { operations: [operation], batch: head } = this.#work;
    const transaction = withReplicas(
      this.#request,
      this.#toTransaction(),
      head === null ? operation! : null,
    );
    this.#sent = transaction.statements;
    return runTransaction(this.#request, transaction, this.#caller);
  }

  /** The caller of the transaction: the request. For a batch, it has the batch's limit and results. */
  get #caller(): Caller {
    const request = this.#request;
    if (this.#deadline === null) return request;
    return {
      deadline: this.#deadline,
      timing: request.timing,
      events: { begun: () => this.#begin(), held: (result) => void this.#held.push(result) },
      get signal() {
        return request.signal;
      },
    };
  }

  #begin(): void {
    this.#held.length = 0;
    this.#deadline?.begin();
  }

  /** Returns the transaction to send. It stops at the first result that decides about further steps. */
  #toTransaction(): Transaction {
    const script = this.#script;
    const { transaction, transaction: { statements, block }, costLimits: [limit], divided } =
      script;
    const common: Transaction = this.#work.batch === null ? transaction : {
      ...transaction,
      maxHeldBytes: this.#request.context.snapshot.config.batchMaxBytes,
    };
    if (limit === undefined && divided === null && !this.#isDecided) return common;
    if (block === null) throw new Error("an open transaction is a block");
    const end = limit !== undefined
      ? limit.statement + 1
      : divided !== null
      ? positionOf(script, "main")
      : statements.length;
    return {
      ...common,
      statements: statements.slice(0, end),
      block: { ...block, end: "open" },
    };
  }

  /** Whether the commit must wait for the results: they are checked, limited in size, or stored. */
  get #isDecided(): boolean {
    const { transaction: { access }, end, checks } = this.#script;
    const { operations, batch, key } = this.#work;
    if (access !== "read write" || end !== "commit") return false;
    if (key !== null || checks.some((each) => each.length > 0)) return true;
    if (batch === null) return false;
    const canCancel = this.#request.context.database.embedded === undefined;
    return !canCancel ||
      operations.some(({ planned: { plan } }) =>
        plan.kind !== "mutate" || plan.mutate.read !== null
      );
  }

  /** Executes the rest of an open transaction, and ends it. */
  async #finish(begun: TransactionResult): Promise<TransactionResult> {
    const open = begun.open!;
    const { transaction: { access, statements }, end, divided } = this.#script;
    const steps = new Steps(begun, this.#sent.length);
    try {
      await this.#sendLimited(steps, open);
      if (divided !== null) await this.#sendChunks(steps, open, divided);
      const rest = statements.slice(steps.length);
      if (!this.#isDecided) {
        return steps.add(await this.#measure(rest, () => open.end(end, rest)), rest);
      }
      if (rest.length > 0) steps.add(await this.#measure(rest, () => open.send(rest)), rest);
      if (this.#deadline?.isOwnOver) throw this.#timeout();
      const last = this.#close(this.#finished(steps.result));
      return steps.add(await this.#measure(last, () => open.end("commit", last)), noStatements);
    } catch (error) {
      const rolledBack = open.end("rollback").catch(() => {});
      if (access === "read write") await rolledBack;
      throw error;
    }
  }

  /** Sends the statements up to the last check of the cost. */
  async #sendLimited(steps: Steps, open: OpenTransaction): Promise<void> {
    const { transaction: { statements }, costLimits } = this.#script;
    for (const [index, limit] of costLimits.entries()) {
      checkCost(limit, steps.result.rows);
      const next = costLimits[index + 1];
      if (next === undefined) return;
      const part = statements.slice(steps.length, next.statement + 1);
      steps.add(await this.#measure(part, () => open.send(part)), part);
    }
  }

  /** Executes the main statement for each chunk of the body. */
  async #sendChunks(
    steps: Steps,
    open: OpenTransaction,
    { placeholder, chunks }: DividedParam,
  ): Promise<void> {
    const main = this.#script.transaction.statements[steps.length]!;
    const param = main.params.indexOf(placeholder);
    this.#sent = [main];
    let result!: TransactionResult;
    let columns: ResultColumns = [];
    for (const value of chunks) {
      result = await open.send([{ ...main, params: main.params.with(param, value) }]);
      columns = withRowsOf(result.columns, columns);
    }
    steps.add({ ...result, columns }, [main]);
  }

  /** Executes statements, and measures the time of the database. */
  #measure(
    statements: readonly Statement[],
    execute: () => Promise<TransactionResult>,
  ): Promise<TransactionResult> {
    this.#sent = statements;
    const { timing } = this.#request;
    return timing === null ? execute() : timing.measure(execute);
  }

  #finished(result: TransactionResult): FinishedScript {
    return { script: this.#script, work: this.#work, result, held: this.#held };
  }

  #timeout(): OperationError {
    const { context: { snapshot: { config } } } = this.#request;
    return new OperationError(errors.batchTimeout(config.batchTimeout), null);
  }

  #errorOf(error: unknown): unknown {
    const { operations: [operation], batch } = this.#work;
    if (error instanceof DatabaseError) {
      const statement = this.#sent[error.statement];
      const ofKey = keyError(error, statement?.role);
      if (ofKey !== null) return ofKey;
      if (batch === null) return statementError(error, statement, this.#script, operation!);
    }
    return batch === null ? error : this.#batchErrorOf(error);
  }

  /** Returns the error of the operation with the lowest position that fails. */
  #batchErrorOf(error: unknown): unknown {
    if (error instanceof OperationError) return error;
    if (this.#isOverdue(error)) return this.#timeout();
    const { operations } = this.#work;
    if (isError(error, errors.queryTooExpensive)) return this.#failureAt(this.#held.length, error);
    if (!(error instanceof DatabaseError)) return new OperationError(error, null);
    const statement = this.#sent[error.statement];
    const index = statement?.operation;
    const refused = this.#refusedBefore(index ?? this.#held.length);
    if (refused !== null) return refused;
    if (isCanceled(error) && this.#deadline?.isOwnOver) return this.#timeout();
    if (index === undefined) return new OperationError(error, null);
    const operation = operations[index]!;
    const cause = statementError(error, statement, this.#script, operation);
    return new OperationError(cause, operation.place);
  }

  /** Returns the error of an operation, or of an earlier operation whose result is refused. */
  #failureAt(index: number, error: unknown): OperationError {
    const { place } = this.#work.operations[index]!;
    return this.#refusedBefore(index) ?? new OperationError(error, place);
  }

  /** Whether the batch's time ended in the queue, to which a lost connection had returned it. */
  #isOverdue(error: unknown): boolean {
    return isError(error, errors.requestTimeout) && this.#request.deadline?.isOver !== true;
  }

  /** Returns the error of the first operation before `end` whose result is refused, or null. */
  #refusedBefore(end: number): OperationError | null {
    for (let index = 0; index < Math.min(end, this.#held.length); index++) {
      try {
        applyResultChecks(this.#script.checks[index]!, this.#held[index]!.columns);
      } catch (error) {
        return new OperationError(error, this.#work.operations[index]!.place);
      }
    }
    return null;
  }
}

/** The parts of a result that have arrived. */
class Steps {
  /** The result of the main statement, and the rows of all statements. */
  result: TransactionResult;
  /** Number of statements that have ended. */
  length: number;

  constructor(result: TransactionResult, length: number) {
    this.result = result;
    this.length = length;
  }

  /** Adds the result of further statements, and returns the whole. */
  add(part: TransactionResult, statements: readonly Statement[]): TransactionResult {
    const hasMain = statements.some(({ role }) => role === "main");
    const { columns, body } = hasMain ? part : this.result;
    const rows = [...this.result.rows, ...part.rows.slice(0, statements.length)];
    this.length += statements.length;
    return this.result = { ...part, columns, body, rows };
  }
}

/** Returns the columns of a result, with the number of rows increased by the number in `before`. */
function withRowsOf(columns: ResultColumns, before: ResultColumns): ResultColumns {
  const rows = columns[resultColumn.rows] ?? null;
  if (rows === null) return columns;
  return columns.with(
    resultColumn.rows,
    String(BigInt(rows) + BigInt(before[resultColumn.rows] ?? 0)),
  );
}

const noStatements: readonly Statement[] = [];
