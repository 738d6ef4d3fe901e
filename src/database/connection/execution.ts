/** The execution of one batch on a connection. @module */
import { errors } from "../../errors/catalogue.ts";
import {
  DatabaseError,
  type DatabaseFailure,
  type ServiceError,
} from "../../errors/service_error.ts";
import type {
  AccessMode,
  Batch,
  BatchResult,
  BodyFraming,
  ColumnBounds,
  CostLimit,
  ParamStream,
  PositionCondition,
  ResultColumns,
  ResultUse,
  Statement,
  TransactionEnd,
  TransactionForm,
  WalPosition,
} from "../batch.ts";
import type { RowRun } from "../protocol/decoder.ts";
import { joinText } from "../protocol/messages.ts";
import { BodyReceiver, type BodyReceiverOptions } from "./body_receiver.ts";
import { positionCheck, positionStatements, readPosition } from "../wal_position.ts";
import { HeldResults } from "./held_results.ts";
import type { ServerError } from "../protocol/server_error.ts";

export interface PendingBatch {
  readonly batch: Batch;
  readonly resolve: (reply: BatchResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface StatementInFlight {
  readonly text: string;
  readonly use: ResultUse;
  readonly framing?: BodyFraming | undefined;
  readonly runsUserCode: boolean;
  /** `planContext` for which the statement is prepared; null for all. */
  readonly context: string | null;
  /** Name under which this execution prepares it; null where it is prepared already or never. */
  readonly preparing: string | null;
}

type TextRows = (readonly (string | null)[])[];

const noRows: TextRows = [];

/**
 * Where an execution is: its statements run; a statement runs for each value of a stream; COMMIT or
 * ROLLBACK was sent in a write of its own; ROLLBACK was sent after an error.
 */
type Phase = "statements" | "values" | "end" | "rollback";

/** How an execution is delimited: as its transaction says, or by a savepoint. */
export type ExecutionForm = TransactionForm | "savepoint";

/** State of the promise of the batch's result. */
type Settlement = "pending" | "resolved" | "rejected" | "requeued";

/** One batch that was sent, up to the end of its transaction. */
export class BatchExecution {
  readonly pending: PendingBatch;
  readonly form: ExecutionForm;
  readonly body: BodyReceiver;
  /** True for the second attempt of a batch whose first one the server refused before it began. */
  readonly isRetry: boolean;
  phase: Phase = "statements";
  failure: unknown = null;
  /** Whether the server ended the connection while it was at this batch, and came no further. */
  wasTerminated = false;
  readonly #replayed: bigint | null;
  #settlement: Settlement = "pending";
  #statements: readonly StatementInFlight[] = [];
  /** Number of statements that the connection put before those of the batch: BEGIN, a check of the position. */
  #preambleLength = 0;
  /** Place of the statement that reads the position behind the transaction; null without one. */
  #positionReading: number | null = null;
  #walPosition: WalPosition | null = null;
  /** Whether the statements behind those of a stream, or behind a check of the cost, were not sent yet. */
  #isRestUnsent: boolean;
  /** Number of cost limits whose EXPLAIN has been checked. */
  #checkedCosts = 0;
  /** Position of the statement that the server is at. */
  #position = 0;
  #isBound = false;
  /** Whether the server has begun to execute any statement of the batch. */
  #hasBegun = false;
  /** Whether the server ended the connection before it began. */
  #isTerminatedUnbegun = false;
  /** Whether a statement of the batch that runs user-defined code was completed. */
  #hasRunUserCode = false;
  /** Whether the server refused the batch although none of its effects had begun. */
  #isRefusedUnbegun = false;
  #columns: ResultColumns = [];
  #end: TransactionEnd = "commit";
  readonly #rows: TextRows[];
  /** The row that is arriving, without its last column, where rows are kept. */
  #row: (string | null)[] | null = null;
  #lastColumn: Uint8Array[] | null = null;
  readonly #held: HeldResults;

  constructor(
    pending: PendingBatch,
    { form, body, isRetry = false, replayed = null }: {
      readonly form: ExecutionForm;
      readonly body: BodyReceiverOptions;
      readonly isRetry?: boolean;
      /** Position that the server of the connection has replayed. Default: null, for unknown. */
      readonly replayed?: bigint | null;
    },
  ) {
    this.pending = pending;
    this.form = form;
    this.isRetry = isRetry;
    this.#replayed = replayed;
    this.body = new BodyReceiver(body);
    this.#held = new HeldResults(body, pending.batch.maxHeldBytes);
    this.#isRestUnsent = this.#dividingStatement !== null;
    this.#rows = pending.batch.statements.map(() => noRows);
  }

  get batch(): Batch {
    return this.pending.batch;
  }

  /** The values that one of the statements is executed for; null for none. */
  get stream(): ParamStream | null {
    const { batch } = this;
    return batch.access === "read write" ? batch.stream ?? null : null;
  }

  /** Position of the statement of a stream or of a check of the cost; null for neither. */
  get #dividingStatement(): number | null {
    return this.stream?.statement ?? this.#costLimit?.statement ?? null;
  }

  /** The limit that comes next; null without one. */
  get #costLimit(): CostLimit | null {
    return this.batch.costLimits?.[this.#checkedCosts] ?? null;
  }

  get awaitsValues(): boolean {
    return this.#isRestUnsent && this.phase === "statements" && this.stream !== null;
  }

  /** Whether the planner's cost decides about the statements that come next. */
  get awaitsCost(): boolean {
    return this.#isRestUnsent && this.#costLimit !== null;
  }

  /** Returns the error of a cost above its limit; null if the cost permits the rest of the statements. */
  costError(): ServiceError | null {
    const { statement, maxCost } = this.#costLimit!;
    const text = this.#rows[statement]?.map(([line]) => line).join("\n") ?? "";
    const cost = costOf(JSON.parse(text)[0]?.Plan);
    if (typeof cost === "number" && cost <= maxCost) return null;
    return errors.queryTooExpensive(Number(cost), maxCost);
  }

  get end(): TransactionEnd | readonly ColumnBounds[] {
    const { transaction } = this.batch;
    return transaction.form === "block" ? transaction.end : "commit";
  }

  get isEndSent(): boolean {
    if (this.#isRestUnsent) return false;
    return this.phase !== "statements" || typeof this.end === "string";
  }

  get isSettled(): boolean {
    return this.#settlement !== "pending";
  }

  get statement(): StatementInFlight | undefined {
    return this.#statements[this.#position];
  }

  statementsToSend(): readonly Statement[] {
    const { statements, walPosition } = this.batch;
    if (this.form === "implicit" && walPosition === undefined) return statements;
    const preamble = this.#preamble();
    this.#preambleLength = preamble.length;
    if (this.form === "implicit") return this.#withPosition([...preamble, ...statements]);
    const { end } = this;
    if (this.stream !== null) return [...preamble, ...statements.slice(0, this.stream.statement)];
    const costLimit = this.#costLimit;
    if (costLimit !== null) return [...preamble, ...statements.slice(0, costLimit.statement + 1)];
    if (typeof end !== "string") return [...preamble, ...statements];
    this.#end = end;
    return this.#withPosition([...preamble, ...statements, ...endStatementsOf(this.form, end)]);
  }

  /** Returns the statements before those of the batch. */
  #preamble(): readonly Statement[] {
    const { transaction, access, walPosition } = this.batch;
    if (this.form === "savepoint") return savepointStatements[access];
    const condition = walPosition?.condition ?? null;
    const isMet = condition === null || this.#isReplayed(condition);
    const checks = isMet ? [] : [positionCheck(condition)];
    if (this.form === "implicit") return checks;
    const isolation = transaction.form === "block" ? transaction.isolation : "read committed";
    const begin = beginStatements[access][isolation];
    if (isMet || isolation === "read committed") return [begin, ...checks];
    // The snapshot of the whole transaction would be older than the position that the check sees.
    return [beginStatements[access]["read committed"], ...checks, endStatements.commit, begin];
  }

  /** A condition of the timeline is checked each time. */
  #isReplayed({ min, timeline }: PositionCondition): boolean {
    return timeline === undefined && this.#replayed !== null && this.#replayed >= min;
  }

