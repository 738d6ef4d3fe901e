/**
 * A REST API over a PostgreSQL database as one function from `Request` to `Response`. It needs
 * nothing of the runtime but the Fetch standard and, to reach a server, sockets: it runs in Deno,
 * Node, Bun and Cloudflare Workers, and with PostgreSQL in the process in a browser, too.
 *
 * ```ts ignore
 * import { createHandler } from "./mod.ts";
 *
 * const api = createHandler({
 *   dbUri: "postgres://authenticator:secret@localhost/shop",
 *   dbSchemas: ["api"],
 *   dbAnonRole: "web_anon",
 * });
 * const response = await api(new Request("http://localhost/items?id=eq.5"));
 * await api.close();
 * ```
 *
 * @module
 */
import { readSecret } from "./src/auth/keys.ts";
import { checkHandlerOptions, rejectFile } from "./src/config/handler_options.ts";
import type { FunctionName } from "./src/config/codecs.ts";
import type { HandlerConfig } from "./src/config/handler_config.ts";
import type { Config } from "./src/config/options.ts";
import { type ConfigSource, configSource } from "./src/config/source.ts";
import { isEmbedded } from "./src/database/open.ts";
import type { Connections } from "./src/database/adapters/postgres.ts";
import { dialects } from "./src/dialect.ts";
import type { RequestInfo } from "./src/handler/handler.ts";
import { type Handler, type HandlerDependencies, lazyHandler } from "./src/handler/lazy_handler.ts";
import type {
  FinishedRequest,
  Observation,
  ReportedError,
  SchemaCacheCounts,
} from "./src/observe/observation.ts";
import { readSchemaCache, type SchemaCacheDump } from "./src/schema_cache/dump.ts";
import type { SchemaCache } from "./src/schema_cache/schema_cache.ts";
import { version } from "./src/version.ts";

export type {
  Connections,
  FinishedRequest,
  FunctionName,
  Handler,
  HandlerConfig,
  Observation,
  ReportedError,
  RequestInfo,
  SchemaCacheCounts,
  SchemaCacheDump,
};
export { version };

/** Options of a handler: those of the configuration in camel case, and its dependencies. */
export interface HandlerOptions extends HandlerConfig {
  /**
   * Where the database is: `postgres://user:password@host/name`, `host=… user=…`, or
   * `pglite://memory` and `pglite://<folder>` for PostgreSQL in the process (in a browser:
   * `pglite://idb://<name>`). Required.
   */
  readonly dbUri: string;
  /** Exposed schemas; the first is the default. Required. */
  readonly dbSchemas: readonly string[];
  /** `pgrst` for PostgREST's spelling of the interface. Default: `"svc"`. */
  readonly dialect?: "svc" | "pgrst";
  /**
   * What tokens are verified with: a text of at least 32 bytes, a JSON Web Key or a key set as JSON.
   * Default: none, and requests with a token are answered with SVC300.
   */
  readonly jwtSecret?: string | Uint8Array | null;
  /**
   * SQL text that is applied once, when an embedded database is created. Default: none. An error
   * unless `dbUri` begins with `pglite://`.
   */
  readonly embeddedInit?: string;
  /**
   * `pooled` keeps connections for later requests; `per-request` opens them for a request and closes
   * them with it, for runtimes in which a socket cannot outlive the request. An error for embedded
   * databases. Default: `per-request` in Cloudflare Workers, `pooled` elsewhere.
   */
  readonly connections?: Connections;
  /**
   * What `--dump-schema` of the same version wrote, as `JSON.parse` gives it: requests are answered from it at once, and the catalogue is not read.
   * It is read in the background when a request names something that is not in the cache, at most
   * every ten seconds, and when `schemaCacheMaxAge` is over. Configuration and role settings in the
   * database are read then, too, and only if `dbConfig` is true, whose default is `false` here.
   * Default: none, and the first request waits for the catalogue.
   */
  readonly schemaCache?: SchemaCacheDump | null;
  /**
   * Seconds after which a request makes the schema cache be read again, in the background, counted
   * from when the handler was made or the cache was read. Default: `Infinity`.
   */
  readonly schemaCacheMaxAge?: number;
  /** The time, in epoch milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
  /** Is told what happens. Default: nobody is. */
  readonly observe?: (event: Observation) => void;
}

/**
 * Makes a handler. The database is reached with the first request, or with `ready()`.
 *
 * Raises an `Error` of one line for options that cannot be used: a required one that is missing, a
 * name that is none, a value that the option cannot have, two that contradict each other.
 *
 * ```ts
 * import { throws } from "node:assert/strict";
 *
 * throws(
 *   () => createHandler({ dbUri: "postgres://localhost/shop", dbSchemas: [] }),
 *   /^Error: dbSchemas: expected at least one schema$/,
 * );
 * ```
 */
