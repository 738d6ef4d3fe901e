/** A primary and standbys without sockets: the test decides what each server answers. @module */
import type {
  ReadTransaction,
  ResultColumns,
  Statement,
  Transaction,
  TransactionResult,
  WriteTransaction,
} from "../../../src/database/transaction.ts";
import type {
  Database,
  PooledDatabase,
  ReplicaSettings,
  StandbyEvent,
} from "../../../src/database/database.ts";
import { maxAnswerMs, type ServerProbe } from "../../../src/database/replicas/monitor.ts";
import type { Histogram } from "../../../src/base/observe/metric_registry.ts";
import { errors } from "../../../src/base/errors/catalogue.ts";
import { replicatedDatabase } from "../../../src/database/replicas/replicated_database.ts";
import { DatabaseError } from "../../../src/base/errors/service_error.ts";
import { readPosition } from "../../../src/database/wal_position.ts";
import { type FakeClock, fakeClock } from "../timing/fake_clock.ts";

/** Returns PostgreSQL's error of a statement; by default of the read itself. */
export function databaseError(sqlstate: string, statement = 1): DatabaseError {
  return new DatabaseError({ sqlstate, message: sqlstate, detail: null, hint: null }, statement);
}

/** A server that a test controls. */
export class FakeServer {
  readonly name: string;
  /** Transactions that its pool has received. */
  readonly transactions: Transaction[] = [];
  isInRecovery: boolean;
  /** Position as `pg_lsn`; null if the server lacks the functions. */
  lsn: string | null = "0/100";
  /** Timeline that the server tells; null if it refuses to. */
  timeline: number | null = 1;
  identifier = "7";
  /** Error of each transaction, or null. */
  error: unknown = null;
  /** Whether questions and transactions get an answer. */
  answers = true;
  /** Whether the server accepts no connection. */
  isDown = false;
  /** Whether results arrive before their position is known. */
  streams = false;
  isClosed = false;
  readonly #clock: FakeClock;
  #cancelTimeout = () => {};

  constructor(name: string, isInRecovery: boolean, clock: FakeClock) {
    this.name = name;
    this.#clock = clock;
    this.isInRecovery = isInRecovery;
  }

  /** What a standby has received; null if it receives nothing. */
  received: string | null = null;
  /** Numbers of the running transactions. */
  running = "";

  get position(): ResultColumns {
    const file = this.isInRecovery ? null : `0000000${this.timeline}0000000000000001`;
    return [this.lsn, file, "8192", "16777216", this.received];
  }

  readonly probe: ServerProbe = {
    ask: (statement) => this.#ask(statement),
    close: () => Promise.resolve(this.#cancelTimeout()),
  };

  #ask({ text }: Statement): Promise<ResultColumns> {
    if (!this.answers) {
      return new Promise((_, reject) => {
        const timeout = () => reject(errors.requestTimeout());
        this.#cancelTimeout = this.#clock.schedule(timeout, maxAnswerMs);
      });
    }
    if (this.isDown) return Promise.reject(new Error("Connection refused"));
    const recovery = this.isInRecovery ? "t" : "f";
    if (text.includes("control_system")) return Promise.resolve([this.identifier]);
    if (text.includes("pg_snapshot_xip")) return Promise.resolve([this.running]);
    if (text.includes("pg_stat_wal_receiver")) {
      return this.timeline === null
        ? Promise.reject(databaseError("42501"))
        : Promise.resolve([String(this.timeline)]);
    }
    if (this.lsn === null) return Promise.reject(databaseError("0A000"));
    return Promise.resolve(text.includes("wal_block_size") ? this.position : [recovery, this.lsn]);
  }

  readonly database: PooledDatabase = {
    transaction: (transaction) => this.#transaction(transaction),
    version: () => Promise.resolve("PostgreSQL 15"),
    counts: () => ({ max: 4, open: 0, inUse: 0, waiting: 0, timeouts: 0 }),
    pool: {
      queueSeconds: {} as Histogram,
      flush: () => {},
      configure: () => {},
      ask: () => null,
      suspect: () => {},
      isEncrypted: () => null,
    },
    close: () => {
      this.isClosed = true;
      return Promise.resolve();
    },
  };

  #transaction(transaction: Transaction): Promise<TransactionResult> {
    this.transactions.push(transaction);
    if (!this.answers) return new Promise(() => {});
    if (this.error !== null) return Promise.reject(this.error);
    const isReturned = transaction.walPosition?.isReturned && !this.streams;
    const walPosition = isReturned ? readPosition(this.position) : null;
    const end = transaction.block?.end ?? "commit";
    if (end === "open") {
      const ended = () => this.#transaction({ ...transaction, block: null } as Transaction);
      const open = { failed: new Promise<never>(() => {}), send: ended, end: ended };
      const body = { length: 0, content: new Uint8Array() };
      return Promise.resolve({ end, columns: [], body, rows: [], open });
    }
    return Promise.resolve({
      end,
      columns: [this.name],
      body: { length: 0, content: new Uint8Array() },
      rows: [],
      ...(walPosition === null ? {} : { walPosition }),
    });
  }
}

/** The servers, and the database that uses them. */
export interface FakeReplicas {
  readonly database: Database;
  readonly primary: FakeServer;
  readonly standbys: readonly FakeServer[];
  readonly clock: FakeClock;
  readonly events: StandbyEvent[];
}

/** Options of {@linkcode fakeReplicas}. */
export interface FakeReplicasOptions extends Partial<ReplicaSettings> {
  /** Default: 2. */
  readonly standbys?: number;
}

/** Makes a primary and standbys, none of which is observed yet. */
export function fakeReplicas(
  { standbys: count = 2, maxLagMs = 10_000, fallback = "primary" }: FakeReplicasOptions = {},
): FakeReplicas {
  const clock = fakeClock();
  const primary = new FakeServer("primary", false, clock);
  const standbys = Array.from(
    { length: count },
    (_, at) => new FakeServer(`standby${at}`, true, clock),
  );
  const database = replicatedDatabase({
    primary: primary.database,
    primaryProbe: primary.probe,
    servers: standbys.map(({ name, database, probe }) => ({ place: name, database, probe })),
    settings: { maxLagMs, fallback },
    clock,
    random: () => 0,
  });
  const events: StandbyEvent[] = [];
  database.pool!.configure({
    prepare: true,
    onStandby: (event) => void events.push(event),
  });
  return { database, primary, standbys, clock, events };
}

const common = {
  block: null,
  statements: [{ text: "select main", params: [], use: "result" }],
  planContext: null,
  kind: null,
} as const;

/** Returns a read that standbys may execute. */
export function standbyRead(
  bookmark: string | null = null,
  others: Partial<ReadTransaction> & { readonly schemaAgeMs?: number } = {},
): ReadTransaction {
  const { schemaAgeMs, ...transaction } = others;
  return {
    ...common,
    access: "read only",
    body: "stream",
    retry: "safe",
    wantsBookmark: bookmark !== null,
    standby: { bookmark, ...(schemaAgeMs === undefined ? {} : { schemaAgeMs }) },
    ...transaction,
  };
}

/** A write whose client wants a bookmark. */
export const bookmarkedWrite: WriteTransaction = {
  ...common,
  access: "read write",
  wantsBookmark: true,
};
