/** Reads the query shape of a request: everything except its operands and body. @module */
import { operators } from "../../request/url/operators.ts";
import type { Config } from "../../../state/config/options.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import { preconditionHeaders } from "../../request/preconditions.ts";
import type { RawRequest } from "../../request/raw_request.ts";
import { type CursorPosition, readCursor, writeCursor } from "../../request/url/cursor_text.ts";
import {
  canonicalQuery,
  equivalentQuery,
  type QueryParam,
  splitQuery,
} from "../../request/url/query_string.ts";
import type { Payload } from "../../request/body/body_decoder.ts";

export interface QueryShape {
  /** Identifies the shape. Requests have the same key if and only if they have the same shape. */
  readonly key: string;
  readonly values: readonly string[];
  /** Index of the root's offset among the values; -1 if it is absent. */
  readonly offsetAt: number;
  readonly params: readonly QueryParam[];
  /** Whether the request calls a function, so that query parameters may be arguments. */
  readonly isCall: boolean;
  readonly hasBody: boolean;
}

/** Maximum length of a query with a shape, which limits the memory of the cache. */
const maxLength = 2048;

const readingHeaders = ["accept", "prefer", "range", "accept-profile"] as const;
const writingHeaders = ["accept", "prefer", "content-type", "content-profile"] as const;

/** Headers that decide the plan of a query request for a function. */
const queryingHeaders = [...readingHeaders, "content-type"] as const;

/** Headers that are part of the shape, by method. PUT has no shape, because its plan compares the body. */
const shapingHeaders: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ["GET", readingHeaders],
  ["HEAD", readingHeaders],
  ["QUERY", queryingHeaders],
  ["POST", writingHeaders],
  ["PATCH", writingHeaders],
  ["DELETE", writingHeaders],
]);

/** Returns the shape of a request; null if its plan cannot be cached. */
export function readQueryShape(
  raw: RawRequest,
  { etagMode }: Pick<Config, "etagMode">,
): QueryShape | null {
  const { method, path, query, headers } = raw;
  const shaping = shapingHeaders.get(method);
  if (shaping === undefined) return null;
  // No shape with NUL, which separates the parts of the key. The request is rejected later.
  if (query.length > maxLength || query.includes("%00") || path.includes("%00")) return null;
  let key = headKey(raw, shaping);
  if (etagMode !== "off") key += preconditionsKey(headers);
  if (key.length > maxLength) return null;
  const isRead = shaping !== writingHeaders;
  const isCall = shaping === readingHeaders && path.startsWith("/rpc/");
  const values: string[] = [];
  let offsetAt = -1;
  const params = query === "" ? noParams : splitQuery(query.toWellFormed());
  for (const param of params) {
    // The request has no shape, because the plan depends on the keys of nested objects in the body.
    if (param.name === "columns" && param.value?.includes("*")) return null;
    const slot = slotOf(param, isCall);
    key += slot.key;
    if (slot.kind === "offset") {
      // No shape: a second offset or `Range` changes the range of rows. The offset of a write
      // changes the plan.
      if (!isRead || offsetAt >= 0 || headers["range"] !== undefined) return null;
      offsetAt = values.length;
    }
    if (slot.kind === "cursor") values.push(...slot.values);
    else if (slot.kind !== "literal") values.push(slot.value);
  }
  return {
    key,
    values,
    offsetAt,
    params,
    isCall,
    hasBody: method === "POST" || method === "PATCH" || method === "QUERY",
  };
}

/** Returns the key of method, path and headers. */
function headKey(
  { method, path, headers, received }: RawRequest,
  shaping: readonly string[],
): string {
  let key = `${method}\0${path}`;
  if (received !== undefined) key = `${received.method}\0${received.path}\0>${key}`;
  for (const name of shaping) {
    const value = headers[name];
    key += value === undefined ? "\0" : `\0=${value}`;
  }
  return key;
}

const noParams: readonly QueryParam[] = [];

/** Returns the part of the key for preconditions: tags, or `*`. The tags become parameters. */
function preconditionsKey(headers: RawRequest["headers"]): string {
  let key = "";
  for (const name of preconditionHeaders) {
    const value = headers[name];
    if (value !== undefined) key += value.trim() === "*" ? `\0${name}=*` : `\0${name}`;
  }
  return key;
}

