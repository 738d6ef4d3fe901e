/** A pool over connections that answer one transaction at a time, when the test says so. @module */
import { strictEqual } from "node:assert/strict";
import type { ReadTransaction, WriteTransaction } from "../../../src/database/transaction.ts";
import type { Caller } from "../../../src/database/database.ts";
import { Pool } from "../../../src/database/pool/pool.ts";
import type { PoolOptions } from "../../../src/database/pool/pool_options.ts";
import { fakeServer, type FakeServerOptions, FakeTransport, type Sent } from "./fake_backend.ts";
import { type FakeClock, fakeClock, settled } from "../timing/fake_clock.ts";

/** A read that may be sent again. */
export const reading: ReadTransaction = {
  access: "read only",
  block: null,
  statements: [{ text: "select main", params: [], use: "result" }],
  planContext: null,
  kind: null,
  body: "stream",
  retry: "safe",
};

const { access: _access, body: _body, retry: _retry, ...common } = reading;

/** A write. */
export const writing: WriteTransaction = { ...common, access: "read write" };

/** A client that can leave. */
export interface FakeCaller extends Caller {
  leave(): void;
}

export function fakeCaller(): FakeCaller {
  const controller = new AbortController();
  return { signal: controller.signal, leave: () => controller.abort(new Error("left")) };
}

/** A pool whose backends the test drives. */
export class FakePool {
  readonly clock: FakeClock = fakeClock();
  readonly transports: FakeTransport[] = [];
  /** Sends the replies up to the next ReadyForQuery, in the order in which transactions were written. */
  readonly replies: (() => void)[] = [];
  readonly pool: Pool;
  readonly #server: FakeServerOptions;

  constructor(options: Partial<PoolOptions> = {}, server: FakeServerOptions = {}) {
    this.#server = server;
    this.pool = new Pool({
      max: 1,
      acquisitionTimeoutMs: 10_000,
      maxIdleTimeMs: Infinity,
      maxLifetimeMs: Infinity,
      prepare: true,
      preparedLimit: 10,
      clock: this.clock,
      connect: () => Promise.resolve(this.connect()),
      ...options,
    });
  }

  /** Makes the transport of a connection. */
  connect(): FakeTransport {
    const transport = new FakeTransport();
    const answer = fakeServer(this.#server);
    transport.reply = (sent) => {
      for (const transaction of cutAtSyncs(sent)) {
        const reply = answer(transaction);
        this.replies.push(() => transport.tell(reply));
      }
      return null;
    };
    this.transports.push(transport);
    return transport;
  }

  /** Number of transactions in each write of each connection. */
  get writes(): readonly (readonly number[])[] {
    return this.transports.map(({ sent }) => sent.map((messages) => cutAtSyncs(messages).length));
  }

  /** Sends the oldest reply. */
  async serve(): Promise<void> {
    this.replies.shift()?.();
    await settled();
  }

  /** Sends all replies, including replies to later writes, each after this many milliseconds. */
  async serveAll(ms = 0): Promise<void> {
    await settled();
    while (this.replies.length > 0) {
      if (ms > 0) await this.clock.pass(ms);
      await this.serve();
    }
  }

  /** Opens as many connections as the pool may have, all idle. Replies take so many milliseconds. */
  async openAll(ms = 0): Promise<void> {
    const { max } = this.pool.counts();
    const all = Array.from({ length: max }, () => this.pool.transaction(reading));
    await settled();
    await this.clock.pass(ms);
    await this.serveAll();
    await Promise.all(all);
  }

  /** Makes a kind of transactions that take so many milliseconds each. */
  async learnKind(ms = 0): Promise<object> {
    const kind = {};
    for (let turn = 0; turn < 2; turn++) {
      const done = this.pool.transaction({ ...reading, kind });
      await this.clock.pass(ms);
      await this.serveAll();
      await done;
    }
    return kind;
  }

  /** Closes the pool when all is served. No timer is left then. */
  async close(): Promise<void> {
    const closed = this.pool.close();
    await this.serveAll();
    await closed;
    strictEqual(this.clock.next(), null, "a timer is left");
  }
}

/** Splits messages into transactions, each with its Sync. */
function cutAtSyncs(sent: readonly Sent[]): readonly (readonly Sent[])[] {
  const transactions: Sent[][] = [];
  let transaction: Sent[] = [];
  for (const message of sent) {
    transaction.push(message);
    if (message.type !== "S") continue;
    transactions.push(transaction);
    transaction = [];
  }
  return transactions;
}
