/** Loads the schema cache, and with it the configuration if this is necessary. Reports each load. @module */
import type { Config } from "../config/options.ts";
import { isConnectionLost } from "../../database/failure.ts";
import { errorMembers } from "../../base/errors/error_response.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import { collectGarbage } from "../../base/lib/garbage.ts";
import { inSlices } from "../../base/lib/slices.ts";
import { withTimeout } from "../../base/lib/time_limits.ts";
import type { Counter } from "../../base/observe/metric_registry.ts";
import { indexSchemaCache } from "../schema_cache/lookups.ts";
import { schemaChunks } from "../schema_cache/schema_chunks.ts";
import type { SchemaCache, SchemaCacheData } from "../schema_cache/schema_cache.ts";
import type { AppConfiguration, LoadedConfig } from "./app_configuration.ts";
import type { AppStateBase } from "./app_state_base.ts";
import type { AppStateOptions } from "./app_state_options.ts";
import { hasManyRows, type MetadataReader, type SchemaReading } from "./metadata_reader.ts";
import type { ReloadNotifications } from "./reload_notifications.ts";
import type { SchemaWatch } from "./schema_watch.ts";
import {
  isLockTimeout,
  isMissingSchema,
  readFilledSchemas,
  type ServerCheck,
} from "./server_check.ts";
import { unusedStandbysReason } from "./standby_reads.ts";

interface SchemaLoaderParts {
  readonly state: AppStateBase;
  readonly options: Pick<
    AppStateOptions,
    "followers" | "hidesExtensionFunctions" | "missingCacheDetail"
  >;
  readonly configuration: AppConfiguration;
  readonly metadata: MetadataReader;
  readonly notifications: Pick<ReloadNotifications, "retryNow">;
  readonly server: ServerCheck;
  /** Polls the schema; null if no connection outlives its request. */
  readonly watch: SchemaWatch | null;
  /** Called after each load of a cache. The first load waits for the returned promise. */
  readonly onLoaded: () => Promise<void>;
}

/** Results of the last load; the numbers are null before it. */
interface LastLoad {
  /** Whether the load has reached the database, even if it failed. */
  isReached: boolean;
  /** Duration of the queries. */
  querySeconds: number | null;
  /** Number of schemas that do not exist. */
  missingSchemas: number | null;
}

/** Maximum milliseconds that a load waits for the listening connection. */
const listenTimeoutMs = 1000;

export class SchemaLoader {
  readonly #parts: SchemaLoaderParts;
  readonly #state: AppStateBase;
  /** Counts the finished loads. */
  readonly #loads: Counter;
  #attempts = 0;
  #isConnecting = false;
  #isConfigDue = false;
  readonly #last: LastLoad = { isReached: true, querySeconds: null, missingSchemas: null };
  #chunks: readonly string[] | null = null;

