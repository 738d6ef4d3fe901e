/**
 * The shape of a request: what it says but for the values that it compares with or brings. Requests of
 * one shape are planned and put into SQL the same way.
 *
 * @module
 */
import type { Payload } from "../request/api_request.ts";
import type { RequestPieces } from "../request/raw_request.ts";
import { canonicalQuery, type QueryParam, splitQuery } from "../request/query_string.ts";

/** A request's shape, and its values. */
export interface QueryShape {
  /** The same for all requests of the shape, and for no other. */
  readonly key: string;
  /** What takes the places of the shape's slots, in order. */
  readonly values: readonly string[];
  /** Which of the values is the offset of the root; -1 when none is. */
  readonly offsetAt: number;
  readonly params: readonly QueryParam[];
  /** It reads what a function gives, whose arguments parameters may be. */
  readonly calls: boolean;
  /** It may have a body that is looked at. */
  readonly hasBody: boolean;
}

/**
 * Query strings of more characters are planned each time, and so are requests whose other parts that
 * shape them, or the keys of whose payload, have more: clients cannot make much be remembered.
 */
const longest = 2048;

/** Headers that what is done depends on, beside the token. */
const readingHeaders = ["accept", "prefer", "range", "accept-profile"] as const;
const writingHeaders = ["accept", "prefer", "content-type", "content-profile"] as const;

/** Methods of requests that have shapes, and the headers that shape them. PUT compares the body. */
const shapingHeaders: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ["GET", readingHeaders],
  ["HEAD", readingHeaders],
  ["POST", writingHeaders],
  ["PATCH", writingHeaders],
  ["DELETE", writingHeaders],
]);

/** Reads the shape; null for requests that are none of a kind. */
export function readQueryShape({ method, path, query, headers }: RequestPieces): QueryShape | null {
  const shaping = shapingHeaders.get(method);
  if (shaping === undefined) return null;
  // No other text has NUL, which parts the key's pieces; this one is to be refused.
  if (query.length > longest || query.includes("%00") || path.includes("%00")) return null;
  let key = `${method}\0${path}`;
  for (const name of shaping) {
    const value = headers[name];
    key += value === undefined ? "\0" : `\0=${value}`;
  }
  if (key.length > longest) return null;
  const reads = shaping === readingHeaders;
  const calls = reads && path.startsWith("/rpc/");
  const values: string[] = [];
  let offsetAt = -1;
  const params = query === "" ? none : splitQuery(query.toWellFormed());
  for (const param of params) {
    const slot = slotOf(param, calls);
    key += slot.key;
    if (slot.kind === "offset") {
      // Two of them, or a range beside it, make another window; what is changed is looked at closer.
      if (!reads || offsetAt >= 0 || headers["range"] !== undefined) return null;
      offsetAt = values.length;
    }
    if (slot.kind !== "literal") values.push(slot.value);
  }
  return { key, values, offsetAt, params, calls, hasBody: method === "POST" || method === "PATCH" };
}

const none: readonly QueryParam[] = [];

/** What of a payload belongs to the shape; null when the payload is none of a kind. */
export function payloadKey(payload: Payload | null): string | null {
  if (payload === null) return "";
  if (payload.kind !== "json" || payload.keys?.length === 0) return null;
  // The columns of CSV are looked up while it is read.
  if (payload.source === "csv") return null;
  const keys = payload.keys === null ? "" : `\0${payload.keys.join("\0")}`;
  const isPlain = payload.keys === null || !payload.keys.some((key) => key.includes("\0"));
  return isPlain && keys.length <= longest ? `\0b${payload.shape}\0${payload.source}${keys}` : null;
}

/** The query string in the form that stands for all equivalent ones. */
export function canonicalOf({ params }: QueryShape): string {
  return params === none ? "" : canonicalQuery(params);
}

/** The request's query string with other values in its slots. */
export function queryWith({ params, calls }: QueryShape, others: readonly string[]): string {
  let at = 0;
  return params.map((param) => {
    const { name, value } = param;
    if (value === null) return encodeURIComponent(name);
    const slot = slotOf(param, calls);
    const text = slot.kind === "literal"
      ? value
      : value.slice(0, value.length - slot.value.length) + others[at++]!;
    return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`;
  }).join("&");
}

type Slot =
  | { readonly kind: "literal"; readonly key: string }
  | { readonly kind: "value" | "offset"; readonly key: string; readonly value: string };

/** Operators whose operand goes to PostgreSQL as it is, whatever it says. */
const plainOperators: ReadonlySet<string> = new Set(["eq", "neq", "gt", "gte", "lt", "lte"]);

const reservedNames: ReadonlySet<string> = new Set(["select", "columns", "on_conflict"]);
const reservedSegments: ReadonlySet<string> = new Set(["order", "and", "or", "limit", "offset"]);

function slotOf({ name, value }: QueryParam, calls: boolean): Slot {
  if (value === null) return { kind: "literal", key: `\0?${name}` };
  if (reservedNames.has(name)) return literalOf(name, value);
  if (reservedSegments.has(name.slice(name.lastIndexOf(".") + 1))) {
    const isOffset = name === "offset" && /^[1-9][0-9]{0,8}$/.test(value);
    return isOffset ? { kind: "offset", key: "\0o", value } : literalOf(name, value);
  }
  const dot = value.indexOf(".");
  const operator = dot < 0 ? "" : value.slice(0, dot);
  if (plainOperators.has(operator)) {
    return { kind: "value", key: `\0f${name}\0${operator}`, value: value.slice(dot + 1) };
  }
  const isArgument = calls && (isNumber.test(value) || (dot < 0 && !value.includes("(")));
  return isArgument ? { kind: "value", key: `\0a${name}`, value } : literalOf(name, value);
}

/** Every comparison has a word and a dot, or a word and a parenthesis. */
const isNumber = /^-?[0-9]+(?:\.[0-9]+)?$/;

function literalOf(name: string, value: string): Slot {
  return { kind: "literal", key: `\0l${name}\0${value}` };
}
