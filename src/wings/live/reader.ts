/** Reads the records of changes by polling while there are groups, and keeps the triggers active. @module */
import { metadataTransaction, type ReadTransaction } from "../../database/transaction.ts";
import type { Database } from "../../database/database.ts";
import { type Deferred, deferred } from "../../base/lib/deferred.ts";
import { getOrMake } from "../../base/lib/group_by.ts";
import type { Schedule } from "../../base/lib/timers.ts";
import type { LiveGroups } from "./groups.ts";
import { parsePgSnapshot, type PgSnapshot } from "./offset.ts";

interface ReaderOptions {
  readonly database: Database;
  readonly intervalMs: () => number;
  /** The groups that changes concern. The reader stops if there are no groups. */
  readonly groups: Pick<LiveGroups, "markAll" | "record" | "size">;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
  /** Called for the first poll that fails after a successful one. */
  readonly onFailure: (thrown: unknown) => void;
}

/** Maximum pause between two polls in which no records are lost: they are kept for at least 5 s. */
const maxGapMs = 4000;
/** Period of renewals. After a renewal, the triggers are active for 20 s. */
const renewalMs = 5000;

interface Position {
  readonly snapshot: PgSnapshot;
  /** Value that differs after a crash in which PostgreSQL lost records. */
  readonly epoch: string | null;
  readonly at: number;
}

export class ChangeReader {
  /** Null before the first poll, and after a failure. */
  #last: Position | null = null;
  /** End of the last successful poll. */
  #readAt = -Infinity;
  #isFailing = false;
  /** The poll before the last renewal. The next renewal deletes the records that this poll has read. */
  #renewed: Position | null = null;
  /** Transactions with a lower id may have unrecorded changes; null after all of them have ended. */
  #unseenBelow: bigint | null = null;
  #state: "stopped" | "polling" | "closed" = "stopped";
  /** Resolves after the next poll; null while no request waits for it. */
  #polled: Deferred<boolean> | null = null;
  #cancelTimer = () => {};

  constructor(readonly options: ReaderOptions) {}

  /** Whether no change was missed, because a poll has succeeded recently. */
  get isReading(): boolean {
    return this.#state !== "closed" && this.#last !== null &&
      this.options.now() - this.#readAt <= maxGapMs;
  }

  /** Starts to poll. Resolves with whether changes can be read. The wait has no time limit. */
  async start(): Promise<boolean> {
    if (this.#state === "closed") return false;
    if (this.isReading && this.#state === "polling") return true;
    const { promise } = this.#polled ??= deferred<boolean>();
    if (this.#state === "stopped") {
      this.#state = "polling";
      void this.#poll();
    }
    return await promise;
  }

  close(): void {
    this.#state = "closed";
    this.#cancelTimer();
    this.#settle();
  }

  async #poll(): Promise<void> {
    const { intervalMs, groups, now, schedule } = this.options;
    try {
      await this.#read(now());
      this.#readAt = now();
      this.#isFailing = false;
    } catch (thrown) {
      this.#last = null;
      if (!this.#isFailing && this.#state === "polling") this.options.onFailure(thrown);
      this.#isFailing = true;
    }
    this.#settle();
    if (this.#state !== "polling") return;
    if (groups.size === 0) this.#state = "stopped";
    else this.#cancelTimer = schedule(() => void this.#poll(), intervalMs());
  }

  /** Reads the records since the last poll, or starts again. */
  async #read(at: number): Promise<void> {
    const { now, groups } = this.options;
    const last = this.#last;
    if (last === null || at - last.at > maxGapMs) return await this.#begin();
    if (at - this.#renewed!.at >= renewalMs) {
      await this.#renew(this.#renewed!.snapshot);
      this.#renewed = last;
    }
    const { records, position } = await this.#query(at, last.snapshot);
    if (now() - last.at > maxGapMs || position.epoch !== last.epoch) return await this.#begin();
    this.#last = position;
    if (records.size > 0) groups.record(records);
    if (this.#unseenBelow === null || position.snapshot.xmin < this.#unseenBelow) return;
    this.#unseenBelow = null;
    groups.markAll();
  }

  /** Activates the triggers, and gets the first snapshot in which they are active. */
  async #begin(): Promise<void> {
    const at = this.options.now();
    await this.#renew(null);
    const { position } = await this.#query(at, null);
    this.#last = position;
    this.#renewed = position;
    this.#unseenBelow = position.snapshot.xmax;
    this.options.groups.markAll();
  }

  async #renew(seen: PgSnapshot | null): Promise<void> {
    const transaction = batchOf("select svc_live.renew($1)", seen);
    await this.options.database.transaction({ ...transaction, access: "read write" });
  }

  async #query(at: number, since: PgSnapshot | null) {
    const { rows } = await this.options.database.transaction(batchOf(pollQuery, since));
    const [text, changes] = rows.at(-1)![0]!;
    const records = recordsOf(changes!);
    const [epoch = null] = records.get(0)!;
    records.delete(0);
    return { position: { snapshot: parsePgSnapshot(text!), epoch, at }, records };
  }

  #settle(): void {
    this.#polled?.resolve(this.#last !== null && this.#state !== "closed");
    this.#polled = null;
  }
}

/** Query of a poll. Without a snapshot, it returns only the epoch. */
const pollQuery = `select pg_catalog.pg_current_snapshot()::text, (select pg_catalog.json_agg(
  pg_catalog.json_build_array(c.relation, c.scope))
  from svc_live.changes(coalesce($1, pg_catalog.pg_current_snapshot())) c)`;

function batchOf(text: string, snapshot: PgSnapshot | null): ReadTransaction {
  const statement = { text, params: [snapshot?.text ?? null], use: "rows" } as const;
  return { ...metadataTransaction([statement]), isTraced: false };
}

/** Reads a JSON array of OIDs with scopes. */
function recordsOf(text: string): Map<number, Set<string | null>> {
  const records = new Map<number, Set<string | null>>();
  for (const [table, scope] of JSON.parse(text) as (readonly [string, string | null])[]) {
    getOrMake(records, Number(table), () => new Set()).add(scope);
  }
  return records;
}
