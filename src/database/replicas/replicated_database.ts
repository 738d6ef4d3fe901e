/** A primary with standbys. Standbys execute reads if they have replayed enough. @module */
import type { Clock } from "../../base/lib/clock.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { DatabaseError, ServiceError } from "../../base/errors/service_error.ts";
import { raisedDetail } from "../../base/sql/raise.ts";
import {
  discardBody,
  type OpenTransaction,
  type ReadTransaction,
  type StandbyUse,
  type Transaction,
  type TransactionResult,
  type WalPosition,
} from "../transaction.ts";
import type { Caller, Database, PooledDatabase } from "../database.ts";
import {
  type Bookmark,
  bookmarkText,
  positionStatement,
  readBookmarks,
  readPosition,
} from "../wal_position.ts";
import { type Standby, StandbySet, type StandbySetOptions } from "./standby.ts";

interface ReplicatedOptions extends StandbySetOptions {
  readonly primary: PooledDatabase;
}

/** Why the primary executes a read. Label of a metric. */
type FallbackReason =
  /** No standby is healthy, or all lag too much. */
  | "no standby"
  /** No standby is known to have replayed the bookmark's position, or the state of the schema cache. */
  | "behind"
  /** The bookmark belongs to another timeline, or is malformed. */
  | "bookmark"
  | "refused";

/** Returns a database with standbys, which execute reads after a call of {@linkcode Standbys.observe}. */
export function replicatedDatabase(options: ReplicatedOptions): Database {
  const { primary } = options;
  const set = new StandbySet(options);
  const router = new ReadRouter(primary, set, options.clock);
  const databases = [primary, ...set.standbys.map(({ server }) => server.database)];
  return {
    ...primary,
    transaction: (transaction, caller) => router.transaction(transaction, caller),
    standbys: {
      observe: () => set.start(),
      get isServing() {
        return set.hasServing;
      },
      counts: () => ({
        standbys: set.counts(),
        fallbacks: router.fallbacks,
        retries: router.retries,
      }),
    },
    pool: {
      ...primary.pool,
      suspect() {
        for (const { pool } of databases) pool.suspect();
      },
      flush() {
        for (const { pool } of databases) pool.flush();
      },
      configure(changed) {
        if (changed.replicas !== undefined) set.configure(changed.replicas);
        set.onEvent = changed.onStandby ?? (() => {});
        for (const { pool } of databases) pool.configure(changed);
      },
    },
    close: async () => void await Promise.all([set.close(), primary.close()]),
  };
}

/** Sends reads to standbys that have replayed enough, and everything else to the primary. */
class ReadRouter {
  readonly fallbacks = new Map<FallbackReason, number>();
  readonly retries = new Map<RefusalReason, number>();

  constructor(
    private readonly primary: Database,
    private readonly set: StandbySet,
    private readonly clock: Clock,
  ) {}

  transaction(transaction: Transaction, caller?: Caller): Promise<TransactionResult> {
    return isStandbyRead(transaction)
      ? this.#read(transaction, caller)
      : this.#onPrimary(transaction, caller);
  }

