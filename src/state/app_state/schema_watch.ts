/**
 * Detects changes of the schema by polling, if notifications do not request reloads. Step 1 reads
 * the catalogue's write counters. If they have changed, step 2 hashes the rows of the exposed
 * schemas. @module
 */
import type { Config } from "../config/options.ts";
import { OneShotTimer } from "../../base/lib/one_shot_timer.ts";
import type { Schedule } from "../../base/lib/timers.ts";
import { lockTimeout, metadataTransaction, type Statement } from "../../database/transaction.ts";
import type { Database } from "../../database/database.ts";
import { fingerprintQuery, writeCountersQuery } from "../schema_cache/queries/changes.ts";
import { notifyPattern, reloadTriggerQuery } from "../schema_cache/reload_trigger.ts";
import { rowsOf } from "./metadata_reader.ts";
import { arrayLiteral } from "../../base/sql/array_literal.ts";

export type SchemaWatchConfig = Pick<
  Config,
  "dbSchemaWatch" | "dbChannel" | "dbSchemas" | "dbExtraSearchPath"
>;

interface SchemaWatchOptions {
  readonly reader: SchemaStateReader;
  /** Whether the database is in this process. */
  readonly isEmbedded: boolean;
  /** Whether notifications of the channel reach the service. */
  readonly isNotified: () => boolean;
  /** Called when the schema differs from its state before the last load. */
  readonly onChanged: () => void;
  /** Milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** State of the schema before a load, with which each poll compares the current state. */
interface Baseline {
  readonly counters: string;
  readonly fingerprint: string;
  readonly schemas: readonly string[];
}

/** First step of a check. A check for a missing name begins with the fingerprint, because
 * PostgreSQL updates the counters late. */
type FirstStep = "counters" | "fingerprint";

/** Milliseconds between two checks while the service polls. */
const intervalMs = 2000;

/** Minimum milliseconds between checks if the server counts no writes. Each hashes the rows. */
const uncountedIntervalMs = 10_000;

/** Minimum milliseconds between checks that requests cause. */
const missIntervalMs = 1000;

/** Polls the schema if `db-schema-watch` requires it. */
export class SchemaWatch {
  readonly #options: SchemaWatchOptions;
  readonly #timer: OneShotTimer;
  #config: SchemaWatchConfig;
  #baseline: Baseline | null = null;
  /** Whether a schema cache is loaded, which may be outdated. */
  #isLoaded = false;
  #hasTrigger = false;
  #isCounted = true;
  #nextMissLookAt = -Infinity;
  #look: Promise<void> | null = null;
  #state: "idle" | "started" | "stopped" = "idle";

  constructor(config: SchemaWatchConfig, options: SchemaWatchOptions) {
    this.#config = config;
    this.#options = options;
    this.#timer = new OneShotTimer(options.schedule, () => this.#startLook("counters"));
  }

  /** Starts polling: at once if `isLoaded`, otherwise after the first load. */
  start({ isLoaded }: { readonly isLoaded: boolean }): void {
    this.#state = "started";
    this.#isLoaded ||= isLoaded;
    this.#startTimer();
  }

  configure(config: SchemaWatchConfig): void {
    this.#config = config;
    this.#timer.clear();
    this.#startTimer();
  }

  /** Reads the state of the schema before a load. Resolves with a function that the caller calls
   * after a successful load. A change in between causes another load. */
  async beforeLoad(config: SchemaWatchConfig): Promise<() => void> {
    const hasTrigger = await this.#readTrigger(config);
    const isNotified = hasTrigger && this.#options.isNotified();
    const baseline = isNotified ? null : await this.#readBaseline(config);
    return () => {
      this.#isLoaded = true;
      this.#hasTrigger = hasTrigger;
      this.#baseline = baseline;
      this.#startTimer();
    };
  }

  /** Checks the schema because a request named a missing object. Checks at most once per second. */
  missed(): void {
    const { now, reader } = this.#options;
    if (!this.#polls() || this.#look !== null || now() < this.#nextMissLookAt) return;
    if (!reader.isFree()) return;
    this.#nextMissLookAt = now() + missIntervalMs;
    this.#startLook("fingerprint");
  }

  /** Resolves when no check is in progress. */
  async settled(): Promise<void> {
    await this.#look;
  }

  /** Stops polling. Resolves when no check is in progress. */
  stop(): Promise<void> {
    this.#state = "stopped";
    this.#timer.clear();
    return this.settled();
  }

  #startTimer(): void {
    if (this.#state !== "started" || !this.#mayPoll(this.#config)) return;
    this.#timer.start(this.#isCounted ? intervalMs : uncountedIntervalMs);
  }

  #mayPoll({ dbSchemaWatch }: SchemaWatchConfig): boolean {
    return dbSchemaWatch === "poll" || dbSchemaWatch === "auto" && !this.#options.isEmbedded;
  }

