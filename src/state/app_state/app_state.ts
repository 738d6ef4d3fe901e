/** The live state of the service: configuration, schema cache, database, keys. A reload replaces
 * the state as a whole; a request works on the snapshot that it began with. @module */
import { RemoteKeySets } from "../auth/remote_key_set.ts";
import { noRoleSettings } from "../config/in_database.ts";
import { noValues } from "../config/load.ts";
import type { Config } from "../config/options.ts";
import type { ReloadTarget } from "../../database/notifications/listener.ts";
import { isEmbedded } from "../../database/open.ts";
import { errorMembers } from "../../base/errors/error_response.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import { schedule } from "../../base/lib/timers.ts";
import { MetricRegistry } from "../../base/observe/metric_registry.ts";
import type { SchemaCacheData } from "../schema_cache/schema_cache.ts";
import { AppStateBase } from "./app_state_base.ts";
import { AppConfiguration, prepareState } from "./app_configuration.ts";
import { Heartbeat } from "./heartbeat.ts";
import { MetadataReader } from "./metadata_reader.ts";
import { ReloadNotifications } from "./reload_notifications.ts";
import { Reloader } from "./reloader.ts";
import { RevocationList } from "./revocation_list.ts";
import { schemaStateReader, SchemaWatch } from "./schema_watch.ts";
import type { AppStateOptions } from "./app_state_options.ts";
import type { Snapshot } from "./snapshot.ts";
import { mayBeStale, StalenessCheck } from "./staleness.ts";
import type { FollowedParts } from "./state_change.ts";
import { Readiness } from "./readiness.ts";
import { SchemaLoader } from "./schema_loader.ts";
import { ServerCheck } from "./server_check.ts";

export class AppState extends AppStateBase {
  readonly #options: AppStateOptions;
  readonly #remoteKeySets: RemoteKeySets;
  readonly #metadata: MetadataReader;
  readonly #notifications: ReloadNotifications;
  readonly revocations: RevocationList;
  /** Null if no connection outlives a request. */
  readonly #watch: SchemaWatch | null;
  readonly #configuration: AppConfiguration;
  readonly #server: ServerCheck;
  readonly #staleness: StalenessCheck;
  readonly #loader: SchemaLoader;
  readonly #reloader: Reloader;
  readonly #heartbeat: Heartbeat;
  readonly #readiness: Readiness;