  async #read(transaction: StandbyRead, caller: Caller | undefined): Promise<TransactionResult> {
    if (isSerializable(transaction)) return await this.#onPrimary(transaction, caller);
    const { bookmark, schemaAgeMs = Infinity } = transaction.standby;
    const position = bookmark === null ? null : readBookmarks(bookmark);
    if (bookmark !== null && position?.timeline !== this.set.primary.timeline) {
      return await this.#fallBack(transaction, caller, "bookmark");
    }
    const standby = this.set.choose({
      position,
      schemaLoadedAt: this.clock.now() - schemaAgeMs,
    });
    if (standby !== null) return await this.#readOn(standby, { transaction, caller, position });
    const isBehind = this.set.standbys.some(({ isFit }) => isFit);
    if (!isBehind && this.set.settings.fallback === "error") throw errors.noStandby();
    return await this.#fallBack(transaction, caller, isBehind ? "behind" : "no standby");
  }

  async #readOn(standby: Standby, read: PlacedRead): Promise<TransactionResult> {
    return await atEnd(this.#execute(standby, read), async (ended, repeat) => {
      try {
        return await ended;
      } catch (error) {
        const reason = refusalOf(error);
        if (reason === null) throw error;
        this.retries.set(reason, (this.retries.get(reason) ?? 0) + 1);
        return await repeat(this.#fallBack(read.transaction, read.caller, "refused"));
      }
    });
  }

  async #execute(standby: Standby, read: PlacedRead): Promise<TransactionResult> {
    const { transaction, caller, position } = read;
    standby.inFlight++;
    const minReplayed = position?.lsn ?? null;
    const isReturned = transaction.wantsBookmark ?? false;
    const placed = minReplayed === null && !isReturned
      ? transaction
      : { ...transaction, walPosition: { minReplayed, isReturned } };
    const run = (executed: Promise<TransactionResult>) => standby.run(executed, discard);
    return await atEnd(
      run(standby.server.database.transaction(placed, caller)),
      async (executed) => {
        try {
          const result = await run(executed);
          standby.reads++;
          if (!isReturned) return result;
          return await withBookmark(result, () => this.#seenOn(standby, result, position));
        } finally {
          standby.inFlight--;
        }
      },
    );
  }

  async #seenOn(
    standby: Standby,
    { walPosition }: TransactionResult,
    needed: Bookmark | null,
  ): Promise<Bookmark | null> {
    const position = walPosition ?? readPosition(await standby.server.probe.ask(positionStatement));
    if (position === null) return null;
    if (position.timeline !== null) {
      standby.recordPromotion();
      return { timeline: position.timeline, lsn: position.shownLsn };
    }
    standby.recordReplayed(position.lsn);
    const timeline = needed?.timeline ?? standby.timeline;
    if (timeline === null) return null;
    const { shownLsn } = position;
    const lsn = needed !== null && needed.lsn > shownLsn ? needed.lsn : shownLsn;
    return { timeline, lsn };
  }

  /** Executes a read on the primary because no standby can. */
  async #fallBack(
    transaction: StandbyRead,
    caller: Caller | undefined,
    reason: FallbackReason,
  ): Promise<TransactionResult> {
    this.fallbacks.set(reason, (this.fallbacks.get(reason) ?? 0) + 1);
    return await this.#onPrimary(transaction, caller);
  }

  /** Executes a transaction on the primary, and adds a bookmark if the transaction requests one. */
  async #onPrimary(
    transaction: Transaction,
    caller: Caller | undefined,
  ): Promise<TransactionResult> {
    if (!transaction.wantsBookmark) return await this.primary.transaction(transaction, caller);
    // The read waits: its client may have seen commits that the primary does not show yet.
    if (transaction.access === "read only") await this.set.primary.showsCommits();
    return await atEnd(
      this.primary.transaction(withPosition(transaction), caller),
      async (executed) => {
        const result = await executed;
        const isWrite = transaction.access === "read write";
        if (result.end === "rollback" && isWrite) return result;
        // While the timeline is unknown, standbys execute no reads, so a write needs no bookmark.
        const otherwise = isWrite && this.set.primary.timeline !== null ? forPrimary : null;
        const find = async () => {
          const position = result.walPosition ?? await this.set.primary.position();
          return position === null ? null : this.#bookmarkOf(position) ?? otherwise;
        };
        return await withBookmark(result, find, otherwise);
      },
    );
  }

  #bookmarkOf(position: WalPosition): Bookmark | null {
    if (position.timeline === null) return null;
    this.set.primary.recordTimeline(position.timeline);
    return { timeline: position.timeline, lsn: position.shownLsn };
  }
}

function discard({ body, open }: TransactionResult): void {
  discardBody(body);
  open?.end("rollback").catch(() => {});
}

/** Calls `follow` with the end of a transaction. An open transaction ends when its caller ends it.
 * If `follow` runs the transaction again, `repeat` ends the second run in the same way. */
