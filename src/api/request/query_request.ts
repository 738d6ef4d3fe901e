/**
 * Requests with parameters in the body: QUERY (RFC 10008), and POST to a path that ends in
 * `/$query`. Each is a GET with the parameters of its URL, followed by the parameters of its body.
 * For a function, the body may also have arguments as JSON, as with POST, but the function can only
 * read. @module
 */
import { errors } from "../../base/errors/catalogue.ts";
import { canonicalText, parseMediaType } from "../../base/http/media_type.ts";
import { RawDecoder } from "./body/decoders.ts";
import type { PayloadReader } from "./body/payload.ts";
import { textOf } from "./utf8.ts";
import { percentDecode } from "../../base/http/percent.ts";
import type { QueryForm, RawRequest } from "./raw_request.ts";

/** The relation or function of a query request. */
export interface QueryTarget {
  readonly form: QueryForm;
  /** Path without `/$query`. */
  readonly path: string;
  readonly isRoutine: boolean;
}

export interface QueryRequestConfig {
  readonly serverQueryMethod: boolean;
  readonly dbRootSpec: { readonly name: string } | null;
}

/** Returns the target of a query request; null for other requests. A path that ends in `/$query`
 * has a target with any method. */
export function readQueryTarget(
  { method, path }: Pick<RawRequest, "method" | "path">,
  { serverQueryMethod, dbRootSpec }: QueryRequestConfig,
): QueryTarget | null {
  if (!serverQueryMethod) return null;
  const before = pathBeforeQuery(path);
  if (before !== null) return { form: "path", path: before, isRoutine: isRoutinePath(before) };
  if (method !== "QUERY") return null;
  if (path === "/") return dbRootSpec === null ? null : { form: "method", path, isRoutine: true };
  return { form: "method", path, isRoutine: isRoutinePath(path) };
}

const querySegment = "$query";

/** Returns the path before `/$query`; null for other paths, for `/$query` and for `/rpc/$query`. */
export function pathBeforeQuery(path: string): string | null {
  const end = path.lastIndexOf("/");
  const last = path.slice(end + 1);
  if (last !== querySegment && percentDecode(last, "replace") !== querySegment) return null;
  const before = path.slice(0, end);
  return before.length < 2 || percentDecode(before, "replace") === "/rpc" ? null : before;
}

function isRoutinePath(path: string): boolean {
  const second = path.indexOf("/", 1);
  return second > 0 && percentDecode(path.slice(1, second), "replace") === "rpc";
}

/** Returns the GET that is equivalent to a query request whose body has no parameters; else the request. */
export function asRead(raw: RawRequest, config: QueryRequestConfig): RawRequest {
  const target = readQueryTarget(raw, config);
  return target === null ? raw : { ...raw, method: "GET", path: target.path };
}

/**
 * Returns the GET that is equivalent to a query request, still without the parameters of the body.
 * For a function with JSON arguments, returns a QUERY. Throws `101` and `117` for methods other than
 * POST on `/$query`, and `107` for an unsupported content type.
 */
export function requestInQuery(raw: RawRequest, target: QueryTarget): RawRequest {
  const { method, path, headers } = raw;
  const { form, isRoutine } = target;
  if (form === "path" && method !== "POST") {
    throw isRoutine ? errors.methodOnFunction(method) : errors.unsupportedMethod(method);
  }
  const contentType = headers["content-type"] ?? null;
  return {
    ...raw,
    method: hasJsonArguments(contentType, target) ? "QUERY" : "GET",
    path: target.path,
    received: { method, path, query: raw.query, form },
  };
}

/** Returns whether the body is JSON. Throws `107` if it is neither JSON nor a form. */
function hasJsonArguments(contentType: string | null, { form, isRoutine }: QueryTarget): boolean {
  if (contentType === "application/x-www-form-urlencoded") return false;
  const media = contentType === null ? null : parseMediaType(contentType);
  if (media?.kind === "form" || (media?.kind === "text" && form === "path")) return false;
  if (media?.kind === "json" && isRoutine) return true;
  throw errors.unsupportedQueryType(
    media === null ? null : canonicalText(media),
    acceptedQueries(isRoutine),
  );
}

/** Returns the value of `Accept-Query` (RFC 10008, section 3). */
export function acceptedQueries(isRoutine: boolean): string {
  return isRoutine ? `${formType}, "application/json"` : formType;
}

const formType = '"application/x-www-form-urlencoded"';

/** Reads the parameters in a body, without decoding them. */
export const parameterReader: PayloadReader = {
  format: "raw",
  isQuery: true,
  begin: () => new RawDecoder("bytea"),
};

/** Maximum number of parameters in a body. Each may be a condition to plan. */
const maxParameters = 10_000;

/** Returns the request with the parameters of its body. Throws `178` for text that a URL cannot
 * contain, and `177` for too many parameters. */
export function withParameters(request: RawRequest, body: Uint8Array): RawRequest {
  const text = textOf(body);
  if (text === null || /%00|\0/.test(text)) throw errors.unreadableQuery();
  if (hasTooManyParameters(text)) {
    throw errors.queryTooComplex(maxParameters, "parameters");
  }
  const { query } = request;
  return { ...request, query: query === "" || text === "" ? query + text : `${query}&${text}` };
}

function hasTooManyParameters(text: string): boolean {
  if (text.length < 2 * maxParameters) return false;
  let count = 0;
  for (const _ of text.matchAll(/[^&;]+/g)) if (++count > maxParameters) return true;
  return false;
}
