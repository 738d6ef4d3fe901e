/** The groups of a service: their runs, and the limits of streams and memory. @module */
import type { Config } from "../config/options.ts";
import { errors } from "../errors/catalogue.ts";
import type { ServiceError } from "../errors/service_error.ts";
import { groupOverheadBytes, type GroupSurroundings, LiveGroup, type LiveQuery } from "./group.ts";
import { type ChangeRecords, concerns } from "./scope.ts";

/** One client has at most this part of the streams. */
const clientShare = 10;
/** Runs have at most this part of the pool. */
const poolShare = 4;
/** Milliseconds between two checks of groups. */
const checkMs = 1000;

type GroupsConfig = Pick<Config, "dbPool" | "liveMaxMemory" | "liveMaxStreams" | "liveRecheck">;

interface GroupsOptions
  extends Omit<GroupSurroundings, "enqueue" | "ended" | "recheckMs" | "reserve" | "resized"> {
  readonly config: () => GroupsConfig;
  /** A scope has kept a group from a run. */
  readonly excluded: () => void;
}

export class LiveGroups {
  readonly #groups = new Map<string, LiveGroup>();
  /** Groups that wait for a run, the longest waiting one first. */
  readonly #queue = new Set<LiveGroup>();
  readonly #clients = new Map<string, number>();
  readonly #surroundings: GroupSurroundings;
  #running = 0;
  streams = 0;
  #bytes = 0;
  #cancelCheck = () => {};

  constructor(readonly options: GroupsOptions) {
    this.#surroundings = {
      ...options,
      enqueue: (group) => {
        this.#queue.add(group);
        this.#serve();
      },
      reserve: (bytes, group) => this.#reserve(bytes, group),
      resized: (bytes) => void (this.#bytes += bytes),
      ended: (group) => {
        this.#queue.delete(group);
        this.#groups.delete(group.key);
      },
      recheckMs: () => options.config().liveRecheck * 1000,
    };
  }

  get size(): number {
    return this.#groups.size;
  }

  has(query: LiveQuery): boolean {
    return this.#groups.has(keyOf(query));
  }

  /** Returns the group of a query. Throws `183` if the memory is used up. */
  groupOf(query: LiveQuery): LiveGroup {
    const key = keyOf(query);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const error = this.#reserve(groupOverheadBytes);
    if (error !== null) throw error;
    if (this.#groups.size === 0) this.#check();
    const group = new LiveGroup(key, query, this.#surroundings);
    this.#groups.set(key, group);
    return group;
  }

  /** Counts a stream. Returns the function that its end calls once. Throws `183` and `184`. */
  enter(client: string): () => void {
    const { liveMaxStreams: max } = this.options.config();
    const count = this.#clients.get(client) ?? 0;
    const share = Math.max(1, Math.floor(max / clientShare));
    if (count >= share) throw errors.tooManyStreams(share);
    if (this.streams >= max) throw errors.noLiveCapacity(`live-max-streams is ${max}`, 1);
    this.#clients.set(client, count + 1);
    this.streams++;
    return () => {
      this.streams--;
      const left = this.#clients.get(client)! - 1;
      if (left === 0) this.#clients.delete(client);
      else this.#clients.set(client, left);
    };
  }

  /** Makes runs due of the groups that depend on changes. */
  record(records: ChangeRecords): void {
    for (const group of this.#groups.values()) {
      const isConcerned = group.interest === null || concerns(group.interest, records);
      if (isConcerned === "excluded") this.options.excluded();
      else if (isConcerned) group.mark();
    }
  }

  markAll(): void {
    for (const group of this.#groups.values()) group.mark();
  }

  /** Makes all groups run, and read their dependencies: the schema has changed. */
  reload(): void {
    for (const group of this.#groups.values()) group.interest = null;
    this.markAll();
  }

  close(): void {
    this.#cancelCheck();
    for (const group of this.#groups.values()) group.end(null);
  }

  #serve(): void {
    const maxRuns = Math.max(1, Math.floor(this.options.config().dbPool / poolShare));
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

  /** Ends unused groups and what has expired, and renews old results, until there are no groups. */
  #check(): void {
    for (const group of this.#groups.values()) group.check();
    this.#cancelCheck();
    this.#cancelCheck = this.options.schedule(() => {
      if (this.#groups.size > 0) this.#check();
    }, checkMs);
  }

  /** Returns `183` if more bytes exceed the memory, also without the groups that no client uses. */
  #reserve(bytes: number, user: LiveGroup | null = null): ServiceError | null {
    const { liveMaxMemory: max } = this.options.config();
    const isFull = () => bytes > 0 && this.#bytes + bytes > max;
    if (!isFull()) return null;
    for (const group of this.#groups.values()) {
      if (isFull() && group !== user && !group.isUsed) group.end(null);
    }
    return isFull() ? errors.noLiveCapacity(`live-max-memory is ${max} bytes`, 1) : null;
  }
}

function keyOf({ path, query, profile, identity: { role, claims } }: LiveQuery): string {
  return JSON.stringify([path, query, profile, role, claims]);
}
