/**
 * The resource that a request addresses, as policies match it: other spellings of a path are the same
 * resource.
 *
 * @module
 */
import { percentDecode } from "../request/percent.ts";

/** A request's method and decoded path. */
export interface LimitedResource {
  /** HEAD is GET, which does the same work. */
  readonly method: string;
  /** Decoded segments behind slashes. A slash in a segment is `%2F`. */
  readonly path: string;
}

/** Returns the resource of a request. `rootFunction` answers `/`; null if no function does. */
export function limitedResource(
  { method, path }: { readonly method: string; readonly path: string },
  rootFunction: string | null,
): LimitedResource {
  return {
    method: method === "HEAD" ? "GET" : method,
    path: path === "/" && rootFunction !== null
      ? `/rpc/${segment(rootFunction)}`
      : decodedPath(path),
  };
}

/** Decodes a path, segment by segment. */
export function decodedPath(path: string): string {
  if (!path.includes("%")) return path;
  return path.split("/").map((raw) => segment(percentDecode(raw, "replace"))).join("/");
}

function segment(name: string): string {
  return name.replaceAll("/", "%2F");
}

/** Returns whether a path is `prefix`, or continues it with further segments. */
export function isUnder(path: string, prefix: string): boolean {
  return path.startsWith(prefix) &&
    (path.length === prefix.length || path.charAt(prefix.length) === "/");
}
