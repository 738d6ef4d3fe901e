/**
 * A REST API over a PostgreSQL database as one function from `Request` to `Response`. It needs
 * nothing of the runtime but the Fetch standard and, to reach a server, sockets.
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
import { loadConfig } from "./src/config/load.ts";
import type { Config } from "./src/config/options.ts";
import { openDatabase } from "./src/database/open.ts";
import { svcDialect } from "./src/dialect.ts";
import { type RequestInfo, serviceHandler } from "./src/handler.ts";
import type { Observation } from "./src/observe/observation.ts";
import { Service } from "./src/service.ts";
import { version } from "./src/version.ts";

export type { Config, Observation, RequestInfo };
export { version };

/** What a handler is made with: options of the configuration in camel case, and its surroundings. */
export interface HandlerOptions extends Partial<Omit<Config, "dbUri" | "dbSchemas" | "jwtSecret">> {
  /** `postgres://…`, `host=… user=…`, or `pglite://memory` for PostgreSQL in the process. */
  readonly dbUri: string;
  /** Exposed schemas; the first is the default. */
  readonly dbSchemas: readonly string[];
  /** Text of at least 32 bytes, a JWK or a JWK set. Without it no token is accepted. */
  readonly jwtSecret?: string | Uint8Array | null;
  /** SQL text that is applied once, when an embedded database is created. */
  readonly embeddedInit?: string;
  /** The time, in epoch milliseconds. By default the system's clock. */
  readonly now?: () => number;
  /** Is told what happens; by default nobody is. */
  readonly observe?: (event: Observation) => void;
}

/** Answers requests. It never rejects: what goes wrong is a response. */
export interface Handler {
  (request: Request, info?: RequestInfo): Promise<Response>;
  /** Resolves when the first attempt to load the schema cache has ended, well or not. */
  ready(): Promise<void>;
  /** Loads the schema cache again; resolves when the attempt has ended, well or not. */
  reloadSchema(): Promise<void>;
  /** Ends the connections to the database. Requests are answered with 503 from then on. */
  close(): Promise<void>;
}

/**
 * Makes a handler. The database is reached with the first request, or with `ready()`.
 *
 * Raises an `Error` for options that cannot be used.
 */
export function createHandler(options: HandlerOptions): Handler {
  const { embeddedInit, now = Date.now, observe = () => {}, jwtSecret, ...given } = options;
  const secret = typeof jwtSecret === "string" ? new TextEncoder().encode(jwtSecret) : jwtSecret;
  const config: Config = { ...defaults(options), ...given, jwtSecret: secret ?? null };
  return lazyHandler(config, { embeddedInit: embeddedInit ?? null, now, observe });
}

/** Answers requests as the environment variables `SVC_*` say; they are read with the first one. */
export const handler: Handler = fromEnvironment();

function fromEnvironment(): Handler {
  let made: Handler | null = null;
  const get = () => made ??= lazyHandler(environmentConfig(), surroundings());
  return Object.assign(
    (request: Request, info?: RequestInfo) => get()(request, info),
    {
      ready: () => get().ready(),
      reloadSchema: () => get().reloadSchema(),
      close: () => made?.close() ?? Promise.resolve(),
    },
  );
}

interface Surroundings {
  readonly embeddedInit: string | null;
  readonly now: () => number;
  readonly observe: (event: Observation) => void;
}

function surroundings(): Surroundings {
  return { embeddedInit: null, now: Date.now, observe: () => {} };
}

function environmentConfig(): Config {
  const { process } = globalThis as { process?: { env?: Record<string, string> } };
  return loadConfig({ file: null, environment: { ...process?.env }, readFile: refuseFile });
}

/** The defaults of everything that is not given. */
function defaults({ dbUri, dbSchemas }: HandlerOptions): Config {
  const environment = { SVC_DB_URI: dbUri, SVC_DB_SCHEMAS: dbSchemas.join(",") };
  return loadConfig({ file: null, environment, readFile: refuseFile });
}

function refuseFile(path: string): never {
  throw new Error(`files cannot be read here: give the content of ${path} instead`);
}

function lazyHandler(config: Config, { embeddedInit, now, observe }: Surroundings): Handler {
  let starting: Promise<Service> | null = null;
  let handle: ReturnType<typeof serviceHandler> | null = null;
  const start = async () => {
    const applicationName = svcDialect.displayName;
    const database = await openDatabase(config, { embeddedInit, applicationName, now });
    const service = await Service.create({ config, database, dialect: svcDialect, now, observe });
    await service.reloadSchema();
    handle = serviceHandler(service);
    return service;
  };
  const started = () => starting ??= start();
  return Object.assign(
    async (request: Request, info?: RequestInfo) => {
      if (handle === null) await started();
      return await handle!(request, info);
    },
    {
      ready: async () => void await started(),
      reloadSchema: async () => (await started()).reloadSchema(),
      close: async () => (await starting)?.close(),
    },
  );
}