  constructor(parts: SchemaLoaderParts) {
    this.#parts = parts;
    this.#state = parts.state;
    this.#loads = parts.state.metricRegistry.counter({
      name: "schema_cache_loads_total",
      help: "The total number of times the schema cache was loaded",
      labels: ["status"],
    });
  }

  /** Whether a load is in progress that has not begun to read the catalogue. */
  get isConnecting(): boolean {
    return this.#isConnecting;
  }

  get last(): Readonly<LastLoad> {
    return this.#last;
  }

  /** The schema cache as JSON texts for followers; null without followers. */
  get chunks(): readonly string[] | null {
    return this.#chunks;
  }

  /**
   * Makes the next load also read the configuration, because its validity depends on the catalogue.
   */
  requireConfig(): void {
    this.#isConfigDue = true;
  }

  /** Loads the schema cache, and the configuration if a part of it is in the database. */
  async load(): Promise<void> {
    const { configuration } = this.#parts;
    const state = this.#state;
    const isFirst = state.snapshot.cache === null;
    let config = state.snapshot.config;
    let read: LoadedConfig | null = null;
    let version: string | null = null;
    try {
      state.observe({ kind: "connecting", attempt: ++this.#attempts });
      version = await this.#connect();
      config = state.snapshot.config;
      if (config.dbConfig || this.#isConfigDue) read = await configuration.tryRead(version);
      config = read?.state.config ?? config;
      await this.#loadFor(config, read).catch((thrown) => this.#refuseConfig(read, thrown));
      this.#isConfigDue = false;
      this.#last.isReached = true;
    } catch (thrown) {
      this.#last.isReached = isLockTimeout(thrown) || version !== null && !isConnectionLost(thrown);
      if (read !== null) {
        if (configuration.needsLoad(read)) this.#isConfigDue = true;
        else configuration.apply(read);
      }
      await this.#reportFailedLoad(thrown, { config, isFirst });
      throw thrown;
    }
  }

  /** Reads the catalogue for a command that serves nothing. Reports and rejects if that fails. */
  async readOnce(config: Config): Promise<SchemaCacheData> {
    try {
      const { data, ms } = await this.#read(config);
      this.#state.observe({ kind: "schema-cache-queried", ms });
      return data;
    } catch (thrown) {
      this.#reportFailure(thrown, config);
      throw new Error("the schema cache cannot be loaded");
    }
  }

  #read(config: Config): Promise<SchemaReading> {
    const { metadata, options: { hidesExtensionFunctions = false } } = this.#parts;
    return metadata.readSchema({ ...config, hidesExtensionFunctions });
  }

  /** Connects and listens before a load, so that the load includes changes without a notification. */
  async #connect(): Promise<string> {
    const { notifications, server } = this.#parts;
    this.#isConnecting = true;
    try {
      const version = await server.run();
      await withTimeout(listenTimeoutMs, notifications.retryNow());
      return version;
    } finally {
      this.#isConnecting = false;
    }
  }

  async #loadFor(config: Config, read: LoadedConfig | null): Promise<void> {
    const { configuration, onLoaded, options, watch } = this.#parts;
    const state = this.#state;
    const isFirst = state.snapshot.cache === null;
    const recordWatchedState = await watch?.beforeLoad(config);
    const reading = await this.#read(config);
    this.#last.querySeconds = reading.ms / 1000;
    this.#last.missingSchemas = reading.missingSchemas.length;
    for (const schema of reading.missingSchemas) {
      state.observe({ kind: "schema-not-found", schema });
    }
    const began = performance.now();
    const cache = indexSchemaCache(reading.data);
    const hasFollowers = options.followers !== undefined;
    const chunks = hasFollowers ? await inSlices(schemaChunks(cache.data)) : null;
    if (read !== null && configuration.needsLoad(read) && !configuration.accepts(read)) return;
    // Both change at once, so that no request combines a new configuration with an old cache.
    this.#chunks = chunks;
    state.replace({ cache, cacheLoadedAt: state.now(), cacheError: null });
    if (hasManyRows([cache.data.relations])) collectGarbage();
    if (read !== null) configuration.apply(read);
    recordWatchedState?.();
    this.#reportLoad(cache, reading, performance.now() - began);
    if (!isFirst || state.dialect.poolFlush === "every load") state.database.pool?.flush();
    const loaded = onLoaded();
    if (isFirst) await loaded;
  }

  /** Reports that a new configuration has no schema cache, and loads the previous one's cache. */
  #refuseConfig(read: LoadedConfig | null, thrown: unknown): Promise<void> {
    const { configuration } = this.#parts;
    if (read === null || !configuration.needsLoad(read) || !isMissingSchema(thrown)) throw thrown;
    const problem = errorMembers(thrown, this.#state.dialect).message;
    configuration.reportInvalid(read.makeOptionError("db-schemas", problem));
    return this.#loadFor(this.#state.snapshot.config, null);
  }

  /** Reports a load. `ms` is the time to build the index. */
  #reportLoad(cache: SchemaCache, { ms: queryMs, timings }: SchemaReading, ms: number): void {
    const { observe } = this.#state;
    observe({ kind: "schema-cache-queried", ms: queryMs });
    if (timings !== null) observe({ kind: "schema-cache-timings", timings });
    observe({ kind: "schema-cache-loaded", counts: cacheCounts(cache.data), ms });
    for (const problem of cache.data.declarationProblems ?? []) {
      observe({ kind: "declared-key-ignored", problem });
    }
    this.#reportUnusedStandbys(cache);
    this.#attempts = 0;
    this.#loads.increment("SUCCESS");
  }

  #reportUnusedStandbys(cache: SchemaCache): void {
    const { database, snapshot } = this.#state;
    if (database.standbys === undefined) return;
    const reason = unusedStandbysReason(snapshot.config, cache);
    if (reason !== null) this.#state.observeFinding({ kind: "standbys-unused", reason });
  }

  async #reportFailedLoad(
    thrown: unknown,
    { config, isFirst }: { readonly config: Config; readonly isFirst: boolean },
  ): Promise<void> {
    const { database, failurePolicy, observe } = this.#state;
    this.#loads.increment("FAIL");
    if (isLockTimeout(thrown)) {
      const blockers = await this.#parts.metadata.readBlockers().catch(() => []);
      for (const blocker of blockers) observe({ kind: "schema-cache-blocked", blocker });
    }
    this.#reportFailure(thrown, config);
    if (isFirst && isMissingSchema(thrown)) {
      await failurePolicy.exitOnMissingSchema(() => readFilledSchemas(database));
    }
  }

  #reportFailure(thrown: unknown, config: Config): void {
    const { dialect, failurePolicy, observe } = this.#state;
    const isSent = thrown instanceof ServiceError &&
      this.#parts.options.missingCacheDetail !== "none";
    this.#state.replace({ cacheError: isSent ? thrown : null });
    if (failurePolicy.isEnding || failurePolicy.exitOnLoginRefused(thrown)) return;
    if (failurePolicy.exitOnSyntaxError(thrown)) return;
    observe({
      kind: "schema-cache-failed",
      schemas: config.dbSchemas,
      extraSearchPath: config.dbExtraSearchPath,
      error: errorMembers(thrown, dialect),
    });
    failurePolicy.exitOnFatal(thrown);
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