/** Returns the part of the key for the body; null if the plan cannot be cached. */
export function payloadKey(payload: Payload | null): string | null {
  if (payload === null) return "";
  if (payload.kind !== "json" || payload.keys?.length === 0) return null;
  // No plan is cached for CSV, because the plan reads the columns from its header row.
  if (payload.source === "csv" || payload.source === "row text") return null;
  const keys = payload.keys === null ? "" : `\0${payload.keys.join("\0")}`;
  const isPlain = payload.keys === null || !payload.keys.some((key) => key.includes("\0"));
  return isPlain && keys.length <= maxLength
    ? `\0b${payload.shape}\0${payload.source}${payload.keysVary === true ? "\0v" : ""}${keys}`
    : null;
}

export function canonicalOf(
  { params }: QueryShape,
  { queryForm }: Pick<ApiRequest, "queryForm"> = {},
): string {
  if (params === noParams) return "";
  return queryForm === undefined ? canonicalQuery(params) : equivalentQuery(params);
}

export function queryWith({ params, isCall }: QueryShape, others: readonly string[]): string {
  let at = 0;
  return params.map((param) => {
    const { name, value } = param;
    if (value === null) return encodeURIComponent(name);
    const slot = slotOf(param, isCall);
    const text = slot.kind === "literal" ? value : slot.kind === "cursor"
      ? writeCursor({
        ...slot.position,
        keys: slot.position.keys.map((key) => key === null ? null : others[at++]!),
      })
      : value.slice(0, value.length - slot.value.length) + others[at++]!;
    return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`;
  }).join("&");
}

type Slot =
  | { readonly kind: "literal"; readonly key: string }
  | { readonly kind: "value" | "offset"; readonly key: string; readonly value: string }
  /** A cursor. Its keys become parameters. */
  | {
    readonly kind: "cursor";
    readonly key: string;
    readonly position: CursorPosition;
    /** The keys that are not NULL. */
    readonly values: readonly string[];
  };

const reservedNames: ReadonlySet<string> = new Set(["select", "columns", "on_conflict"]);
const reservedSegments: ReadonlySet<string> = new Set(["order", "and", "or", "limit", "offset"]);

function slotOf({ name, value }: QueryParam, isCall: boolean): Slot {
  if (value === null) return { kind: "literal", key: `\0?${name}` };
  if (reservedNames.has(name)) return literalOf(name, value);
  // The text of `@name` becomes a parameter of the statement wherever a value uses it.
  if (name.startsWith("@")) return { kind: "value", key: `\0@${name}`, value };
  if (reservedSegments.has(name.slice(name.lastIndexOf(".") + 1))) {
    const isOffset = name === "offset" && /^[1-9][0-9]{0,8}$/.test(value);
    return isOffset ? { kind: "offset", key: "\0o", value } : literalOf(name, value);
  }
  if (name === "after" || name === "before") {
    const position = readCursor(value);
    return position === undefined ? literalOf(name, value) : cursorSlot(name, position);
  }
  const dot = value.indexOf(".");
  const operator = dot < 0 ? "" : value.slice(0, dot);
  if (operators.get(operator)?.isParam === true) {
    return { kind: "value", key: `\0f${name}\0${operator}`, value: value.slice(dot + 1) };
  }
  const isArgument = isCall && (isNumber.test(value) || (dot < 0 && !value.includes("(")));
  return isArgument ? { kind: "value", key: `\0a${name}`, value } : literalOf(name, value);
}

/** Returns the part of the key for a cursor. The SQL depends on which keys are NULL, so this part shows them. */
function cursorSlot(name: string, position: CursorPosition): Slot {
  const { fingerprint, keys } = position;
  const values = keys.filter((key) => key !== null);
  const nulls = keys.map((key) => key === null ? "n" : "v").join("");
  return { kind: "cursor", key: `\0c${name}\0${nulls}${fingerprint}`, position, values };
}

/** Matches a number. A number cannot be a filter, because filters begin with a word. */
const isNumber = /^-?[0-9]+(?:\.[0-9]+)?$/;

function literalOf(name: string, value: string): Slot {
  return { kind: "literal", key: `\0l${name}\0${value}` };
}
