/** A response as data, and headers of several kinds of responses. @module */
import type { ResultBody, TransactionResult } from "../../database/transaction.ts";
import { nothingPreferred } from "../request/preferences.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import { contentTypeOf } from "../../base/http/media_type.ts";
import { hasBody } from "../../base/errors/http_text.ts";
import { resultColumn } from "../query/query.ts";
import type { Representation } from "../plan/negotiate.ts";
import type { ApiRequest, Preferences } from "../request/api_request.ts";
import { preferenceName } from "../request/preferences.ts";
import { headerOverrides, mergeHeaders, statusOverride } from "./overrides.ts";
import { standardVary } from "../../base/http/vary.ts";

/** A response as data, from which the handler makes a `Response`. */
export interface Reply {
  readonly status: number;
  readonly statusText?: string;
  readonly headers: HeaderList;
  /** Null if the response has no body. */
  readonly content: Uint8Array | ReadableStream<Uint8Array> | null;
  /** Length of the body in bytes, for the log; null if unknown. */
  readonly length: number | null;
  /** Whether the reply may be stored for an `Idempotency-Key`. False if an operation of a batch sets a
   * cookie. Default: true. */
  readonly isKept?: boolean;
  /** Text of `pg_current_snapshot()`, for a read that returns it. Default: absent. */
  readonly snapshot?: string;
  /** Position in the WAL that a server must have reached for later reads of the client. Default: none. */
  readonly bookmark?: string;
  /** Resolves with the error that interrupts a stream; absent for other content. */
  readonly failure?: Promise<unknown> | undefined;
  /** Resolves when a stream has ended for any reason; absent for other content. */
  readonly ended?: Promise<void> | undefined;
}

/** Adds the bookmark of a result to its reply, if there is one. */
export function withBookmark(
  reply: Reply,
  { bookmark }: Pick<TransactionResult, "bookmark">,
): Reply {
  return bookmark == null ? reply : { ...reply, bookmark };
}

export interface ResultMetadata {
  readonly rows: number;
  /** False if the response begins before the number of rows is known. */
  readonly isCounted: boolean;
  readonly total: number | null;
  readonly responseHeaders: string | null;
  readonly responseStatus: string | null;
  /** Entity tag without its quotes, or null. */
  readonly tag: string | null;
  /** For a write: number of written rows; the representation may have fewer. */
  readonly affected: number;
  /** For a write: number of rows that an upsert updated. */
  readonly updated: number;
  /** For a write: JSON object of the primary key if the result has one row. */
  readonly key: string | null;
}

/** Reads the metadata columns of the result row. The entity tag, if there is one, is the last column. */
export function readResultMetadata(
  head: readonly (string | null)[],
  isTagged: boolean,
): ResultMetadata {
  return {
    rows: Number(head[resultColumn.rows] ?? 0),
    isCounted: head[resultColumn.rows] !== null,
    total: head[resultColumn.total] == null ? null : Number(head[resultColumn.total]),
    responseHeaders: head[resultColumn.headers] || null,
    responseStatus: head[resultColumn.status] || null,
    tag: isTagged ? head.at(-1) ?? null : null,
    affected: Number(head[resultColumn.affected] ?? head[resultColumn.rows] ?? 0),
    updated: Number(head[resultColumn.updated] ?? 0),
    key: head[resultColumn.key] ?? null,
  };
}

/** The parts that differ between successful replies. */
export interface Success {
  readonly status: number;
  readonly headers: HeaderList;
  /** Null for no body. */
  readonly body: ResultBody | null;
  /** Representation of the body; null omits `Content-Type`. */
  readonly representation: Representation | null;
}

/** Returns a successful reply. `response.status` and `response.headers` override its values. */
export function successReply(
  request: ApiRequest,
  metadata: ResultMetadata,
  success: Success,
): Reply {
  const status = statusOverride(metadata.responseStatus) ?? success.status;
  const overrides = headerOverrides(metadata.responseHeaders);
  const sendsBody = hasBody(status) && success.body !== null;
  const list = [...success.headers];
  if (hasBody(status) && success.representation !== null) {
    list.push(["Content-Type", contentTypeOf(success.representation.mediaType)]);
    if (request.schemaNegotiated) list.push(["Content-Profile", request.schema]);
  }
  if (metadata.tag !== null && sendsBody && status < 300) list.push(["ETag", `"${metadata.tag}"`]);
  list.push(standardVary);
  const headers = mergeHeaders(list, overrides);
  if (!sendsBody) return { status, headers, content: null, length: null };
  const { content, length, failure, ended } = success.body!;
  if (content instanceof ReadableStream && length === null) {
    return { status, headers, content, length: null, failure, ended };
  }
  headers.push(["Content-Length", String(length ?? 0)]);
  return { status, headers, content, length: length ?? 0, failure, ended };
}

/** Order of the preferences in `Preference-Applied`. */
const preferenceOrder = [
  ...["resolution", "missing", "return", "count", "tx", "handling", "timezone"] as const,
  ...["maxAffected", "unmatched", "read", "maxRows"] as const,
];

/** Preferences that apply only to some requests. */
export type AppliedPreferences = Partial<Record<typeof preferenceOrder[number], boolean>>;

/** Returns the header `Preference-Applied` if preferences were applied. */
export function appliedHeader(preferences: Preferences, applied: AppliedPreferences): HeaderList {
  if (preferences === nothingPreferred) return [];
  const isApplied: AppliedPreferences = { ...applied, count: true, handling: true, timezone: true };
  const names = preferenceOrder.filter((name) =>
    isApplied[name] && preferences[name] !== null &&
    (name !== "maxAffected" || preferences.handling === "strict")
  ).map((name) => `${preferenceName(name)}=${preferences[name]}`);
  return names.length === 0 ? [] : [["Preference-Applied", names.join(", ")]];
}
