/** The state of a thread that follows another thread. It has its own connections and caches, and
 * receives all loaded data from the other thread. @module */
import type { Fetch } from "../auth/fetch_document.ts";
import { remoteKeySetsOf } from "../auth/prepare_issuers.ts";
import { RemoteKeySets } from "../auth/remote_key_set.ts";
import { type Config, noWingOptions } from "../config/options.ts";
import { dialects } from "../../base/dialect.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";
import { MetricRegistry } from "../../base/observe/metric_registry.ts";
import { type Clock, systemClock } from "../../base/lib/clock.ts";
import { schedule, turn } from "../../base/lib/timers.ts";
import { indexSchemaCache } from "../schema_cache/lookups.ts";
import { readChunks } from "../schema_cache/schema_chunks.ts";
import { AppStateBase } from "./app_state_base.ts";
import type { AppStateBaseOptions } from "./app_state_options.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { HandlerState } from "./handler_state.ts";
import { indexOf, type LoadedRevocations } from "./revocation_list.ts";
import { prepareAuth, prepareClientLimits, type Snapshot } from "./snapshot.ts";
import { mayBeStale } from "./staleness.ts";
import type { StateChange } from "./state_change.ts";

/** The interface of the followed state that a follower uses. */
export interface FollowedState {
  /** Whether the followed state is ready. */
  isReady(): Promise<boolean>;
  /** Reports that a connection was lost. */
  recover(): void;
  /** Reports that a request names something that the schema cache lacks. */
  missName(): void;
}

interface FollowingOptions extends Omit<AppStateBaseOptions, "requestMetrics"> {
  /** Number of threads that serve. Each one has an equal share of the rate limits. */
  readonly threads: number;
  /** The dialect of the configuration, by name. */
  readonly dialect: string;
  readonly followed: FollowedState;
  /** Returns the configuration with this thread's share of the limits. Default: it is unchanged. */
  readonly shareOf?: (config: Omit<Config, "wingOptions">) => Config;
  /** Ends the process, after a fatal failure was reported. */
  readonly onFatal: () => void;
  /** Fetches the keys of issuers. Default: the runtime's `fetch`. */
  readonly fetch?: Fetch;
  /** Clock for the checks of whether the database answers. Default: the system's. */
  readonly clock?: Pick<Clock, "now" | "schedule">;
}

/**
 * Minimum milliseconds between two reports of missing names, since a client can cause any number.
 */
const missIntervalMs = 100;

/** Serves with the state of another thread. */
export class FollowerState extends AppStateBase implements HandlerState {
  readonly revocations: HandlerState["revocations"];
  readonly #options: FollowingOptions;
  readonly #keys: RemoteKeySets;
  /**
   * Checks whether the database answers. Only the followed thread reports that it does not.
   */
  readonly #heartbeat: Heartbeat;
  #revocations: LoadedRevocations | null = null;
  /** Time of the last report of a missing name, in epoch milliseconds. */
  #missedAt = -Infinity;
  /** Time at which the followed thread reconnects, in epoch milliseconds. */
  #retryAt = -Infinity;
  /** Resolves when the last change is applied. Changes are applied one after the other. */
  #applied: Promise<void> = Promise.resolve();

