/**
 * One batch on its way through a session: which statement the server is at, and what it has given.
 *
 * @module
 */
import { DatabaseError, type DatabaseFailure } from "../errors/service_error.ts";
import { AnswerBody, type AnswerBodyOptions } from "./answer_body.ts";
import type { ChainPlace } from "./chain.ts";
import type { AnswerHead, Batch, BatchReply, Ending, ResultUse, Statement } from "./database.ts";
import { FootingLost, type FootingMode, userColumn } from "./footing.ts";
import { joinText, readFields } from "./wire.ts";

/** A batch, and who waits for its answer. */
export interface Task {
  readonly batch: Batch;
  readonly resolve: (reply: BatchReply) => void;
  readonly reject: (error: unknown) => void;
}

/** A statement on its way. */
export interface Step {
  readonly text: string;
  readonly use: ResultUse;
  /** Name under which the batch prepares it; null when it is prepared already or never will be. */
  readonly preparing: string | null;
}

/** Rows of a statement, as text. */
type Rows = (readonly (string | null)[])[];

const noRows: Rows = [];

/** The state of a batch in progress. */
export class Run {
  readonly task: Task;
  readonly body: AnswerBody;
  /** The transaction has a BEGIN, or begins with the end of the one before it in a chain. */
  readonly isBlock: boolean;
  /** Where it stands in a chain of transactions; null outside of one. */
  readonly place: ChainPlace | null;
  /** No Sync stands between it and the next one: both are answered together. */
  isLinked = false;
  /** How many steps come before the batch's statements: BEGIN, and what gives the session its footing. */
  lead = 0;
  /** How the batch comes to its footing; null where it needs none. */
  mode: FootingMode | null = null;
  /** It holds up others that must not be run elsewhere, and gives way when it waits for a lock. */
  isHurried = false;
  /** The batch was sent behind one that took back the footing on which it relies. */
  isMisled = false;
  /** What the server is working through, in order. */
  steps: readonly Step[] = [];
  /** Which of them it is at. */
  at = 0;
  /** "ending" once COMMIT or ROLLBACK is on its way in a write of its own. */
  phase: "running" | "ending" | "cleaning" = "running";
  /** The batch ran before, and failed of the state of the connection alone. */
  retried = false;
  /** Nobody waits for the answer any more. */
  settled = false;
  failure: unknown = null;
  #head: AnswerHead = [];
  readonly #rows: Rows[];
  /** Columns of the row that is arriving, when rows are kept. */
  #row: (string | null)[] | null = null;
  #lastColumn: Uint8Array[] | null = null;

  constructor(task: Task, begins: ChainPlace | boolean, body: AnswerBodyOptions) {
    this.task = task;
    this.isBlock = begins !== false;
    this.place = typeof begins === "string" ? begins : null;
    this.body = new AnswerBody(body);
    this.#rows = task.batch.statements.map(() => noRows);
  }

  /**
   * Whether a transaction without BEGIN was not what it should have been: the connection's defaults
   * were changed, and its first statement, which looks at that, was refused.
   */
  get metOtherDefaults(): boolean {
    const { failure } = this;
    return !this.isBlock && failure instanceof DatabaseError &&
      failure.statement <= 0 && failure.failure.sqlstate === activeTransaction;
  }

  /** Whether the session was on another footing than the batch was told, which did nothing then. */
  get metOtherFooting(): boolean {
    const { failure } = this;
    if (failure instanceof FootingLost) return true;
    return this.mode === "check" && failure instanceof DatabaseError && failure.statement < 0;
  }

  /** The same batch, to be run once more; with a BEGIN when it did not go well without one. */
  again(body: AnswerBodyOptions): Run {
    const next = new Run(this.task, this.isBlock || this.metOtherDefaults, body);
    next.retried = true;
    return next;
  }

  get head(): AnswerHead {
    return this.#head;
  }

  /** Hands the answer over, unless that was done. */
  answer(): void {
    if (this.settled) return;
    this.settled = true;
    this.task.resolve({ head: this.#head, body: this.body.take(), rows: this.#rows });
  }

  /** Says why there is no answer, unless there was one. */
  reject(error: unknown): void {
    if (this.settled) return;
    this.settled = true;
    this.task.reject(error);
  }

  /** What the server said against the statement that it is at. */
  refused(failure: DatabaseFailure): void {
    // What fails while cleaning up after an error would hide the error.
    this.failure ??= new DatabaseError(failure, this.at - this.lead);
    if (!this.body.streaming) return;
    this.body.fail(this.failure);
    this.settled = true;
  }

  /** Whether the end is on its way with the statements, so that nothing is to be decided. */
  get endsByItself(): boolean {
    return this.phase !== "running" || typeof this.task.batch.end === "string";
  }

  /** Whether the server has said all, the transaction's end included, so that nothing is uncertain. */
  get hasEnded(): boolean {
    const { access } = this.task.batch;
    const isCertain = this.isBlock || access === "read only";
    return isCertain && this.endsByItself && this.failure === null && this.at === this.steps.length;
  }

  rowWanted(): boolean {
    return !this.settled && this.failure === null &&
      (this.steps[this.at]?.use ?? "none") !== "none";
  }

  rowStart(head: readonly (string | null)[], length: number | null): void {
    if (this.steps[this.at]?.use === "answer") {
      if (this.#isOfOtherUser(head)) {
        this.failure = new FootingLost();
        return;
      }
      this.#head = head;
      this.body.start(length);
      return;
    }
    this.#row = [...head];
    this.#lastColumn = length === null ? null : [];
  }

  /** The footing of a batch that begins without a check is looked at in its answer. */
  #isOfOtherUser(head: AnswerHead): boolean {
    const { footing } = this.task.batch;
    if (typeof footing !== "object" || !footing.inAnswer) return false;
    return this.isMisled || head[userColumn] !== footing.role;
  }

  rowBytes(bytes: Uint8Array): void {
    if (this.failure !== null) return;
    if (this.#row === null) this.body.push(bytes);
    else this.#lastColumn?.push(bytes.slice());
  }

  rowEnd(): void {
    if (this.failure !== null) return;
    if (this.#row === null) return this.body.end();
    this.#row.push(this.#lastColumn === null ? null : joinText(this.#lastColumn));
    const position = this.at - this.lead;
    if (this.#rows[position] === noRows) this.#rows[position] = [];
    this.#rows[position]?.push(this.#row);
    this.#row = null;
    this.#lastColumn = null;
  }
}

/** What a transaction's mode cannot be changed with any more. */
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

/** The statement that begins a batch's transaction. */
export function begin({ access, isolation }: Batch): Statement {
  return { text: beginTexts[access][isolation], params: [], use: "none" };
}

const endings: Readonly<Record<Ending, Statement>> = {
  commit: { text: "commit", params: [], use: "none" },
  rollback: { text: "rollback", params: [], use: "none" },
};

/** The statement that ends a transaction. */
export function ending(end: Ending): Statement {
  return endings[end];
}

/** Reads an ErrorResponse. */
export function readFailure(payload: Uint8Array): DatabaseFailure {
  const fields = readFields(payload);
  const severity = fields.get("V");
  return {
    sqlstate: fields.get("C") ?? "XX000",
    message: fields.get("M") ?? "",
    detail: fields.get("D") ?? null,
    hint: fields.get("H") ?? null,
    ...(severity === "FATAL" || severity === "PANIC" ? { fatal: true } : {}),
  };
}
