/** All groups of live queries (see `group.ts`): runs them, and limits their streams and memory. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { liveErrors } from "./live_errors.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";
import {
  type GroupHost,
  groupOverheadBytes,
  type GroupsConfig,
  type GroupsOptions,
  LiveGroup,
  type LiveQuery,
} from "./group.ts";
import { type ChangeRecords, concerns } from "./scope.ts";

/** One client may have `live-max-streams` divided by this number of streams. */
const clientShare = 10;
/** The number of concurrent runs is at most `db-pool` divided by this number. */
const poolShare = 4;
/** Milliseconds between two checks of groups. */
const checkMs = 1000;

export class LiveGroups implements GroupHost {
  readonly #groups = new Map<string, LiveGroup>();
  /** Groups that wait for a run, in order of arrival. */
  readonly #queue = new Set<LiveGroup>();
  readonly #clients = new Map<string, number>();
  #running = 0;
  streams = 0;
  bytes = 0;
  #cancelCheck = () => {};

  constructor(readonly options: GroupsOptions) {}

  get size(): number {
    return this.#groups.size;
  }

  get recheckMs(): number {
    return this.#config.liveRecheck * 1000;
  }

  get #config(): GroupsConfig {
    return this.options.snapshot().config as GroupsConfig;
  }

  has(query: LiveQuery): boolean {
    return this.#groups.has(keyOf(query));
  }

  /** Returns the group of a query. Throws `183` if there is no memory left. */
  groupOf(query: LiveQuery): LiveGroup {
    const key = keyOf(query);
    const existing = this.#groups.get(key);
    if (existing !== undefined) return existing;
    const error = this.reserve(groupOverheadBytes);
    if (error !== null) throw error;
    if (this.#groups.size === 0) this.#check();
    const group = new LiveGroup(key, query, this);
    this.#groups.set(key, group);
    return group;
  }

  /**
   * Counts a stream as open until the returned function is called. Throws `183` and `184`.
   */
  enter(client: string): () => void {
    const { liveMaxStreams: max } = this.#config;
    const count = this.#clients.get(client) ?? 0;
    const share = Math.max(1, Math.floor(max / clientShare));
    if (count >= share) throw liveErrors.tooManyStreams(share);
    if (this.streams >= max) throw liveErrors.noLiveCapacity(`live-max-streams is ${max}`, 1);
    this.#clients.set(client, count + 1);
    this.streams++;
    return () => {
      this.streams--;
      const left = this.#clients.get(client)! - 1;
      if (left === 0) this.#clients.delete(client);
      else this.#clients.set(client, left);
    };
  }

  /** Makes a run due for each group that depends on the changes. */
  record(records: ChangeRecords): void {
    for (const group of this.#groups.values()) {
      if (group.interest === null || concerns(group.interest, records)) group.mark();
    }
  }

  markAll(): void {
    for (const group of this.#groups.values()) group.mark();
  }

  enqueue(group: LiveGroup): void {
    this.#queue.add(group);
    this.#serve();
  }

  remove(group: LiveGroup): void {
    this.#queue.delete(group);
    this.#groups.delete(group.key);
  }

  reserve(bytes: number, user: LiveGroup | null = null): ServiceError | null {
    const { liveMaxMemory: max } = this.#config;
    const isFull = () => bytes > 0 && this.bytes + bytes > max;
    if (!isFull()) return null;
    for (const group of this.#groups.values()) {
      if (isFull() && group !== user && !group.isUsed) group.end(null);
    }
    return isFull() ? liveErrors.noLiveCapacity(`live-max-memory is ${max} bytes`, 1) : null;
  }

  close(): void {
    this.#cancelCheck();
    for (const group of this.#groups.values()) group.end(null);
  }

  #serve(): void {
    const maxRuns = Math.max(1, Math.floor(this.#config.dbPool / poolShare));
    for (const group of this.#queue) {
      if (this.#running >= maxRuns) return;
      this.#queue.delete(group);
      this.#running++;
      void group.run().finally(() => {
        this.#running--;
        this.#serve();
      });
    }
  }

  /** Removes unused groups, ends revoked and expired subscribers, and renews old results. Repeats
   * while there are groups. */
  #check(): void {
    const isRevoked = this.options.revoked();
    for (const group of this.#groups.values()) {
      if (isRevoked?.(group.query.identity)) group.end(errors.revokedToken());
      else group.check();
    }
    this.#cancelCheck();
    this.#cancelCheck = this.options.schedule(() => {
      if (this.#groups.size > 0) this.#check();
    }, checkMs);
  }
}

function keyOf({ path, query, profile, identity }: LiveQuery): string {
  const { role, claims, key } = identity;
  return JSON.stringify([path, query, profile, role, claims, key?.sha256]);
}
