/**
 * The live state of the service: configuration, schema cache, database, keys. State is replaced
 * whole; a request works on the snapshot that it began with.
 *
 * @module
 */
import { AuthSettingError } from "../auth/setting_error.ts";
import type { RoleDefaultsByRole } from "../config/in_database.ts";
import { changedFixed, type DatabaseValues, keepFixed } from "../config/load.ts";
import type { Config, OptionKey } from "../config/options.ts";
import { type ConfigSource, noValues } from "../config/source.ts";
import type { Database } from "../database/database.ts";
import { isLoss } from "../database/failure.ts";
import { Listener } from "../database/notifications/listener.ts";
import { NotificationProbe, randomNonce } from "../database/notifications/notification_probe.ts";
import { unsupportedVersion } from "../database/server_version.ts";
import type { Dialect } from "../dialect.ts";
import { errorFacts } from "../errors/error_response.ts";
import { errors } from "../errors/catalogue.ts";
import { ServiceError } from "../errors/service_error.ts";
import { Failures } from "./failure_policy.ts";
import { Freshness } from "./staleness.ts";
import type { Figures } from "../observe/metrics.ts";
import { isLogged, type Observation } from "../observe/observation.ts";
import { Questions } from "./metadata_reader.ts";
import { type Loading, Reloader, unsharedLoading } from "./reloader.ts";
import { indexSchemaCache } from "../schema_cache/lookups.ts";
import type { SchemaCache, SchemaCacheData } from "../schema_cache/schema_cache.ts";
import { type AuthState, prepareAuth, type Snapshot } from "./snapshot.ts";
import type { TraceStage } from "../observe/stopwatch.ts";
import { schedule } from "../lib/timers.ts";

/** What a service is made of. */
export interface ServiceOptions {
  /** Reads the configuration's sources anew. What it raises is told to people as it is. */
  readonly source: () => ConfigSource;
  /** Sources that the caller has read already. Default: `source` is called. */
  readonly initialSource?: ConfigSource;
  readonly database: Database;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly observe: (event: Observation) => void;
  /** What requests are answered from before a schema cache was loaded. */
  readonly schemaCache?: SchemaCache | null;
  /** Milliseconds after which a request makes the schema cache be loaded again; never unless told. */
  readonly schemaCacheMaxAge?: number;
  /**
   * Whether all requests wait for the same load, which is tried again when it fails, or each for one
   * of its own. Shared unless told.
   */
  readonly loading?: "shared" | "unshared";
  /**
   * Told once, after it was reported why, when a service that may end its process would do so. Who
   * gives none has a service that goes on.
   */
  readonly onFatal?: () => void;
  /** Is told how long the stages of requests take; nobody unless told. */
  readonly traceStage?: TraceStage | null;
  /** Whether error responses give the reason while no schema cache is loaded. Default: `reason`. */
  readonly missingCacheDetail?: "reason" | "none";
}

/** A running service. */
export class Service {
  readonly database: Database;
  readonly dialect: Dialect;
  readonly now: () => number;
  readonly observe: (event: Observation) => void;
  readonly traceStage: TraceStage | null;
  readonly #source: () => ConfigSource;
  readonly #schema: Loading;
  readonly #freshness: Freshness;
  /** The configuration that the service was started with. */
  readonly #first: Config;
  #snapshot: Snapshot;
  /** What the database said of the configuration that is in force. */
  #values: DatabaseValues = noValues;
  #loads = 0;
  /** Ended attempts to load the schema cache since the start. */
  readonly #ended = { success: 0, fail: 0 };
  #querySeconds: number | null = null;
  readonly #listener: Listener | null;
  readonly #failures: Failures;
  readonly #questions: Questions;
  readonly #missingCacheDetail: "reason" | "none";
  #isListening = false;
  /**
   * The sources that the service was created with, which the first load uses; null when it has, when
   * it failed, and when the configuration was read anew.
   */
  #unread: ConfigSource | null;
  /** Counts readings of the configuration: of two at once the later one counts. */
  #readings = 0;

