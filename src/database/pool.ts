/**
 * A pool of sessions with a fair queue: who has waited longest is served first, whether a session
 * comes back or a new one opens. Short reads that wait are sent together in one write.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { ServiceError } from "../errors/service_error.ts";
import { scheduleAwaited } from "../timers.ts";
import {
  type Batch,
  type BatchReply,
  type Database,
  type DatabaseWatcher,
  type PoolCounts,
  versionBatch,
} from "./database.ts";
import { Alarm } from "./alarm.ts";
import { Lanes } from "./lanes.ts";
import { type Asked, isShort, PoolQueue } from "./pool_queue.ts";
import { type Named, traceConnection, traceUse } from "./pool_trace.ts";
import type { Task } from "./run.ts";
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

/** Connections that are being opened are waited for so long when the pool closes. */
const longestFarewell = 500;
/** How often it is looked whether bodies are read, and whether more connections can be had. */
const watchPeriod = 1000;
/** A body that nobody reads for so long gives way to those who wait for a connection. */
const longestStallWhileOthersWait = 3000;
const longestStall = 30_000;

/** It is looked so often, in milliseconds, what takes long. */
const pulsePeriod = 10;
/** A short batch that takes so many milliseconds gives its lane to others. */
const longestInLane = 10;
/**
 * What shares its write is run elsewhere after so many; and it is listened whether clients leave, of
 * what runs or waits for so long.
 */
const longestShort = 50;
/** What nobody waits for is cancelled after so many, which costs the connection: short locks end earlier. */
const longestForNobody = 250;

interface Member extends Named {
  readonly session: Session;
  readonly openedAt: number;
  readonly generation: number;
  idleSince: number;
  /** Why the pool closes it; null while it does not. */
  ending: "max lifetime" | "max idletime" | "release" | null;
  /** What it runs; empty while it is idle. */
  running: readonly Task[];
  /** When that began, by `performance.now()`. */
  began: number;
  /** How much it takes up of what carries short batches; null while it is none of those. */
  lane: number | null;
  /** Ends listening for clients that leave. */
  stopListening: (() => void) | null;
  /** The server was asked to cancel what runs. */
  cancelled: boolean;
}

/** A pooler that cannot keep a transaction over a pause refuses already this one. */
const pausedVersionBatch: Batch = { ...versionBatch, end: () => "commit" };

/** Opens sessions on demand, at most `max`, and lends each to one batch, or several short ones. */
export function createPool(options: PoolOptions): Database {
  return new Pool(options);
}

class Pool implements Database {
  readonly #options: PoolOptions;
  readonly #members = new Set<Member>();
  /** Used last is taken first, so that the others can age. */
  readonly #idle: Member[] = [];
  readonly #queue = new PoolQueue();
  readonly #lanes: Lanes;
  #opening = 0;
  #refusedAt = -Infinity;
  #timeouts = 0;
  #generation = 0;
  readonly #reaper = new Alarm(() => this.#reap());
  readonly #watch = new Alarm(() => this.#endStalls());
  readonly #pulse = new Alarm(() => this.#lookAtLong());
  readonly #deadline = new Alarm(() => this.#refuseOverdue(), scheduleAwaited);
  readonly #farewell = new Alarm(() => this.#closing?.(), scheduleAwaited);
  #closing: (() => void) | null = null;
  #closed = false;
  /** Whom the steps of the pool are told; null in all but the most talkative log. */
  #trace: DatabaseWatcher["trace"] = null;
  /** The pool itself knows transports alone. */
  readonly subscribe = null;

