/**
 * A REST API over a PostgreSQL database as one function from `Request` to `Response`. It needs the
 * Fetch standard and, to connect to a server, sockets. It runs in Deno, Node, Bun and Cloudflare
 * Workers, and with embedded PostgreSQL also in a browser.
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
import type { Fetch } from "./src/state/auth/fetch_document.ts";
import { readSecret } from "./src/state/auth/keys.ts";
import { checkHandlerOptions, rejectFile } from "./src/state/config/handler_options.ts";
import type { ApiKey } from "./src/state/config/api_keys.ts";
import type { FunctionName, TableName } from "./src/state/config/codecs.ts";
import type { JwtIssuer } from "./src/state/config/jwt_issuers.ts";
import type { HandlerConfig } from "./src/process/handler_config.ts";
import type { Config } from "./src/state/config/options.ts";
import { type ConfigSource, configSource } from "./src/state/config/source.ts";
import { isEmbedded } from "./src/database/open.ts";
import type { Connections } from "./src/database/database.ts";
import { dialects } from "./src/base/dialect.ts";
import type { RequestInfo } from "./src/api/handler/handler.ts";
import { type Handler, type HandlerDependencies, lazyHandler } from "./src/api/lazy_handler.ts";
import { loadMcp, mcpWing } from "./src/wings/mcp/mcp_host.ts";
import { liveWing } from "./src/wings/live/live_host.ts";
import { liveOptions } from "./src/wings/live/live_options.ts";
import { mcpOptions } from "./src/wings/mcp/mcp_options.ts";
import { type ExtensibleHandler, mcpExtension } from "./src/wings/mcp/mcp_port.ts";
import { openOperations } from "./src/wings/operations/guard.ts";
import { operationOptions } from "./src/wings/operations/operation_options.ts";
import type { FinishedRequest, Observation } from "./src/base/observe/observation.ts";
import type { ReportedError } from "./src/base/observe/diagnostic_row.ts";
import type { SchemaCacheCounts } from "./src/base/observe/diagnostics.ts";
import { readSchemaCache, type SchemaCacheDump } from "./src/state/schema_cache/dump.ts";
import type { SchemaCache } from "./src/state/schema_cache/schema_cache.ts";
import {
  type ResolvedTenant,
  type TenantHandler,
  tenantHandler,
} from "./src/wings/tenants/create_tenant_handler.ts";
import { version } from "./src/base/version.ts";

export type {
  ApiKey,
  Connections,
  Fetch,
  FinishedRequest,
  FunctionName,
  Handler,
  HandlerConfig,
  JwtIssuer,
  Observation,
  ReportedError,
  RequestInfo,
  ResolvedTenant,
  SchemaCacheCounts,
  SchemaCacheDump,
  TableName,
  TenantHandler,
};
export { version };

const wingOptions = { ...liveOptions, ...mcpOptions, ...operationOptions };

/** The wing without its commands, which need files. */
const operationsWing = { name: "operations", openGuard: openOperations };

/** Options of a handler: options of the configuration in camel case, and dependencies. */
export interface HandlerOptions extends HandlerConfig {
  /**
   * Where the database is: `postgres://user:password@host/name`, `host=… user=…`, or
   * `pglite://memory` and `pglite://<folder>` for PostgreSQL in the process (in a browser:
   * `pglite://idb://<name>`). Required.
   */
  readonly dbUri: string;
  /** Exposed schemas; the first is the default. Required. */
  readonly dbSchemas: readonly string[];
  /** Dialect of the interface; `pgrst` is the dialect of PostgREST. Default: `"svc"`. */
  readonly dialect?: "svc" | "pgrst";
  /**
   * Secret that verifies tokens: a text of at least 32 bytes, a JSON Web Key or a key set as JSON.
   * Default: none, and requests with a token fail with SVC300.
   */
  readonly jwtSecret?: string | Uint8Array | null;
  /**
   * SQL text to run once, when the handler creates an embedded database. `dbUri` must then begin with
   * `pglite://`. Default: none.
   */
  readonly embeddedInit?: string;
  /**
   * Extensions of PGlite that an embedded database loads, such as `{ vector }` of
   * `@electric-sql/pglite-pgvector`. `dbUri` must then begin with `pglite://`. Default: none.
   */
  readonly embeddedExtensions?: Readonly<Record<string, object>>;
  /**
   * `pooled` keeps connections for later requests. `per-request` opens and closes them with each
   * request, for runtimes in which a socket cannot outlive the request. Embedded databases do not
   * accept the option. Default: `per-request` in Cloudflare Workers, `pooled` elsewhere.
   */
  readonly connections?: Connections;
  /**
   * Output of `--dump-schema` of the same version, parsed by `JSON.parse`. The handler responds from it
   * at once, without reading the catalogue.
   *
   * The handler reloads the schema cache in the background when a request names a missing object, at
   * most every ten seconds, and after `schemaCacheMaxAge`. Each reload also reads configuration and
   * role settings in the database if `dbConfig` is true. With `schemaCache`, `dbConfig` defaults to
   * `false`.
   *
   * Default: none, and the first request waits for the catalogue.
   */
  readonly schemaCache?: SchemaCacheDump | null;
  /**
   * Maximum age of the schema cache in seconds, from the creation of the handler or the last load. A
   * later request triggers a load in the background. Default: `Infinity`.
   */
  readonly schemaCacheMaxAge?: number;
  /** The time, in epoch milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
  /** Receives the events of the handler. Default: the handler discards them. */
  readonly observe?: (event: Observation) => void;
  /** Fetches the keys of issuers. Default: the runtime's `fetch`. */
  readonly fetch?: Fetch;
}

