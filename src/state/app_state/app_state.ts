/** The live state of the service: configuration, schema cache, database, keys. A reload replaces
 * the state as a whole; a request works on the snapshot that it began with. @module */
import { remoteKeySetsOf } from "../auth/prepare_issuers.ts";
import { RemoteKeySets } from "../auth/remote_key_set.ts";
import { noRoleSettings } from "../config/in_database.ts";
import { noValues } from "../config/load.ts";
import type { Config } from "../config/options.ts";
import type { ReloadTarget } from "../../database/notifications/listener.ts";
import { isEmbedded } from "../../database/open.ts";
import { unsupportedVersion } from "../../database/server_version.ts";
import { isConnectionLost } from "../../database/failure.ts";
import { errorFacts } from "../../base/errors/error_response.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import { collectGarbage } from "../../base/lib/garbage.ts";
import { inSlices } from "../../base/lib/slices.ts";
import { withTimeout } from "../../base/lib/time_limits.ts";
import { schedule } from "../../base/lib/timers.ts";
import { type Counter, MetricRegistry } from "../../base/observe/metric_registry.ts";
import { isLogged, type Observation } from "../../base/observe/observation.ts";
import { indexSchemaCache } from "../schema_cache/lookups.ts";
import { schemaCacheKey } from "../schema_cache/load.ts";
import { schemaPieces } from "../schema_cache/pieces.ts";
import type { SchemaCache, SchemaCacheData } from "../schema_cache/schema_cache.ts";
import { unusedStandbysReason } from "./standby_reads.ts";
import { AppStateBase } from "./app_state_base.ts";
import { AppConfiguration, type LoadedConfig, prepareState } from "./app_configuration.ts";
import { Heartbeat } from "./heartbeat.ts";
import { hasManyRows, MetadataReader, type SchemaReading } from "./metadata_reader.ts";
import {
  isLockTimeout,
  isMissingSchema,
  mostConnections,
  readFilledSchemas,
  ServerCheck,
} from "./server_check.ts";
import { ReloadNotifications } from "./reload_notifications.ts";
import { Reloader } from "./reloader.ts";
import { RevocationList } from "./revocation_list.ts";
import { schemaStateReader, SchemaWatch } from "./schema_watch.ts";
import type { AppStateOptions } from "./app_state_options.ts";
import type { Snapshot } from "./snapshot.ts";
import { mayBeStale, StalenessCheck } from "./staleness.ts";
import type { FollowedParts } from "./state_change.ts";
import { errorMessage } from "../../base/errors/error_message.ts";

/** Milliseconds for which a load waits for the listening connection. */
const listenTimeoutMs = 1000;

export class AppState extends AppStateBase {
  readonly #configuration: AppConfiguration;
  readonly #schema: Reloader;
  readonly #staleness: StalenessCheck;
  #attempts = 0;
  /** Number of finished loads of the schema cache. */
  readonly #loads: Counter;
  #querySeconds: number | null = null;
  /** Whether the last load has reached the database, although it may have failed. */
  #isReached = true;
  /** Number of schemas that the last load did not find; null before it. */
  #missingSchemas: number | null = null;
  /** Whether the next load reads the configuration, since the catalogue decides whether it can serve. */
  #isConfigDue = false;
  readonly #notifications: ReloadNotifications;
  readonly #heartbeat: Heartbeat;
  #isShutdownAnnounced = false;
  #isEncryptionReported = false;
  /** Whether a load runs that has not begun to read the catalogue. */
  #isConnecting = false;
  /** Null if no connection outlives a request. */
  readonly #watch: SchemaWatch | null;
  readonly #serverCheck: ServerCheck;
  readonly #metadata: MetadataReader;
  readonly #remoteKeySets: RemoteKeySets;
  readonly revocations: RevocationList;
  readonly #options: AppStateOptions;
  /** The schema cache for followers; null without followers. */
  #schemaPieces: readonly string[] | null = null;

