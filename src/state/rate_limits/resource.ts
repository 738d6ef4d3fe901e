/** The resource that a request addresses, as policies match it: other spellings of a path are the
 * same resource. @module */
import { percentDecode } from "../../base/http/percent.ts";

/** A request's method and decoded path. */
export interface LimitedResource {
  /** HEAD is GET, which does the same work. POST to `/<relation>/$query` is QUERY. */
  readonly method: string;
  /** Decoded segments after slashes. A slash in a segment is `%2F`. */
  readonly path: string;
  /** Path of the relation that a path below an endpoint names; null for other requests. */
  readonly relationPath: string | null;
}

/** Returns whether a policy of a method applies to requests with another one. QUERY is a way to
 * GET. */
export function countsMethod(ofPolicy: string, method: string): boolean {
  return ofPolicy === method || (ofPolicy === "GET" && method === "QUERY");
}

/** Decodes a path, segment by segment. */
export function decodedPath(path: string): string {
  if (!path.includes("%")) return path;
  return path.split("/").map((raw) => pathSegment(percentDecode(raw, "replace"))).join("/");
}

/** Returns a segment whose slashes cannot be taken for separators of the path. */
export function pathSegment(name: string): string {
  return name.replaceAll("/", "%2F");
}

/** Returns whether a path is `prefix`, or continues it with further segments. */
export function isUnder(path: string, prefix: string): boolean {
  return path.startsWith(prefix) &&
    (path.length === prefix.length || path.charAt(prefix.length) === "/");
}
