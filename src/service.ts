/**
 * The live state of the service: configuration, schema cache, database, keys. State is replaced
 * whole; a request works on the snapshot that it began with.
 *
 * @module
 */
import { AuthSettingError } from "./auth/setting_error.ts";
import {
  configStatements,
  readRoles,
  readValues,
  type RoleDefaultsByRole,
  roleStatement,
} from "./config/in_database.ts";
import { type DatabaseValues, keepFixed } from "./config/load.ts";
import type { Config } from "./config/options.ts";
import { type ConfigSource, noValues } from "./config/source.ts";
import type { Database, Statement } from "./database/database.ts";
import type { Dialect } from "./dialect.ts";
import { errorFacts } from "./errors/error_response.ts";
import { ServiceError } from "./errors/service_error.ts";
import { Freshness } from "./freshness.ts";
import type { Figures } from "./observe/metrics.ts";
import type { Observation } from "./observe/observation.ts";
import { type Loading, Reloader, unsharedLoading } from "./reload.ts";
import { buildSchemaCache, schemaCacheQueries } from "./schema_cache/load.ts";
import { indexSchemaCache } from "./schema_cache/lookups.ts";
import type { SchemaCache, SchemaCacheData } from "./schema_cache/schema_cache.ts";
import { type AuthState, prepareAuth, type Snapshot } from "./snapshot.ts";

/** What a service is made of. */
export interface ServiceOptions {
  /** Reads the configuration's sources anew. What it raises is told to people as it is. */
  readonly source: () => ConfigSource;
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
}

/** A running service. */
export class Service {
  readonly database: Database;
  readonly dialect: Dialect;
  readonly now: () => number;
  readonly observe: (event: Observation) => void;
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
  /** Counts readings of the configuration: of two at once the later one counts. */
  #readings = 0;

