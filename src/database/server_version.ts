/**
 * What a server says of its version.
 *
 * @module
 */

/** The oldest version that the service works with. */
const oldestMajor = 14;

/**
 * Gives the number of a version that is too old, and null for others. A server that does not say that
 * it is PostgreSQL is given the benefit of the doubt.
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
  return number !== undefined && Number(major) < oldestMajor ? number : null;
}
