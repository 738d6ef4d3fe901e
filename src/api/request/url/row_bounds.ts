/** Reads `limit` and `offset`, and computes which rows of the root a request selects. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { parseRange } from "../../../base/http/range_header.ts";
import { levelKey, levelOf } from "./name_grammar.ts";
import type { ValuedParam } from "./query_string.ts";
import type { QueryParams, RowBounds } from "./query_types.ts";

const everything: RowBounds = { first: 0n, last: null };
const noRows: RowBounds = { first: 0n, last: -1n };

export interface RowBoundsParts {
  readonly method: string;
  /** The `Range` header, which is used by GET and QUERY only. */
  readonly range: string | null;
  readonly query: Pick<QueryParams, "limit" | "offset" | "hasLimits" | "order">;
}

/**
 * Intersects `limit` and `offset` with `Range`. Throws `103` if no rows remain, except for
 * `limit=0`; `109` for PATCH and DELETE with limits and without an order of the root; `114` for PUT
 * with bounds.
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

/** Returns the lower of two bounds; null means no bound. */
function lower(one: bigint | null, other: bigint | null): bigint | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

type Limits = Pick<QueryParams, "limits" | "limit" | "offset" | "hasLimits">;

interface Level {
  readonly path: readonly string[];
  limit: bigint | null;
  offset: bigint | null;
}

/** Parses parameters whose names end in `limit` or `offset`. The last parameter of a level applies. */
export function readLimits(params: readonly ValuedParam[]): Limits {
  if (params.length === 0) return noLimits;
  const levels = new Map<string, Level>();
  for (const { name, value } of params) {
    const path = levelOf(name);
    const key = levelKey(path);
    const level = levels.get(key) ?? { path, limit: null, offset: null };
    level[name.endsWith("limit") ? "limit" : "offset"] = readCount(value);
    levels.set(key, level);
  }
  const { limit = null, offset = null } = levels.get("") ?? {};
  const limits = [...levels.values()]
    .filter(({ path }) => path.length > 0)
    .map(({ path, limit, offset }) => ({ path, value: { limit, offset } }));
  return { limits, limit, offset, hasLimits: true };
}

const noLimits: Limits = { limits: [], limit: null, offset: null, hasLimits: false };

/** Integers with more digits are not parsed, because to parse them takes long. PostgreSQL rejects them. */
const maxDigits = 1000;

/** Parses an integer of any size, with blanks around it; null for other texts. */
export function readCount(text: string): bigint | null {
  const digits = text.trim();
  if (!/^-?[0-9]+$/.test(digits)) return null;
  return BigInt(digits.replace(/^(-?)0+(?=[0-9])/, "$1").slice(0, maxDigits));
}