  private constructor(options: ServiceOptions, snapshot: Snapshot) {
    this.#source = options.source;
    this.#first = snapshot.config;
    this.database = options.database;
    this.dialect = snapshot.config.dialect;
    this.now = options.now;
    this.observe = options.observe;
    this.#snapshot = snapshot;
    const load = () => this.#loadSchema();
    this.#schema = options.loading === "unshared" ? unsharedLoading(load) : new Reloader({
      load,
      onRetry: (seconds) => this.observe({ kind: "retrying", seconds }),
      now: options.now,
    });
    this.#freshness = new Freshness({
      given: snapshot.cache !== null,
      maxAge: options.schemaCacheMaxAge ?? Infinity,
      now: options.now,
    });
  }

  /** Prepares a service; nothing is loaded yet. Rejects when the configuration cannot be used. */
  static async create(options: ServiceOptions): Promise<Service> {
    const source = options.source();
    const config = source.configure(noValues);
    const auth = await preparedAuth(config, null, { source, values: noValues });
    const roles: RoleDefaultsByRole = new Map();
    const cache = options.schemaCache ?? null;
    const service = new Service(options, { config, auth, roles, cache, cacheError: null });
    service.#warn();
    return service;
  }

  /** The state as it is now. */
  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** Whole seconds until the next attempt to reach the database. */
  retryAfter(): number {
    return this.#schema.secondsLeft();
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

  /** A connection failed: tries to get the database back, unless that is under way. */
  recover(): void {
    this.#schema.recover();
  }

  /**
   * Reads the configuration again, that of the database included; resolves when it is in force. What
   * cannot be used is reported, and the old one kept.
   */
  async reloadConfig(): Promise<void> {
    const read = await this.#tryReading();
    if (read !== null) this.#configured(read);
  }

  /**
   * Reads the configuration once, without serving; rejects when it cannot be used. That the database
   * cannot be asked is reported.
   */
  async readConfig(): Promise<Config> {
    return (await this.#readConfig()).config;
  }

  /** Reads configuration and schema once, without serving; null for a failure, which is reported. */
  async readSchema(): Promise<SchemaCacheData | null> {
    const { config } = await this.#readConfig();
    try {
      return await this.#querySchema(config);
    } catch (thrown) {
      this.#schemaFailed(thrown, config);
      return null;
    }
  }

  /** Whether requests can be answered from the database at present. */
  async isReady(): Promise<boolean> {
    if (this.#snapshot.cache === null || this.#schema.failing) return false;
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
    await this.database.close();
  }

  async #loadSchema(): Promise<void> {
    const first = this.#snapshot.cache === null;
    let config = this.#snapshot.config;
    let read: ReadConfiguration | null = null;
    try {
      this.observe({ kind: "connecting", attempt: ++this.#loads });
      this.observe({ kind: "connected", version: await this.database.version() });
      if (config.dbConfig) read = await this.#tryReading();
      config = read?.config ?? config;
      const data = await this.#querySchema(config);
      const began = performance.now();
      const cache = indexSchemaCache(data);
      // Both at once, so that no request sees the one without the other.
      if (read !== null) this.#configured(read, first ? "start" : "reload");
      this.#snapshot = { ...this.#snapshot, cache, cacheError: null };
      this.#freshness.renewed();
      const ms = performance.now() - began;
      this.observe({ kind: "schema-cache-loaded", counts: countsOf(data), ms });
      if (!first) this.database.flush();
      this.#loads = 0;
      this.#ended.success++;
    } catch (thrown) {
      if (read !== null) this.#configured(read, first ? "start" : "reload");
      this.#ended.fail++;
      this.#schemaFailed(thrown, config);
      throw thrown;
    }
  }

  /** Reads the configuration; null when it cannot be used, which is reported. */
  async #tryReading(): Promise<ReadConfiguration | null> {
    try {
      return await this.#readConfig();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.observe({ kind: "config-reload-failed", message });
      return null;
    }
  }

  async #readConfig(): Promise<ReadConfiguration> {
    const reading = ++this.#readings;
    const source = this.#source();
    // Whether the database is asked, and by which function, is what it was told before.
    const known = keepFixed(source.configure(this.#values), this.#first);
    const { values, roles } = known.dbConfig
      ? { values: await this.#queryValues(known), roles: await this.#queryRoles() }
      : { values: noValues, roles: new Map() };
    const config = keepFixed(source.configure(values), this.#first);
    const auth = await preparedAuth(config, this.#snapshot, { source, values });
    return { reading, config, values, roles, auth };
  }

  #configured(
    { reading, config, values, roles, auth }: ReadConfiguration,
    occasion: "start" | "reload" = "reload",
  ): void {
    if (reading !== this.#readings) return;
    this.#values = values;
    this.#snapshot = { ...this.#snapshot, config, auth, roles };
    if (occasion === "start") return;
    this.observe({ kind: "config-reloaded" });
    this.#warn();
  }

  #warn(): void {
    const { rolePath } = this.#snapshot.auth;
    if (rolePath.deprecated) this.observe({ kind: "old-role-path", path: rolePath.text });
  }

  async #queryValues(config: Config): Promise<DatabaseValues> {
    try {
      return readValues(await this.#ask(configStatements(config)));
    } catch (thrown) {
      const error = errorFacts(thrown, this.dialect);
      this.observe({ kind: "database-config-failed", what: "configuration", error });
      return noValues;
    }
  }

  async #queryRoles(): Promise<RoleDefaultsByRole> {
    try {
      return readRoles(await this.#ask([roleStatement(await this.database.version())]));
    } catch (thrown) {
      const error = errorFacts(thrown, this.dialect);
      this.observe({ kind: "database-config-failed", what: "roles", error });
      return new Map();
    }
  }

  /** Gives the only value of the last statement; what the statements set is forgotten. */
  async #ask(statements: readonly Statement[]): Promise<string> {
    const { rows } = await this.database.transaction({
      access: "read only",
      isolation: "read committed",
      statements,
      end: "rollback",
      stream: false,
    });
    return rows.at(-1)?.[0]?.[0] ?? "";
  }

  async #querySchema(config: Config): Promise<SchemaCacheData> {
    const began = performance.now();
    const { rows } = await this.database.transaction({
      access: "read only",
      isolation: "read committed",
      statements: schemaCacheQueries(config).map(({ text, params }) => ({
        text,
        params,
        use: "rows",
      })),
      end: "commit",
      stream: false,
    });
    const data = buildSchemaCache(rows.map((answer) => answer[0]?.[0] ?? ""), config);
    const ms = performance.now() - began;
    this.#querySeconds = ms / 1000;
    this.observe({ kind: "schema-cache-queried", ms });
    return data;
  }

  #schemaFailed(thrown: unknown, config: Config): void {
    const unreachable = thrown instanceof ServiceError;
    this.#snapshot = { ...this.#snapshot, cacheError: unreachable ? thrown : null };
    const error = errorFacts(thrown, this.dialect);
    if (unreachable) return this.observe({ kind: "connect-failed", error });
    this.observe({
      kind: "schema-cache-failed",
      schemas: config.dbSchemas,
      extraSearchPath: config.dbExtraSearchPath,
      error,
    });
  }
}

/** A configuration that was read and waits to be used. */
interface ReadConfiguration extends Pick<Snapshot, "config" | "auth" | "roles"> {
  readonly reading: number;
  readonly values: DatabaseValues;
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
