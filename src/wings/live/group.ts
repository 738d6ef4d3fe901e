/** A group of live queries: clients of one query with the same role and claims share its result. @module */
import type { LiveConfig } from "./live_options.ts";
import type { Identity } from "../../state/auth/jwt_cache.ts";
import { liveErrors } from "./live_errors.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";
import { type Deferred, deferred } from "../../base/lib/deferred.ts";
import type { Schedule } from "../../base/lib/timers.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import { type Difference, lineKeyReader, linesBytes, ResultRows, textBytes } from "./difference.ts";
import { changeMessages, endMessages, MessageBatch, upToDate } from "./messages.ts";
import { type LiveOffset, offsetText, type PgSnapshot } from "./offset.ts";
import type { Interest } from "./scope.ts";

/** The request of all subscribers of a group. */
export interface LiveQuery {
  /** As received, below the prefix. */
  readonly path: string;
  /** Percent-encoded, without parameters of the protocol. */
  readonly query: string;
  readonly profile: string | null;
  readonly identity: Identity;
}

export interface LiveRows {
  readonly lines: readonly string[];
  readonly snapshot: PgSnapshot;
  /** Milliseconds in PostgreSQL, without the time in the queue. */
  readonly ms: number;
  /** Output names of the primary key columns; empty if the rows lack such a column. */
  readonly keyColumns: readonly string[];
  readonly interest: Interest;
  /** The schema cache for which the plan and the interest were made. */
  readonly cache: SchemaCache | null;
}

export type GroupsConfig = Pick<
  LiveConfig,
  "dbPool" | "liveMaxMemory" | "liveMaxStreams" | "liveRecheck"
>;

export interface GroupsOptions {
  readonly snapshot: () => { readonly config: object; readonly cache: SchemaCache | null };
  readonly read: (query: LiveQuery, signal: AbortSignal) => Promise<LiveRows | ServiceError>;
  /** Milliseconds of a monotonic clock. `time` returns milliseconds since the epoch. */
  readonly now: () => number;
  readonly time: () => number;
  readonly schedule: Schedule;
  /** Returns which identities are revoked; null if nothing has changed since the last call. */
  readonly revoked: () => ((identity: Identity) => boolean) | null;
}

/** The part of `LiveGroups` that a group uses. */
export interface GroupHost {
  readonly options: GroupsOptions;
  /** Maximum milliseconds of a pause between runs, and of the age of a result with subscribers. */
  readonly recheckMs: number;
  /** Bytes of all groups. */
  bytes: number;
  /** Calls {@linkcode LiveGroup.run} when the number of runs permits. */
  enqueue(group: LiveGroup): void;
  remove(group: LiveGroup): void;
  /** Reserves memory for `user`. If necessary, ends unused groups. Returns `183` if that does not suffice. */
  reserve(bytes: number, user: LiveGroup | null): ServiceError | null;
}

/** `idle`: no run is due, or no client needs one. `resting`: a run is due after the pause that
 * follows the last run. `failed`: the group waits for the next attempt. */
export type GroupState = "idle" | "queued" | "running" | "resting" | "failed" | "ended";

/** A stream or a waiting poll. */
export interface Subscriber {
  receive(batch: MessageBatch): void;
  /** Called when a run has failed and will be repeated. */
  fail(): void;
  /** Called each second. `time` is in milliseconds of the epoch. */
  check(time: number): void;
  /** Called when the group ends: with the error that ends it, otherwise with null. */
  end(error: ServiceError | null): void;
}

/** Maximum bytes of the batches that a group stores. */
const maxLogBytes = 2 ** 20;
/** Bytes of a group without rows, in addition to its key. */
export const groupOverheadBytes = 4096;
/** Time after which a group without subscribers is removed. */
const unusedMs = 60_000;
const maxRetryMs = 60_000;
/** Pause relative to the duration of a run, so that a group uses at most a tenth of a connection. */
const restPerRun = 9;

