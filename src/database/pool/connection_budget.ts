/**
 * The budget of connections that several pools share.
 *
 * @module
 */
import { type Deferred, deferred } from "../../lib/deferred.ts";
import type { Transport, TransportEvents } from "../transport.ts";

/** A pool that shares a budget. */
export interface BudgetedPool {
  /** Returns since when the longest idle connection is idle, in ms; null without one. */
  idleSince(): number | null;
  /** Closes the longest idle connection. */
  closeIdle(): void;
}

/** A connection that waits for room in the budget. */
interface Waiter {
  readonly share: ConnectionShare;
  readonly room: Deferred<void>;
}

/** Counts the connections of all pools. */
export class ConnectionBudget {
  readonly #max: number;
  #open = 0;
  readonly #shares = new Set<ConnectionShare>();
  /** In the order of their arrival. */
  #waiters: readonly Waiter[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** Number of open connections. */
  get open(): number {
    return this.#open;
  }

  /** Returns the share of a pool that is about to be opened. */
  share(): ConnectionShare {
    const share: ConnectionShare = new ConnectionShare({
      acquire: () => this.#acquire(share),
      release: () => this.#release(),
      isClaimed: (need) => this.#isClaimed(share, need),
      close: () => this.#close(share),
    });
    this.#shares.add(share);
    return share;
  }

  async #acquire(share: ConnectionShare): Promise<void> {
    if (this.#waiters.length === 0 && this.#open < this.#max) return void this.#open++;
    const room = deferred<void>();
    this.#waiters = [...this.#waiters, { share, room }];
    this.#closeIdle(share);
    await room.promise;
  }

  #release(): void {
    this.#open--;
    const [next, ...others] = this.#waiters;
    if (next === undefined) return;
    this.#waiters = others;
    this.#open++;
    next.room.resolve();
  }

  /** Closes the connection that has been idle for longest, of all pools but that of the share. */
  #closeIdle(share: ConnectionShare): void {
    let longest: BudgetedPool | null = null;
    let since = Infinity;
    for (const { pool } of this.#shares) {
      const idleSince = pool === share.pool ? Infinity : pool?.idleSince() ?? Infinity;
      if (idleSince < since) [longest, since] = [pool, idleSince];
    }
    longest?.closeIdle();
  }

  /**
   * Whether a pool must close a connection: another one waits, and has fewer or the pool needs none. So no
   * connection is idle while another pool waits.
   */
  #isClaimed(share: ConnectionShare, need: "needed" | "spare"): boolean {
    const other = this.#waiters.find((waiter) => waiter.share !== share);
    if (other === undefined) return false;
    return need === "spare" || other.share.open < share.open;
  }

  #close(share: ConnectionShare): void {
    this.#shares.delete(share);
    const abandoned = this.#waiters.filter((waiter) => waiter.share === share);
    this.#waiters = this.#waiters.filter((waiter) => waiter.share !== share);
    for (const { room } of abandoned) room.reject(new Error("the database was closed"));
  }
}

interface ShareActions {
  /** Resolves when the budget has room for one connection more. */
  readonly acquire: () => Promise<void>;
  readonly release: () => void;
  readonly isClaimed: (need: "needed" | "spare") => boolean;
  readonly close: () => void;
}

/** The share of one pool in a budget. */
export class ConnectionShare {
  readonly #actions: ShareActions;
  #pool: BudgetedPool | null = null;
  #open = 0;

  constructor(actions: ShareActions) {
    this.#actions = actions;
  }

  /** Null before {@linkcode ConnectionShare.attach}. */
  get pool(): BudgetedPool | null {
    return this.#pool;
  }

  /** Number of open connections of the pool. */
  get open(): number {
    return this.#open;
  }

  /** Sets the pool, whose idle connections make room for those of others. */
  attach(pool: BudgetedPool): void {
    this.#pool = pool;
  }

  /** Returns whether a connection whose batches have ended must be closed for another pool. */
  isClaimed(need: "needed" | "spare"): boolean {
    return this.#actions.isClaimed(need);
  }

  /** Opens a connection as soon as the budget has room for it, which ends with the connection. */
  async connect(open: () => Promise<Transport>): Promise<Transport> {
    await this.#actions.acquire();
    this.#open++;
    try {
      return new BudgetedTransport(await open(), () => this.#release());
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  #release(): void {
    this.#open--;
    this.#actions.release();
  }

  /** Leaves the budget. Connections that wait for room are not opened. */
  close(): void {
    this.#actions.close();
  }
}

/** A transport that reports its end once. */
class BudgetedTransport implements Transport {
  readonly #transport: Transport;
  #ended: (() => void) | null;

  constructor(transport: Transport, ended: () => void) {
    this.#transport = transport;
    this.#ended = ended;
  }

  listen(events: TransportEvents): void {
    this.#transport.listen({
      data: (chunk) => events.data(chunk),
      closed: (reason) => {
        this.#end();
        events.closed(reason);
      },
    });
  }

  write(chunks: readonly Uint8Array[]): void {
    this.#transport.write(chunks);
  }

  pause(): void {
    this.#transport.pause();
  }

  resume(): void {
    this.#transport.resume();
  }

  cancel(): void {
    this.#transport.cancel();
  }

  end(): void {
    this.#transport.end();
    this.#end();
  }

  destroy(): void {
    this.#transport.destroy();
    this.#end();
  }

  #end(): void {
    this.#ended?.();
    this.#ended = null;
  }
}