/**
 * Creates a handler. It connects to the database with the first request, or with `ready()`.
 *
 * Throws a one-line `Error` for a missing required option, an unknown name, an invalid value, and
 * options that contradict each other.
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
  return makeHandler(options, null);
}

/** Creates the handler of a tenant. `tenant` is null for a handler without tenants. */
function makeHandler(options: HandlerOptions, tenant: string | null): Handler {
  const {
    embeddedInit,
    embeddedExtensions,
    connections,
    schemaCache,
    schemaCacheMaxAge = Infinity,
    now,
    observe,
    fetch: fetchKeys,
    ...configOptions
  } = options;
  const configure = (added: Readonly<Record<string, unknown>>) =>
    configOf({ ...configOptions, ...added }, schemaCache ? "provided" : "loaded");
  let programmatic = configure({});
  let load = loadMcp;
  let source: ConfigSource | null = null;
  checkDependencies(options);
  const start = () =>
    source ??= configSource({
      file: null,
      environment: {},
      readFile: rejectFile,
      programmatic,
      wingOptions,
    });
  const handler = lazyHandler(start, {
    embeddedInit,
    embeddedExtensions,
    connections: connections ?? usualConnections(options.dbUri),
    schemaCache: schemaCache ? cacheOf(schemaCache) : null,
    schemaCacheMaxAge: schemaCacheMaxAge * 1000,
    now,
    observe,
    fetch: fetchKeys,
    wings: [mcpWing(() => load()), liveWing, operationsWing],
    tenant: tenant === null ? null : { name: tenant, claimOf: null },
  });
  const extension: ExtensibleHandler = {
    [mcpExtension]: (loadModule, added) => {
      if (source !== null) throw new Error("withMcp: the handler has started");
      programmatic = configure(added);
      load = loadModule;
    },
  };
  return Object.assign(handler, extension);
}

/** Options of {@linkcode createTenantHandler}. */
export interface TenantHandlerOptions {
  /** Returns the tenant of a request; null if it has no tenant. Called with each request. */
  readonly resolve: (
    request: Request,
  ) => ResolvedTenant<HandlerOptions> | null | Promise<ResolvedTenant<HandlerOptions> | null>;
  /** Maximum number of open tenants. If it is reached, the least recently used one closes. Default: 100. */
  readonly max?: number;
}

/**
 * Creates a handler of many tenants. Each tenant has a separate handler with separate database, keys
 * and caches. The first request of a tenant creates its handler.
 *
 * ```ts ignore
 * const api = createTenantHandler({
 *   resolve: (request) => {
 *     const dbUri = databases.get(new URL(request.url).hostname);
 *     return dbUri === undefined ? null : { name, options: () => ({ dbUri, dbSchemas: ["api"] }) };
 *   },
 * });
 * ```
 */
export function createTenantHandler({ resolve, max = 100 }: TenantHandlerOptions): TenantHandler {
  return tenantHandler({ resolve, max, create: makeHandler });
}

/**
 * A handler that the environment variables `SVC_*` configure. The first request reads them. If they
 * are invalid, each request rejects with an `Error`. After `close()`, the next request reads them
 * again.
 */
export const handler: Handler = fromEnvironment();

function fromEnvironment(): Handler {
  let created: Handler | null = null;
  const get = () => created ??= lazyHandler(environmentSource, environmentDependencies());
  return Object.assign(
    (request: Request, info?: RequestInfo) => get()(request, info),
    {
      ready: () => get().ready(),
      reloadSchema: () => get().reloadSchema(),
      reloadConfig: () => get().reloadConfig(),
      close: async () => {
        const closing = created;
        created = null;
        await closing?.close();
      },
    },
  );
}

function environment(): Readonly<Record<string, string>> {
  const { process } = globalThis as { process?: { env?: Record<string, string> } };
  return { ...process?.env };
}

function environmentSource(): ConfigSource {
  return configSource({
    file: null,
    environment: environment(),
    readFile: rejectFile,
    wingOptions,
  });
}

function environmentDependencies(): HandlerDependencies {
  const connections = usualConnections(environment()["SVC_DB_URI"] ?? "");
  return { connections, wings: [mcpWing(), liveWing, operationsWing] };
}

/** Returns the default of `connections`. Cloudflare Workers close sockets with their request. */
function usualConnections(uri: string): Connections {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  const isWorker = navigator?.userAgent === "Cloudflare-Workers";
  return isWorker && !isEmbedded(uri) ? "per-request" : "pooled";
}

type ConfigOptions = Omit<
  HandlerOptions,
  | "embeddedInit"
  | "embeddedExtensions"
  | "connections"
  | "schemaCache"
  | "schemaCacheMaxAge"
  | "now"
  | "observe"
  | "fetch"
>;

/** Checks the options of the configuration. Throws for an invalid one. */
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
  const config = checkHandlerOptions({ ...others, dbConfig, jwtSecret }, { dialect, wingOptions });
  if (config.jwtSecret) readSecret(config.jwtSecret);
  return { ...config, jwtSecret: config.jwtSecret ?? null, dialect };
}

function cacheOf(dump: SchemaCacheDump): SchemaCache {
  try {
    return readSchemaCache(dump);
  } catch (cause) {
    throw new Error("schemaCache: expected the output of --dump-schema, parsed by JSON.parse", {
      cause,
    });
  }
}

function checkDependencies(options: HandlerOptions): void {
  const { dbUri, connections, schemaCacheMaxAge = Infinity } = options;
  for (const name of ["embeddedInit", "embeddedExtensions"] as const) {
    if (options[name] !== undefined && !isEmbedded(dbUri)) {
      throw new Error(`${name}: goes with a dbUri that begins with pglite://`);
    }
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
