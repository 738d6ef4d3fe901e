/**
 * One connection: encodes batches into a single write, follows the replies, and hands bodies on while
 * they arrive.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { DatabaseError, type DatabaseFailure } from "../errors/service_error.ts";
import { type AnswerBodyOptions, largestHeld } from "./answer_body.ts";
import { beginningOf, type ChainPlace, endOf, placeOf, sendingOf, statementsOf } from "./chain.ts";
import type { AnswerHead, Batch, BatchReply, Ending, Statement } from "./database.ts";
import { SessionFooting } from "./footing.ts";
import type { Pace } from "./pace.ts";
import { ending, readFailure, Run, type Task } from "./run.ts";
import { type PreparingOptions, StatementWriter } from "./statement_writer.ts";
import type { Transport } from "./transport.ts";
import { backend, FrameDecoder, type FrameSink, joinText } from "./wire.ts";

/** How a session works. */
export interface SessionOptions extends PreparingOptions {
  /**
   * SQL that the session begins with, sent along with the first batch; what it fails of is ignored.
   * The only row that it gives, if any, says the server's process. Only where the session is one with a
   * server's: with `prepare`.
   */
  readonly setup?: string;
  /** Whether readers of bodies keep no piece of them; false unless told. */
  readonly releases?: boolean;
  /** Told when the server does not know a statement that was prepared. */
  readonly onForgotten?: () => void;
  /** Told the milliseconds that batches took which were sent in one write and ended well. */
  readonly onTook?: (paces: readonly Pace[], ms: number) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds and parts of them since some time; `performance.now()` unless told. */
  readonly clock?: () => number;
}

/** A batch in progress. */
export interface Running {
  /** Settles when the answer can be given. */
  readonly reply: Promise<BatchReply>;
  /** Resolves when the session can be used again, or is known to be unusable. Never rejects. */
  readonly done: Promise<void>;
}

/** What becomes of batches that were given to a session together. */
export interface RunEvents {
  /** The session can be used again, or is known to be unusable. Told once. */
  free(): void;
  /** Batches that were sent behind another one and should rather be run elsewhere. */
  handedBack(tasks: readonly Task[]): void;
}

/** Result of {@linkcode Session.state}. */
export type SessionState = "idle" | "busy" | "closed";

/** One connection to PostgreSQL. */
export class Session {
  readonly #transport: Transport;
  readonly #options: SessionOptions;
  readonly #writer: StatementWriter;
  readonly #decoder: FrameDecoder;
  readonly #onClosed: (reason: string) => void;
  readonly #footing = new SessionFooting();
  /** What was sent together, and which of it the server is at. */
  #runs: readonly Run[] = [];
  #position = 0;
  /** Runs that failed of the connection's state, and are sent once more when the others are over. */
  #again: Run[] = [];
  #events: RunEvents | null = null;
  #closed = false;
  /** The answer to the setup is still to come. */
  #settingUp = false;
  #setup: string | null;
  /** What the setup says of the server's process, as far as it has arrived. */
  #backend: Uint8Array[] = [];
  /** When the last write was made, by the clock. */
  #began = 0;
  readonly #clock: () => number;

  /** `onClosed` is told when the connection is lost or destroyed, once. */
  constructor(transport: Transport, options: SessionOptions, onClosed: (reason: string) => void) {
    this.#transport = transport;
    this.#options = options;
    this.#clock = options.clock ?? (() => performance.now());
    this.#setup = options.prepare ? options.setup ?? null : null;
    this.#writer = new StatementWriter(options);
    this.#onClosed = onClosed;
    this.#decoder = new FrameDecoder(this.#sink());
    transport.listen({
      data: (chunk) => this.#data(chunk),
      closed: (reason) => this.#lost(reason),
    });
  }

  get state(): SessionState {
    return this.#closed ? "closed" : this.#events === null ? "idle" : "busy";
  }

  /** Runs a batch. The session must be idle. */
  run(batch: Batch): Running {
    let free!: () => void;
    const done = new Promise<void>((resolve) => free = resolve);
    const reply = new Promise<BatchReply>((resolve, reject) => {
      this.runAll([{ batch, resolve, reject }], { free, handedBack: () => {} });
    });
    return { reply, done };
  }