  #polls(): boolean {
    if (this.#state !== "started" || !this.#isLoaded || !this.#mayPoll(this.#config)) return false;
    const isWatchedByTrigger = this.#config.dbSchemaWatch === "auto" && this.#hasTrigger;
    return !isWatchedByTrigger || !this.#options.isNotified();
  }

  /** Starts a check, unless one is in progress. A failed check has no effect. */
  #startLook(first: FirstStep): void {
    this.#look ??= this.#compare(first).catch(() => {}).finally(() => {
      this.#look = null;
      this.#startTimer();
    });
  }

  async #compare(first: FirstStep): Promise<void> {
    const { reader, onChanged } = this.#options;
    if (!this.#polls() || !reader.isFree()) return;
    const baseline = this.#baseline;
    if (baseline === null) {
      this.#baseline = await this.#readBaseline(this.#config);
      // A load is requested, because the schema may have changed while the watch did not poll.
      if (this.#baseline !== null) onChanged();
      return;
    }
    const { sum: counters, isCounted } = await reader.writeCounters();
    this.#isCounted = isCounted;
    if (first === "counters" && isCounted && counters === baseline.counters) return;
    const fingerprint = await reader.fingerprint(baseline.schemas);
    // The result is outdated if a load has ended during this check and set another baseline.
    if (this.#baseline !== baseline) return;
    this.#baseline = { ...baseline, counters, fingerprint };
    if (fingerprint !== baseline.fingerprint) onChanged();
  }

  async #readTrigger(config: SchemaWatchConfig): Promise<boolean> {
    if (config.dbSchemaWatch !== "auto" || !this.#mayPoll(config)) return false;
    return await this.#options.reader.hasReloadTrigger(config.dbChannel).catch(() => false);
  }

  /** Reads the state of the schema; null if the service may not poll, or if the database fails. */
  async #readBaseline(config: SchemaWatchConfig): Promise<Baseline | null> {
    const { reader } = this.#options;
    if (!this.#mayPoll(config)) return null;
    try {
      const { sum: counters, isCounted } = await reader.writeCounters();
      const schemas = [...config.dbSchemas, ...config.dbExtraSearchPath];
      const fingerprint = await reader.fingerprint(schemas);
      this.#isCounted = isCounted;
      return { counters, fingerprint, schemas };
    } catch {
      return null;
    }
  }
}

export type SchemaStateReader = ReturnType<typeof schemaStateReader>;

/** Returns a reader of the schema's state. Its transactions are not logged as uses of the pool.
 * Each method rejects if the database fails. */
export function schemaStateReader(database: Pick<Database, "transaction" | "counts">) {
  const read = async (statement: Statement) => {
    const transaction = metadataTransaction([lockTimeout, statement]);
    const { rows } = await database.transaction({ ...transaction, isTraced: false });
    return rows.at(-1)?.[0] ?? [];
  };
  return {
    /** Whether a transaction could start at once on an idle connection. */
    isFree(): boolean {
      const { open, inUse, waiting } = database.counts();
      return waiting === 0 && (open > inUse || open === 0);
    },
    /** Returns the sum of the catalogue's write counters. `isCounted` is false if the server does
     * not count: `track_counts = off`, or a standby. */
    async writeCounters(): Promise<{ readonly sum: string; readonly isCounted: boolean }> {
      const [sum, isCounted] = await read(rowsOf(writeCountersQuery));
      return { sum: sum ?? "", isCounted: isCounted === "true" };
    },
    /** Returns a text that changes with the exposed schemas. */
    async fingerprint(schemas: readonly string[]): Promise<string> {
      const [sum] = await read(rowsOf(fingerprintQuery, arrayLiteral(schemas)));
      return sum ?? "";
    },
    /** Whether an enabled event trigger notifies the channel after DDL. */
    async hasReloadTrigger(channel: string): Promise<boolean> {
      const [hasTrigger] = await read(rowsOf(reloadTriggerQuery, notifyPattern(channel)));
      return hasTrigger === "true";
    },
  };
}
