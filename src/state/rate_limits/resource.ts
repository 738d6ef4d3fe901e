/** The resource that a request addresses, which policies compare with their paths. Different
 * spellings of a path are the same resource. @module */
import { percentDecode } from "../../base/http/percent.ts";

/** A request's method and decoded path. */
export interface LimitedResource {
  /** The method. HEAD is treated as GET, and POST to `/<relation>/$query` as QUERY. */
  readonly method: string;
  /** Decoded segments, each after a slash. A slash within a segment is `%2F`. */
  readonly path: string;
  /** Path of the relation that is named below an endpoint; null for other requests. */
  readonly relationPath: string | null;
}

/**
 * Returns whether a policy for a method applies to a request. A policy for GET applies to QUERY, too.
 */
export function countsMethod(ofPolicy: string, method: string): boolean {
  return ofPolicy === method || (ofPolicy === "GET" && method === "QUERY");
}

/** Decodes a path, segment by segment. */
export function decodedPath(path: string): string {
  if (!path.includes("%")) return path;
  return path.split("/").map((raw) => pathSegment(percentDecode(raw, "replace"))).join("/");
}

/** Returns a segment in which slashes are escaped, so that they do not separate segments. */
export function pathSegment(name: string): string {
  return name.replaceAll("/", "%2F");
}

/** Returns whether a path equals `prefix`, or continues it with further segments. */
export function isUnder(path: string, prefix: string): boolean {
  return path.startsWith(prefix) &&
    (path.length === prefix.length || path.charAt(prefix.length) === "/");
}
