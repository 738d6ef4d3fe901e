/** Checks the version of the server. @module */
import { lockTimeout, metadataTransaction } from "./transaction.ts";
import type { Database } from "./database.ts";

/** Oldest major version that the service supports. */
const minMajorVersion = 14;

/**
 * Returns the number of the version if it is too old, otherwise null. Servers that do not report a
 * PostgreSQL version are accepted.
 *
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 *
 * strictEqual(unsupportedVersion("PostgreSQL 13.14 (Debian) on x86_64"), "13.14");
 * strictEqual(unsupportedVersion("PostgreSQL 18beta1 on x86_64"), null);
 * ```
 */
export function unsupportedVersion(text: string): string | null {
  const number = versionNumber(text);
  return number !== null && parseInt(number) < minMajorVersion ? number : null;
}

/** Returns the number in the result of `version()`, such as `15.18`; null for other servers. */
export function versionNumber(text: string): string | null {
  return /^PostgreSQL (\d+[\d.]*)/.exec(text)?.[1] ?? null;
}

/** Reads `version()`. The transaction takes two round trips, so that a pooler in statement mode rejects it. */
export async function readVersion(database: Pick<Database, "transaction">): Promise<string> {
  const { rows, open } = await database.transaction(versionTransaction);
  await open!.end("commit");
  return rows.at(-1)?.[0]?.[0] ?? "";
}

const versionTransaction = metadataTransaction(
  [lockTimeout, { text: "select version()", params: [], use: "rows" }],
  "open",
);
