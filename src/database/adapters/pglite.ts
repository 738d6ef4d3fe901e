/** The embedded database: PGlite in this process, with one session. @module */
import type { PGlite, PGliteOptions } from "@electric-sql/pglite";
import { systemClock } from "../../base/lib/clock.ts";
import { DatabaseError } from "../../base/errors/service_error.ts";
import { type ParamValue, quoteIdent } from "../../base/sql/fragment.ts";
import type { OpenTransaction, Statement } from "../transaction.ts";
import {
  connectionSetup,
  type Database,
  type DatabaseConfig,
  type DatabaseDependencies,
  type SubscriptionEvents,
} from "../database.ts";
import { Pool } from "../pool/pool.ts";
import type { Transport } from "../transport.ts";
import { EngineTransport } from "./engine_transport.ts";
import type { InitResult } from "./init_script.ts";
import { type EngineOptions, type StartedEngine, startEngine } from "./start_engine.ts";

/** Maximum number of prepared statements of the session. */
const preparedLimit = 500;

/** Opens the embedded database. The engine starts with the first transaction, and restarts after a failure. */
export function openEmbedded(
  config: DatabaseConfig,
  dependencies: DatabaseDependencies,
): Database {
  const engine = engineOf(config, dependencies);
  const pool = poolOf(engine, config);
  return {
    async transaction(transaction, caller) {
      rejectDeepValues(transaction.statements);
      const result = await pool.transaction(transaction, caller);
      const { open } = result;
      return open === undefined ? result : { ...result, open: withShallowValues(open) };
    },
    version: () => pool.version(),
    counts: () => pool.counts(),
    pool: {
      queueSeconds: pool.queueSeconds,
      flush: () => pool.flush(),
      configure: (changed) => pool.configure({ ...changed, prepare: changed.prepare !== false }),
      ask: () => pool.ask(),
      suspect: () => pool.suspect(),
      isEncrypted: () => null,
    },
    embedded: { start: () => engine.start() },
    notifications: {
      subscribe: async (channel, events) => {
        const version = await pool.version();
        return { version, place: config.dbUri, close: await engine.subscribe(channel, events) };
      },
    },
    close: () => pool.close().then(() => engine.close()),
  };
}

function poolOf(
  engine: Engine,
  { dbPoolAcquisitionTimeout, dbPreparedStatements }: DatabaseConfig,
): Pool {
  return new Pool({
    max: 1,
    acquisitionTimeoutMs: dbPoolAcquisitionTimeout * 1000,
    maxIdleTimeMs: Infinity,
    maxLifetimeMs: Infinity,
    prepare: dbPreparedStatements !== false,
    preparedLimit,
    setup: connectionSetup,
    clock: systemClock,
    connect: () => engine.connect(),
  });
}

/** Starts an embedded database for one session. Rejects with an `Error` of one line. */
export async function connectEmbedded(
  config: DatabaseConfig,
  dependencies: DatabaseDependencies,
): Promise<{ readonly transport: Transport; close(): Promise<void> }> {
  const engine = engineOf(config, dependencies);
  const transport = await engine.connect();
  return { transport, close: () => engine.close() };
}

function engineOf(
  { dbUri: uri }: DatabaseConfig,
  { embeddedInit: init, embeddedExtensions: extensions = {} }: DatabaseDependencies,
): Engine {
  return new Engine({ uri, init, pglite: { extensions } as PGliteOptions });
}

/** Maximum nesting of values. The engine parses them recursively, and a stack overflow would end
 * the engine for all requests. */
const maxNesting = 4000;

/** Throws the error 54001 that PostgreSQL raises when its stack is too deep. */
function rejectDeepValues(statements: readonly Statement[]): void {
  const isDeep = (value: ParamValue) => nestsDeeper(value, maxNesting);
  const statement = statements.findIndex(({ params }) => params.some(isDeep));
  if (statement !== -1) throw stackDepthExceeded(statement);
}

