/**
 * A handler whose service starts with the first request.
 *
 * @module
 */
import { noValues } from "../config/load.ts";
import type { ConfigSource } from "../config/source.ts";
import { openDatabase } from "../database/open.ts";
import type { Connections } from "../database/adapters/postgres.ts";
import { type Dialect, svcDialect } from "../dialect.ts";
import { errors } from "../errors/catalogue.ts";
import { refuse, type RequestInfo, serviceHandler } from "./handler.ts";
import type { Observation } from "../observe/observation.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";
import { Service } from "../service/service.ts";

/** Answers requests. It never rejects for what a request or the database does: that is a response. */
export interface Handler {
  /**
   * Answers a request. While the database cannot be reached the answer is 503 with SVC000, after
   * `close()` it is the same with the detail that the handler was closed.
   *
   * Rejects with an `Error` when the options turn out to be unusable only now: a JSON Web Key that
   * cannot be imported, a role path that is none.
   */
  (request: Request, info?: RequestInfo): Promise<Response>;
  /**
   * Resolves when requests can be answered: with the schema cache that was given, or the loaded one.
   * Rejects with an `Error` when the first attempt to load it failed, for which further ones follow
   * on their own, and after `close()`.
   */
  ready(): Promise<void>;
  /**
   * Loads the schema cache again; resolves when the attempt has ended, well or not. Rejects after
   * `close()`.
   */
  reloadSchema(): Promise<void>;
  /**
   * Reads again what the database says of the configuration (and, with `handler`, the environment);
   * resolves when it is in force. What cannot be used is reported, and the old one kept. Rejects
   * after `close()`.
   */
  reloadConfig(): Promise<void>;
  /** Ends the connections to the database when what runs on them is done. For good. */
  close(): Promise<void>;
}

/** What a handler needs beside its configuration. */
export interface Surroundings {
  readonly embeddedInit: string | null;
  readonly connections: Connections;
  readonly schemaCache: SchemaCache | null;
  /** Milliseconds. */
  readonly schemaCacheMaxAge: number;
  readonly now: () => number;
  readonly observe: (event: Observation) => void;
}

interface Started {
  readonly service: Service;
  readonly handle: ReturnType<typeof serviceHandler>;
}

/** Makes a handler; nothing is read and nobody is asked before the first request. */
export function lazyHandler(source: () => ConfigSource, surroundings: Surroundings): Handler {
  const start = starter(source, surroundings);
  let state: Started | null = null;
  let dialect: Dialect = svcDialect;
  let closed = false;
  const started = async () => {
    if (closed) throw new Error(closedText);
    const ready = await start();
    dialect = ready.service.dialect;
    if (closed) await ready.service.close();
    return state = ready;
  };
  return Object.assign(
    async (request: Request, info?: RequestInfo) => {
      if (closed) return refuse(request, errors.cannotConnect(closedText), dialect);
      const { handle } = state?.service.snapshot.cache ? state : await started();
      return await handle(request, info);
    },
    {
      ready: async () => checkReady((await started()).service),
      reloadSchema: async () => await (await started()).service.reloadSchema(),
      reloadConfig: async () => await (await started()).service.reloadConfig(),
      close: async () => {
        closed = true;
        if (state !== null) await state.service.close();
      },
    },
  );
}

const closedText = "the handler was closed";

function checkReady({ snapshot }: Service): void {
  if (snapshot.cache !== null) return;
  const { facts } = snapshot.cacheError ?? errors.noSchemaCache();
  const details = typeof facts.details === "string" ? ` (${facts.details.trim()})` : "";
  throw new Error(facts.message + details);
}

/**
 * Makes what starts the service: once for everybody; or, where work ends with the request that began
 * it, for each request that finds it not done.
 */
function starter(source: () => ConfigSource, surroundings: Surroundings): () => Promise<Started> {
  const create = () => createService(source, surroundings);
  if (surroundings.connections === "pooled") {
    let starting: Promise<Started> | null = null;
    return () => starting ??= create().then(loaded);
  }
  let made: Started | null = null;
  return async () => await loaded(made ??= await create());
}

async function loaded(started: Started): Promise<Started> {
  if (started.service.snapshot.cache === null) await started.service.reloadSchema();
  return started;
}

async function createService(
  source: () => ConfigSource,
  surroundings: Surroundings,
): Promise<Started> {
  const { embeddedInit, connections, schemaCache, schemaCacheMaxAge, now, observe } = surroundings;
  const config = source().configure(noValues);
  const applicationName = config.dialect.displayName;
  const database = await openDatabase(config, {
    embeddedInit,
    applicationName,
    connections,
  });
  const loading = connections === "pooled" ? "shared" : "unshared";
  const service = await Service.create({
    source,
    database,
    schemaCache,
    schemaCacheMaxAge,
    loading,
    now,
    observe,
  });
  if (connections === "pooled") service.listen();
  return { service, handle: serviceHandler(service, loading) };
}
