/**
 * Executes a write with an `Idempotency-Key` once: a second request with the key gets the answer of the first.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { KeyTakenError } from "../transaction/idempotency.ts";
import type { KeptReply } from "../response/kept_reply.ts";
import type { Reply } from "../response/reply.ts";

/** The two transactions of a key. */
export interface KeyedSteps {
  /** Writes, and keeps the answer. Rejects with `KeyTakenError` if the key is in the table. */
  readonly write: () => Promise<Reply>;
  /** Reads the answer; null if the key is not in the table. */
  readonly readKept: () => Promise<KeptReply | null>;
  /** Called before a kept answer is returned. */
  readonly onReplayed: () => void;
}

/**
 * Returns the reply of the write, or the kept one. A key that leaves the table between both transactions
 * is tried once more. Throws `154` and `155`.
 */
export async function writeOnce({ write, readKept, onReplayed }: KeyedSteps): Promise<Reply> {
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof KeyTakenError)) throw error;
    }
    const kept = await readKept();
    if (kept === "other request") throw errors.idempotencyKeyReused();
    if (kept === null) continue;
    onReplayed();
    return kept;
  }
  throw errors.idempotencyKeyInProgress();
}
