/** Live queries that share a result: one query under one role and claims. @module */
import type { Identity } from "../auth/jwt_cache.ts";
import { errors } from "../errors/catalogue.ts";
import type { ServiceError } from "../errors/service_error.ts";
import type { Schedule } from "../lib/timers.ts";
import { lineKeyReader, linesBytes, ResultRows } from "./difference.ts";
import { changeMessages, MessageBatch, resultMessages, upToDate } from "./messages.ts";
import { type LiveOffset, offsetText, type PgSnapshot } from "./offset.ts";
import type { Interest } from "./scope.ts";

/** The request that all subscribers of a group have made. */
export interface LiveQuery {
  /** As received, below the prefix. */
  readonly path: string;
  /** Percent-encoded, without the parameters of the protocol. */
  readonly query: string;
  readonly profile: string | null;
  readonly identity: Identity;
}

export interface LiveRows {
  readonly lines: readonly string[];
  readonly snapshot: PgSnapshot;
  /** Time in PostgreSQL, without that in the queue. */
  readonly ms: number;
  /** Output names of the primary key's columns; empty if the rows lack one. */
  readonly keyColumns: readonly string[];
  /** Null if it is unknown. */
  readonly interest: Interest | null;
}

/**
 * `idle`: no run is due, or no client needs one; `resting`: a run is due behind the rest that follows on the last
 * one; `failed`: waits for the next attempt.
 */
export type GroupState = "idle" | "queued" | "running" | "resting" | "failed" | "ended";

/** A stream, or a poll that waits. */
export interface Subscriber {
  receive(batch: MessageBatch): void;
  /** The run failed, but another one follows. */
  fail(): void;
  /** Called each second, with the milliseconds of the epoch. */
  check(time: number): void;
  /** Nothing follows: with the error of the run, or null when the service stops. */
  end(error: ServiceError | null): void;
}

/** The parts of a service that a group uses. */
export interface GroupSurroundings {
  read(query: LiveQuery, signal: AbortSignal): Promise<LiveRows | ServiceError>;
  /** Calls {@linkcode LiveGroup.run} when a run is free. */
  enqueue(group: LiveGroup): void;
  /** Returns the error of a group that needs more bytes than there are; null if there is room. */
  reserve(bytes: number, group: LiveGroup): ServiceError | null;
  /** The memory of the group has grown by these bytes. */
  resized(bytes: number): void;
  ended(group: LiveGroup): void;
  /** Longest rest, and longest age of a result with subscribers. */
  recheckMs(): number;
  /** Monotonic milliseconds; those of the epoch. */
  readonly now: () => number;
  readonly time: () => number;
  readonly schedule: Schedule;
}

/** Most bytes of the batches that a group keeps. */
const maxLogBytes = 2 ** 20;
/** Bytes of a group without rows, beside its key. */
export const groupOverheadBytes = 4096;
/** Life of a group without subscribers. */
const unusedMs = 60_000;
const maxRetryMs = 60_000;
/** A group uses at most a tenth of a connection. */
const restPerRun = 9;

export class LiveGroup {
  /** Records that make the group run; null while all do. */
  interest: Interest | null = null;
  readonly #rows = new ResultRows();
  readonly #subscribers = new Set<Subscriber>();
  readonly #abort = new AbortController();
  /** Batches, each with the sum of the content that it changes. */
  #log: { readonly from: bigint; readonly batch: MessageBatch }[] = [];
  #state: GroupState = "idle";
  /** Whether a run must begin that has not begun. */
  #isDue = true;
  /** Requests that wait for the next run, and for that in progress. */
  #waiters: ((error: ServiceError | null) => void)[] = [];
  #served: ((error: ServiceError | null) => void)[] = [];
  /** That of the last run; null before the first. */
  #offset: LiveOffset | null = null;
  #whole: MessageBatch | null = null;
  #snapshot: PgSnapshot | null = null;
  #failure: ServiceError | null = null;
  #retryMs = 1000;
  #runMs = Infinity;
  #restUntil = 0;
  #usedAt: number;
  #ranAt = 0;
  #bytes = 0;
  #cancelTimer = () => {};