  /**
   * Runs batches, one after the other, in one write. The session must be idle. Of several each must
   * be of one implicit transaction whose end needs no decision.
   */
  runAll(tasks: readonly Task[], events: RunEvents): void {
    if (this.#closed) {
      for (const { reject } of tasks) reject(errors.connectionLost(null));
      return events.free();
    }
    this.#events = events;
    const { single, chained } = sendingOf(tasks);
    this.#start([
      ...single.map((task) => this.#runOf(task, null)),
      ...chained.map((task, at) => this.#runOf(task, placeOf(at, chained.length))),
    ]);
  }

  #runOf(task: Task, place: ChainPlace | null): Run {
    const { stream, block } = task.batch;
    const isBlock = !this.#options.prepare || block !== "implicit";
    return new Run(task, place ?? isBlock, this.#bodyOptions(stream));
  }

  /** Asks the server to cancel what runs. */
  cancel(): void {
    if (this.#current !== undefined) this.#transport.cancel();
  }

  /** Whether what waits behind the batch that the server is at can neither be cancelled nor run elsewhere. */
  get holdsWrites(): boolean {
    return this.#behind().some(isOnce);
  }

  /**
   * Hands back what waits behind the batch that the server is at, which it returns, and what is to be
   * sent once more. Null when nobody waits for what goes on: of several that are answered together the
   * server may be at any, and all are handed back.
   */
  handBackRest(): Task | null {
    const current = this.#current;
    if (current === undefined) return null;
    const isKept = current.settled ? current.body.streaming : !current.isLinked;
    const rest = this.#takeRest();
    if (isKept || current.settled) {
      this.#handBack(rest);
      return isKept ? current.task : null;
    }
    for (const { task: { batch: { pace } } } of [current, ...rest]) pace?.refuse();
    this.#handBack([current, ...rest]);
    return null;
  }

  /** What waits behind the batch that the server is at. */
  #behind(): readonly Run[] {
    return this.#runs.slice(this.#position + 1).filter(({ settled }) => !settled);
  }

  /** What is to be sent once more, and what waits behind the batch that the server is at. */
  #takeRest(): readonly Run[] {
    const again = this.#again.filter(({ settled }) => !settled);
    this.#again = [];
    return [...again, ...this.#behind().filter((run) => !isOnce(run))];
  }