  /** The position that the batch has found behind its transaction; null without one. */
  get walPosition(): WalPosition | null {
    return this.#walPosition;
  }

  /** Adds the statement that reads the position, if the batch wants it and its transaction does not roll back. */
  #withPosition(statements: readonly Statement[]): readonly Statement[] {
    const { returned = null } = this.batch.walPosition ?? {};
    if (returned === null || this.#end === "rollback") return statements;
    this.#positionReading = statements.length;
    return [...statements, positionStatements[returned]];
  }

  streamedStatement(value: Uint8Array): Statement {
    const { statement: position, param } = this.stream!;
    const statement = this.batch.statements[position]!;
    return { ...statement, params: statement.params.with(param, value) };
  }

  /** Follows one more execution of the stream's statement. */
  sentValue(statement: StatementInFlight): void {
    const isFirst = this.phase !== "values";
    this.phase = "values";
    this.#hasRunUserCode = true;
    this.#statements = [...isFirst ? [] : this.#statements.slice(this.#position), statement];
    this.#position = 0;
  }

  /** Returns the statements behind that of the stream, or behind the check of the cost up to the next one. */
  restToSend(): readonly Statement[] {
    const position = this.#dividingStatement!;
    const { end } = this;
    this.phase = "statements";
    this.#preambleLength = -position - 1;
    this.#checkedCosts++;
    const next = this.#costLimit;
    if (next !== null) return this.batch.statements.slice(position + 1, next.statement + 1);
    this.#isRestUnsent = false;
    const rest = this.batch.statements.slice(position + 1);
    if (typeof end !== "string") return rest;
    this.#end = end;
    return this.#withPosition([...rest, ...endStatementsOf(this.form, end)]);
  }

