/** A database without a pool: each transaction opens a connection and closes it. For runtimes in
 * which a socket ends with the request that opened it. @module */
import { readVersion } from "../server_version.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import { systemClock } from "../../base/lib/clock.ts";
import { deferred } from "../../base/lib/deferred.ts";
import { Connection } from "../connection/connection.ts";
import { type Transaction, type TransactionResult } from "../transaction.ts";
import type { Caller, Database } from "../database.ts";
import type { Transport } from "../transport.ts";

/** Options of connections. Each runs one transaction, so statements are not prepared. */
const connectionOptions = { prepare: false, preparedLimit: 0, clock: systemClock } as const;

/**
 * A database that opens a connection for each transaction. `connect` opens and authenticates it.
 */
export class UnpooledDatabase implements Database {
  readonly #running = new Set<Promise<void>>();
  #opening = 0;
  #closed = false;

  constructor(private readonly connect: () => Promise<Transport>) {}

  async transaction(
    transaction: Transaction,
    caller: Caller | null = null,
  ): Promise<TransactionResult> {
    if (this.#closed) throw errors.cannotConnect("the database was closed");
    const signal = transaction.access === "read only" ? caller?.signal : undefined;
    const deadline = caller?.deadline ?? null;
    const checkTime = () => {
      signal?.throwIfAborted();
      if (deadline?.isOver) throw errors.requestTimeout();
    };
    checkTime();
    const transport = await this.#open();
    let ignoreDeadline = () => {};
    const ended = deferred<void>();
    this.#running.add(ended.promise);
    const connection = new Connection(transport, connectionOptions, {
      idle: () => connection.end(),
      closed: () => {
        this.#running.delete(ended.promise);
        signal?.removeEventListener("abort", cancel);
        ignoreDeadline();
        ended.resolve();
      },
    });
    const cancel = () => connection.cancel();
    try {
      checkTime();
    } catch (error) {
      connection.end();
      throw error;
    }
    signal?.addEventListener("abort", cancel, { once: true });
    ignoreDeadline = deadline?.onOver(cancel) ?? ignoreDeadline;
    const events = caller?.events ?? null;
    return await new Promise((resolve, reject) =>
      connection.execute([{ transaction, events, resolve, reject }])
    );
  }

  version(): Promise<string> {
    return readVersion(this);
  }

  counts(): ReturnType<Database["counts"]> {
    const inUse = this.#running.size;
    return { max: Infinity, open: inUse, inUse, waiting: this.#opening, timeouts: 0 };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#running);
  }

  async #open(): Promise<Transport> {
    this.#opening++;
    try {
      return await this.connect();
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw errors.cannotConnect(error instanceof Error ? error.message : "connecting failed");
    } finally {
      this.#opening--;
    }
  }
}