export class LiveGroup {
  /** Records after which the group must run; null if all records have that effect. */
  interest: Interest | null = null;
  readonly #rows = new ResultRows();
  readonly #subscribers = new Set<Subscriber>();
  readonly #abort = new AbortController();
  /** Batches of changes. `from` is the sum of the content before a batch; `xmax` is for the content after it. */
  #log: { readonly from: bigint; readonly xmax: bigint; readonly batch: MessageBatch }[] = [];
  #state: GroupState = "idle";
  /** Whether a run is due that has not begun. */
  #isDue = true;
  /** Promises for waiting requests: the run in progress and the next run resolve with their error, or null. */
  #current: Deferred<ServiceError | null> | null = null;
  #next: Deferred<ServiceError | null> | null = null;
  /** The offset of the last run; null before the first. */
  #offset: LiveOffset | null = null;
  #whole: MessageBatch | null = null;
  #snapshot: PgSnapshot | null = null;
  #cache: SchemaCache | null = null;
  #failure: ServiceError | null = null;
  #retryMs = 1000;
  #runMs = Infinity;
  #restUntil = 0;
  #usedAt: number;
  #ranAt = 0;
  #bytes = 0;
  #cancelTimer = () => {};

  constructor(readonly key: string, readonly query: LiveQuery, readonly groups: GroupHost) {
    this.#usedAt = groups.options.now();
    this.#resize();
  }

  get state(): GroupState {
    return this.#state;
  }

  /** Whether a client needs the result now. */
  get isUsed(): boolean {
    return this.#subscribers.size > 0 || this.#current !== null || this.#next !== null;
  }

