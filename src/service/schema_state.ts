/** Reads what a {@linkcode SchemaWatch} compares: counters, fingerprint, event triggers. @module */
import { metadataBatch, type Statement } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { emptySearchPath, type SchemaCacheConfig } from "../schema_cache/load.ts";
import { fingerprintQuery, writeCountersQuery } from "../schema_cache/queries/changes.ts";
import { notifyPattern, reloadTriggerQuery } from "../schema_cache/reload_trigger.ts";
import { arrayLiteral } from "../query/array_literal.ts";

/** Sum of the catalogue's write counters. */
interface WriteCounters {
  readonly sum: string;
  /** False if the server counts nothing: `track_counts = off`, or a standby. */
  readonly isCounted: boolean;
}

/** Reads the state of the schema. Each method rejects if the database fails. */
export interface SchemaStateReader {
  /** Whether a transaction would start at once, without another connection. */
  isFree(): boolean;
  writeCounters(): Promise<WriteCounters>;
  /** Returns a text that changes with the exposed schemas. */
  fingerprint(schemas: readonly string[]): Promise<string>;
  /** Whether an enabled event trigger notifies the channel after DDL. */
  hasReloadTrigger(channel: string): Promise<boolean>;
}

/** Returns the schemas whose changes matter. */
export function watchedSchemas(
  { dbSchemas, dbExtraSearchPath }: Pick<SchemaCacheConfig, "dbSchemas" | "dbExtraSearchPath">,
): readonly string[] {
  return [...dbSchemas, ...dbExtraSearchPath];
}

/** Makes a reader. Its transactions leave no lines of the pool in the log. */
export function schemaStateReader(
  database: Pick<Database, "transaction" | "counts">,
): SchemaStateReader {
  const read = async (...statements: readonly Statement[]) => {
    const { rows } = await database.transaction({ ...metadataBatch(statements), isTraced: false });
    return rows.at(-1)?.[0] ?? [];
  };
  return {
    isFree() {
      const { open, inUse, waiting } = database.counts();
      return waiting === 0 && (open > inUse || open === 0);
    },
    async writeCounters() {
      const [sum, isCounted] = await read(query(writeCountersQuery));
      return { sum: sum ?? "", isCounted: isCounted === "true" };
    },
    async fingerprint(schemas) {
      const [sum] = await read(emptySearchPath, query(fingerprintQuery, arrayLiteral(schemas)));
      return sum ?? "";
    },
    async hasReloadTrigger(channel) {
      const [found] = await read(query(reloadTriggerQuery, notifyPattern(channel)));
      return found === "true";
    },
  };
}

function query(text: string, ...params: readonly string[]): Statement {
  return { text, params, use: "rows" };
}