  #handBack(runs: readonly Run[]): void {
    for (const run of runs) run.settled = true;
    if (runs.length > 0) this.#events?.handedBack(runs.map(({ task }) => task));
  }

  /** Milliseconds for which nobody has read a body that was handed out. */
  stalledFor(): number {
    return this.#current?.body.stalledFor() ?? 0;
  }

  /** Milliseconds that the connection has waited, in all, for the reader of a body. */
  waitedFor(): number {
    return this.#current?.body.waitedFor() ?? 0;
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

  get #current(): Run | undefined {
    return this.#runs[this.#position];
  }

  #bodyOptions(mayStream: boolean): AnswerBodyOptions {
    const { now, releases = false } = this.#options;
    return { transport: this.#transport, mayStream, releases, now };
  }

  #start(runs: readonly Run[]): void {
    this.#runs = runs;
    this.#position = 0;
    this.#began = this.#clock();
    const setup = this.#setup;
    this.#setup = null;
    this.#settingUp ||= setup !== null;
    const bytes = this.#writer.write(runs, (run) => this.#statementsOf(run), setup);
    this.#transport.write(bytes);
  }

  /** Ends the transaction of a run in a write of its own. */
  #end(run: Run, end: Ending): void {
    if (end === "rollback") this.#footing.lose();
    this.#transport.write(this.#writer.write([run], () => [ending(end)], null));
  }

  #statementsOf(run: Run): readonly Statement[] {
    const { task: { batch }, isBlock } = run;
    run.isHurried = isOnce(run) && batch.undoable === true && this.#runs.length > 1;
    const how = { isBlock, isHurried: run.isHurried, now: this.#began };
    const { statements: first, mode } = this.#footing.before(batch.footing, how);
    const lead = beginningOf(run, first);
    run.mode = mode;
    run.lead = lead.length;
    const end = endOf(run);
    const statements = statementsOf(run);
    return lead.length + end.length === 0 ? statements : [...lead, ...statements, ...end];
  }

  #data(chunk: Uint8Array): void {
    try {
      this.#decoder.push(chunk);
    } catch (error) {
      return this.#destroy(error instanceof Error ? error.message : "protocol error");
    }
    const current = this.#current;
    if (current === undefined || current.settled || current.phase !== "running") return;
    if (current.task.batch.stream && current.body.started && current.endsByItself) {
      if (this.#isStreamed(current)) current.answer();
    }
  }

  /** Whether a body is to be handed out while it arrives; what waits behind it is handed back then. */
  #isStreamed({ body }: Run): boolean {
    if ((body.length ?? 0) <= largestHeld) return false;
    this.#handBack(this.#takeRest());
    return true;
  }

  #sink(): FrameSink {
    return {
      event: (type) => this.#event(type),
      message: (type, payload) => this.#message(type, payload),
      rowWanted: () => this.#settingUp || (this.#current?.rowWanted() ?? false),
      rowStart: (head, length) => {
        if (!this.#settingUp) this.#current?.rowStart(head, length);
      },
      rowBytes: (bytes) => {
        if (this.#settingUp) this.#backend.push(bytes.slice());
        else this.#current?.rowBytes(bytes);
      },
      rowEnd: () => {
        if (this.#settingUp) this.#learnBackend();
        else this.#current?.rowEnd();
      },
    };
  }

  /** Poolers give the connection an identity of their own. */
  #learnBackend(): void {
    const backend = Number(joinText(this.#backend));
    this.#backend = [];
    this.#footing.isDirect = this.#transport.isWith?.(backend) ?? false;
  }

  #event(type: number): void {
    const current = this.#current;
    if (current === undefined || this.#settingUp) return;
    if (type === backend.commandComplete || type === backend.emptyQuery) {
      current.at++;
      if (current.isLinked && current.at === current.steps.length) this.#over(current);
    } else if (type === backend.parseComplete) {
      const step = current.steps[current.at];
      if (step !== undefined) this.#writer.remember(step);
    }
  }

  #message(type: number, payload: Uint8Array): void {
    switch (type) {
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

  #refused(failure: DatabaseFailure): void {
    const current = this.#current;
    if (current === undefined) return this.#destroy(failure.message);
    if (this.#settingUp && !isEnd(failure)) return;
    // Terminated after COMMIT was confirmed: what was asked for is done.
    if (current.hasEnded) return;
    current.refused(failure);
    current.task.batch.pace?.ended(false);
    if (current.isLinked) this.#passOver(current);
    if (isStaleStatement(failure)) this.#writer.forget();
    if (failure.sqlstate === unknownStatement) this.#options.onForgotten?.();
  }

  /** The server passes over what was to be answered together with what failed. */
  #passOver(current: Run): void {
    current.isLinked = false;
    const rest = this.#runs.slice(this.#position + 1);
    const last = rest.findIndex(({ isLinked }) => !isLinked);
    this.#runs = [...this.#runs.slice(0, this.#position + 1), ...rest.slice(last + 1)];
    this.#handBack(rest.slice(0, last + 1).filter(({ settled }) => !settled));
  }

  /** All is said of a run that is answered together with the next one. */
  #over(current: Run): void {
    if (current.failure !== null) return this.#failed(current, idleStatus);
    current.answer();
    this.#finished(current);
  }

  /** ReadyForQuery: `status` is `I` (idle), `T` (in a transaction) or `E` (in a failed one). */
  #ready(status: number): void {
    const current = this.#current;
    if (current === undefined) return;
    if (this.#settingUp) {
      this.#settingUp = false;
      return;
    }
    if (current.failure !== null) return this.#failed(current, status);
    const { end } = current.task.batch;
    if (typeof end === "string" || current.phase !== "running") {
      if (status !== idleStatus) return this.#destroy("a transaction was left open");
      current.answer();
      return this.#finished(current);
    }
    this.#decide(current, end);
  }

  #failed(current: Run, status: number): void {
    if (current.metOtherDefaults) this.#setup = this.#options.setup ?? null;
    this.#lostFooting(current);
    const again = mayRetry(current);
    if (!again && gaveWay(current)) this.#handBack([current]);
    else if (!again) current.reject(current.failure);
    if (status === idleStatus) {
      if (again) this.#again.push(current.again(this.#bodyOptions(current.task.batch.stream)));
      return this.#finished(current);
    }
    if (current.phase === "cleaning") return this.#destroy("ROLLBACK failed");
    this.#rollBack(current);
  }

  /** What failed has taken back its footing, on which those that were sent behind it rely. */
  #lostFooting({ mode }: Run): void {
    this.#footing.lose();
    if (mode !== "enter") return;
    for (const run of this.#runs.slice(this.#position + 1)) {
      if (run.mode !== "check") return;
      run.isMisled = true;
    }
  }

  #decide(current: Run, decide: (head: AnswerHead) => Ending): void {
    try {
      const end = decide(current.head);
      current.phase = "ending";
      this.#end(current, end);
    } catch (error) {
      current.failure = error;
      this.#rollBack(current);
    }
  }

  #rollBack(current: Run): void {
    current.phase = "cleaning";
    this.#end(current, "rollback");
  }

  /** The server goes on with the next run, or has nothing left to do. */
  #finished({ task: { batch: { pace, end } }, body, failure }: Run): void {
    if (end === "rollback") this.#footing.lose();
    if (failure === null) pace?.ended(true);
    if ((body.length ?? 0) > largestHeld) pace?.refuse();
    if (++this.#position < this.#runs.length) return;
    this.#measure();
    this.#runs = [];
    if (this.#again.length > 0) return this.#startAgain();
    this.#free();
  }

  #measure(): void {
    const paces: Pace[] = [];
    for (const { task: { batch: { pace } }, failure } of this.#runs) {
      if (pace === undefined || failure !== null) return;
      paces.push(pace);
    }
    this.#options.onTook?.(paces, this.#clock() - this.#began);
  }

  /** One at a time, as the next one may be no implicit transaction. */
  #startAgain(): void {
    this.#start([this.#again.shift()!]);
  }

  #free(): void {
    const events = this.#events;
    this.#events = null;
    events?.free();
  }

  #lost(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    const current = this.#current;
    const rest = this.#takeRest();
    const written = this.#behind().filter(isOnce);
    this.#runs = [];
    this.#onClosed(reason);
    if (current !== undefined) failWith(current, reason);
    if (current !== undefined && wasTerminated(current)) this.#handBack(written);
    else for (const run of written) failWith(run, reason);
    this.#handBack(rest);
    this.#free();
  }

  #destroy(reason: string): void {
    this.#lost(reason);
    this.#transport.destroy();
  }
}