export function createHandler(options: HandlerOptions): Handler {
  const {
    embeddedInit,
    connections,
    schemaCache,
    schemaCacheMaxAge,
    now,
    observe,
    ...configOptions
  } = options;
  const configured = configOf(configOptions, schemaCache ? "provided" : "loaded");
  checkDependencies(options);
  const source = configSource({
    file: null,
    environment: {},
    readFile: rejectFile,
    programmatic: configured,
  });
  return lazyHandler(() => source, {
    embeddedInit: embeddedInit ?? null,
    connections: connections ?? usualConnections(options.dbUri),
    schemaCache: schemaCache ? cacheOf(schemaCache) : null,
    schemaCacheMaxAge: (schemaCacheMaxAge ?? Infinity) * 1000,
    now: now ?? Date.now,
    observe: observe ?? (() => {}),
  });
}

/**
 * Answers requests as the environment variables `SVC_*` say, which are read with the first request:
 * it, and all others, reject with an `Error` when they cannot be used. After `close()`, the next
 * request reads them anew.
 */
export const handler: Handler = fromEnvironment();

function fromEnvironment(): Handler {
  let made: Handler | null = null;
  const get = () => made ??= lazyHandler(environmentSource, environmentDependencies());
  return Object.assign(
    (request: Request, info?: RequestInfo) => get()(request, info),
    {
      ready: () => get().ready(),
      reloadSchema: () => get().reloadSchema(),
      reloadConfig: () => get().reloadConfig(),
      close: async () => {
        const closing = made;
        made = null;
        await closing?.close();
      },
    },
  );
}

type Environment = Readonly<Record<string, string>>;

function environment(): Environment {
  const { process } = globalThis as { process?: { env?: Environment } };
  return { ...process?.env };
}

function environmentSource(): ConfigSource {
  return configSource({ file: null, environment: environment(), readFile: rejectFile });
}

function environmentDependencies(): HandlerDependencies {
  return {
    embeddedInit: null,
    connections: usualConnections(environment()["SVC_DB_URI"] ?? ""),
    schemaCache: null,
    schemaCacheMaxAge: Infinity,
    now: Date.now,
    observe: () => {},
  };
}

/** Cloudflare's runtime ends all sockets of a request with it. */
function usualConnections(uri: string): Connections {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  const isWorker = navigator?.userAgent === "Cloudflare-Workers";
  return isWorker && !isEmbedded(uri) ? "per-request" : "pooled";
}

type ConfigOptions = Omit<
  HandlerOptions,
  "embeddedInit" | "connections" | "schemaCache" | "schemaCacheMaxAge" | "now" | "observe"
>;

/** The options of the configuration, checked. */
function configOf(options: ConfigOptions, schemaCache: "provided" | "loaded"): Partial<Config> {
  const { dialect: dialectName = "svc", jwtSecret, ...others } = options;
  const dialect = dialects.get(dialectName);
  if (dialect === undefined) throw new Error(`dialect: expected "svc" or "pgrst"`);
  if (typeof options.dbUri !== "string" || options.dbUri === "") {
    throw new Error("dbUri: expected a connection string");
  }
  if (!Array.isArray(options.dbSchemas) || options.dbSchemas.length === 0) {
    throw new Error("dbSchemas: expected at least one schema");
  }
  if (jwtSecret instanceof Uint8Array && options.jwtSecretIsBase64) {
    throw new Error("jwtSecretIsBase64: goes with a jwtSecret that is text, not bytes");
  }
  const { dbConfig = schemaCache === "loaded" } = others;
  const config = checkHandlerOptions({ ...others, dbConfig, jwtSecret }, dialect);
  if (config.jwtSecret) readSecret(config.jwtSecret);
  return { ...config, jwtSecret: config.jwtSecret ?? null, dialect };
}

function cacheOf(dump: SchemaCacheDump): SchemaCache {
  try {
    return readSchemaCache(dump);
  } catch (cause) {
    throw new Error("schemaCache: expected what --dump-schema writes, as JSON.parse gives it", {
      cause,
    });
  }
}

function checkDependencies(options: HandlerOptions): void {
  const { dbUri, embeddedInit, connections, schemaCacheMaxAge = Infinity } = options;
  if (embeddedInit !== undefined && !isEmbedded(dbUri)) {
    throw new Error("embeddedInit: goes with a dbUri that begins with pglite://");
  }
  if (connections !== undefined && connections !== "pooled" && connections !== "per-request") {
    throw new Error('connections: expected "pooled" or "per-request"');
  }
  if (connections === "per-request" && isEmbedded(dbUri)) {
    throw new Error('connections: "per-request" goes with a server, not with pglite://');
  }
  if (!(schemaCacheMaxAge > 0)) {
    throw new Error("schemaCacheMaxAge: expected a number of seconds above 0");
  }
}
