/**
 * A pool of sessions with a fair queue: who has waited longest is served first, whether a session
 * comes back or a new one opens.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { ServiceError } from "../errors/service_error.ts";
import {
  type Batch,
  type BatchReply,
  type Database,
  type PoolCounts,
  versionBatch,
} from "./database.ts";
import { Session, type SessionOptions } from "./session.ts";
import type { Transport } from "./transport.ts";

/** How a pool behaves. Times in milliseconds; `Infinity` is never. */
export interface PoolOptions extends SessionOptions {
  readonly max: number;
  readonly acquisitionTimeout: number;
  readonly maxIdleTime: number;
  readonly maxLifetime: number;
  /** Opens and authenticates a connection. What it throws is told to people as it is. */
  readonly connect: () => Promise<Transport>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** How often it is looked whether bodies are read. */
const watchPeriod = 1000;
/** A body that nobody reads for so long gives way to those who wait for a connection. */
const longestStallWhileOthersWait = 3000;
const longestStall = 30_000;

interface Member {
  readonly session: Session;
  readonly openedAt: number;
  readonly generation: number;
  idleSince: number;
}

interface Waiter {
  readonly resolve: (member: Member) => void;
  readonly reject: (error: Error) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Opens sessions on demand, at most `max`, and lends each to one batch at a time. */
export function createPool(options: PoolOptions): Database {
  return new Pool(options);
}

class Pool implements Database {
  readonly #options: PoolOptions;
  readonly #members = new Set<Member>();
  /** Used last is taken first, so that the others can age. */
  readonly #idle: Member[] = [];
  /** A Set keeps the order of arrival and forgets a waiter in constant time. */
  readonly #waiters = new Set<Waiter>();
  #opening = 0;
  #timeouts = 0;
  #generation = 0;
  #reaper: ReturnType<typeof setTimeout> | null = null;
  #watch: ReturnType<typeof setTimeout> | null = null;
  #closing: (() => void) | null = null;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  async transaction(batch: Batch): Promise<BatchReply> {
    return await this.#lend(await this.#acquire(batch.signal), batch);
  }

  async version(): Promise<string> {
    const { rows } = await this.transaction(versionBatch);
    return rows[0]?.[0]?.[0] ?? "";
  }

