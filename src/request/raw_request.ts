/** A request's parts as they were received. @module */
import { type HeaderRecords, readHeaders } from "./headers.ts";
import type { QueryForm } from "./query_request.ts";

/** The request as received, the input of parsing. */
export interface RawRequest extends HeaderRecords {
  readonly method: string;
  readonly path: string;
  /** Without the question mark; empty if absent. */
  readonly query: string;
  /** The request as received, if its parameters came in the body. Default: that above. */
  readonly received?: {
    readonly method: string;
    readonly path: string;
    readonly query: string;
    readonly form: QueryForm;
  };
}

/** Takes a request apart. `path` replaces that of the URL, unless it is undefined. */
export function readRawRequest(request: Request, path?: string): RawRequest {
  const url = splitUrl(request.url);
  return {
    method: request.method,
    path: path ?? url.path,
    query: url.query,
    ...readHeaders(request.headers),
  };
}

/** Cuts path and query string out of an absolute URL, without normalising them. */
export function splitUrl(url: string): Pick<RawRequest, "path" | "query"> {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const hash = url.indexOf("#");
  const target = url.slice(start < 0 ? url.length : start, hash < 0 ? url.length : hash);
  const mark = target.indexOf("?");
  if (mark < 0) return { path: target || "/", query: "" };
  return { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