  private constructor(options: FollowingOptions, snapshot: Snapshot, keys: RemoteKeySets) {
    super(options, snapshot);
    this.#options = options;
    this.#keys = keys;
    this.#heartbeat = new Heartbeat({
      database: this.database,
      ...options.clock ?? systemClock,
    });
    this.revocations = { current: () => this.#currentRevocations() };
  }

  /** Creates a state from a change that contains all parts. */
  static async create(options: FollowingOptions, state: StateChange): Promise<FollowerState> {
    // Each thread fetches the keys of issuers. Only the followed thread reports and counts fetches.
    const keys = new RemoteKeySets({
      metricRegistry: new MetricRegistry(),
      fetch: options.fetch ?? ((url, init) => fetch(url, init)),
      now: options.now,
      schedule,
      observe: () => {},
      sharing: "shared",
    });
    const snapshot = await nextSnapshot(null, state, { options, keys });
    const appState = new FollowerState(options, snapshot, keys);
    appState.#revocations = state.revocations ?? null;
    appState.configureDatabase();
    appState.#keepKeys();
    keys.start();
    appState.database.standbys?.observe();
    appState.#heartbeat.start();
    return appState;
  }

  /** Applies a change as a whole, after the previous ones. A request in progress keeps its snapshot. */
  apply(change: StateChange): Promise<void> {
    return this.#applied = this.#applied.then(() => this.#apply(change));
  }

  /** Receives the seconds until the followed thread reconnects. */
  setRetry(seconds: number): void {
    this.#retryAt = this.now() + seconds * 1000;
  }

  /** Returns whole seconds until the next attempt to connect; 1 if none is scheduled. */
  retryAfter(): number {
    return Math.max(1, Math.ceil((this.#retryAt - this.now()) / 1000));
  }

  isReady(): Promise<boolean> {
    return this.#options.followed.isReady();
  }

  /** Returns null: only the followed thread reloads. */
  reloadIfStale(error: ServiceError | null): null {
    if (error === null || !mayBeStale(error)) return null;
    const waitedMs = Math.abs(this.now() - this.#missedAt);
    if (waitedMs >= missIntervalMs) {
      this.#missedAt = this.now();
      this.#options.followed.missName();
    }
    return null;
  }

  recover(): void {
    this.#options.followed.recover();
  }

  async close(): Promise<void> {
    this.endStreams();
    this.#heartbeat.stop();
    await this.database.close();
  }

  async #apply(change: StateChange): Promise<void> {
    const previous = this.snapshot;
    const context = { options: this.#options, keys: this.#keys };
    const next = await nextSnapshot(previous, change, context);
    this.replace(next);
    if (change.revocations !== undefined) this.#revocations = change.revocations;
    this.configureDatabase();
    if (change.config !== undefined) this.#keepKeys();
    const isReloaded = next.cache !== previous.cache;
    if (isReloaded && (previous.cache !== null || this.dialect.poolFlush === "every load")) {
      this.database.pool?.flush();
    }
  }

  #keepKeys(): void {
    this.#keys.keep(remoteKeySetsOf(this.snapshot.auth.issuers));
  }

  /** Returns the current list. Throws if the followed thread has not read the list yet. */
  #currentRevocations(): ReturnType<HandlerState["revocations"]["current"]> {
    const source = this.snapshot.config.jwtRevocations;
    if (source === null) return null;
    const index = indexOf(this.#revocations, source);
    if (index === null) throw errors.revocationsUnavailable(this.retryAfter());
    return index;
  }
}

/** Returns the snapshot after a change. The first change has all parts. */
async function nextSnapshot(
  previous: Snapshot | null,
  change: StateChange,
  { options, keys }: { readonly options: FollowingOptions; readonly keys: RemoteKeySets },
): Promise<Snapshot> {
  const { schema, config: sent, revocations: _, ...parts } = change;
  const { shareOf = withoutWings, threads, dialect: name, now } = options;
  const config = sent === undefined
    ? previous!.config
    : shareOf({ ...sent, dialect: dialects.get(name)! });
  return {
    ...previous!,
    ...parts,
    config,
    ...(sent === undefined ? {} : {
      auth: await prepareAuth(config, previous, keys),
      ...await prepareClientLimits(config, previous, threads),
    }),
    ...(schema === undefined ? {} : {
      // The chunks are read one by one, so that the thread handles requests in between.
      cache: schema === null ? null : indexSchemaCache(await readChunks(schema, turn)),
      cacheLoadedAt: now(),
    }),
    // Null, because clients of a process must not see the reason.
    cacheError: null,
  };
}

const withoutWings: NonNullable<FollowingOptions["shareOf"]> = (config) => ({
  ...config,
  wingOptions: noWingOptions,
});
