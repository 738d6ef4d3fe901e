/**
 * PostgreSQL in the process: PGlite, one session, requests queue. Takes the same frames as a socket.
 *
 * @module
 */
import type { PGlite, PGliteOptions } from "@electric-sql/pglite";
import { systemClock } from "../../lib/clock.ts";
import { DatabaseError } from "../../errors/service_error.ts";
import { type ParamValue, quoteIdent } from "../../sql/fragment.ts";
import {
  type Batch,
  connectionSetup,
  type Database,
  type SubscriptionEvents,
} from "../database.ts";
import { nestsDeeper } from "./nesting.ts";
import { createPool } from "../pool/pool.ts";
import type { Transport, TransportEvents } from "../transport.ts";
import { concat } from "../protocol/decoder.ts";

/** How to open an embedded database. */
export interface EmbeddedOptions {
  /** `pglite://memory`, `pglite://<folder>`, or with another scheme of PGlite (`pglite://idb://x`). */
  readonly uri: string;
  /** SQL text applied once, when the database is created, in one transaction. */
  readonly init: string | null;
  /** Seconds that a request waits for its turn. */
  readonly acquisitionTimeoutSeconds: number;
  readonly prepare: boolean;
  /** Further options of PGlite: extensions, a data folder to load. */
  readonly pglite?: PGliteOptions;
}

const preparedLimit = 500;

/**
 * Opens an embedded database. It starts with the first use, or now with `version()`.
 * What goes wrong while starting is answered as `cannotConnect` and tried again at the next use.
 */
export function openEmbedded(options: EmbeddedOptions): Database {
  const engine = new Engine(options);
  const pool = createPool({
    max: 1,
    acquisitionTimeoutMs: options.acquisitionTimeoutSeconds * 1000,
    maxIdleTimeMs: Infinity,
    maxLifetimeMs: Infinity,
    prepare: options.prepare,
    preparedLimit,
    setup: connectionSetup,
    clock: systemClock,
    connect: () => engine.connect(),
  });
  return {
    async transaction(batch, caller) {
      rejectDeepValues(batch);
      return await pool.transaction(batch, caller);
    },
    version: () => pool.version(),
    flush: () => pool.flush(),
    counts: () => pool.counts(),
    watch: (watcher) => pool.watch(watcher),
    subscribe: async (channel, events) => {
      const version = await pool.version();
      return { version, place: options.uri, close: await engine.subscribe(channel, events) };
    },
    close: () => pool.close().then(() => engine.close()),
  };
}

/** The engine reads nested values by recursion, and a stack that overflows ends it for everybody. */
const maxNesting = 4000;

/** Raises what PostgreSQL raises where it guards its own stack. */
function rejectDeepValues({ statements }: Batch): void {
  const deep = (value: ParamValue) => nestsDeeper(value, maxNesting);
  const statement = statements.findIndex(({ params }) => params.some(deep));
  if (statement === -1) return;
  const message = "stack depth limit exceeded";
  throw new DatabaseError({ sqlstate: "54001", message, detail: null, hint: null }, statement);
}

/** The engine outlives the sessions on it: data in memory are gone when it is closed. */
class Engine {
  readonly #options: EmbeddedOptions;
  #engine: PGlite | null = null;
  /** What is listened to; a new session on the engine has to begin with it anew. */
  #channel: string | null = null;

  constructor(options: EmbeddedOptions) {
    this.#options = options;
  }

  async connect(): Promise<Transport> {
    if (this.#engine === null) {
      this.#engine = await start(this.#options);
    } else {
      await this.#engine.exec("rollback");
      await this.#engine.exec("discard all");
    }
    if (this.#channel !== null) await this.#engine.exec(listenText(this.#channel));
    return new EngineTransport(this.#engine);
  }

  /** Listens on the one session that there is; returns what ends it. The engine must have started. */
  async subscribe(subscribed: string, events: SubscriptionEvents): Promise<() => Promise<void>> {
    const engine = this.#engine;
    if (engine === null) throw new Error("the embedded database was closed");
    this.#channel = subscribed;
    await engine.exec(listenText(subscribed));
    const ignore = engine.onNotification((channel, payload) => {
      if (channel === subscribed) events.notified(payload);
    });
    return async () => {
      ignore();
      if (this.#channel === subscribed) this.#channel = null;
      if (!engine.closed) await engine.exec(`UNLISTEN ${quoteIdent(subscribed)}`);
    };
  }

  async close(): Promise<void> {
    await this.#engine?.close();
    this.#engine = null;
  }
}

function listenText(channel: string): string {
  return `LISTEN ${quoteIdent(channel)}`;
}

/** PGlite is loaded here, so that a bundle of this file can be loaded where PGlite is not. */
async function start(options: EmbeddedOptions): Promise<PGlite> {
  const { PGlite } = await import("@electric-sql/pglite");
  const engine = await PGlite.create({ ...options.pglite, dataDir: dataDirectory(options.uri) });
  try {
    if (options.init !== null) await initialise(engine, options.init);
  } catch (error) {
    await engine.close();
    throw error;
  }
  return engine;
}

function dataDirectory(uri: string): string {
  const place = uri.slice("pglite://".length);
  return place === "memory" || place === "" ? "memory://" : place;
}

/**
 * Applies the SQL unless that was done before. The mark is set in the same transaction, so that a
 * process that dies half-way leaves a database without either.
 */
async function initialise(engine: PGlite, sql: string): Promise<void> {
  const { rows } = await engine.query(
    "select 1 from pg_catalog.pg_db_role_setting s " +
      "where s.setconfig::text like '%svc.initialised=%'",
  );
  if (rows.length > 0) return;
  await engine.transaction(async (transaction) => {
    await transaction.exec(sql);
    await transaction.exec(
      "do $$ begin execute format('alter database %I set svc.initialised = ''yes''', " +
        "current_database()); end $$",
    );
  });
}

class EngineTransport implements Transport {
  readonly #engine: PGlite;
  #events: TransportEvents | null = null;
  #closed = false;
  /** Answers that wait while the reader is slow. */
  #heldChunks: Uint8Array[] | null = null;

  constructor(engine: PGlite) {
    this.#engine = engine;
  }

  listen(events: TransportEvents): void {
    this.#events = events;
  }

  write(chunks: readonly Uint8Array[]): void {
    this.#run(
      chunks.length === 1
        ? chunks[0]!
        : concat(chunks, chunks.reduce((sum, chunk) => sum + chunk.length, 0)),
    );
  }

  pause(): void {
    this.#heldChunks ??= [];
  }

  resume(): void {
    const waiting = this.#heldChunks ?? [];
    this.#heldChunks = null;
    for (const chunk of waiting) this.#emit(chunk);
  }

  /** The engine runs a statement to its end before it listens again. */
  cancel(): void {}

  end(): void {
    this.#closed = true;
  }

  destroy(): void {
    this.#close("the embedded database was given up");
  }

  async #run(message: Uint8Array): Promise<void> {
    try {
      const reply = await this.#engine.execProtocolRaw(message);
      if (!this.#closed) this.#emit(reply);
    } catch (error) {
      this.#close(error instanceof Error ? error.message : "the embedded database failed");
    }
  }

  #emit(chunk: Uint8Array): void {
    if (this.#heldChunks !== null) this.#heldChunks.push(chunk);
    else this.#events?.data(chunk);
  }

  #close(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#events?.closed(reason);
  }
}
