/**
 * Names of tenants.
 *
 * @module
 */

const pattern = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** Returns whether a text is a name: it is safe as a part of a path, of a host and of a label. */
export function isTenantName(text: string): boolean {
  return pattern.test(text);
}
