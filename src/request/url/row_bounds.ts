/** Computes which rows of the root a request selects. @module */
import { errors } from "../../errors/catalogue.ts";
import { parseRange } from "../../http/range_header.ts";
import type { QueryParams, RowBounds } from "./query_types.ts";

const everything: RowBounds = { first: 0n, last: null };
const noRows: RowBounds = { first: 0n, last: -1n };

/** Parts of a request that select rows of the root by position. */
export interface RowBoundsParts {
  readonly method: string;
  /** The `Range` header, which only GET and QUERY use. */
  readonly range: string | null;
  readonly query: Pick<QueryParams, "limit" | "offset" | "hasLimits" | "order">;
}

/**
 * Intersects `limit` and `offset` with `Range`. Throws `103` when nothing is left, although
 * `limit=0` may request no rows; `109` for PATCH and DELETE with limits and without an order of the
 * root; `114` for PUT with bounds.
 */
export function chooseRowBounds({ method, range, query }: RowBoundsParts): RowBounds {
  const header = method === "GET" || method === "QUERY" ? parseRange(range) : null;
  const bounds = intersect(boundsOf(query), header ?? everything);
  const isLimited = method === "PATCH" || method === "DELETE";
  if (isLimited && query.hasLimits && !query.order.some(({ path }) => path.length === 0)) {
    throw errors.limitWithoutOrder();
  }
  if (method === "PUT" && (bounds.first !== 0n || bounds.last !== null)) {
    throw errors.putWithLimits();
  }
  return bounds;
}

function boundsOf({ limit, offset }: Pick<QueryParams, "limit" | "offset">): RowBounds {
  const first = offset ?? 0n;
  return { first, last: limit === null ? null : first + limit - 1n };
}

function intersect(wanted: RowBounds, header: RowBounds): RowBounds {
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