  get offset(): string {
    return offsetText(this.#offset!);
  }

  get whole(): MessageBatch {
    return this.#whole ??= this.#batch({ insert: this.#rows.all() }, {});
  }

  get unchanged(): MessageBatch {
    return new MessageBatch(this.offset, [upToDate(this.offset)]);
  }

  /** Makes a run due, because the rows may have changed. */
  mark(): void {
    this.#isDue = true;
    this.#advance();
  }

  /**
   * Resolves when the snapshot of the result is after `xmax`; null means any snapshot. Resolves with
   * true if a run has begun since the call. Such a run proves that the client may see the result.
   * Rejects with the error of the run.
   */
  async ready(xmax: bigint | null): Promise<boolean> {
    if (this.#state === "ended") throw groupEnded();
    const isNew = this.#offset !== null && (xmax === null || this.#offset.xmax > xmax);
    if (this.#state === "failed") throw this.#failure;
    this.#usedAt = this.groups.options.now();
    if (isNew && !this.#isStale) return false;
    await this.#nextRun();
    return true;
  }

  /** Resolves after a run that begins without the usual pause. Rejects with the error of the run. */
  async renewed(): Promise<void> {
    if (this.#state === "ended") throw groupEnded();
    if (this.#state === "resting" || this.#state === "failed") {
      this.#cancelTimer();
      this.#state = "idle";
    }
    this.#restUntil = 0;
    await this.#nextRun();
  }

  /** Returns whether the log contains an offset, so that a client can continue from it without a run. */
  hasOffset(offset: LiveOffset): boolean {
    const text = offsetText(offset);
    return this.#offset !== null && (text === this.offset || this.#indexOf(text) >= 0);
  }

  /** Returns the batches between an offset and the result; null if the log does not contain them. */
  since(offset: LiveOffset): readonly MessageBatch[] | null {
    const index = this.#indexOf(offsetText(offset));
    if (index < 0 && offset.sum === this.#rows.sum) return [];
    // The same content may occur twice in the log. Batches before the offset would show older states.
    const first = index < 0
      ? this.#log.findLastIndex(({ from, xmax }) => from === offset.sum && xmax > offset.xmax)
      : index + 1;
    return first < 0 ? null : this.#log.slice(first).map(({ batch }) => batch);
  }

  subscribe(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber);
    if (this.#state === "ended") subscriber.end(null);
    this.#advance();
  }

  unsubscribe(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    this.#usedAt = this.groups.options.now();
  }

  /** Removes the group if it was unused for too long. Makes a run due if the result is too old. */
  check(): void {
    this.#resize();
    const time = this.groups.options.time();
    for (const subscriber of [...this.#subscribers]) subscriber.check(time);
    if (this.isUsed && this.#isStale) this.mark();
    else if (!this.isUsed && this.groups.options.now() - this.#usedAt > unusedMs) this.end(null);
  }

  /** Reads the rows and sends the difference. A later {@linkcode mark} makes another run due. */
  async run(): Promise<void> {
    if (this.#state !== "queued") return;
    this.#state = "running";
    this.#isDue = false;
    this.#current = this.#next;
    this.#next = null;
    const result = await this.groups.options.read(this.query, this.#abort.signal);
    if (this.state === "ended") return;
    this.#ranAt = this.groups.options.now();
    if (!("lines" in result)) return this.#fail(result);
    const error = this.groups.reserve(linesBytes(result.lines) - this.#rows.bytes, this);
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
    this.groups.bytes -= this.#bytes;
    this.groups.remove(this);
    for (const run of [this.#current, this.#next]) run?.resolve(error ?? groupEnded());
    for (const subscriber of [...this.#subscribers]) subscriber.end(error);
  }

  #indexOf(offset: string): number {
    return this.#log.findIndex(({ batch }) => batch.offset === offset);
  }

  /** Whether the result may be outdated and no run is planned, because no client needs the result. */
  get #isStale(): boolean {
    const { options: { now, snapshot }, recheckMs } = this.groups;
    const isOld = now() - this.#ranAt > recheckMs || this.#cache !== snapshot().cache;
    return this.#state === "idle" && (this.#isDue || isOld);
  }

  #advance(): void {
    if (this.#state !== "idle" || !this.#isDue || !this.isUsed) return;
    const restMs = this.#restUntil - this.groups.options.now();
    if (restMs > 0) return this.#pause("resting", restMs);
    this.#state = "queued";
    this.groups.enqueue(this);
  }

  #pause(state: "resting" | "failed", ms: number): void {
    this.#state = state;
    this.#cancelTimer = this.groups.options.schedule(() => {
      this.#state = "idle";
      this.#advance();
    }, ms);
  }

  async #nextRun(): Promise<void> {
    const { promise } = this.#next ??= deferred<ServiceError | null>();
    this.mark();
    const error = await promise;
    if (error !== null) throw error;
  }

  #apply({ lines, snapshot, ms, keyColumns, interest, cache }: LiveRows): void {
    const { options: { now, time }, recheckMs } = this.groups;
    this.#restUntil = now() + Math.min(restPerRun * Math.min(ms, this.#runMs), recheckMs);
    this.#runMs = ms;
    this.#retryMs = 1000;
    this.interest = interest;
    this.#cache = cache;
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
      const batch = this.#batch(difference, { lsn: this.offset });
      this.#log.push({ from, xmax: snapshot.xmax, batch });
      const max = this.groups.reserve(batch.bytes, this) === null ? maxLogBytes : 0;
      let bytes = 0;
      const dropped = this.#log.findLastIndex((entry) => (bytes += entry.batch.bytes) > max);
      this.#log = this.#log.slice(dropped + 1);
      for (const subscriber of [...this.#subscribers]) subscriber.receive(batch);
    }
    this.#resize();
  }

  /** Returns the messages of changes that produce the result. */
  #batch(changes: Partial<Difference>, headers: { readonly lsn?: string }): MessageBatch {
    const { offset } = this;
    const end = endMessages(this.#snapshot!, offset);
    return new MessageBatch(offset, [...changeMessages(changes, headers), ...end]);
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
    this.#current?.resolve(error);
    this.#current = null;
  }

  #resize(): void {
    const log = this.#log.reduce((sum, { batch }) => sum + batch.bytes, 0);
    // `#rows.bytes` includes the messages once, as half of its bytes. Only what `#whole` needs beyond is added.
    const other = Math.max(0, (this.#whole?.bytes ?? 0) - this.#rows.bytes / 2);
    const bytes = groupOverheadBytes + 2 * textBytes(this.key) + this.#rows.bytes + log + other;
    this.groups.bytes += bytes - this.#bytes;
    this.#bytes = bytes;
  }
}

function groupEnded(): ServiceError {
  return liveErrors.noLiveCapacity("The result was dropped", 1);
}
