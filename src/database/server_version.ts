/**
 * Checks the version of the server.
 *
 * @module
 */

/** Oldest major version that the service supports. */
const minMajorVersion = 14;

/**
 * Returns the number of a version that is too old; null for others. Servers that do not report a
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
  const [, number, major] = /^PostgreSQL ((\d+)[\d.]*)/.exec(text) ?? [];
  return number !== undefined && Number(major) < minMajorVersion ? number : null;
}
