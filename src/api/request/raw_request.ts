/** A request's parts as they were received. @module */
import { parseCookies } from "../../base/http/cookie.ts";
import { textOf } from "./utf8.ts";

/** How a request indicates that its parameters are in the body: by its method, or by its path. */
export type QueryForm = "method" | "path";

/** The request as received, the input of parsing. */
export interface RawRequest extends HeaderRecords {
  readonly method: string;
  readonly path: string;
  /** Without the question mark; empty if absent. */
  readonly query: string;
  /** The request as received, if its parameters came in the body. Default: this request. */
  readonly received?: {
    readonly method: string;
    readonly path: string;
    readonly query: string;
    readonly form: QueryForm;
  };
}

/** Returns the parts of a request. `path` replaces the path of the URL, unless it is undefined. */
export function readRawRequest(request: Request, path?: string): RawRequest {
  const url = splitUrl(request.url);
  return {
    method: request.method,
    path: path ?? url.path,
    query: url.query,
    ...readHeaders(request.headers),
  };
}

/** Returns path and query string of an absolute URL, without normalisation. */
export function splitUrl(url: string): Pick<RawRequest, "path" | "query"> {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const hash = url.indexOf("#");
  const target = url.slice(start < 0 ? url.length : start, hash < 0 ? url.length : hash);
  const mark = target.indexOf("?");
  if (mark < 0) return { path: target || "/", query: "" };
  return { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** Headers by lower-case name, and cookies by name. */
export interface HeaderRecords {
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: Readonly<Record<string, string>>;
}

/** Returns the headers. Runtimes return one character per byte; values whose bytes are UTF-8 are decoded. */
export function readHeaders(received: Headers): HeaderRecords {
  const headers: Record<string, string> = {};
  let cookie: string | null = null;
  received.forEach((value, name) => {
    const text = decodeBytes(value);
    if (name === "cookie") cookie = text;
    // `__proto__` is left out: an assignment to it would replace the prototype of the object.
    else if (name !== "__proto__") headers[name] = text;
  });
  return { headers, cookies: parseCookies(cookie) };
}

/** Decodes a value with one character per byte as UTF-8. Returns the value unchanged if it is not UTF-8. */
export function decodeBytes(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value;
  return textOf(Uint8Array.from(value, (character) => character.charCodeAt(0))) ?? value;
}