  constructor(options: PoolOptions) {
    const lanes = new Lanes(options.max);
    this.#lanes = lanes;
    this.#options = {
      ...options,
      onTook: (paces, ms) => lanes.took(paces, ms),
    };
  }

  transaction(batch: Batch): Promise<BatchReply> {
    return new Promise((resolve, reject) => {
      this.#trace?.({ kind: "pool-asked" });
      if (this.#closed) throw errors.cannotConnect("the database was closed");
      const waiting = { since: 0, alone: false, stopListening: null, place: null };
      this.#ask({ batch, resolve, reject, ...waiting });
    });
  }

  async version(): Promise<string> {
    const { rows } = await this.transaction(pausedVersionBatch);
    return rows[0]?.[0]?.[0] ?? "";
  }

  flush(): void {
    this.#trace?.({ kind: "pool-flushed" });
    this.#generation++;
    for (const member of this.#idle.splice(0)) this.#retire(member, "release");
  }

  watch({ trace }: DatabaseWatcher): void {
    this.#trace = trace;
  }

  counts(): PoolCounts {
    const open = this.#members.size;
    return {
      max: this.#options.max,
      open,
      inUse: open - this.#idle.length,
      waiting: this.#queue.size,
      timeouts: this.#timeouts,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#reaper.clear();
    this.#refuseAll(errors.cannotConnect("the database was closed"));
    this.flush();
    if (this.#members.size + this.#opening === 0) return this.#stopTimers();
    await new Promise<void>((resolve) => {
      this.#closing = resolve;
      // A server that does not answer keeps nobody from ending.
      if (this.#members.size === 0) this.#farewell.set(longestFarewell);
    });
    this.#farewell.clear();
    this.#stopTimers();
  }

  #ask(asked: Asked): void {
    // While somebody waits although a connection is free, it is for a lane.
    if (this.#idle.length > 0 && this.#mayGo(asked)) {
      return this.#lend(this.#idle.pop()!, [asked]);
    }
    asked.since = performance.now();
    this.#queue.add(asked);
    this.#deadline.set(this.#options.acquisitionTimeout);
    this.#pulse.set(pulsePeriod);
    if (this.#idle.length === 0) this.#grow();
  }

  #lend(member: Member, asked: readonly Asked[]): void {
    member.running = asked;
    member.began = performance.now();
    member.lane = isShort(asked[0]!) ? this.#lanes.enter(asked[0]!) : null;
    this.#pulse.set(pulsePeriod);
    this.#watch.set(watchPeriod);
    const use = this.#trace === null ? null : traceUse(this.#trace, member, asked);
    member.session.runAll(use?.tasks ?? asked, {
      handedBack: (tasks) => this.#handedBack(tasks as readonly Asked[]),
      free: () => {
        this.#leaveLane(member);
        member.running = [];
        use?.ended();
        member.stopListening?.();
        member.stopListening = null;
        // A cancellation may arrive late: nothing else must run on this connection by then.
        if (member.cancelled) this.#retire(member, "release");
        else this.#release(member);
      },
    });
  }

  /** Sent behind something that took long, or to a connection that was lost: once more, alone. */
  #handedBack(asked: readonly Asked[]): void {
    if (this.#closed) {
      for (const { reject } of asked) reject(errors.connectionLost(null));
      return;
    }
    for (const each of asked) {
      each.alone = true;
      if (each.since === 0) each.since = performance.now();
    }
    this.#queue.putBack(asked);
    this.#serve();
    this.#refuseOverdue();
  }

  /** Gives free connections to those who wait, or opens more. */
  #serve(): void {
    while (this.#idle.length > 0 && this.#lendNext(this.#idle.at(-1)!)) this.#idle.pop();
    if (this.#idle.length === 0) this.#grow();
  }

  /** Whether there is a lane for it, or it needs none. */
  #mayGo(asked: Asked): boolean {
    return !isShort(asked) || !this.#lanes.areFull;
  }

  /** Lends a free session to who is next; false when nobody waits who may go. */
  #lendNext(member: Member): boolean {
    const asked = this.#queue.take(
      (first) => this.#mayGo(first),
      (first) => this.#lanes.share(first, this.#queue.size),
    );
    if (asked.length === 0) return false;
    this.#lend(member, asked);
    return true;
  }

  /**
   * Opens connections while somebody waits for one that is not being opened yet. Who was refused one
   * makes do with those that there are for a while: attempts take connections from others, too.
   */
  #grow(): void {
    if (this.#closed) return;
    const justRefused = this.#options.now() - this.#refusedAt < watchPeriod;
    if (justRefused && this.#members.size > 0) return;
    while (
      this.#opening < this.#queue.size &&
      this.#members.size + this.#opening < this.#options.max
    ) {
      this.#opening++;
      this.#open();
    }
  }

  async #open(): Promise<void> {
    const generation = this.#generation;
    const named: Named = { id: null };
    if (this.#trace !== null) traceConnection(this.#trace, named, "being established");
    try {
      const transport = await this.#options.connect();
      this.#opening--;
      this.#admit(transport, { ...named, generation });
    } catch (error) {
      this.#opening--;
      if (this.#trace !== null) {
        traceConnection(this.#trace, named, "terminated: init failure");
      }
      this.#refused(error instanceof Error ? error : new Error("connecting failed"));
    }
    this.#closeWhenEmpty();
  }

  #admit(transport: Transport, opened: Pick<Member, "id" | "generation">): void {
    const now = this.#options.now();
    const session = new Session(transport, this.#options, () => this.#gone(member));
    const member: Member = {
      ...opened,
      session,
      openedAt: now,
      idleSince: now,
      ending: null,
      running: [],
      began: 0,
      lane: null,
      stopListening: null,
      cancelled: false,
    };
    this.#members.add(member);
    if (this.#trace !== null) {
      traceConnection(this.#trace, member, "available: connection establishment");
    }
    this.#offer(member);
  }

  /**
   * Without any open connection everybody would wait in vain: all are told. With some, or some that
   * are being opened, they may still be served by those.
   */
  #refused(error: Error): void {
    this.#refusedAt = this.#options.now();
    if (this.#members.size + this.#opening > 0) return;
    this.#refuseAll(error instanceof ServiceError ? error : errors.cannotConnect(error.message));
  }

  #refuseAll(error: Error): void {
    for (const asked of this.#queue) this.#refuse(asked, error);
  }

  #refuse(asked: Asked, error: Error): void {
    this.#queue.remove(asked);
    asked.reject(error);
  }

  #release(member: Member): void {
    if (!this.#members.has(member)) return;
    member.idleSince = this.#options.now();
    if (member.generation !== this.#generation || this.#closed) {
      return this.#retire(member, "release");
    }
    const isOld = member.idleSince - member.openedAt > this.#options.maxLifetime;
    if (isOld) return this.#retire(member, "max lifetime");
    this.#offer(member);
  }

  /** Gives a free session to who waits longest, or keeps it. */
  #offer(member: Member): void {
    if (this.#lendNext(member)) return;
    if (this.#closed) return this.#retire(member, "release");
    this.#idle.push(member);
    this.#startReaper();
  }

  #retire(member: Member, ending: NonNullable<Member["ending"]>): void {
    member.ending = ending;
    member.session.end();
  }

  /**
   * Breaks bodies that are not read, which would keep their connections for ever; and, while somebody
   * has waited for long, the one that is read most slowly.
   */
  #endStalls(): void {
    if (this.#members.size > this.#idle.length) this.#watch.set(watchPeriod);
    const wanted = this.#queue.size > 0 || this.#closed;
    const longest = wanted ? longestStallWhileOthersWait : longestStall;
    for (const { session } of [...this.#members]) {
      if (session.stalledFor() > longest) session.giveUp("the response was not read");
    }
    if (!this.#isLateWith(longestStallWhileOthersWait)) return;
    const slowest = [...this.#members].reduce<Member | null>(slower, null);
    if (slowest !== null && slowest.session.waitedFor() > longestStallWhileOthersWait) {
      slowest.session.giveUp("the response was read too slowly while others waited");
    }
  }

  /** Whether the one that is next has waited for so many milliseconds, or half of what is allowed. */
  #isLateWith(ms: number): boolean {
    const { acquisitionTimeout } = this.#options;
    for (const { since } of this.#queue) {
      return performance.now() - since > Math.min(ms, acquisitionTimeout / 2);
    }
    return false;
  }

  /**
   * Short reads that take long after all hold nobody up; and of what takes long the clients may leave,
   * whether it runs or waits.
   */
  #lookAtLong(): void {
    const now = performance.now();
    for (const member of [...this.#members]) {
      if (member.running.length === 0) continue;
      if (member.began <= now - longestShort) this.#lookAtLongRun(member);
      if (member.began <= now - longestInLane) this.#leaveLane(member, "late");
    }
    if (this.#idle.length > 0 && this.#queue.size > 0) this.#serve();
    this.#listenToWaiting();
    if (this.#queue.size > 0 || this.#members.size > this.#idle.length) {
      this.#pulse.set(pulsePeriod);
    }
  }

  #lookAtLongRun(member: Member): void {
    const { stopListening, cancelled, session } = member;
    if (stopListening !== null || cancelled || session.holdsWrites) return;
    const slow = session.handBackRest();
    if (slow === null) return this.#cancelIfLong(member);
    slow.batch.pace?.refuse();
    member.running = [slow];
    member.stopListening = whenAborted(slow.batch.signal, () => cancel(member));
  }

  /** Cancels what goes on although nobody waits for it. */
  #cancelIfLong(member: Member): void {
    if (member.began <= performance.now() - longestForNobody) cancel(member);
  }

  #leaveLane(member: Member, when: "in time" | "late" = "in time"): void {
    if (member.lane !== null && when === "late") this.#lanes.giveUp(member.lane);
    else if (member.lane !== null) this.#lanes.leave(member.lane);
    member.lane = null;
  }

  #listenToWaiting(): void {
    const overdue = performance.now() - longestShort;
    for (const asked of this.#queue) {
      if (asked.since > overdue) return;
      asked.stopListening ??= this.#leaveWith(asked);
    }
  }

  /** Takes what waits out of the queue when its client leaves; returns what ends that. */
  #leaveWith(asked: Asked): (() => void) | null {
    return whenAborted(asked.batch.signal, (signal) => {
      this.#queue.remove(asked);
      asked.reject(signal.reason);
    });
  }

  /** Tells those who have waited too long. */
  #refuseOverdue(): void {
    const overdue = performance.now() - this.#options.acquisitionTimeout;
    for (const asked of this.#queue) {
      if (asked.since > overdue) return this.#deadline.set(asked.since - overdue);
      this.#timeouts++;
      this.#refuse(asked, errors.acquisitionTimeout());
    }
  }

  /** A session was closed, by either side. */
  #gone(member: Member): void {
    this.#members.delete(member);
    if (this.#trace !== null) {
      traceConnection(this.#trace, member, `terminated: ${member.ending ?? "network error"}`);
    }
    const at = this.#idle.indexOf(member);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#closeWhenEmpty();
    this.#grow();
  }

  #closeWhenEmpty(): void {
    if (this.#members.size + this.#opening > 0) return;
    this.#stopTimers();
    this.#closing?.();
  }

  #stopTimers(): void {
    this.#watch.clear();
    if (this.#queue.size > 0) return;
    this.#pulse.clear();
    this.#deadline.clear();
  }

  #startReaper(): void {
    const { maxIdleTime, maxLifetime } = this.#options;
    const period = Math.min(maxIdleTime, maxLifetime) / 2;
    if (period !== Infinity) this.#reaper.set(Math.max(period, 100));
  }

  #reap(): void {
    const now = this.#options.now();
    const { maxIdleTime, maxLifetime } = this.#options;
    const isOld = ({ openedAt }: Member) => now - openedAt > maxLifetime;
    const ended = this.#idle.filter((member) =>
      now - member.idleSince > maxIdleTime || isOld(member)
    );
    for (const member of ended) {
      this.#retire(member, isOld(member) ? "max lifetime" : "max idletime");
    }
    if (this.#idle.length > 0) this.#startReaper();
  }
}

/** Cancels what runs, which costs the connection. */
function cancel(member: Member): void {
  member.cancelled = true;
  member.session.cancel();
}

/** Calls a function when a signal is aborted, at once when it is; returns what ends that. */
function whenAborted(
  ask: Batch["signal"],
  then: (signal: AbortSignal) => void,
): (() => void) | null {
  if (ask === undefined) return null;
  const signal = ask();
  const aborted = () => then(signal);
  if (signal.aborted) aborted();
  else signal.addEventListener("abort", aborted, { once: true });
  return () => signal.removeEventListener("abort", aborted);
}

function slower(one: Member | null, other: Member): Member {
  return one !== null && one.session.waitedFor() >= other.session.waitedFor() ? one : other;
}
