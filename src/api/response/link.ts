/** The `Link` header of pages (RFC 8288). @module */
import type { HeaderList } from "../../base/lib/header_list.ts";
import type { CursorPage, ReadNode } from "../plan/read_node.ts";
import { resultColumn } from "../query/query.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { type ReplacedParam, splitQuery, withParams } from "../request/url/query_string.ts";

/** Pages that have links: pages by a cursor, all pages, or none. */
export type LinkMode = "cursor" | "all" | "none";

export interface ReadPage {
  readonly root: ReadNode;
  readonly columns: readonly (string | null)[];
  readonly rows: number;
  /** Number of all rows; null if they were not counted exactly. */
  readonly total: number | null;
}

/** Parameters of other pages, by their relation to the current page. */
type Links = readonly (readonly [relation: string, params: readonly ReplacedParam[]])[];

/** Maximum length, since proxies and clients limit header lines. */
const maxLength = 4096;

/** Returns the header `Link` for other pages; empty if there are no links. */
export function linkHeader(request: ApiRequest, page: ReadPage, mode: LinkMode): HeaderList {
  const cursor = page.root.kind === "cursor" ? page.root.cursor.page : null;
  if (hasPositionInBody(request, cursor)) return [];
  const links = mode === "none"
    ? noLinks
    : cursor !== null
    ? cursorLinks(cursor, page)
    : mode === "all"
    ? offsetLinks(request, page)
    : noLinks;
  const targets = links.map(([relation, params]) => ({
    isEnd: relation === "first" || relation === "last",
    text: `<?${withParams(request.queryString, params)}>; rel="${relation}"`,
  }));
  const header = fittingHeader(targets);
  return header === "" ? [] : [["Link", header]];
}

const noLinks: Links = [];

/** Joins links. If they do not all fit, links to the first and last page are left out, since
 * clients that follow pages do not need these. */
function fittingHeader(
  links: readonly { readonly isEnd: boolean; readonly text: string }[],
): string {
  const join = (some: typeof links) => some.map(({ text }) => text).join(", ");
  return [links, links.filter(({ isEnd }) => !isEnd)].map(join)
    .find(({ length }) => length <= maxLength) ?? "";
}

/** Returns whether the body has the parameter of the position. Clients repeat the body when they
 * follow a link, so a position in the link would have no effect. */
function hasPositionInBody(
  { queryForm, query, queryString }: ApiRequest,
  cursor: CursorPage | null,
): boolean {
  if (queryForm === undefined || (cursor === null && query.offset === null)) return false;
  const names: readonly string[] = replacedNames;
  return !splitQuery(queryString).some(({ name }) => names.includes(name));
}

const replacedNames = ["offset", "after", "before"] as const;

/** Returns the links of a page by a cursor. A page that begins after a row has a previous page,
 * with that row. */
function cursorLinks({ direction, keys }: CursorPage, { root, columns, rows }: ReadPage): Links {
  const at = (name: "after" | "before", cursor: string) => [
    ...replacedNames.map((replaced) => ({ name: replaced, value: null })),
    { name, value: cursor },
  ];
  const isAfter = direction === "after";
  const hasMore = columns[resultColumn.more] === "1" && rows > 0;
  const [hasPrevious, hasNext] = isAfter ? [keys !== null, hasMore] : [hasMore, keys !== null];
  const isHidden = root.range.limit === "0";
  const first = rows === 0 ? "" : columns[resultColumn.firstCursor] ?? null;
  const last = rows === 0 ? "" : columns[resultColumn.lastCursor] ?? null;
  return [
    ["first", at("after", "")],
    ...hasPrevious && !isHidden && first !== null ? [["prev", at("before", first)] as const] : [],
    ...hasNext && !isHidden && last !== null ? [["next", at("after", last)] as const] : [],
    ["last", at("before", "")],
  ];
}

/** Returns the links for a page by `limit` and `offset`; empty without a limit. */
function offsetLinks(
  { bounds, query, headers }: ApiRequest,
  { root, rows, total }: ReadPage,
): Links {
  const { limit } = root.range;
  if (limit === null || limit === "0") return noLinks;
  const length = BigInt(limit);
  const { first } = bounds;
  // Links repeat `limit` of the query string. If `Range` limits the page, they add a `limit`.
  const isNamed = query.limit !== null && headers["range"] === undefined;
  const at = (offset: bigint) => [
    ...isNamed ? [] : [{ name: "limit", value: limit }],
    { name: "offset", value: offset === 0n ? null : String(offset) },
  ];
  const end = first + BigInt(rows);
  const hasNext = BigInt(rows) === length && (total === null || end < BigInt(total));
  const previous = first > length ? first - length : 0n;
  return [
    ["first", at(0n)],
    ...first > 0n ? [["prev", at(previous)] as const] : [],
    ...hasNext ? [["next", at(end)] as const] : [],
    ...total === null ? [] : [["last", at(lastOffset(BigInt(total), length))] as const],
  ];
}

function lastOffset(total: bigint, length: bigint): bigint {
  return total === 0n ? 0n : (total - 1n) / length * length;
}
