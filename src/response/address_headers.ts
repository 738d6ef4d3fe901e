/**
 * Headers that name the GET with the result of a read.
 *
 * @module
 */
import type { HeaderList } from "../lib/header_list.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { acceptedQueries, type QueryForm } from "../request/query_request.ts";

/** Most characters of the URL that the response to a query request names. Servers and proxies accept it. */
const maxUrlCharacters = 2000;

/**
 * The header that names the GET. For QUERY, that is `Location` (RFC 10008, section 2.4); in the response
 * to POST, `Location` names what the request has made.
 */
const headerOf: Readonly<Record<QueryForm, string>> = {
  method: "Location",
  path: "Content-Location",
};

/**
 * Returns the header with the URL of the GET: `path` and the canonical parameters. The response to a
 * query request also has `Accept-Query`. It lacks the URL if that is long, and for JSON arguments.
 */
export function addressHeaders(
  { action, query: { canonical }, queryForm }: ApiRequest,
  path: string,
): HeaderList {
  const url = path + (canonical && `?${canonical}`);
  if (queryForm === undefined) return [["Content-Location", url]];
  const accepted = ["Accept-Query", acceptedQueries(action.kind === "call")] as const;
  const hasJson = action.kind === "call" && action.method === "QUERY";
  if (hasJson || url.length > maxUrlCharacters) return [accepted];
  return [[headerOf[queryForm], url], accepted];
}
