/**
 * A request, read as far as it can be without looking at the database's schema.
 *
 * @module
 */
import type { Dialect } from "../dialect.ts";
import { parseAccept } from "../http/accept.ts";
import { type ActionConfig, chooseAction, readPath } from "./action.ts";
import type { Action, ApiRequest } from "./api_request.ts";
import { readHeaders } from "./headers.ts";
import { readBody } from "./body.ts";
import { patientPayloadReader, payloadUse, usesColumns } from "./payload.ts";
import { parsePreferences } from "./preferences.ts";
import { chooseSchema, type ProfileConfig } from "./profile.ts";
import { parseQuery, type QueryMode } from "./query_params.ts";
import type { QueryParams } from "./query_types.ts";
import { chooseWindow } from "./window.ts";

/** The part of the configuration that requests are read by. */
export interface RequestConfig extends ActionConfig, ProfileConfig {
  readonly dialect: Pick<Dialect, "limitedChanges">;
}

/**
 * Reads a request; waits only where there is a body to be read. Raises, in this order: `125` and
 * `126` (path), `106` (schema), `101` and `117` (method), `100` (query string), `103`, `109` and
 * `114` (window), `107` and `102` (body).
 */
export function parseRequest(
  request: Request,
  config: RequestConfig,
): ApiRequest | Promise<ApiRequest> {
  const { method } = request;
  const { path, query: rawQuery } = splitUrl(request.url);
  const { headers, cookies } = readHeaders(request.headers);
  const resource = readPath(path, config);
  const profile = chooseSchema({ method, headers }, config);
  const action = chooseAction(resource, method);
  const asked = parseQuery(rawQuery, queryMode(action));
  const query = limitsCount(method, config) ? asked : withoutLimits(asked);
  const window = chooseWindow({ method, range: headers["range"] ?? null, query });
  const parsed: ApiRequest = {
    method,
    path,
    action,
    ...profile,
    query,
    window,
    preferences: parsePreferences(headers["prefer"] ?? null),
    accept: parseAccept(headers["accept"] ?? null),
    payload: null,
    headers,
    cookies,
  };
  const takes = payloadUse(action);
  if (takes === null) return parsed;
  const contentType = headers["content-type"] ?? null;
  const read = patientPayloadReader({
    contentType,
    takes,
    columnsGiven: usesColumns(action, query),
  });
  return readBody(request).then(read).then((payload) => ({ ...parsed, payload }));
}

/** Whether `limit` and `offset` of the root mean something with a method. */
function limitsCount(method: string, { dialect }: RequestConfig): boolean {
  return dialect.limitedChanges === "limited" || (method !== "PATCH" && method !== "DELETE");
}

/** Forgets the root's limits; an impossible window is refused nevertheless. */
function withoutLimits(query: QueryParams): QueryParams {
  chooseWindow({ method: "GET", range: null, query });
  return { ...query, limit: null, offset: null, hasLimits: false };
}

/** A URL's parts as they were received. */
export interface UrlPieces {
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
}

/** Cuts path and query string out of an absolute URL, without normalising them. */
export function splitUrl(url: string): UrlPieces {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const hash = url.indexOf("#");
  const target = url.slice(start < 0 ? url.length : start, hash < 0 ? url.length : hash);
  const mark = target.indexOf("?");
  if (mark < 0) return { path: target || "/", query: "" };
  return { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

function queryMode(action: Action): QueryMode {
  if (action.kind !== "call") return "relation";
  return action.method === "POST" ? "call-post" : "call-get";
}
