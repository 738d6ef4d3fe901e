/**
 * One connection that runs one batch at a time: encodes it into a single write, follows the
 * replies, and hands the body on while it arrives.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { DatabaseError, type DatabaseFailure } from "../errors/service_error.ts";
import { AnswerBody } from "./answer_body.ts";
import type { AnswerHead, Batch, BatchReply, Ending, ResultUse, Statement } from "./database.ts";
import { PreparedStatements } from "./prepared.ts";
import type { Transport } from "./transport.ts";
import {
  backend,
  binaryFormat,
  FrameDecoder,
  FrameEncoder,
  type FrameSink,
  readFields,
  textFormat,
} from "./wire.ts";

/** How a session prepares statements. */
export interface SessionOptions {
  /** False uses the unnamed statement only, which is safe behind transaction poolers. */
  readonly prepare: boolean;
  /** How many prepared statements are kept on the server. */
  readonly preparedLimit: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Texts of more characters than this are not kept prepared: the server holds their plans in memory,
 * and clients could make it hold many.
 */
const longestPrepared = 8192;

/** A batch in progress. */
export interface Run {
  /** Settles when the answer can be given. */
  readonly reply: Promise<BatchReply>;
  /** Resolves when the session can be used again, or is known to be unusable. Never rejects. */
  readonly done: Promise<void>;
}

/** A statement on its way. */
interface Step {
  readonly text: string;
  readonly use: ResultUse;
  /** Name under which the batch prepares it; null when it is prepared already or never will be. */
  readonly preparing: string | null;
}

interface Current {
  readonly batch: Batch;
  readonly resolve: (reply: BatchReply) => void;
  readonly reject: (error: unknown) => void;
  readonly finish: () => void;
  /** What the server is working through, in order. */
  steps: readonly Step[];
  /** Which of them it is at. */
  at: number;
  /** "ending" once COMMIT or ROLLBACK is on its way in a write of its own. */
  phase: "running" | "ending" | "cleaning";
  /** The batch ran before, with a prepared statement that had become stale. */
  retried: boolean;
  settled: boolean;
  failure: unknown;
  head: AnswerHead;
  body: AnswerBody;
  rows: (readonly (string | null)[])[][];
  /** Columns of the row that is arriving, when rows are kept. */
  row: (string | null)[] | null;
  lastColumn: Uint8Array[] | null;
}

const decoder = new TextDecoder();

/** Result of {@linkcode Session.state}. */
export type SessionState = "idle" | "busy" | "closed";

/** One connection to PostgreSQL. */
export class Session {
  readonly #transport: Transport;
  readonly #options: SessionOptions;
  readonly #encoder = new FrameEncoder();
  readonly #decoder: FrameDecoder;
  readonly #prepared: PreparedStatements;
  readonly #onClosed: (reason: string) => void;
  #current: Current | null = null;
  #closed = false;
  /** Names that the server is to forget with the next batch. */
  #forgotten: readonly string[] = [];

  /** `onClosed` is told when the connection is lost or destroyed, once. */
  constructor(transport: Transport, options: SessionOptions, onClosed: (reason: string) => void) {
    this.#transport = transport;
    this.#options = options;
    this.#prepared = new PreparedStatements(options.preparedLimit);
    this.#onClosed = onClosed;
    this.#decoder = new FrameDecoder(this.#sink());
    transport.listen({
      data: (chunk) => this.#data(chunk),
      closed: (reason) => this.#lost(reason),
    });
  }

  get state(): SessionState {
    return this.#closed ? "closed" : this.#current === null ? "idle" : "busy";
  }

  /** Runs a batch. The session must be idle. */
  run(batch: Batch): Run {
    if (this.#closed) {
      return { reply: Promise.reject(errors.connectionLost(null)), done: Promise.resolve() };
    }
    let finish!: () => void;
    const done = new Promise<void>((resolve) => finish = resolve);
    const reply = new Promise<BatchReply>((resolve, reject) => {
      this.#start({ batch, resolve, reject, finish, settled: false, retried: false });
    });
    return { reply, done };
  }

