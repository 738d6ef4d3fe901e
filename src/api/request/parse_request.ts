/** Parses a request as far as possible without the schema cache. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { ApiRequest } from "./api_request.ts";
import type { Config } from "../../state/config/options.ts";
import type { Dialect } from "../../base/dialect.ts";
import { parseAccept } from "../../base/http/accept.ts";
import { type Action, type ActionConfig, chooseAction, readPath } from "./action.ts";
import {
  hasArgumentsInBody,
  mayKeysVary,
  type PayloadReader,
  payloadReader,
  payloadUse,
  usesColumns,
} from "./body/payload.ts";
import type { RawRequest } from "./raw_request.ts";
import { noPreconditions, readPreconditions } from "./preconditions.ts";
import { parsePreferences } from "./preferences.ts";
import { chooseSchema, type ProfileConfig } from "./profile.ts";
import { parseQuery, type QueryMode } from "./url/query_params.ts";
import { canonicalQuery, equivalentQuery } from "./url/query_string.ts";
import type { QueryParams } from "./url/query_types.ts";
import { chooseRowBounds } from "./url/row_bounds.ts";

export interface RequestConfig extends ActionConfig, ProfileConfig, Pick<Config, "etagMode"> {
  readonly dbSafeUpdate: boolean;
  readonly dialect: Pick<Dialect, "csv" | "writeParameters">;
}

export interface RequestHead {
  /** The parsed request. Its payload is null, because the body is read later. */
  readonly request: ApiRequest;
  /** Null if the request has no body to read. */
  readonly reader: PayloadReader | null;
}

/**
 * Parses everything except the body. Throws, in this order: `125` and `126` (path), `106` (schema),
 * `101` and `117` (method), `100`, `195` and `196` (query string), `103`, `109` and `114` (bounds),
 * `159` (preconditions), `160` and `196` (parameters without effect), `158` (no filter), `107`
 * (content type).
 */
export function parseHead(raw: RawRequest, config: RequestConfig): RequestHead {
  const { method, path, query: rawQuery, headers, cookies, received } = raw;
  const resource = readPath(path, config);
  const profile = chooseSchema({ method, headers }, config);
  const action = chooseAction(resource, raw);
  const canonicalOf = received === undefined ? canonicalQuery : equivalentQuery;
  const asked = parseQuery(rawQuery, queryMode(action), canonicalOf);
  const takesLimits = asked.lock !== null || asked.on !== null || limitsCount(method, config);
  const query = takesLimits ? asked : withoutLimits(asked);
  const bounds = chooseRowBounds({ method, range: headers["range"] ?? null, query });
  const request: ApiRequest = {
    method: received?.method ?? method,
    path: received?.path ?? path,
    queryString: received?.query ?? rawQuery,
    action,
    ...received === undefined ? {} : { queryForm: received.form },
    ...profile,
    query,
    bounds,
    preferences: parsePreferences(headers["prefer"] ?? null),
    preconditions: config.etagMode === "off" ? noPreconditions : readPreconditions(action, raw),
    accept: parseAccept(headers["accept"] ?? null),
    payload: null,
    headers,
    cookies,
  };
  checkApplied(request, config);
  if (config.dbSafeUpdate) checkSafeUpdate(request);
  const takes = payloadUse(action);
  if (takes === null) return { request, reader: null };
  const contentType = headers["content-type"] ?? null;
  const columnsGiven = usesColumns(action, query);
  const keysMayVary = mayKeysVary(query);
  const mayPatch = action.kind === "update";
  const { csv } = config.dialect;
  const parts = { contentType, takes, csv, columnsGiven, keysMayVary, mayPatch };
  const reader = payloadReader(parts);
  return { request, reader: received === undefined ? reader : { ...reader, isQuery: true } };
}

/** Returns whether `limit` and `offset` of the root have an effect with this method. */
function limitsCount(method: string, { dialect }: RequestConfig): boolean {
  return dialect.writeParameters === "applied" || (method !== "PATCH" && method !== "DELETE");
}

/** Removes the limits of the root. Invalid bounds are still rejected. */
function withoutLimits(query: QueryParams): QueryParams {
  chooseRowBounds({ method: "GET", range: null, query });
  return { ...query, limit: null, offset: null, hasLimits: false };
}

function queryMode(action: Action): QueryMode {
  switch (action.kind) {
    case "update":
    case "insert":
    case "put":
    case "delete":
      return action.kind;
    case "call":
      return hasArgumentsInBody(action) ? "call-post" : "call-get";
    default:
      return "relation";
  }
}

/**
 * Throws `160` for an embed that would restrict the rows of a write. Throws `196` for another
 * parameter without effect on a write, and for an invalid `limit` of a read. If the dialect ignores
 * such parameters, only parameters of PATCH and DELETE that may be meant to restrict rows are
 * rejected.
 */
function checkApplied(
  request: ApiRequest,
  { dialect }: Pick<RequestConfig, "dialect">,
): void {
  const { action, query, preferences } = request;
  const isStrict = dialect.writeParameters === "applied";
  const isChange = action.kind === "update" || action.kind === "delete";
  const isWrite = isChange || action.kind === "insert" || action.kind === "put";
  const isCall = action.kind === "call" && action.method === "POST";
  if (isChange || isStrict && isWrite) checkEmbeds(request);
  const refused = query.unused.find(({ name, why }) => {
    const isFilter = why === "is a filter" || /[<>]/.test(name);
    return isStrict
      ? isWrite || isCall || isFilter || why === "is no integer"
      : isChange && (isFilter || why === "has no value");
  });
  if (refused !== undefined) throw errors.unusedParameter(refused);
  const isPlainInsert = action.kind === "insert" && preferences.resolution === null;
  if (isStrict && isPlainInsert && query.onConflict !== null) {
    throw errors.invalidConflict("'on_conflict' needs a resolution");
  }
}

/**
 * Throws for an inner join or conditions on an embed, which cannot restrict the rows of a write.
 */
function checkEmbeds({ action, query: { select, filters, logic }, preferences }: ApiRequest): void {
  for (const item of select) {
    if ((item.kind === "relation" || item.kind === "spread") && item.join === "inner") {
      throw errors.onlyForReading(`${item.target}!inner`);
    }
  }
  if (preferences.return === "representation" || action.kind === "put") return;
  const hidden = [...filters, ...logic].find(({ path }) => path.length > 0);
  if (hidden !== undefined) throw errors.onlyForReading(hidden.path.join("."));
}

/** Throws `158` for an update or delete without a filter or limit. */
export function checkSafeUpdate({ action, query, preferences }: ApiRequest): void {
  if (action.kind !== "update" && action.kind !== "delete") return;
  const hasFilter = query.filters.some(({ path }) => path.length === 0) ||
    query.logic.some(({ path }) => path.length === 0) || query.on !== null;
  const isBounded = query.limit !== null ||
    preferences.handling === "strict" && preferences.maxAffected !== null;
  if (hasFilter || isBounded) return;
  throw errors.unfilteredWrite(action.kind === "update" ? "UPDATE" : "DELETE");
}