  constructor(readonly key: string, readonly query: LiveQuery, readonly around: GroupSurroundings) {
    this.#usedAt = around.now();
    this.#resize();
  }

  get state(): GroupState {
    return this.#state;
  }

  /** Whether a client needs the result now. */
  get isUsed(): boolean {
    return this.#subscribers.size + this.#waiters.length + this.#served.length > 0;
  }

  get offset(): string {
    return offsetText(this.#offset!);
  }

  /** The whole result. Throws `183` if the memory has no room for it. */
  get whole(): MessageBatch {
    if (this.#whole !== null) return this.#whole;
    const error = this.around.reserve(this.#rows.bytes, this);
    if (error !== null) throw error;
    const messages = resultMessages(this.#rows.all(), this.#snapshot!, this.offset);
    this.#whole = new MessageBatch(this.offset, messages);
    this.#resize();
    return this.#whole;
  }

  get unchanged(): MessageBatch {
    return new MessageBatch(this.offset, [upToDate(this.offset)]);
  }

  /** Makes a run due: the rows may have changed. */
  mark(): void {
    this.#isDue = true;
    this.#advance();
  }

  /**
   * Resolves once the snapshot of the result is behind `xmax`, which is null for any snapshot. Rejects with the
   * error of the run.
   */
  async ready(xmax: bigint | null): Promise<void> {
    if (this.#state === "ended") throw groupEnded();
    this.#usedAt = this.around.now();
    const isNew = this.#offset !== null && (xmax === null || this.#offset.xmax > xmax);
    // Nothing has renewed the result while no client needed it.
    const isLeft = this.#state === "idle" && (this.#isDue || this.#isOld);
    if (isNew && !isLeft && this.#state !== "failed") return;
    const error = this.#state === "failed" ? this.#failure : await this.#nextRun(xmax === null);
    if (error !== null) throw error;
  }

  /** Whether the log contains an offset, so that no run is necessary to continue from it. */
  hasOffset(offset: LiveOffset): boolean {
    const text = offsetText(offset);
    return this.#offset !== null && (text === this.offset || this.#indexOf(text) >= 0);
  }

  /** Returns the batches that lead from an offset to the result; null if the log lacks them. */
  since(offset: LiveOffset): readonly MessageBatch[] | null {
    const known = this.#indexOf(offsetText(offset));
    if (known < 0 && offset.sum === this.#rows.sum) return [];
    const first = known < 0
      ? this.#log.findLastIndex(({ from }) => from === offset.sum)
      : known + 1;
    return first < 0 ? null : this.#log.slice(first).map(({ batch }) => batch);
  }

  subscribe(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber);
    if (this.#state === "ended") subscriber.end(null);
    this.#advance();
  }

  unsubscribe(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    this.#usedAt = this.around.now();
  }

  /** Ends the group if it was unused for long, or makes a run due if the result is old. */
  check(): void {
    for (const subscriber of [...this.#subscribers]) subscriber.check(this.around.time());
    if (this.isUsed && this.#isOld) this.mark();
    else if (!this.isUsed && this.around.now() - this.#usedAt > unusedMs) this.end(null);
  }

  /** Reads the rows, and sends the difference. A mark from now on makes another run due. */
  async run(): Promise<void> {
    if (this.#state !== "queued") return;
    this.#state = "running";
    this.#isDue = false;
    this.#served = this.#waiters.splice(0);
    const result = await this.around.read(this.query, this.#abort.signal);
    if (this.state === "ended") return;
    this.#ranAt = this.around.now();
    if (!("lines" in result)) return this.#fail(result);
    const error = this.around.reserve(linesBytes(result.lines) - this.#rows.bytes, this);
    if (error !== null) return this.#fail(error);
    this.#apply(result);
    this.#settle(null);
    this.#state = "idle";
    this.#advance();
  }

  /** Ends the group for all subscribers. */
  end(error: ServiceError | null): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#cancelTimer();
    this.#abort.abort();
    this.around.resized(-this.#bytes);
    this.around.ended(this);
    this.#served.push(...this.#waiters);
    this.#settle(error ?? groupEnded());
    for (const subscriber of [...this.#subscribers]) subscriber.end(error);
  }

  #indexOf(offset: string): number {
    return this.#log.findIndex(({ batch }) => batch.offset === offset);
  }

  get #isOld(): boolean {
    return this.around.now() - this.#ranAt > this.around.recheckMs();
  }

  #advance(): void {
    if (this.#state !== "idle" || !this.#isDue || !this.isUsed) return;
    const restMs = this.#restUntil - this.around.now();
    if (restMs > 0) return this.#pause("resting", restMs);
    this.#state = "queued";
    this.around.enqueue(this);
  }

  #pause(state: "resting" | "failed", ms: number): void {
    this.#state = state;
    this.#cancelTimer = this.around.schedule(() => {
      this.#state = "idle";
      this.#advance();
    }, ms);
  }

  #nextRun(isCurrentEnough: boolean): Promise<ServiceError | null> {
    return new Promise((resolve) => {
      if (isCurrentEnough && this.#state === "running") return void this.#served.push(resolve);
      this.#waiters.push(resolve);
      this.#isDue = true;
      this.#advance();
    });
  }

  #apply(result: LiveRows): void {
    const { lines, snapshot, ms, keyColumns, interest } = result;
    const { now, time, recheckMs } = this.around;
    this.#restUntil = now() + Math.min(restPerRun * Math.min(ms, this.#runMs), recheckMs());
    this.#runMs = ms;
    this.#retryMs = 1000;
    this.interest = interest;
    const isFirst = this.#offset === null;
    const from = this.#rows.sum;
    const difference = this.#rows.update(lines, lineKeyReader(keyColumns));
    const { sum } = this.#rows;
    this.#snapshot = snapshot;
    if (isFirst || difference !== null || snapshot.xmax !== this.#offset!.xmax) {
      this.#offset = { xmax: snapshot.xmax, ms: time(), sum };
      this.#whole = null;
    }
    if (!isFirst && difference !== null) {
      const { offset } = this;
      const batch = new MessageBatch(offset, changeMessages(difference, snapshot, offset));
      this.#log.push({ from, batch });
      const max = this.around.reserve(batch.size, this) === null ? maxLogBytes : 0;
      let bytes = 0;
      const dropped = this.#log.findLastIndex((entry) => (bytes += entry.batch.size) > max);
      this.#log = this.#log.slice(dropped + 1);
      for (const subscriber of [...this.#subscribers]) subscriber.receive(batch);
    }
    this.#resize();
  }

  #fail(error: ServiceError): void {
    if (error.fields.status < 500) return this.end(error);
    this.#isDue = true;
    this.#failure = error;
    this.#settle(error);
    for (const subscriber of [...this.#subscribers]) subscriber.fail();
    this.#pause("failed", this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs);
  }

  #settle(error: ServiceError | null): void {
    for (const resolve of this.#served.splice(0)) resolve(error);
  }

  #resize(): void {
    if (this.#state === "ended") return;
    const log = this.#log.reduce((sum, { batch }) => sum + batch.size, 0);
    const bytes = groupOverheadBytes + 2 * this.key.length + this.#rows.bytes + log +
      (this.#whole?.size ?? 0);
    this.around.resized(bytes - this.#bytes);
    this.#bytes = bytes;
  }
}

function groupEnded(): ServiceError {
  return errors.noLiveCapacity("The result was dropped", 1);
}