  /** Asks the server to cancel what runs. */
  cancel(): void {
    if (this.#current !== null) this.#transport.cancel();
  }

  /** Milliseconds for which nobody has read a body that was handed out. */
  stalledFor(): number {
    return this.#current?.body.stalledFor() ?? 0;
  }

  /** Closes the session at once, whatever runs on it. */
  giveUp(reason: string): void {
    if (!this.#closed) this.#destroy(reason);
  }

  /** Closes an idle session. */
  end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#transport.end();
    this.#onClosed("ended");
  }

  #start(
    fresh: Pick<Current, "batch" | "resolve" | "reject" | "finish" | "settled" | "retried">,
  ): void {
    const { batch } = fresh;
    this.#current = {
      ...fresh,
      steps: [],
      at: 0,
      phase: "running",
      failure: null,
      head: [],
      body: new AnswerBody(this.#transport, { mayStream: batch.stream, now: this.#options.now }),
      rows: batch.statements.map(() => []),
      row: null,
      lastColumn: null,
    };
    const { end } = batch;
    const last = typeof end === "string" ? [ending(end)] : [];
    this.#send([begin(batch), ...batch.statements, ...last]);
  }

  #send(statements: readonly Statement[]): void {
    const current = this.#current!;
    for (const name of [...this.#forgotten, ...this.#prepared.evict()]) {
      this.#encoder.closeStatement(name);
    }
    this.#forgotten = [];
    const steps: Step[] = [];
    const fresh = new Map<string, string>();
    for (const statement of statements) steps.push(this.#encode(statement, fresh));
    this.#encoder.sync();
    current.steps = steps;
    current.at = 0;
    this.#transport.write(this.#encoder.take());
  }

  #encode({ text, params, use }: Statement, fresh: Map<string, string>): Step {
    const prepare = this.#options.prepare && text.length <= longestPrepared;
    const known = prepare ? this.#prepared.use(text) ?? fresh.get(text) : undefined;
    const name = known ?? (prepare ? this.#prepared.freshName() : "");
    if (known === undefined) {
      this.#encoder.parse(name, text);
      if (prepare) fresh.set(text, name);
    }
    this.#encoder.bind(name, params, use === "answer" ? binaryFormat : textFormat);
    this.#encoder.execute();
    return { text, use, preparing: known === undefined && prepare ? name : null };
  }

  #data(chunk: Uint8Array): void {
    try {
      this.#decoder.push(chunk);
    } catch (error) {
      return this.#destroy(error instanceof Error ? error.message : "protocol error");
    }
    const current = this.#current;
    if (current === null || current.settled || current.phase !== "running") return;
    const { stream, end } = current.batch;
    if (stream && typeof end === "string" && current.body.started) this.#answer(current);
  }

  #sink(): FrameSink {
    return {
      message: (type, payload) => this.#message(type, payload),
      rowStart: (head, length) => this.#rowStart(head, length),
      rowBytes: (bytes) => this.#rowBytes(bytes),
      rowEnd: () => this.#rowEnd(),
    };
  }

