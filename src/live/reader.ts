/** Reads the records of changes: polls while there are groups, and keeps the triggers recording.
 * @module */
import { metadataBatch, type Statement, type WriteBatch } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { DatabaseError } from "../errors/service_error.ts";
import type { Schedule } from "../lib/timers.ts";
import { parsePgSnapshot, type PgSnapshot } from "./offset.ts";
import type { ChangeRecords } from "./scope.ts";

interface ReaderOptions {
  readonly database: Database;
  readonly intervalMs: () => number;
  /** Whether there are groups. Without them the reader stops. */
  readonly isNeeded: () => boolean;
  found(records: ChangeRecords): void;
  /** Changes may have been missed: all results may be old. */
  missed(): void;
  /** A poll has ended, or failed. */
  polled(): void;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** Records stay for 5 s at least, so that a reader which was away for less has missed none. */
const maxGapMs = 4000;
/** The triggers record for 20 s behind each renewal. */
const renewalMs = 5000;
/** Pause behind a poll that failed. */
const retryMs = 250;

/** The schema svc_live, a function of it, or the right to use them is missing. */
const missingStates: ReadonlySet<string> = new Set(["3F000", "42883", "42501"]);

interface Position {
  readonly snapshot: PgSnapshot;
  /** Another one if PostgreSQL has lost records, in a crash. */
  readonly epoch: string | null;
  readonly at: number;
}

export class ChangeReader {
  /** Null before the first poll, and behind a failure. */
  #last: Position | null = null;
  /** The poll at the last renewal: what it saw may be deleted with the next one. */
  #renewed: Position | null = null;
  /** Transactions below may not have seen the reader; null once they have ended. */
  #unseenBelow: bigint | null = null;
  /** Whether the database has what polls need, as far as is known. */
  isInstalled = true;
  #state: "stopped" | "polling" | "closed" = "stopped";
  #waiters: (() => void)[] = [];
  #cancelTimer = () => {};

  constructor(readonly options: ReaderOptions) {}

  /** Whether no change can be missed: a poll succeeded a short time ago. */
  get isReading(): boolean {
    return this.#state !== "closed" && this.#last !== null &&
      this.options.now() - this.#last.at <= maxGapMs;
  }

  /** Starts to poll. Resolves when changes are read, or when a poll has failed. */
  async start(): Promise<void> {
    if (this.#state === "closed" || this.isReading && this.#state === "polling") return;
    await new Promise<void>((resolve) => {
      this.#waiters.push(resolve);
      if (this.#state === "polling") return;
      this.#state = "polling";
      void this.#poll();
    });
  }

  close(): void {
    this.#state = "closed";
    this.#cancelTimer();
    this.#settle();
  }

  async #poll(): Promise<void> {
    const { intervalMs, isNeeded, now, schedule, polled } = this.options;
    const at = now();
    let pauseMs = intervalMs();
    try {
      await this.#read(at);
      this.isInstalled = true;
    } catch (error) {
      this.isInstalled =
        !(error instanceof DatabaseError && missingStates.has(error.failure.sqlstate));
      // Requests show why the database fails: each group reads it, too.
      this.#last = null;
      pauseMs = Math.max(pauseMs, retryMs);
    }
    polled();
    this.#settle();
    if (this.#state !== "polling") return;
    if (!isNeeded()) this.#state = "stopped";
    else this.#cancelTimer = schedule(() => void this.#poll(), pauseMs);
  }

  /** Reads the records since the last poll, or begins anew. */
  async #read(at: number): Promise<void> {
    const { now, missed, found } = this.options;
    const last = this.#last;
    if (last === null || now() - last.at > maxGapMs) return await this.#begin(at);
    if (at - this.#renewed!.at >= renewalMs) {
      await this.#renew(this.#renewed!.snapshot);
      this.#renewed = last;
    }
    const { records, ...next } = await this.#query(at, { ...poll, params: [last.snapshot.text] });
    if (now() - last.at > maxGapMs || next.epoch !== last.epoch) return await this.#begin(at);
    this.#last = next;
    if (records.size > 0) found(records);
    if (this.#unseenBelow === null || next.snapshot.xmin < this.#unseenBelow) return;
    this.#unseenBelow = null;
    missed();
  }

  /** Has the triggers record, and takes the snapshot from which on they do. */
  async #begin(at: number): Promise<void> {
    await this.#renew(null);
    const { records: _, ...first } = await this.#query(at, start);
    this.#last = first;
    this.#renewed = first;
    this.#unseenBelow = first.snapshot.xmax;
    this.options.missed();
  }

  async #renew(seen: PgSnapshot | null): Promise<void> {
    const statement = { ...renewal, params: [seen?.text ?? null] };
    const batch: WriteBatch = { ...metadataBatch([statement]), access: "read write" };
    await this.options.database.transaction({ ...batch, isTraced: false });
  }

  async #query(at: number, statement: Statement) {
    const batch = { ...metadataBatch([statement]), isTraced: false };
    const { rows } = await this.options.database.transaction(batch);
    const [text, changes] = rows.at(-1)![0]!;
    const records = recordsOf(changes!);
    const [epoch = null] = records.get(0)!;
    records.delete(0);
    return { snapshot: parsePgSnapshot(text!), epoch, at, records };
  }

  #settle(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}

const pollSince = (since: string): Statement => ({
  text: `select pg_catalog.pg_current_snapshot()::text, (select pg_catalog.json_agg(
    pg_catalog.json_build_array(c.relation, c.scope)) from svc_live.changes(${since}) c)`,
  params: [],
  use: "rows",
});
const poll = pollSince("$1");
const start = pollSince("pg_catalog.pg_current_snapshot()");
const renewal: Statement = { text: "select svc_live.renew($1)", params: [], use: "none" };

/** Reads a JSON array of OIDs with scopes. */
function recordsOf(text: string): Map<number, Set<string | null>> {
  const records = new Map<number, Set<string | null>>();
  for (const [table, scope] of JSON.parse(text) as (readonly [string, string | null])[]) {
    const oid = Number(table);
    records.set(oid, (records.get(oid) ?? new Set()).add(scope));
  }
  return records;
}
