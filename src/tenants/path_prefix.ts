/**
 * Adds the tenant's part of the path to the addresses in a response.
 *
 * @module
 */

const addressHeaders = ["Location", "Content-Location"] as const;

/** Adds a prefix to the paths of headers, as clients outside see them. Other hosts keep their addresses. */
export function addPrefix({ headers }: Response, prefix: string): void {
  for (const name of addressHeaders) {
    const value = headers.get(name);
    if (value !== null && /^\/(?!\/)/.test(value)) headers.set(name, prefix + value);
  }
}