  /** The values of the stream have failed, or the cost is above its limit. */
  failedBetween(error: unknown): void {
    this.failure ??= error;
  }

  get #batchPosition(): number {
    return this.phase === "values" ? this.stream!.statement : this.#position - this.#preambleLength;
  }

  /** Starts to follow statements that were written. */
  sent(statements: readonly StatementInFlight[]): void {
    this.#statements = statements;
    this.#position = 0;
    this.#isBound = false;
  }

  /** BindComplete: the server executes the statement next. */
  bound(): void {
    this.#isBound = true;
    this.#hasBegun = true;
  }

  /** CommandComplete, or EmptyQueryResponse. */
  completed(): void {
    this.#hasRunUserCode ||= this.statement?.runsUserCode ?? false;
    if (this.statement?.framing !== undefined) this.#receiver.end();
    if (this.statement?.use === "held") this.#emitHeld();
    this.#position++;
    this.#isBound = false;
  }

  get #receiver(): BodyReceiver {
    return this.statement?.use === "held" ? this.#held.receiver : this.body;
  }

  #emitHeld(): void {
    const result = this.#held.take();
    if (this.failure === null) this.batch.events?.held(this.#batchPosition, result);
  }

  /** ErrorResponse: the server skips the rest of the batch. */
  failed(error: ServerError): void {
    const { failure } = error;
    this.wasTerminated ||= error.isFatal;
    // An error of ROLLBACK would hide the error before it.
    if (this.failure !== null) return;
    this.#isTerminatedUnbegun = error.isFatal && !this.#hasBegun;
    this.#isRefusedUnbegun = !this.#hasRunUserCode &&
      (this.#isStale(error) || this.#isOnOtherDefaults(failure));
    const precedesExecution = !this.#isBound && !this.#hasRunUserCode &&
      this.statement !== undefined;
    this.failure = new DatabaseError(failure, this.#batchPosition, { precedesExecution });
    if (!this.body.streaming) return;
    this.body.fail(this.failure);
    this.body.release();
    this.#settlement = "rejected";
  }

  /** A prepared statement that the server does not know, or that cannot run as it was planned. */
  #isStale({ isStale, hasContext }: ServerError): boolean {
    // Behind the last statement the server is at the end of an implicit transaction.
    const isStatement = this.statement !== undefined;
    return isStale && isStatement && !this.#isBound && !hasContext;
  }

  /** The first statement of an implicit transaction refuses a connection with other defaults. */
  #isOnOtherDefaults({ sqlstate }: DatabaseFailure): boolean {
    const isFirst = this.#position === this.#preambleLength;
    return this.form === "implicit" && isFirst && sqlstate === activeTransaction;
  }

  /** Whether the batch is to be sent once more: nothing that a client could notice has happened. */
  get mayRetry(): boolean {
    return this.#isRefusedUnbegun && !this.isRetry && !this.isSettled;
  }

  /** Whether the server ended the connection before it executed anything of the batch. */
  get wasTerminatedUnbegun(): boolean {
    return this.#isTerminatedUnbegun && !this.isSettled;
  }

  /** Whether the server has confirmed the end of the transaction. */
  get hasEnded(): boolean {
    const isCertain = this.form === "block" || this.batch.access === "read only";
    return isCertain && this.isEndSent && this.failure === null &&
      this.#position >= (this.#positionReading ?? this.#statements.length);
  }

  /** Resolves the result, unless it is settled. */
  resolve(): void {
    if (this.isSettled) return;
    this.#settlement = "resolved";
    this.pending.resolve(this.#result());
  }

  #result(): BatchResult {
    const result = {
      end: this.#end,
      columns: this.#columns,
      body: this.body.take(),
      rows: this.#rows,
    };
    return this.#walPosition === null ? result : { ...result, walPosition: this.#walPosition };
  }

  /** Rejects the result, unless it is settled. */
  reject(error: unknown): void {
    if (this.isSettled) return;
    this.#settlement = "rejected";
    this.pending.reject(error);
  }

  requeue(): PendingBatch {
    this.#settlement = "requeued";
    return this.pending;
  }

  endStatements(bounds: readonly ColumnBounds[]): readonly Statement[] {
    const { batch } = this;
    const end = this.#decideEnd(bounds);
    const closing = batch.access === "read write" && end === "commit"
      ? batch.closing?.(this.#result()) ?? null
      : null;
    this.#preambleLength = -batch.statements.length;
    const ending = endStatementsOf(this.form, end);
    return this.#withPosition(closing === null ? ending : [closing, ...ending]);
  }

  #decideEnd(bounds: readonly ColumnBounds[]): TransactionEnd {
    const holds = bounds.every(({ columns, min, max }) => {
      const text = columns.map((column) => this.#columns[column] ?? null).find((cell) =>
        cell !== null
      );
      const number = Number(text ?? 0);
      return number >= min && number <= max;
    });
    this.#end = holds ? "commit" : "rollback";
    return this.#end;
  }

  wantsRow(): boolean {
    if (this.failure !== null || this.statement === undefined) return false;
    if (this.#settlement === "resolved") return this.statement.framing !== undefined;
    return this.#settlement === "pending" && this.statement.use !== "none";
  }

  /** The rows that continue the body; null where the next row is of another kind. */
  rowRun(): RowRun | null {
    const isFurther = this.statement!.framing !== undefined && this.#receiver.started;
    return isFurther ? this.#receiver.openRun() : null;
  }

  rowStart(head: readonly (string | null)[], length: number | null): void {
    if (this.statement?.use === "result") {
      this.#columns = this.phase === "values" ? this.#summed(head) : head;
      this.body.start(length, this.statement.framing ?? null);
      return;
    }
    if (this.statement?.use === "held") {
      this.failure ??= this.#held.start(head, { length, framing: this.statement.framing ?? null });
      return;
    }
    this.#row = [...head];
    this.#lastColumn = length === null ? null : [];
  }

  /** Adds up the columns that the stream sums. */
  #summed(columns: ResultColumns): ResultColumns {
    const { summed } = this.stream!;
    return columns.map((text, column) =>
      summed.includes(column) && text !== null
        ? String(BigInt(text) + BigInt(this.#columns[column] ?? 0))
        : text
    );
  }

  rowBytes(bytes: Uint8Array): void {
    if (this.#row !== null) this.#lastColumn?.push(bytes.slice());
    else if (this.statement?.use !== "held") this.body.push(bytes);
    else if (this.failure === null) this.failure = this.#held.push(bytes);
  }

  rowEnd(): void {
    if (this.#row === null) {
      if (this.statement?.framing === undefined) this.#receiver.end();
      return;
    }
    this.#row.push(this.#lastColumn === null ? null : joinText(this.#lastColumn));
    if (this.#position === this.#positionReading) this.#walPosition = readPosition(this.#row);
    const position = this.#batchPosition;
    if (this.#rows[position] === noRows) this.#rows[position] = [];
    this.#rows[position]?.push(this.#row);
    this.#row = null;
    this.#lastColumn = null;
  }
}

/** SQLSTATE of a change of the isolation level in a transaction that has begun. */
const activeTransaction = "25001";

const beginTexts = {
  "read only": {
    "read committed": "begin isolation level read committed read only",
    "repeatable read": "begin isolation level repeatable read read only",
    "serializable": "begin isolation level serializable read only",
  },
  "read write": {
    "read committed": "begin isolation level read committed read write",
    "repeatable read": "begin isolation level repeatable read read write",
    "serializable": "begin isolation level serializable read write",
  },
} as const;

type Begins<Access extends keyof typeof beginTexts> = Readonly<
  Record<keyof (typeof beginTexts)[Access], Statement>
>;

const beginStatements: { readonly [Access in keyof typeof beginTexts]: Begins<Access> } = {
  "read only": begins("read only"),
  "read write": begins("read write"),
};

function begins<Access extends keyof typeof beginTexts>(access: Access): Begins<Access> {
  const entries = Object.entries(beginTexts[access]).map(([isolation, text]) =>
    [isolation, control(text)] as const
  );
  return Object.fromEntries(entries) as Begins<Access>;
}

const endStatements: Readonly<Record<TransactionEnd, Statement>> = {
  commit: control("commit"),
  rollback: control("rollback"),
};

/** Returns the statements that end an execution. That of a savepoint always rolls back. */
export function endStatementsOf(form: ExecutionForm, end: TransactionEnd): readonly Statement[] {
  return form === "savepoint" ? savepointEnd : [endStatements[end]];
}

const savepoint = control("savepoint svc_case");

/** A savepoint has the isolation level of its transaction. */
const savepointStatements: Readonly<Record<AccessMode, readonly Statement[]>> = {
  "read only": [savepoint, control("set local transaction_read_only = on")],
  "read write": [savepoint],
};

/** The release keeps savepoints from nesting. */
const savepointEnd: readonly Statement[] = [
  control("rollback to savepoint svc_case"),
  control("release savepoint svc_case"),
];

function control(text: string): Statement {
  return { text, params: [], use: "none", isShared: true };
}

interface ExplainedNode {
  readonly "Total Cost"?: unknown;
  readonly "Subplan Name"?: string;
  readonly Plans?: readonly ExplainedNode[];
}

/** The table of rows that a result by rows reads several times is not part of it. */
function costOf(plan: ExplainedNode | undefined): unknown {
  const tables = plan?.Plans?.filter((node) => node["Subplan Name"]?.startsWith("CTE ")) ?? [];
  if (!tables.some((node) => node["Subplan Name"] === "CTE svc_rows")) return plan?.["Total Cost"];
  return tables.reduce((sum, node) => sum + Number(node["Total Cost"]), 0);
}
