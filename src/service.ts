/**
 * The live state of the service: configuration, schema cache, database, keys. State is replaced
 * whole; a request works on the snapshot that it began with.
 *
 * @module
 */
import type { Config } from "./config/options.ts";
import type { Database } from "./database/database.ts";
import type { Dialect } from "./dialect.ts";
import { errorFacts } from "./errors/error_response.ts";
import { ServiceError } from "./errors/service_error.ts";
import type { Observation } from "./observe/observation.ts";
import { Reloader } from "./reload.ts";
import { buildSchemaCache, schemaCacheQueries } from "./schema_cache/load.ts";
import { indexSchemaCache } from "./schema_cache/lookups.ts";
import type { SchemaCacheData } from "./schema_cache/schema_cache.ts";
import { prepareAuth, type Snapshot } from "./snapshot.ts";

/** What a service is made of. */
export interface ServiceOptions {
  readonly config: Config;
  readonly database: Database;
  readonly dialect: Dialect;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly observe: (event: Observation) => void;
}

/** A running service. */
export class Service {
  readonly database: Database;
  readonly dialect: Dialect;
  readonly now: () => number;
  readonly observe: (event: Observation) => void;
  readonly #schema: Reloader;
  #snapshot: Snapshot;
  #loads = 0;

  private constructor(options: ServiceOptions, snapshot: Snapshot) {
    this.database = options.database;
    this.dialect = options.dialect;
    this.now = options.now;
    this.observe = options.observe;
    this.#snapshot = snapshot;
    this.#schema = new Reloader({
      load: () => this.#loadSchema(),
      onRetry: (seconds) => this.observe({ kind: "retrying", seconds }),
      now: options.now,
    });
  }

  /** Prepares a service; nothing is loaded yet. Rejects when the configuration cannot be used. */
  static async create(options: ServiceOptions): Promise<Service> {
    const { config } = options;
    const auth = await prepareAuth(config);
    return new Service(options, { config, auth, cache: null, cacheError: null });
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

  /** A connection failed: tries to get the database back, unless that is under way. */
  recover(): void {
    this.#schema.recover();
  }

  /** Takes a new configuration. Rejects, and keeps the old one, when it cannot be used. */
  async reconfigure(config: Config): Promise<void> {
    const auth = await prepareAuth(config);
    this.#snapshot = { ...this.#snapshot, config, auth };
    this.observe({ kind: "config-reloaded" });
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

  /** Stops loading and closes the database. */
  async close(): Promise<void> {
    this.#schema.stop();
    await this.database.close();
  }

  async #loadSchema(): Promise<void> {
    const { config } = this.#snapshot;
    try {
      this.observe({ kind: "connecting", attempt: ++this.#loads });
      this.observe({ kind: "connected", version: await this.database.version() });
      const data = await this.#querySchema(config);
      const began = performance.now();
      const first = this.#snapshot.cache === null;
      this.#snapshot = { ...this.#snapshot, cache: indexSchemaCache(data), cacheError: null };
      const ms = performance.now() - began;
      this.observe({ kind: "schema-cache-loaded", counts: countsOf(data), ms });
      if (!first) this.database.flush();
      this.#loads = 0;
    } catch (thrown) {
      this.#schemaFailed(thrown, config);
      throw thrown;
    }
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
    this.observe({ kind: "schema-cache-queried", ms: performance.now() - began });
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

function countsOf(data: SchemaCacheData) {
  return {
    relations: data.relations.length,
    relationships: data.relationships.length,
    functions: data.routines.length,
    representations: data.representations.length,
    mediaHandlers: data.mediaHandlers.length,
  };
}