  #message(type: number, payload: Uint8Array): void {
    const current = this.#current;
    switch (type) {
      case backend.parseComplete:
        return this.#parsed();
      case backend.commandComplete:
      case backend.emptyQuery:
        if (current !== null) current.at++;
        return;
      case backend.error:
        return this.#refused(readFailure(payload));
      case backend.ready:
        return this.#ready(payload[0] ?? 0);
      case backend.copyIn:
      case backend.copyOut:
      case backend.copyBoth:
        return this.#destroy("COPY cannot be run here");
      default:
        return;
    }
  }

  #parsed(): void {
    const current = this.#current;
    const step = current?.steps[current.at];
    if (step?.preparing) this.#prepared.remember(step.text, step.preparing);
  }

  #refused(failure: DatabaseFailure): void {
    const current = this.#current;
    if (current === null) return this.#destroy(failure.message);
    // What fails while cleaning up after an error would hide the error.
    current.failure ??= new DatabaseError(failure, current.at - 1);
    if (isStaleStatement(failure)) this.#forgotten = this.#prepared.clear();
    if (current.body.streaming) {
      current.body.fail(current.failure);
      current.settled = true;
    }
  }

  /** ReadyForQuery: `status` is `I` (idle), `T` (in a transaction) or `E` (in a failed one). */
  #ready(status: number): void {
    const current = this.#current;
    if (current === null) return;
    if (current.failure !== null) return this.#failed(current, status);
    if (current.phase !== "running" || typeof current.batch.end === "string") {
      if (status !== idleStatus) return this.#destroy("a transaction was left open");
      this.#answer(current);
      return this.#finished(current);
    }
    this.#decide(current, current.batch.end);
  }

  #failed(current: Current, status: number): void {
    const again = mayRetry(current);
    if (!again) this.#settle(current, () => current.reject(current.failure));
    if (status === idleStatus) {
      return again ? this.#start({ ...current, retried: true }) : this.#finished(current);
    }
    if (current.phase === "cleaning") return this.#destroy("ROLLBACK failed");
    this.#rollBack(current);
  }

  #decide(current: Current, decide: (head: AnswerHead) => Ending): void {
    try {
      const end = decide(current.head);
      current.phase = "ending";
      this.#send([ending(end)]);
    } catch (error) {
      current.failure = error;
      this.#rollBack(current);
    }
  }

  #rollBack(current: Current): void {
    current.phase = "cleaning";
    this.#send([ending("rollback")]);
  }

  #answer(current: Current): void {
    this.#settle(current, () => {
      current.resolve({ head: current.head, body: current.body.take(), rows: current.rows });
    });
  }

  #settle(current: Current, settle: () => void): void {
    if (current.settled) return;
    current.settled = true;
    settle();
  }

  #finished(current: Current): void {
    this.#current = null;
    current.finish();
  }

  #rowStart(head: readonly (Uint8Array | null)[], length: number | null): void {
    const current = this.#current;
    const use = current?.steps[current.at]?.use ?? "none";
    if (current === null || use === "none") return;
    const columns = head.map((column) => column === null ? null : decoder.decode(column));
    if (use === "answer") {
      current.head = columns;
      current.body.start(length);
      return;
    }
    current.row = columns;
    current.lastColumn = length === null ? null : [];
  }

  #rowBytes(bytes: Uint8Array): void {
    const current = this.#current;
    if (current === null) return;
    if (current.row !== null) {
      current.lastColumn?.push(bytes);
    } else if (current.steps[current.at]?.use === "answer") {
      current.body.push(bytes);
    }
  }

  #rowEnd(): void {
    const current = this.#current;
    if (current === null) return;
    if (current.row === null) {
      if (current.steps[current.at]?.use === "answer") current.body.end();
      return;
    }
    current.row.push(current.lastColumn === null ? null : joinText(current.lastColumn));
    // Statement n stands at step n + 1, after BEGIN.
    current.rows[current.at - 1]?.push(current.row);
    current.row = null;
    current.lastColumn = null;
  }

  #lost(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    const current = this.#current;
    if (current !== null) {
      this.#current = null;
      const failure = current.failure ?? errors.connectionLost(reason);
      if (current.body.streaming) current.body.fail(failure);
      if (hasEnded(current)) this.#answer(current);
      else this.#settle(current, () => current.reject(failure));
      current.finish();
    }
    this.#onClosed(reason);
  }

  #destroy(reason: string): void {
    this.#lost(reason);
    this.#transport.destroy();
  }
}

/** Whether the server has confirmed the transaction's end, so that nothing is uncertain any more. */
function hasEnded({ batch, phase, failure, at, steps }: Current): boolean {
  const endIsSent = typeof batch.end === "string" || phase === "ending";
  return endIsSent && failure === null && at === steps.length;
}

const idleStatus = 0x49;

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

function begin({ access, isolation }: Batch): Statement {
  return { text: beginTexts[access][isolation], params: [], use: "none" };
}

function ending(end: Ending): Statement {
  return { text: end, params: [], use: "none" };
}

function readFailure(payload: Uint8Array): DatabaseFailure {
  const fields = readFields(payload);
  return {
    sqlstate: fields.get("C") ?? "XX000",
    message: fields.get("M") ?? "",
    detail: fields.get("D") ?? null,
    hint: fields.get("H") ?? null,
  };
}

/** Nothing was done by a batch that met a stale statement; a new try prepares it anew. */
function mayRetry({ failure, retried, settled }: Current): boolean {
  return !retried && !settled && failure instanceof DatabaseError &&
    isStaleStatement(failure.failure);
}

/**
 * Whether a prepared statement cannot run any more: its result type changed (0A000 with this
 * message), or the server forgot it (26000, after DISCARD ALL).
 */
function isStaleStatement({ sqlstate, message }: DatabaseFailure): boolean {
  return sqlstate === "26000" ||
    (sqlstate === "0A000" && message.includes("cached plan must not change result type"));
}

function joinText(pieces: readonly Uint8Array[]): string {
  if (pieces.length === 1) return decoder.decode(pieces[0]);
  const streaming = new TextDecoder();
  return pieces.map((piece) => streaming.decode(piece, { stream: true })).join("") +
    streaming.decode();
}