  flush(): void {
    this.#generation++;
    for (const member of this.#idle.splice(0)) this.#retire(member);
  }

  counts(): PoolCounts {
    const open = this.#members.size;
    return {
      max: this.#options.max,
      open,
      inUse: open - this.#idle.length,
      waiting: this.#waiters.size,
      timeouts: this.#timeouts,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopReaper();
    this.#refuseAll(errors.cannotConnect("the database was closed"));
    this.flush();
    if (this.#members.size + this.#opening === 0) return;
    await new Promise<void>((resolve) => this.#closing = resolve);
  }

  #lend(member: Member, batch: Batch): Promise<BatchReply> {
    const { reply, done } = member.session.run(batch);
    let cancelled = false;
    const cancel = () => {
      cancelled = true;
      member.session.cancel();
    };
    batch.signal?.addEventListener("abort", cancel, { once: true });
    this.#startWatch();
    done.then(() => {
      batch.signal?.removeEventListener("abort", cancel);
      // A cancellation may arrive late: nothing else must run on this connection by then.
      if (cancelled) this.#retire(member);
      else this.#release(member);
    });
    return reply;
  }

  #acquire(signal: AbortSignal | undefined): Promise<Member> | Member {
    if (this.#closed) throw errors.cannotConnect("the database was closed");
    signal?.throwIfAborted();
    if (this.#waiters.size === 0) {
      const member = this.#idle.pop();
      if (member !== undefined) return member;
    }
    return this.#wait(signal);
  }

  #wait(signal: AbortSignal | undefined): Promise<Member> {
    const waiting = new Promise<Member>((resolve, reject) => {
      const leave = (error: Error) => {
        this.#forget(waiter);
        signal?.removeEventListener("abort", aborted);
        reject(error);
      };
      const aborted = () => leave(signal!.reason);
      const waiter: Waiter = {
        resolve: (member) => {
          signal?.removeEventListener("abort", aborted);
          resolve(member);
        },
        reject: leave,
        timer: setTimeout(() => {
          this.#timeouts++;
          leave(errors.acquisitionTimeout());
        }, this.#options.acquisitionTimeout),
      };
      signal?.addEventListener("abort", aborted, { once: true });
      this.#waiters.add(waiter);
    });
    this.#grow();
    return waiting;
  }

  /** Opens connections while somebody waits for one that is not being opened yet. */
  #grow(): void {
    while (
      this.#opening < this.#waiters.size &&
      this.#members.size + this.#opening < this.#options.max
    ) {
      this.#opening++;
      this.#open();
    }
  }

  async #open(): Promise<void> {
    const generation = this.#generation;
    try {
      const transport = await this.#options.connect();
      this.#opening--;
      this.#admit(transport, generation);
    } catch (error) {
      this.#opening--;
      this.#refused(error instanceof Error ? error : new Error("connecting failed"));
    }
    this.#closeWhenEmpty();
  }

  #admit(transport: Transport, generation: number): void {
    const now = this.#options.now();
    const session = new Session(transport, this.#options, () => this.#gone(member));
    const member: Member = { session, openedAt: now, generation, idleSince: now };
    this.#members.add(member);
    this.#offer(member);
  }

  /**
   * Without any open connection everybody would wait in vain: all are told. With some, they may
   * still be served by those.
   */
  #refused(error: Error): void {
    if (this.#members.size > 0) return;
    this.#refuseAll(error instanceof ServiceError ? error : errors.cannotConnect(error.message));
  }

  #refuseAll(error: Error): void {
    for (const waiter of [...this.#waiters]) waiter.reject(error);
  }

  #release(member: Member): void {
    if (!this.#members.has(member)) return;
    member.idleSince = this.#options.now();
    const stale = member.generation !== this.#generation ||
      member.idleSince - member.openedAt > this.#options.maxLifetime;
    if (stale || this.#closed) return this.#retire(member);
    this.#offer(member);
  }

  /** Gives a free session to who waits longest, or keeps it. */
  #offer(member: Member): void {
    for (const waiter of this.#waiters) {
      this.#forget(waiter);
      return waiter.resolve(member);
    }
    if (this.#closed) return this.#retire(member);
    this.#idle.push(member);
    this.#startReaper();
  }

  #retire(member: Member): void {
    member.session.end();
  }

  #startWatch(): void {
    if (this.#watch !== null) return;
    this.#watch = setTimeout(() => {
      this.#watch = null;
      this.#endStalls();
      if (this.#members.size > this.#idle.length) this.#startWatch();
    }, watchPeriod);
    unref(this.#watch);
  }

  /** Breaks bodies that are not read, which would keep their connections for ever. */
  #endStalls(): void {
    const wanted = this.#waiters.size > 0 || this.#closed;
    const longest = wanted ? longestStallWhileOthersWait : longestStall;
    for (const { session } of [...this.#members]) {
      if (session.stalledFor() > longest) session.giveUp("the response was not read");
    }
  }

  /** A session was closed, by either side. */
  #gone(member: Member): void {
    this.#members.delete(member);
    const at = this.#idle.indexOf(member);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#closeWhenEmpty();
    if (!this.#closed) this.#grow();
  }

  #forget(waiter: Waiter): void {
    clearTimeout(waiter.timer);
    this.#waiters.delete(waiter);
  }

  #closeWhenEmpty(): void {
    if (this.#members.size + this.#opening > 0) return;
    this.#stopWatch();
    this.#closing?.();
  }

  #stopWatch(): void {
    if (this.#watch !== null) clearTimeout(this.#watch);
    this.#watch = null;
  }

  #startReaper(): void {
    const { maxIdleTime, maxLifetime } = this.#options;
    const period = Math.min(maxIdleTime, maxLifetime) / 2;
    if (this.#reaper !== null || period === Infinity) return;
    this.#reaper = setTimeout(() => {
      this.#reaper = null;
      this.#reap();
      if (this.#idle.length > 0) this.#startReaper();
    }, Math.max(period, 100));
    unref(this.#reaper);
  }

  #reap(): void {
    const now = this.#options.now();
    const { maxIdleTime, maxLifetime } = this.#options;
    const old = this.#idle.filter((member) =>
      now - member.idleSince > maxIdleTime || now - member.openedAt > maxLifetime
    );
    for (const member of old) this.#retire(member);
  }

  #stopReaper(): void {
    if (this.#reaper !== null) clearTimeout(this.#reaper);
    this.#reaper = null;
  }
}

/** Lets the process end although the timer is set, where the runtime has such a thing. */
function unref(timer: unknown): void {
  (timer as { unref?: () => void }).unref?.();
}
