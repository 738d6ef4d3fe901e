/**
 * A primary with standbys where no connection outlives a transaction, so nothing observes the servers: a
 * read tries the standbys in random order, then the primary.
 *
 * @module
 */
import { errors } from "../../errors/catalogue.ts";
import type { Batch, BatchResult } from "../batch.ts";
import type {
  Caller,
  Database,
  DatabaseOptions,
  DatabaseWatcher,
  PoolCounts,
  ReplicaSettings,
} from "../database.ts";
import { bookmarkText, type ClientState, readBookmarks, timeText } from "./bookmark.ts";
import { refusalOf } from "./refusal.ts";
import {
  isSerializable,
  isStandbyRead,
  mayRepeat,
  type StandbyRead,
  withPosition,
} from "./standby_read.ts";

/** Options of {@linkcode createOnDemandReplicas}. */
export interface OnDemandOptions {
  readonly primary: Database;
  readonly standbys: readonly Database[];
  readonly settings: ReplicaSettings;
  /** Returns numbers from 0 to less than 1. */
  readonly random: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Creates the database. */
export function createOnDemandReplicas(options: OnDemandOptions): Database {
  return new OnDemandReplicas(options);
}

class OnDemandReplicas implements Database {
  readonly hasStandbys = true;
  readonly subscribe = null;
  readonly #options: OnDemandOptions;
  #settings: ReplicaSettings;

  constructor(options: OnDemandOptions) {
    this.#options = options;
    this.#settings = options.settings;
  }

  async transaction(batch: Batch, caller?: Caller): Promise<BatchResult> {
    if (!isStandbyRead(batch) || isSerializable(batch)) return await this.#onPrimary(batch, caller);
    const { bookmark } = batch.standby;
    const state = readBookmarks(bookmark);
    if (state === null || !this.#mayUseStandby(state)) return await this.#onPrimary(batch, caller);
    for (const standby of this.#shuffled()) {
      const result = await this.#tryOn(standby, { batch, caller, state });
      if (result !== null) return result;
    }
    if (this.#settings.fallback === "error") throw errors.noStandby();
    return await this.#onPrimary(batch, caller);
  }

  version(): Promise<string> {
    return this.#options.primary.version();
  }

  counts(): PoolCounts {
    return this.#options.primary.counts();
  }

  flush(): void {
    for (const database of this.#databases()) database.flush();
  }

  configure(options: DatabaseOptions): void {
    this.#settings = options.replicas ?? this.#settings;
    for (const database of this.#databases()) database.configure(options);
  }

  watch(watcher: DatabaseWatcher): void {
    for (const database of this.#databases()) database.watch(watcher);
  }

  async close(): Promise<void> {
    await Promise.all(this.#databases().map((database) => database.close()));
  }

  #databases(): readonly Database[] {
    return [this.#options.primary, ...this.#options.standbys];
  }

  /** Whether the state of a client permits a standby at all. The check compares the timeline. */
  #mayUseStandby({ position, epochMs }: ClientState): boolean {
    const { comparesPositions = true, maxLagMs } = this.#settings;
    if (epochMs !== null && epochMs + maxLagMs >= this.#options.now()) return false;
    return position === null || comparesPositions;
  }

  /** Returns the standbys in random order, all orders equally likely. */
  #shuffled(): readonly Database[] {
    const { standbys, random } = this.#options;
    const rest = [...standbys];
    return standbys.map(() => rest.splice(Math.floor(random() * rest.length), 1)[0]!);
  }

  /** Executes a read on a standby. Resolves with null if the next server may execute it. */
  async #tryOn(
    standby: Database,
    { batch, caller, state: { position, epochMs } }: TriedRead,
  ): Promise<BatchResult | null> {
    const condition = position && { min: position.lsn, timeline: position.timeline };
    const { comparesPositions = true } = this.#settings;
    const wantsBookmark = batch.wantsBookmark ?? false;
    const isReturned = wantsBookmark && comparesPositions;
    try {
      const result = await standby.transaction(
        condition === null && !isReturned
          ? batch
          : { ...batch, walPosition: { condition, returned: isReturned ? "replayed" : null } },
        caller,
      );
      if (!wantsBookmark) return result;
      if (!isReturned) return { ...result, bookmark: timeText(epochMs) };
      const { shownLsn = null } = result.walPosition ?? {};
      // A stream begins before its position is known.
      if (shownLsn === null || position === null) return this.#withTime(result);
      const seen = shownLsn > position.lsn ? shownLsn : position.lsn;
      return {
        ...result,
        bookmark: bookmarkText({ kind: "position", timeline: position.timeline, lsn: seen }),
      };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === null || !mayRepeat(batch, refusal)) throw error;
      return null;
    }
  }

  async #onPrimary(batch: Batch, caller: Caller | undefined): Promise<BatchResult> {
    const { primary } = this.#options;
    if (!batch.wantsBookmark) return await primary.transaction(batch, caller);
    const { comparesPositions = true } = this.#settings;
    const placed = comparesPositions ? withPosition(batch) : batch;
    const result = await primary.transaction(placed, caller);
    if (result.end === "rollback" && batch.access === "read write") return result;
    const { lsn, timeline = null } = result.walPosition ?? {};
    if (lsn === undefined || timeline === null) return this.#withTime(result);
    return { ...result, bookmark: bookmarkText({ kind: "position", timeline, lsn }) };
  }

  /** The present covers all that was seen. */
  #withTime(result: BatchResult): BatchResult {
    return { ...result, bookmark: timeText(this.#options.now()) };
  }
}

/** A read with what the client has written or seen. */
interface TriedRead {
  readonly batch: StandbyRead;
  readonly caller: Caller | undefined;
  readonly state: ClientState;
}
