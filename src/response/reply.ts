/**
 * A response as data, and the headers that more than one kind of response has.
 *
 * @module
 */
import type { ResultBody } from "../database/database.ts";
import type { HeaderList } from "../lib/header_list.ts";
import type { Dialect } from "../dialect.ts";
import { contentTypeOf } from "../http/media_type.ts";
import { hasBody } from "../errors/http_text.ts";
import { resultColumn } from "../query/query.ts";
import type { Representation } from "../plan/negotiate.ts";
import type { ApiRequest, Preferences } from "../request/api_request.ts";
import { type Header, headerOverrides, mergeHeaders, statusOverride } from "./overrides.ts";

/** A response before it becomes a `Response`. */
export interface Reply {
  readonly status: number;
  readonly statusText?: string;
  readonly headers: HeaderList;
  /** Null where the response has no body, or HEAD asked for none. */
  readonly content: Uint8Array | ReadableStream<Uint8Array> | null;
  /** Bytes of the body, where known; for the log. */
  readonly length: number | null;
}

/** What PostgreSQL told about a result. */
export interface Facts {
  readonly rows: number;
  readonly total: number | null;
  readonly responseHeaders: string | null;
  readonly responseStatus: string | null;
  /** Rows that were written; the representation may show fewer. */
  readonly affected: number;
  /** Rows that took the update path of an upsert. */
  readonly updated: number;
  /** JSON object of the primary key of the only row. */
  readonly key: string | null;
}

/** Reads the answering row. */
export function readFacts(head: readonly (string | null)[]): Facts {
  const rows = Number(head[resultColumn.rows] ?? 0);
  return {
    rows,
    affected: Number(head[resultColumn.affected] ?? rows),
    total: head[resultColumn.total] == null ? null : Number(head[resultColumn.total]),
    responseHeaders: head[resultColumn.headers] || null,
    responseStatus: head[resultColumn.status] || null,
    updated: Number(head[resultColumn.updated] ?? 0),
    key: head[resultColumn.key] ?? null,
  };
}

/** What differs between the replies to successful requests. */
export interface Success {
  readonly status: number;
  readonly headers: HeaderList;
  /** Null for no body. */
  readonly body: ResultBody | null;
  /** The body's representation; null leaves `Content-Type` out. */
  readonly representation: Representation | null;
}

const vary = ["Vary", "Accept, Prefer, Range"] as const;

/** Puts a successful reply together; database code has the last word on status and headers. */
export function succeed(request: ApiRequest, facts: Facts, success: Success): Reply {
  const status = statusOverride(facts.responseStatus) ?? success.status;
  const overrides = headerOverrides(facts.responseHeaders);
  const bodied = hasBody(status) && success.body !== null;
  const own = [...success.headers];
  if (hasBody(status)) addBodyHeaders(own, request, success);
  own.push(vary);
  const headers = mergeHeaders(own, overrides);
  if (!bodied) return { status, headers, content: null, length: null };
  const { content, length } = success.body!;
  headers.push(["Content-Length", String(length ?? 0)]);
  return { status, headers, content, length: length ?? 0 };
}

function addBodyHeaders(
  headers: Header[],
  { schema, schemaNegotiated }: ApiRequest,
  { representation }: Success,
): void {
  if (representation === null) return;
  headers.push(["Content-Type", contentTypeOf(representation.mediaType)]);
  if (schemaNegotiated) headers.push(["Content-Profile", schema]);
}

/** `Range-Unit`, in dialects that send it, and `Content-Range`. */
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

/** `Content-Range` with this value, and what goes with it. */
export function contentRange(value: string, rangeUnit: Dialect["rangeUnit"]): HeaderList {
  const header = ["Content-Range", value] as const;
  return rangeUnit === "sent" ? [["Range-Unit", "items"], header] : [header];
}

/** 200, 206 or 416 by what is shown of what there is. */
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

/** Which preferences are named as applied, beside those that every request honours. */
export interface Applied {
  readonly resolution?: boolean;
  readonly missing?: boolean;
  readonly return?: boolean;
  readonly maxAffected?: boolean;
  readonly tx: boolean;
}

/** `Preference-Applied`, in the fixed order; empty when none was honoured. */
export function appliedHeader(preferences: Preferences, applied: Applied): HeaderList {
  const { handling } = preferences;
  const names: string[] = [];
  const add = (name: string, value: string | number | null) => {
    if (value !== null) names.push(`${name}=${value}`);
  };
  if (applied.resolution) add("resolution", preferences.resolution);
  if (applied.missing) add("missing", preferences.missing);
  if (applied.return) add("return", preferences.return);
  add("count", preferences.count);
  if (applied.tx) add("tx", preferences.tx);
  add("handling", handling);
  add("timezone", preferences.timezone);
  if (applied.maxAffected && handling === "strict") add("max-affected", preferences.maxAffected);
  return names.length === 0 ? [] : [["Preference-Applied", names.join(", ")]];
}
