/** Headers that name a GET request for the same result. @module */
import type { HeaderList } from "../../base/lib/header_list.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { acceptedQueries } from "../request/query_request.ts";
import { equalParam } from "../request/url/filter_param.ts";
import { encodeText, pathSegment } from "../../base/http/percent.ts";
import { headerValue } from "../../base/errors/http_text.ts";
import type { QualifiedName, Relation } from "../../state/schema_cache/schema_cache.ts";
import type { Dialect } from "../../base/dialect.ts";
import type { QueryForm } from "../request/raw_request.ts";

/** Maximum length of the URL in the response to a query request. Servers and proxies accept this length. */
const maxUrlCharacters = 2000;

/** Header by form of the request. POST uses `Content-Location`, because `Location` would name a
 * created resource (RFC 10008, section 2.4). */
const headerOf: Readonly<Record<QueryForm, string>> = {
  method: "Location",
  path: "Content-Location",
};

/** Returns the URL, unless it is too long or arguments are JSON, and `Accept-Query` for query
 * requests. */
export function addressHeaders(
  { action, query: { canonical }, queryForm }: ApiRequest,
  prefix: "/" | "/rpc/",
  { name }: QualifiedName,
): HeaderList {
  const url = prefix + inPath(name) + (canonical && `?${canonical}`);
  if (queryForm === undefined) return [["Content-Location", url]];
  const accepted = ["Accept-Query", acceptedQueries(action.kind === "call")] as const;
  const hasJson = action.kind === "call" && action.method === "QUERY";
  if (hasJson || url.length > maxUrlCharacters) return [accepted];
  return [[headerOf[queryForm], url], accepted];
}

/**
 * Returns `/relation?key=eq.value&…`. `key` is a JSON object with the primary key's values as text.
 * In the relation's name, only characters that would end the path or the header are escaped.
 */
export function locationOf({ name }: Relation, key: string): string {
  const values: Readonly<Record<string, string | null>> = JSON.parse(key);
  const filters = Object.entries(values).map(([column, value]) => equalParam(column, value));
  return `/${inPath(name)}?${filters.join("&")}`;
}

function inPath(name: string): string {
  return headerValue(pathSegment(name)) ?? encodeText(name);
}

/** Returns `Content-Range`, and `Range-Unit` in dialects that send it. */
export function rangeHeaders(
  { first, rows, total }: {
    readonly first: bigint;
    readonly rows: number;
    readonly total: number | null;
  },
  { rangeUnit }: Pick<Dialect, "rangeUnit">,
): HeaderList {
  const isBeyond = total !== null && first > total;
  const range = rows > 0 && total !== 0 && !isBeyond
    ? `${first}-${first + BigInt(rows) - 1n}`
    : "*";
  return contentRange(`${range}/${total ?? "*"}`, rangeUnit);
}

/** Returns `Content-Range` with this value, and `Range-Unit` in dialects that send it. */
export function contentRange(value: string, rangeUnit: Dialect["rangeUnit"]): HeaderList {
  const header = ["Content-Range", value] as const;
  return rangeUnit === "sent" ? [["Range-Unit", "items"], header] : [header];
}

/** Returns 416 for a range after the last row, 206 for some of the rows, otherwise 200. */
export function rangeStatus(
  { first, rows, total }: {
    readonly first: bigint;
    readonly rows: number;
    readonly total: number | null;
  },
): 200 | 206 | 416 {
  if (total === null) return 200;
  if (first > total) return 416;
  return rows < total ? 206 : 200;
}
