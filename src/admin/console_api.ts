/** Passes requests of the console to the API in this process. @module */
import type { RequestInfo } from "../handler/handler.ts";

/** Handles a request to the API. */
export type HandleApi = (request: Request, info: RequestInfo) => Promise<Response>;

/** Path below which the API answers. */
export const apiPrefix = "/console/api/";

/** Headers that concern the console's page alone. The API takes a token from `Authorization` only. */
const ownHeaders: ReadonlySet<string> = new Set([
  "admin-token",
  "console",
  "cookie",
  "origin",
  "referer",
]);

/** Methods that a `Request` cannot have (Fetch standard, "forbidden method"). The API refuses them. */
const forbiddenMethods: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

/** Returns whether the console passes requests of a method to the API. */
export function isPassed(method: string): boolean {
  return !forbiddenMethods.has(method.toUpperCase());
}

/** Returns the request to the API: the same method, body and headers, without the prefix of the path. */
export function apiRequest(request: Request): Request {
  const { url, method, signal, body } = request;
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const target = url.slice(start + apiPrefix.length - 1);
  const headers = Array.from(request.headers).filter(([name]) =>
    !ownHeaders.has(name) && !name.startsWith("sec-")
  );
  const init: RequestInit & { readonly duplex: "half" } = {
    method,
    headers,
    body,
    signal,
    duplex: "half",
  };
  return new Request(url.slice(0, start) + target, init);
}