async function atEnd(
  started: Promise<TransactionResult>,
  follow: (
    ended: Promise<TransactionResult>,
    repeat: (again: Promise<TransactionResult>) => Promise<TransactionResult>,
  ) => Promise<TransactionResult>,
): Promise<TransactionResult> {
  const open = await started.then(({ open }) => open, () => undefined);
  if (open === undefined) return await follow(started, (again) => again);
  const end: OpenTransaction["end"] = (...parts) =>
    follow(open.end(...parts), async (again) => await (await again).open!.end(...parts));
  return {
    ...await started,
    open: { send: (statements) => open.send(statements), end },
  };
}

/** A bookmark with which the primary executes reads, because no server has its timeline. */
const forPrimary: Bookmark = { timeline: 0, lsn: 0n };

/** Adds the bookmark that `find` returns. If the server cannot be reached, adds `otherwise`. */
async function withBookmark(
  result: TransactionResult,
  find: () => Promise<Bookmark | null>,
  otherwise: Bookmark | null = null,
): Promise<TransactionResult> {
  const bookmark = await find().catch(() => otherwise);
  return { ...result, bookmark: bookmark === null ? null : bookmarkText(bookmark) };
}

interface PlacedRead {
  readonly transaction: StandbyRead;
  readonly caller: Caller | undefined;
  /** Position of the read's bookmark; null if the read has none. */
  readonly position: Bookmark | null;
}

type StandbyRead = ReadTransaction & { readonly standby: StandbyUse };

export function isStandbyRead(transaction: Transaction): transaction is StandbyRead {
  return transaction.access === "read only" && transaction.standby !== undefined;
}

/** Standbys cannot execute serializable transactions. */
function isSerializable({ block }: Transaction): boolean {
  return block?.isolation === "serializable";
}

/** Makes an implicit write a block if its position is requested, because no statement can follow
 * its end in one write. */
export function withPosition(transaction: Transaction): Transaction {
  const positioned = { ...transaction, walPosition: { minReplayed: null, isReturned: true } };
  if (transaction.access === "read only" || transaction.block !== null) return positioned;
  return { ...positioned, block: { isolation: "read committed", end: "commit" } };
}

/** Why the primary repeats a read. Label of a metric. */
type RefusalReason =
  /** The read conflicts with the replay, for example by a lock. */
  | "conflict"
  /** The read requires what only a primary can do. */
  | "read-only"
  /** The connection ended, or none could be opened. */
  | "connection"
  | "busy"
  /** The standby has not replayed a change of the schema yet. */
  | "schema"
  /**
   * The check of the position failed, because another server than the monitored one has answered.
   */
  | "position";

const reasons: ReadonlyMap<string, RefusalReason> = new Map<string, RefusalReason>([
  ["40001", "conflict"],
  ["40P01", "conflict"],
  ["25006", "read-only"],
  ["0A000", "read-only"],
  ["55000", "read-only"],
  ["57P01", "connection"],
  ["57P02", "connection"],
  ["57P03", "connection"],
  ["42P01", "schema"],
  ["42703", "schema"],
  ["42704", "schema"],
  ["42883", "schema"],
]);

/** Reasons by the codes of svc's errors. */
const ownReasons: ReadonlyMap<string, RefusalReason> = new Map([
  ["000", "connection"],
  ["001", "connection"],
  ["003", "busy"],
]);

const queryCanceled = "57014";

/** Returns why the primary should repeat a read that failed on a standby; null if it would fail,
 * too. Source: PostgreSQL documentation, "Handling Query Conflicts". */
export function refusalOf(error: unknown): RefusalReason | null {
  if (error instanceof ServiceError) {
    const { own, code } = error.fields;
    return own ? ownReasons.get(code) ?? null : null;
  }
  if (!(error instanceof DatabaseError)) return null;
  const { sqlstate } = error.failure;
  if (sqlstate.startsWith("08")) return "connection";
  const reason = raisedDetail(error.failure) === null ? reasons.get(sqlstate) : undefined;
  const isCheck = error.statement < 0 && sqlstate !== queryCanceled;
  return reason ?? (isCheck ? "position" : null);
}