/** Returns a transaction that rejects values that nest too deeply. */
function withShallowValues(open: OpenTransaction): OpenTransaction {
  return {
    // deno-lint-ignore require-await -- Rejects instead of throwing.
    send: async (statements) => {
      rejectDeepValues(statements);
      return open.send(statements);
    },
    end: (end, last) => open.end(end, last),
  };
}

function stackDepthExceeded(statement: number): DatabaseError {
  const message = "stack depth limit exceeded";
  return new DatabaseError({ sqlstate: "54001", message, detail: null, hint: null }, statement);
}

/** The engine. It does not end when a connection closes, because its end discards data in memory. */
class Engine {
  /** The start of the engine; null before the first start, and after a failed start. */
  #starting: Promise<StartedEngine> | null = null;
  #engine: PGlite | null = null;
  #isConnected = false;
  /** The active subscription. Each new session on the engine has to listen again. */
  #subscription: EngineSubscription | null = null;

  constructor(private readonly options: EngineOptions) {}

  /** Starts the engine unless it runs. A failed start can be repeated. */
  async start(): Promise<InitResult | null> {
    this.#starting ??= startEngine(this.options);
    try {
      const { engine, init } = await this.#starting;
      this.#engine = engine;
      return init;
    } catch (error) {
      this.#starting = null;
      throw error;
    }
  }

  async connect(): Promise<Transport> {
    await this.start();
    const engine = this.#engine!;
    if (this.#isConnected) {
      await engine.exec("rollback");
      await engine.exec("discard all");
    }
    this.#isConnected = true;
    if (this.#subscription !== null) await engine.exec(listenText(this.#subscription.channel));
    return new EngineTransport(engine);
  }

  /** Listens on the engine, which must have started. Returns a function that stops listening. */
  async subscribe(subscribed: string, events: SubscriptionEvents): Promise<() => Promise<void>> {
    const engine = this.#engine;
    if (engine === null) throw new Error("the embedded database was closed");
    const subscription: EngineSubscription = { channel: subscribed, events, ignore: () => {} };
    this.#subscription = subscription;
    await this.#listen(engine, subscription);
    return async () => {
      subscription.ignore();
      if (this.#subscription === subscription) this.#subscription = null;
      const current = this.#engine;
      if (current?.closed === false) await current.exec(`UNLISTEN ${quoteIdent(subscribed)}`);
    };
  }

  async #listen(engine: PGlite, subscription: EngineSubscription): Promise<void> {
    await engine.exec(listenText(subscription.channel));
    subscription.ignore = engine.onNotification((channel, payload) => {
      if (channel === subscription.channel) subscription.events.notified(payload);
    });
  }

  async close(): Promise<void> {
    const started = await this.#starting?.catch(() => null);
    this.#starting = null;
    this.#engine = null;
    this.#isConnected = false;
    await started?.close();
  }
}

interface EngineSubscription {
  readonly channel: string;
  readonly events: SubscriptionEvents;
  ignore: () => void;
}

function listenText(channel: string): string {
  return `LISTEN ${quoteIdent(channel)}`;
}

const codes = { quote: 0x22, backslash: 0x5c, open: [0x5b, 0x7b], close: [0x5d, 0x7d] } as const;

/** Returns whether brackets and braces outside of quotes nest deeper than the limit. Exact for
 * JSON; for other texts, the result may be true although they nest less deeply. */
export function nestsDeeper(value: ParamValue, limit: number): boolean {
  if (value === null) return false;
  if (typeof value !== "string" && !(value instanceof Uint8Array)) return false;
  if (value.length <= limit) return false;
  const at = typeof value === "string"
    ? (index: number) => value.charCodeAt(index)
    : (index: number) => value[index]!;
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < value.length; index++) {
    const code = at(index);
    if (code === codes.backslash && quoted) index++;
    else if (code === codes.quote) quoted = !quoted;
    else if (quoted) continue;
    else if (code === codes.open[0] || code === codes.open[1]) {
      if (++depth > limit) return true;
    } else if (code === codes.close[0] || code === codes.close[1]) depth--;
  }
  return false;
}