/** Ends a run whose connection is lost. */
function failWith(run: Run, reason: string): void {
  const failure = run.failure ?? errors.connectionLost(reason);
  if (run.body.streaming) run.body.fail(failure);
  if (run.hasEnded) run.answer();
  else run.reject(failure);
}

const idleStatus = 0x49;

/** Whether a run must not be sent elsewhere, as the server may have done it already. */
function isOnce({ task: { batch } }: Run): boolean {
  return batch.once === true;
}

/** Whether a run would have had to wait for a lock although it was to hurry, and was taken back. */
function gaveWay({ failure, isHurried, settled }: Run): boolean {
  return isHurried && !settled && failure instanceof DatabaseError &&
    failure.failure.sqlstate === "55P03";
}

/** Whether the server was told to end the connection while it was at a run, and came no further. */
function wasTerminated({ failure }: Run): boolean {
  return failure instanceof DatabaseError && /^57P0[1-5]$/.test(failure.failure.sqlstate);
}

/**
 * Nothing was done by a batch that met a stale statement, which a new try prepares anew, defaults that
 * were not those of the setup, or another footing than that which it needs.
 */
function mayRetry({ failure, retried, settled, metOtherDefaults, metOtherFooting }: Run): boolean {
  if (retried || settled) return false;
  if (metOtherDefaults || metOtherFooting) return true;
  return failure instanceof DatabaseError && isStaleStatement(failure.failure);
}

const unknownStatement = "26000";

/**
 * Whether a prepared statement cannot run any more: its result type changed (0A000 with this
 * message), or the server forgot it (26000, after DISCARD ALL).
 */
function isStaleStatement({ sqlstate, message }: DatabaseFailure): boolean {
  return sqlstate === unknownStatement ||
    (sqlstate === "0A000" && message.includes("cached plan must not change result type"));
}

/** Whether the server, or a pooler before it, ends the connection with this. */
function isEnd({ sqlstate }: DatabaseFailure): boolean {
  return /^(57P0[1-5]|08P01)$/.test(sqlstate);
}