  private constructor(
    options: AppStateOptions,
    { snapshot, remoteKeySets, metricRegistry }: {
      readonly snapshot: Snapshot;
      readonly remoteKeySets: RemoteKeySets;
      readonly metricRegistry: MetricRegistry;
    },
  ) {
    super(options, snapshot, metricRegistry);
    this.#remoteKeySets = remoteKeySets;
    this.#options = options;
    this.#serverCheck = this.#makeServerCheck(options.followers ?? 0);
    const { database, dialect, observe } = this;
    const exitOnFatal = (thrown: unknown) => this.failurePolicy.exitOnLoginRefused(thrown);
    this.#metadata = new MetadataReader({ database, dialect, observe, exitOnFatal });
    this.#configuration = new AppConfiguration({
      source: options.source,
      initialConfig: snapshot.config,
      metadata: this.#metadata,
      remoteKeySets,
      snapshot: () => this.snapshot,
    });
    this.#schema = this.#makeLoader(options.loading ?? "shared");
    this.revocations = this.#makeRevocationList(options.loading ?? "shared");
    this.#notifications = this.#makeNotifications();
    this.#heartbeat = this.#makeHeartbeat();
    this.#loads = this.metricRegistry.counter({
      name: "schema_cache_loads_total",
      help: "The total number of times the schema cache was loaded",
      labels: ["status"],
    });
    this.#registerGauges();
    this.#watch = options.loading === "unshared" ? null : this.#makeWatch();
    this.#staleness = new StalenessCheck({
      isExternal: snapshot.cache !== null,
      maxAgeMs: options.schemaCacheMaxAge ?? Infinity,
      now: options.now,
    });
  }

  #makeLoader(sharing: "shared" | "unshared"): Reloader {
    return new Reloader({
      load: () => this.#loadSchema(),
      isRetried: () => this.failurePolicy.willRetry,
      onRetry: (seconds) => this.observe({ kind: "retrying", seconds }),
      now: this.now,
      schedule,
      sharing,
    });
  }

  #makeHeartbeat(): Heartbeat {
    return new Heartbeat({
      ask: () => this.#notifications.ask() ?? this.database.ask?.() ?? null,
      askAnew: () => this.database.version(),
      onSilent: () => this.database.suspect?.(),
      onAnswer: () => void this.#notifications.retryNow(),
      observe: this.observe,
      now: () => performance.now(),
      schedule,
    });
  }

  #makeServerCheck(followers: number): ServerCheck {
    return new ServerCheck({
      database: this.database,
      observe: this.observe,
      connections: () => {
        const { config } = this.snapshot;
        if (isEmbedded(config.dbUri) || this.database.subscribe === null) return null;
        return mostConnections(config, followers);
      },
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
    appState.#warnOfOldRolePath();
    appState.configureDatabase();
    return appState;
  }

  /** The state that other threads follow. Its parts are replaced, never changed. */
  get followed(): FollowedParts {
    const { config, roles, serverVersion, usesBlocks } = this.snapshot;
    return {
      config,
      roles,
      serverVersion,
      usesBlocks,
      schema: this.#schemaPieces,
      revocations: this.revocations.loaded,
    };
  }

  /** True after a fatal failure: the process is about to end. */
  get isEnding(): boolean {
    return this.failurePolicy.isEnding;
  }

  /** Returns whole seconds until the next attempt to connect; 1 if none is scheduled. */
  retryAfter(): number {
    const seconds = [this.#schema.secondsLeft(), this.#notifications.secondsLeft()];
    const waits = seconds.filter((each) => each !== null);
    return waits.length === 0 ? 1 : Math.min(...waits);
  }

  /**
   * Notices changes of the schema from now on: listens for notifications, or polls. Fetches the keys of
   * issuers, and keeps them fresh.
   */
  listen(): void {
    this.database.observeServers?.();
    this.#remoteKeySets.start();
    this.revocations.start();
    this.#notifications.start();
    if (this.database.ask !== undefined) this.#heartbeat.start();
    this.#watch?.start({ isLoaded: this.snapshot.cache !== null });
  }

  /** Loads the schema cache. Resolves when the attempt has succeeded or failed. */
  reloadSchema(): Promise<void> {
    return this.#schema.request();
  }

  /**
   * Reloads the schema cache if it is stale, which a request that ended with `error` may show.
   * Returns null if it is not, or if that takes a look at the database.
   */
  reloadIfStale(error: ServiceError | null): Promise<void> | null {
    if (error !== null && mayBeStale(error)) this.missName();
    return this.#staleness.claimReload(error) ? this.reloadSchema() : null;
  }

  /** Loads the schema cache unless a load runs or is scheduled, since a connection was lost. */
  recover(): void {
    this.#serverCheck.request();
    this.#schema.recover();
  }

  /** Looks soon whether the schema has changed, since a request names something unknown. */
  missName(): void {
    this.#watch?.missed();
  }

  /**
   * Reads the configuration again, including the part in the database. Resolves when it is applied, after
   * a load of the schema cache if that depends on what has changed. Reports a configuration that is
   * invalid, or whose schema cache cannot be loaded, and keeps the old one.
   */
  async reloadConfig(): Promise<void> {
    const read = await this.#tryReadConfig();
    if (read === null) return;
    if (this.#needsLoad(read)) {
      this.#isConfigDue = true;
      return this.reloadSchema();
    }
    this.#applyConfig(read);
    void this.revocations.reload();
  }

  /** Whether a configuration needs another schema cache than the one that serves. */
  #needsLoad({ state: { config } }: LoadedConfig): boolean {
    return this.snapshot.cache !== null &&
      schemaCacheKey(config) !== schemaCacheKey(this.snapshot.config);
  }

  /**
   * Reads the configuration once, without serving. The role path has its normalized text. Rejects if
   * the configuration is invalid or the server refuses the login. Reports other database failures.
   */
  async readConfig(): Promise<Config> {
    const { state: { config, auth } } = await this.#configuration.read();
    return { ...config, jwtRoleClaimKey: auth.rolePath.text };
  }

  /** Reads configuration and schema once, without serving. Reports a failure and returns null. */
  async readSchema(): Promise<SchemaCacheData | null> {
    const { state: { config } } = await this.#configuration.read();
    try {
      const { data, ms } = await this.#readCatalogue(config);
      this.observe({ kind: "schema-cache-queried", ms });
      return data;
    } catch (thrown) {
      this.#reportSchemaFailure(thrown, config);
      return null;
    }
  }

  #readCatalogue(config: Config): Promise<SchemaReading> {
    const { hidesExtensionFunctions = false } = this.#options;
    return this.#metadata.readSchema({ ...config, hidesExtensionFunctions });
  }

  /** Reports from now on that the service is not ready, although it serves requests. */
  announceShutdown(): void {
    this.#isShutdownAnnounced = true;
  }

  /**
   * Resolves with whether the database is reachable, the schema cache is loaded, and no shutdown was
   * announced.
   */
  async isReady(): Promise<boolean> {
    if (!this.#mayBeReady) return false;
    if (this.#notifications.isConnected === true) return true;
    try {
      await this.database.version();
      return true;
    } catch {
      return false;
    }
  }

  /** Whether the service is ready as far as is known without a question to the database. */
  get #mayBeReady(): boolean {
    if (this.#isShutdownAnnounced) return false;
    if (this.snapshot.cache === null || !this.#isReached) return false;
    if (this.snapshot.config.dbReplicaFallback === "error") {
      if (this.database.hasServingStandby?.() === false) return false;
    }
    if (this.#heartbeat.isSilent) return false;
    const { isConnected, lostForMs } = this.#notifications;
    return isConnected !== false || lostForMs < this.dialect.maxListenerLossMs;
  }

  #registerGauges(): void {
    const gauge = (name: string, help: string, read: () => boolean | number | null) =>
      this.metricRegistry.gauge({ name, help }, () => {
        const value = read();
        return value === null ? [] : [[[], Number(value)]];
      });
    gauge(
      "schema_cache_query_time_seconds",
      "The query time in seconds of the last schema cache load",
      () => this.#querySeconds,
    );
    gauge("ready", "Whether the service is ready", () => this.#mayBeReady);
    gauge(
      "database_up",
      "Whether the database is connected and answers",
      () => this.#isReached && !this.#heartbeat.isSilent,
    );
    gauge(
      "schemas_missing",
      "Schemas of db-schemas and db-extra-search-path that the last load did not find",
      () => this.#missingSchemas,
    );
    gauge(
      "listener_up",
      "Whether the listening connection is open",
      () => this.#notifications.isConnected,
    );
  }

  /** Stops loads and closes the database. */
  async close(): Promise<void> {
    this.endStreams();
    this.#schema.stop();
    this.#heartbeat.stop();
    this.revocations.stop();
    await Promise.all([this.#notifications.stop(), this.#watch?.stop()]);
    await this.database.close();
    await this.#metadata.settled();
  }

  async #loadSchema(): Promise<void> {
    const first = this.snapshot.cache === null;
    let config = this.snapshot.config;
    let read: LoadedConfig | null = null;
    let version: string | null = null;
    try {
      this.observe({ kind: "connecting", attempt: ++this.#attempts });
      version = await this.#connect();
      config = this.snapshot.config;
      if (config.dbConfig || this.#isConfigDue) read = await this.#tryReadConfig(version);
      config = read?.state.config ?? config;
      await this.#loadSchemaOf(config, read).catch((thrown) => this.#refuseConfig(read, thrown));
      this.#isConfigDue = false;
      this.#isReached = true;
    } catch (thrown) {
      const isBlocked = isLockTimeout(thrown);
      this.#isReached = isBlocked || version !== null && !isConnectionLost(thrown);
      if (read !== null) {
        if (this.#needsLoad(read)) this.#isConfigDue = true;
        else this.#applyConfig(read);
      }
      this.#loads.increment("FAIL");
      if (isBlocked) await this.#reportBlockers();
      this.#reportSchemaFailure(thrown, config);
      if (first && isMissingSchema(thrown)) {
        await this.failurePolicy.exitOnMissingSchema(() => readFilledSchemas(this.database));
      }
      throw thrown;
    }
  }

  async #loadSchemaOf(config: Config, read: LoadedConfig | null): Promise<void> {
    const first = this.snapshot.cache === null;
    const recordWatchedState = await this.#watch?.beforeLoad(config);
    const reading = await this.#readCatalogue(config);
    this.#querySeconds = reading.ms / 1000;
    this.#missingSchemas = reading.missingSchemas.length;
    for (const schema of reading.missingSchemas) this.observe({ kind: "schema-not-found", schema });
    const began = performance.now();
    const cache = indexSchemaCache(reading.data);
    const hasFollowers = this.#options.followers !== undefined;
    const pieces = hasFollowers ? await inSlices(schemaPieces(cache.data)) : null;
    if (read !== null && this.#needsLoad(read) && !this.#configuration.accepts(read)) return;
    // Both change at once, so that no request combines a new configuration with an old cache.
    this.#schemaPieces = pieces;
    this.replace({ cache, cacheLoadedAt: this.now(), cacheError: null });
    if (hasManyRows([cache.data.relations])) collectGarbage();
    if (read !== null) this.#applyConfig(read);
    this.#staleness.markLoaded();
    recordWatchedState?.();
    this.#reportLoad(cache, reading, performance.now() - began);
    if (!first || this.dialect.poolFlush === "every load") this.database.flush();
    this.#options.onFollowedChange?.();
    const revocations = this.revocations.reload();
    if (first) await revocations;
  }
  /** Reports a new configuration that has no schema cache, and loads the cache of the old one. */
  #refuseConfig(read: LoadedConfig | null, thrown: unknown): Promise<void> {
    if (read === null || !this.#needsLoad(read) || !isMissingSchema(thrown)) throw thrown;
    const problem = errorFacts(thrown, this.dialect).message;
    this.#reportInvalidConfig(read.makeOptionError("db-schemas", problem));
    return this.#loadSchemaOf(this.snapshot.config, null);
  }

  async #reportBlockers(): Promise<void> {
    const blockers = await this.#metadata.readBlockers().catch(() => []);
    for (const blocker of blockers) this.observe({ kind: "schema-cache-blocked", blocker });
  }

  /** `ms` is the time of the index. */
  #reportLoad(cache: SchemaCache, { ms: queryMs, timings }: SchemaReading, ms: number): void {
    this.observe({ kind: "schema-cache-queried", ms: queryMs });
    if (timings !== null) this.observe({ kind: "schema-cache-timings", timings });
    this.observe({ kind: "schema-cache-loaded", counts: cacheCounts(cache.data), ms });
    for (const problem of cache.data.declarationProblems ?? []) {
      this.observe({ kind: "declared-key-ignored", problem });
    }
    this.#reportUnusedStandbys(cache);
    this.#attempts = 0;
    this.#loads.increment("SUCCESS");
  }

  /** Connects, and listens again: this load reads the changes that notifications have missed. */
  async #connect(): Promise<string> {
    this.#isConnecting = true;
    try {
      const version = await this.#checkServer();
      await withTimeout(listenTimeoutMs, this.#notifications.retryNow());
      return version;
    } finally {
      this.#isConnecting = false;
    }
  }

  /**
   * Checks the server, and queries its version. Rejects if the server is unreachable or too old.
   */
  async #checkServer(): Promise<string> {
    let version;
    try {
      await this.#checkTransactions();
      version = await this.database.version();
    } catch (thrown) {
      const isReported = this.failurePolicy.exitOnLoginRefused(thrown) || this.isEnding;
      if (!isReported) {
        this.observe({ kind: "version-failed", error: errorFacts(thrown, this.dialect) });
      }
      this.failurePolicy.exitOnFatal(thrown);
      throw thrown;
    }
    this.observe({ kind: "connected", version });
    this.#reportEncryption();
    this.observe({ kind: "pool-ready", max: this.database.counts().max });
    const tooOld = unsupportedVersion(version);
    if (tooOld === null) {
      this.replace({ serverVersion: version });
      return version;
    }
    const { displayName: name } = this.dialect;
    this.failurePolicy.exit({ kind: "version-unsupported", version: tooOld, name });
    throw errors.cannotConnect(`PostgreSQL ${tooOld} is too old`);
  }

  #reportEncryption(): void {
    const isEncrypted = this.database.isEncrypted?.() ?? null;
    if (isEncrypted === null || this.#isEncryptionReported) return;
    this.#isEncryptionReported = true;
    this.#observeFinding({ kind: "connections-encrypted", isEncrypted });
  }

  async #checkTransactions(): Promise<void> {
    const usesBlocks = await this.#serverCheck.usesBlocks();
    if (usesBlocks === this.snapshot.usesBlocks) return;
    this.replace({ usesBlocks });
    this.configureDatabase();
  }

  /** Reads the configuration. Reports an invalid one and resolves with null. */
  async #tryReadConfig(version: string | null = null): Promise<LoadedConfig | null> {
    try {
      return await this.#configuration.read(version);
    } catch (error) {
      this.#reportInvalidConfig(error);
      return null;
    }
  }

  #reportInvalidConfig(error: unknown): void {
    const message = errorMessage(error).replaceAll("\n", "; ");
    if (!this.isEnding) this.observe({ kind: "config-reload-failed", message });
  }

  #applyConfig(loaded: LoadedConfig): void {
    if (!this.#configuration.accepts(loaded)) return;
    this.replace(loaded.state);
    const { auth, config } = loaded.state;
    this.#remoteKeySets.keep(remoteKeySetsOf(auth.issuers));
    this.observe({ kind: "config-reloaded" });
    for (const key of loaded.unapplied) this.#observeFinding({ kind: "restart-needed", key });
    this.#warnOfOldRolePath();
    this.configureDatabase();
    this.#notifications.configure();
    this.#watch?.configure(config);
    this.#options.onFollowedChange?.();
  }

  #warnOfOldRolePath(): void {
    const { rolePath } = this.snapshot.auth;
    if (!rolePath.deprecated) return;
    const guide = this.dialect.rolePathGuide;
    this.observe({ kind: "legacy-role-path", path: rolePath.text, guide });
  }

  #reportSchemaFailure(thrown: unknown, config: Config): void {
    const isSent = thrown instanceof ServiceError && this.#options.missingCacheDetail !== "none";
    this.replace({ cacheError: isSent ? thrown : null });
    if (
      this.isEnding || this.failurePolicy.exitOnLoginRefused(thrown) ||
      this.failurePolicy.exitOnSyntaxError(thrown)
    ) {
      return;
    }
    this.observe({
      kind: "schema-cache-failed",
      schemas: config.dbSchemas,
      extraSearchPath: config.dbExtraSearchPath,
      error: errorFacts(thrown, this.dialect),
    });
    this.failurePolicy.exitOnFatal(thrown);
  }

  #makeNotifications(): ReloadNotifications {
    return new ReloadNotifications({
      database: this.database,
      config: () => this.snapshot.config,
      onRequested: (what) => void this.#reload(what),
      onMissed: () => void (this.#isConnecting || this.reloadSchema()),
      isRetried: (reason) => !this.failurePolicy.exitOnListenerFailure(reason),
      onBrokenQueue: () => this.#metadata.scanNotificationQueue(),
      observe: this.observe,
      observeFinding: (finding) => this.#observeFinding(finding),
      now: this.now,
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
        const error = errorFacts(thrown, this.dialect);
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

  #reportUnusedStandbys(cache: SchemaCache): void {
    if (this.database.hasStandbys !== true) return;
    const reason = unusedStandbysReason(this.snapshot.config, cache);
    if (reason !== null) this.#observeFinding({ kind: "standbys-unused", reason });
  }

  /** Reports a finding if the log level includes the dialect's severity of findings. */
  #observeFinding(finding: Observation): void {
    const { logLevel } = this.snapshot.config;
    if (isLogged(this.dialect.findingSeverity, logLevel)) this.observe(finding);
  }
}

function cacheCounts(data: SchemaCacheData) {
  return {
    relations: data.relations.length,
    relationships: data.relationships.length,
    functions: data.routines.length,
    representations: data.representations.length,
    mediaHandlers: data.mediaHandlers.length,
  };
}
