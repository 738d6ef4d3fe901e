/**
 * The rows that a request wants of the root.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { parseRange } from "../http/range_header.ts";
import type { QueryParams, Window } from "./query_types.ts";

const everything: Window = { first: 0n, last: null };
const noRows: Window = { first: 0n, last: -1n };

/** The parts of a request that say which rows are wanted. */
export interface WindowParts {
  readonly method: string;
  /** The `Range` header, which counts with GET only. */
  readonly range: string | null;
  readonly query: Pick<QueryParams, "limit" | "offset" | "hasLimits" | "order">;
}

/**
 * Intersects `limit` and `offset` with `Range`. Throws `103` when nothing is left, although
 * `limit=0` may request no rows; `109` for PATCH and DELETE with limits and without an order of the
 * root; `114` for PUT with a window.
 */
export function chooseWindow({ method, range, query }: WindowParts): Window {
  const header = method === "GET" ? parseRange(range) : null;
  const window = intersect(windowOf(query), header ?? everything);
  const isLimited = method === "PATCH" || method === "DELETE";
  if (isLimited && query.hasLimits && !query.order.some(({ path }) => path.length === 0)) {
    throw errors.limitWithoutOrder();
  }
  if (method === "PUT" && (window.first !== 0n || window.last !== null)) {
    throw errors.putWithLimits();
  }
  return window;
}

function windowOf({ limit, offset }: Pick<QueryParams, "limit" | "offset">): Window {
  const first = offset ?? 0n;
  return { first, last: limit === null ? null : first + limit - 1n };
}

function intersect(wanted: Window, header: Window): Window {
  if (wanted.last === -1n) return noRows;
  const first = wanted.first > header.first ? wanted.first : header.first;
  const last = lower(wanted.last, header.last);
  if (last === null || last >= first) return { first, last };
  throw errors.invalidRange(
    header.last !== null && header.last < header.first
      ? "The lower boundary must be lower than or equal to the upper boundary in the Range header."
      : "Limit should be greater than or equal to zero.",
  );
}

/** The lower of two bounds, where null means no bound. */
function lower(one: bigint | null, other: bigint | null): bigint | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}
