/**
 * Reads that standbys may execute, and batches whose results need a position.
 *
 * @module
 */
import type { Batch, ReadBatch, StandbyUse } from "../batch.ts";
import type { Refusal } from "./refusal.ts";

/** A read that standbys may execute. */
export type StandbyRead = ReadBatch & { readonly standby: StandbyUse };

/** Whether standbys may execute a batch. */
export function isStandbyRead(batch: Batch): batch is StandbyRead {
  return batch.access === "read only" && batch.standby !== undefined;
}

/** Standbys cannot execute serializable transactions. */
export function isSerializable({ transaction }: Batch): boolean {
  return transaction.form === "block" && transaction.isolation === "serializable";
}

/** Whether the primary may execute a read that a standby has refused: nothing runs twice. */
export function mayRepeat(
  { standby: { isRepeatable } }: StandbyRead,
  { isUnbegun }: Refusal,
): boolean {
  return isRepeatable || isUnbegun;
}

/**
 * Has a batch return the position behind its transaction. The end of an implicit write is at the Sync, where
 * no statement can follow in the same transaction's write, so it becomes a block.
 */
export function withPosition(batch: Batch): Batch {
  const positioned = { ...batch, walPosition: { condition: null, returned: "any" } } as const;
  if (batch.access === "read only" || batch.transaction.form === "block") return positioned;
  return {
    ...positioned,
    transaction: { form: "block", isolation: "read committed", end: "commit" },
  };
}