  private constructor(options: ServiceOptions, source: ConfigSource, snapshot: Snapshot) {
    this.#unread = source;
    this.#source = options.source;
    this.#first = snapshot.config;
    this.database = options.database;
    this.dialect = snapshot.config.dialect;
    this.now = options.now;
    this.observe = options.observe;
    this.traceStage = options.traceStage ?? null;
    this.#snapshot = snapshot;
    this.#missingCacheDetail = options.missingCacheDetail ?? "reason";
    this.#failures = new Failures({
      dialect: this.dialect,
      observe: this.observe,
      recovers: () => this.#snapshot.config.dbPoolAutomaticRecovery,
      onFatal: options.onFatal ?? null,
    });
    const isEnd = (thrown: unknown) => this.#failures.isRefusal(thrown);
    this.#questions = new Questions(this.database, this.dialect, this.observe, isEnd);
    const load = () => this.#loadSchema();
    this.#schema = options.loading === "unshared" ? unsharedLoading(load) : new Reloader({
      load,
      isRetried: () => this.#failures.mayGoOn,
      onRetry: (seconds) => this.observe({ kind: "retrying", seconds }),
      now: options.now,
      schedule,
    });
    this.#listener = this.#makeListener();
    this.#freshness = new Freshness({
      given: snapshot.cache !== null,
      maxAge: options.schemaCacheMaxAge ?? Infinity,
      now: options.now,
    });
  }

  /** Prepares a service; nothing is loaded yet. Rejects when the configuration cannot be used. */
  static async create(options: ServiceOptions): Promise<Service> {
    const source = options.initialSource ?? options.source();
    const config = source.configure(noValues);
    const auth = await preparedAuth(config, null, { source, values: noValues });
    const roles: RoleDefaultsByRole = new Map();
    const cache = options.schemaCache ?? null;
    const service = new Service(options, source, { config, auth, roles, cache, cacheError: null });
    service.#warn();
    service.#watch();
    return service;
  }

  /** The state as it is now. */
  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** Whether a failure was met that ends the process. */
  get isEnding(): boolean {
    return this.#failures.isEnding;
  }

  /** Whole seconds until the next attempt to reach the database; 1 when none is planned. */
  retryAfter(): number {
    const planned = [this.#schema.secondsLeft(), this.#listener?.secondsLeft() ?? null];
    const waits = planned.filter((seconds) => seconds !== null);
    return waits.length === 0 ? 1 : Math.min(...waits);
  }

  /** Listens for notifications from now on, as far as the configuration wants it. */
  listen(): void {
    this.#isListening = true;
    this.#configureListener();
  }

  /** Loads the schema cache; resolves when the attempt has ended, well or not. */
  reloadSchema(): Promise<void> {
    return this.#schema.request();
  }

  /**
   * Loads the schema cache again when a request that ended with `error` shows that it is time; null
   * when it is not.
   */
  refresh(error: ServiceError | null): Promise<void> | null {
    return this.#freshness.isDue(error) ? this.reloadSchema() : null;
  }

  /** A request failed: does what its failure means for the others. */
  failed(thrown: unknown): void {
    if (!this.#failures.isEnd(thrown) && isLoss(thrown)) this.#schema.recover();
  }

  /**
   * Reads the configuration again, that of the database included; resolves when it is in force. What
   * cannot be used is reported, and the old one kept.
   */
  async reloadConfig(): Promise<void> {
    this.#unread = null;
    const read = await this.#tryReading();
    if (read !== null) this.#configured(read);
  }

  /**
   * Reads the configuration once, without serving, with the role's path as it is shown; rejects when
   * it cannot be used, and when the database refuses the login. That the database cannot be asked
   * for other reasons is reported.
   */
  async readConfig(): Promise<Config> {
    const { config, auth } = await this.#readConfig();
    return { ...config, jwtRoleClaimKey: auth.rolePath.text };
  }

  /** Reads configuration and schema once, without serving; null for a failure, which is reported. */
  async readSchema(): Promise<SchemaCacheData | null> {
    const { config } = await this.#readConfig();
    try {
      const { data, ms } = await this.#questions.schema(config);
      this.observe({ kind: "schema-cache-queried", ms });
      return data;
    } catch (thrown) {
      this.#schemaFailed(thrown, config);
      return null;
    }
  }

  /** Whether requests can be answered from the database at present. */
  async isReady(): Promise<boolean> {
    if (this.#snapshot.cache === null || this.#schema.failing) return false;
    if (this.#listener?.isWanted) return this.#listener.isConnected;
    try {
      await this.database.version();
      return true;
    } catch {
      return false;
    }
  }

  /** What is measured, as it stands. */
  figures(): Figures {
    return {
      schemaCacheQuerySeconds: this.#querySeconds,
      schemaCacheLoads: { ...this.#ended },
      pool: this.database.counts(),
      jwtCache: this.#snapshot.auth.cache?.counts() ?? { lookups: 0, hits: 0, evictions: 0 },
    };
  }

  /** Stops loading and closes the database. */
  async close(): Promise<void> {
    this.#schema.stop();
    await this.#listener?.stop();
    await this.database.close();
  }

  async #loadSchema(): Promise<void> {
    const first = this.#snapshot.cache === null;
    let config = this.#snapshot.config;
    let read: ReadConfiguration | null = null;
    try {
      this.observe({ kind: "connecting", attempt: ++this.#loads });
      const version = await this.#greet();
      if (config.dbConfig) read = await this.#tryReading(version, this.#takeUnread());
      config = read?.config ?? config;
      const { data, ms: queryMs, timings } = await this.#questions.schema(config);
      this.#querySeconds = queryMs / 1000;
      const began = performance.now();
      const cache = indexSchemaCache(data);
      // Both at once, so that no request sees the one without the other.
      if (read !== null) this.#configured(read);
      this.#snapshot = { ...this.#snapshot, cache, cacheError: null };
      this.#freshness.renewed();
      const ms = performance.now() - began;
      this.observe({ kind: "schema-cache-queried", ms: queryMs });
      if (timings !== null) this.observe({ kind: "schema-cache-timings", timings });
      this.observe({ kind: "schema-cache-loaded", counts: countsOf(data), ms });
      if (!first || this.dialect.poolFlush === "every load") this.database.flush();
      this.#loads = 0;
      this.#ended.success++;
    } catch (thrown) {
      this.#unread = null;
      if (read !== null) this.#configured(read);
      this.#ended.fail++;
      this.#schemaFailed(thrown, config);
      throw thrown;
    }
  }

  #takeUnread(): ConfigSource | null {
    const unread = this.#unread;
    this.#unread = null;
    return unread;
  }

  /** Asks the server for its version; rejects when it does not answer, or is too old. */
  async #greet(): Promise<string> {
    let version;
    try {
      version = await this.database.version();
    } catch (thrown) {
      const isTold = this.#failures.isRefusal(thrown) || this.#failures.isEnding;
      if (!isTold) {
        this.observe({ kind: "version-failed", error: errorFacts(thrown, this.dialect) });
      }
      this.#failures.isEnd(thrown);
      throw thrown;
    }
    this.observe({ kind: "connected", version });
    this.observe({ kind: "pool-ready", max: this.database.counts().max });
    const tooOld = unsupportedVersion(version);
    if (tooOld === null) return version;
    this.#failures.versionUnsupported(tooOld);
    throw errors.cannotConnect(`PostgreSQL ${tooOld} is too old`);
  }

  /** Reads the configuration; null when it cannot be used, which is reported. */
  async #tryReading(
    version: string | null = null,
    source: ConfigSource | null = null,
  ): Promise<ReadConfiguration | null> {
    try {
      return await this.#readConfig(version, source);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!this.isEnding) this.observe({ kind: "config-reload-failed", message });
      return null;
    }
  }

  async #readConfig(
    version: string | null = null,
    given: ConfigSource | null = null,
  ): Promise<ReadConfiguration> {
    const reading = ++this.#readings;
    const source = given ?? this.#source();
    // Whether the database is asked, and by which function, is what it was told before.
    const known = keepFixed(source.configure(this.#values), this.#first);
    const { values, roles } = known.dbConfig
      ? { values: await this.#questions.values(known), roles: await this.#questions.roles(version) }
      : { values: noValues, roles: new Map() };
    const current = source.configure(values);
    const config = keepFixed(current, this.#first);
    const auth = await preparedAuth(config, this.#snapshot, { source, values });
    const unapplied = changedFixed(current, this.#first);
    return { reading, config, values, roles, auth, unapplied };
  }

  #configured({ reading, config, values, roles, auth, unapplied }: ReadConfiguration): void {
    if (reading !== this.#readings) return;
    this.#values = values;
    this.#snapshot = { ...this.#snapshot, config, auth, roles };
    this.observe({ kind: "config-reloaded" });
    for (const key of unapplied) this.#observeFinding({ kind: "restart-needed", key });
    this.#warn();
    this.#watch();
    this.#configureListener();
  }

  #warn(): void {
    const { rolePath } = this.#snapshot.auth;
    if (rolePath.deprecated) this.observe({ kind: "old-role-path", path: rolePath.text });
  }

  #schemaFailed(thrown: unknown, config: Config): void {
    const isSent = thrown instanceof ServiceError && this.#missingCacheDetail === "reason";
    this.#snapshot = { ...this.#snapshot, cacheError: isSent ? thrown : null };
    if (this.isEnding || this.#failures.isRefusal(thrown) || this.#failures.isOwnMistake(thrown)) {
      return;
    }
    this.observe({
      kind: "schema-cache-failed",
      schemas: config.dbSchemas,
      extraSearchPath: config.dbExtraSearchPath,
      error: errorFacts(thrown, this.dialect),
    });
    this.#failures.isEnd(thrown);
  }

  #makeListener(): Listener | null {
    const { subscribe, notify } = this.database;
    if (subscribe === null) return null;
    return new Listener({
      subscribe,
      probe: notify === undefined
        ? null
        : new NotificationProbe({ notify, makeNonce: randomNonce, schedule }),
      onAsked: (what) => void (what === "schema" ? this.reloadSchema() : this.reloadConfig()),
      onMissed: () => void this.reloadSchema(),
      onLost: (channel) => this.#observeFinding({ kind: "notifications-lost", channel }),
      isRetried: (reason) => !this.#failures.isListenerEnd(reason),
      onBrokenQueue: () => this.#questions.readQueue(),
      observe: this.observe,
      now: this.now,
      schedule,
    });
  }

  /** Reports a finding as far as the dialect logs findings. */
  #observeFinding(finding: Observation): void {
    const { logLevel } = this.#snapshot.config;
    if (isLogged(this.dialect.findingSeverity, logLevel)) this.observe(finding);
  }

  #configureListener(): void {
    if (!this.#isListening) return;
    const { dbChannel, dbChannelEnabled } = this.#snapshot.config;
    this.#listener?.configure(dbChannelEnabled ? dbChannel : null);
  }

  /** Has the database tell what it does, as far as anybody wants to know. */
  #watch(): void {
    const { config, auth } = this.#snapshot;
    const trace = config.logLevel === "debug" ? this.observe : null;
    auth.cache?.watch(trace);
    this.database.watch({ trace, onPooler: () => this.#failures.poolerFound() });
  }
}

/** A configuration that was read and waits to be used. */
interface ReadConfiguration extends Pick<Snapshot, "config" | "auth" | "roles"> {
  readonly reading: number;
  readonly values: DatabaseValues;
  /** Changed options that only a restart applies. */
  readonly unapplied: readonly OptionKey[];
}

/** Prepares what is said about tokens; what is unusable there is told with its place. */
async function preparedAuth(
  config: Config,
  previous: Snapshot | null,
  { source, values }: { readonly source: ConfigSource; readonly values: DatabaseValues },
): Promise<AuthState> {
  try {
    return await prepareAuth(config, previous);
  } catch (error) {
    if (!(error instanceof AuthSettingError)) throw error;
    throw source.blame(error.key, error.message, values);
  }
}

function countsOf(data: SchemaCacheData) {
  return {
    relations: data.relations.length,
    relationships: data.relationships.length,
    functions: data.routines.length,
    representations: data.representations.length,
    mediaHandlers: data.mediaHandlers.length,
  };
}