  private constructor(
    options: AppStateOptions,
    { snapshot, remoteKeySets, metricRegistry }: {
      readonly snapshot: Snapshot;
      readonly remoteKeySets: RemoteKeySets;
      readonly metricRegistry: MetricRegistry;
    },
  ) {
    super(options, snapshot, metricRegistry);
    const { loading: sharing = "shared", followers = 0 } = options;
    const { database, now, observe } = this;
    this.#options = options;
    this.#remoteKeySets = remoteKeySets;
    this.#metadata = new MetadataReader(this);
    this.#notifications = this.#makeNotifications();
    this.revocations = this.#makeRevocationList(sharing);
    this.#watch = sharing === "unshared" ? null : this.#makeWatch();
    this.#configuration = this.#makeConfiguration();
    this.#server = new ServerCheck(this, followers);
    const maxAgeMs = options.schemaCacheMaxAge ?? Infinity;
    this.#staleness = new StalenessCheck({ isExternal: snapshot.cache !== null, maxAgeMs, now });
    this.#loader = this.#makeLoader();
    this.#reloader = this.#makeReloader(sharing);
    this.#heartbeat = new Heartbeat({
      database,
      askListener: () => this.#notifications.ask(),
      onAnswer: () => void this.#notifications.retryNow(),
      observe,
      now: () => performance.now(),
      schedule,
    });
    this.#readiness = new Readiness({
      state: this,
      heartbeat: this.#heartbeat,
      loader: this.#loader,
      notifications: this.#notifications,
    });
  }

  /** Creates the state without loading anything. Rejects if the configuration is invalid. */
  static async create(options: AppStateOptions): Promise<AppState> {
    const source = options.source();
    const config = source.configure(noValues);
    const metricRegistry = new MetricRegistry();
    const remoteKeySets = new RemoteKeySets({
      metricRegistry,
      fetch: options.fetch ?? ((url, init) => fetch(url, init)),
      now: options.now,
      schedule,
      observe: options.observe,
      sharing: options.loading ?? "shared",
    });
    const inputs = { source, values: noValues, remoteKeySets };
    const { auth, ...limits } = await prepareState(config, null, inputs);
    const cache = options.schemaCache ?? null;
    const unloaded = {
      roles: noRoleSettings,
      serverVersion: null,
      usesBlocks: false,
      cache,
      cacheLoadedAt: -Infinity,
      cacheError: null,
    };
    const { tenant = null } = options;
    const snapshot = { config, auth: { ...auth, tenant }, ...limits, ...unloaded };
    const appState = new AppState(options, { snapshot, remoteKeySets, metricRegistry });
    appState.#configuration.warnOfOldRolePath();
    appState.configureDatabase();
    return appState;
  }

  /** The state that other threads follow. Its parts are replaced, never changed in place. */
  get followed(): FollowedParts {
    const { config, roles, serverVersion, usesBlocks } = this.snapshot;
    return {
      config,
      roles,
      serverVersion,
      usesBlocks,
      schema: this.#loader.chunks,
      revocations: this.revocations.loaded,
    };
  }

  /** True after a fatal failure: the process is about to end. */
  get isEnding(): boolean {
    return this.failurePolicy.isEnding;
  }

  /** Returns whole seconds until the next attempt to connect; 1 if none is scheduled. */
  retryAfter(): number {
    const seconds = [this.#reloader.secondsLeft(), this.#notifications.secondsLeft()];
    const waits = seconds.filter((each) => each !== null);
    return waits.length === 0 ? 1 : Math.min(...waits);
  }

  /** Starts to observe the schema, by notifications or by polling. Fetches the keys of issuers, and
   * refreshes them. */
  listen(): void {
    this.database.standbys?.observe();
    this.#remoteKeySets.start();
    this.revocations.start();
    this.#notifications.start();
    this.#heartbeat.start();
    this.#watch?.start({ isLoaded: this.snapshot.cache !== null });
  }

  /** Loads the schema cache. Resolves when the attempt has succeeded or failed. */
  reloadSchema(): Promise<void> {
    return this.#reloader.request();
  }

  /** Reloads the schema cache if it is stale. Returns null if it is not. If a missing name may have
   * caused `error`, starts a check in the background, and does not await the check. */
  reloadIfStale(error: ServiceError | null): Promise<void> | null {
    if (error !== null && mayBeStale(error)) this.missName();
    return this.#staleness.claimReload(error) ? this.reloadSchema() : null;
  }

  /** Loads the schema cache after a lost connection, unless a load runs or is scheduled. */
  recover(): void {
    this.#server.request();
    this.#reloader.recover();
  }

  /** Checks the schema for changes, because a request names an object that the cache lacks. */
  missName(): void {
    this.#watch?.missed();
  }

  /**
   * Reads the configuration again, including the part in the database. Resolves when the new
   * configuration is applied. If the new configuration needs another schema cache, loads that cache
   * first. If that fails, reports the failure and keeps the old configuration.
   */
  async reloadConfig(): Promise<void> {
    const read = await this.#configuration.tryRead();
    if (read === null) return;
    if (this.#configuration.needsLoad(read)) {
      this.#loader.requireConfig();
      return this.reloadSchema();
    }
    this.#configuration.apply(read);
    void this.revocations.reload();
  }

  /**
   * Reads the configuration once, without serving. Normalizes `jwt-role-claim-key`. Rejects if the
   * configuration is invalid or the server refuses the login. Reports other database failures.
   */
  async readConfig(): Promise<Config> {
    const { state: { config, auth } } = await this.#configuration.read();
    return { ...config, jwtRoleClaimKey: auth.rolePath.text };
  }

  /** Reads configuration and schema once, without serving. Reports and rejects if that fails. */
  async readSchema(): Promise<SchemaCacheData> {
    return this.#loader.readOnce((await this.#configuration.read()).state.config);
  }

  /** Makes the service report from now on that it is not ready. It still serves requests. */
  announceShutdown(): void {
    this.#readiness.announceShutdown();
  }

  /**
   * Resolves with whether the database is reachable, the schema cache is loaded, and no shutdown was
   * announced.
   */
  isReady(): Promise<boolean> {
    return this.#readiness.check();
  }

  /** Stops loads and closes the database. */
  async close(): Promise<void> {
    this.endStreams();
    this.#reloader.stop();
    this.#heartbeat.stop();
    this.revocations.stop();
    await Promise.all([this.#notifications.stop(), this.#watch?.stop()]);
    await this.database.close();
    await this.#metadata.settled();
  }

  #makeConfiguration(): AppConfiguration {
    return new AppConfiguration({
      state: this,
      source: this.#options.source,
      metadata: this.#metadata,
      remoteKeySets: this.#remoteKeySets,
      onApplied: (config) => {
        this.#notifications.configure();
        this.#watch?.configure(config);
        this.#options.onFollowedChange?.();
      },
    });
  }

  #makeLoader(): SchemaLoader {
    return new SchemaLoader({
      state: this,
      options: this.#options,
      configuration: this.#configuration,
      metadata: this.#metadata,
      notifications: this.#notifications,
      server: this.#server,
      watch: this.#watch,
      onLoaded: () => {
        this.#staleness.markLoaded();
        this.#options.onFollowedChange?.();
        return this.revocations.reload();
      },
    });
  }

  #makeReloader(sharing: "shared" | "unshared"): Reloader {
    return new Reloader({
      load: () => this.#loader.load(),
      isRetried: () => this.failurePolicy.willRetry,
      onRetry: (seconds) => this.observe({ kind: "retrying", seconds }),
      now: this.now,
      schedule,
      sharing,
    });
  }

  #makeNotifications(): ReloadNotifications {
    return new ReloadNotifications({
      state: this,
      onRequested: (what) => void this.#reload(what),
      onMissed: () => void (this.#loader.isConnecting || this.reloadSchema()),
      onBrokenQueue: () => this.#metadata.scanNotificationQueue(),
    });
  }

  #reload(what: ReloadTarget): Promise<void> {
    switch (what) {
      case "schema":
        return this.reloadSchema();
      case "config":
        return this.reloadConfig();
      case "revocations":
        return this.revocations.reload();
      default:
        return what satisfies never;
    }
  }

  #makeRevocationList(sharing: "shared" | "unshared"): RevocationList {
    return new RevocationList({
      source: () => this.snapshot.config.jwtRevocations,
      read: (source) => this.#metadata.readRevocations(source),
      isNotified: () => this.#notifications.arrive,
      reportFailure: (thrown) => {
        const error = errorMembers(thrown, this.dialect);
        if (!this.isEnding) this.observe({ kind: "revocations-failed", error });
      },
      observe: this.observe,
      onLoaded: () => this.#options.onFollowedChange?.(),
      sharing,
      now: this.now,
      schedule,
    });
  }

  #makeWatch(): SchemaWatch {
    return new SchemaWatch(this.snapshot.config, {
      reader: schemaStateReader(this.database),
      isEmbedded: isEmbedded(this.snapshot.config.dbUri),
      isNotified: () => this.#notifications.arrive,
      onChanged: () => {
        this.observe({ kind: "schema-changed" });
        void this.reloadSchema();
      },
      now: () => performance.now(),
      schedule,
    });
  }
}
