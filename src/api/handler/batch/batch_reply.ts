/** Writes the replies of operations as one JSON document. @module */
import { base64url } from "jose";
import { decodeBytes } from "../../request/raw_request.ts";
import { type MediaRange, parseMediaType } from "../../../base/http/media_type.ts";
import { concat } from "../../../database/protocol/decoder.ts";
import { hasBody } from "../../../base/errors/http_text.ts";
import type { Preferences } from "../../request/api_request.ts";
import {
  type Header,
  headerOverrides,
  mergeHeaders,
  statusOverride,
} from "../../response/overrides.ts";
import { appliedHeader, type Reply } from "../../response/reply.ts";
import { standardVary } from "../../../base/http/vary.ts";

export interface OperationReply {
  readonly id: string;
  readonly reply: Reply;
  /** Whether PostgreSQL or the service wrote the body as JSON, so that it needs no check. */
  readonly isJson: boolean;
}

/** The parts of a batch reply other than the replies of its operations. */
export interface BatchReplyOptions {
  readonly preferences: Preferences;
  /** Whether `Prefer: tx=` may decide how the transaction ends. */
  readonly isEndOverridable: boolean;
  /** Whether `Prefer: read=primary` has an effect. */
  readonly hasStandbys: boolean;
  /** `response.*` settings that `db-pre-request` has set. Default: none. */
  readonly overrides?: {
    readonly headers: string | null;
    readonly status: string | null;
  };
}

/** Makes the reply of a batch. Throws `111` and `112` for invalid overrides. */
export function batchReply(
  replies: readonly OperationReply[],
  { preferences, isEndOverridable, hasStandbys, overrides }: BatchReplyOptions,
): Reply {
  const content = batchReplyBody(replies);
  const own: Header[] = [
    ["Content-Type", "application/json; charset=utf-8"],
    ...appliedHeader(preferences, { tx: isEndOverridable, read: hasStandbys }),
    standardVary,
  ];
  const status = statusOverride(overrides?.status || null) ?? 200;
  const headers = mergeHeaders(own, headerOverrides(overrides?.headers || null));
  if (!hasBody(status)) return { status, headers, content: null, length: null };
  headers.push(["Content-Length", String(content.length)]);
  return { status, headers, content, length: content.length };
}

/** Returns `{"responses":[…]}`. */
function batchReplyBody(replies: readonly OperationReply[]): Uint8Array {
  const parts: Uint8Array[] = [];
  const write = (text: string) => parts.push(utf8.encode(text));
  write('{"responses":[');
  replies.forEach(({ id, reply, isJson }, index) => {
    const head = JSON.stringify({ id, status: reply.status, headers: headersOf(reply) });
    write(`${index === 0 ? "" : ","}${head.slice(0, -1)}`);
    const body = bodyOf(reply);
    if (body !== null) {
      write(',"body":');
      parts.push(isJson || isValidJson(reply, body) ? body : utf8.encode(textOf(reply, body)));
    }
    write("}");
  });
  write("]}");
  return concat(parts, parts.reduce((sum, { length }) => sum + length, 0));
}

const utf8 = new TextEncoder();

/** Headers that entries of a batch omit: only the whole response has a length, and can be cached. */
const headersOfMessages: ReadonlySet<string> = new Set(["content-length", "vary"]);

/** Returns the headers as an object. A repeated header has an array of values. */
function headersOf({ headers }: Reply): Readonly<Record<string, string | readonly string[]>> {
  const named = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, bytes] of headers) {
    const value = decodeBytes(bytes);
    const lower = name.toLowerCase();
    if (headersOfMessages.has(lower)) continue;
    const found = named.get(lower);
    if (found === undefined) named.set(lower, { name, values: [value] });
    else found.values.push(value);
  }
  return Object.fromEntries(
    Array.from(
      named.values(),
      ({ name, values }) => [name, values.length === 1 ? values[0]! : values],
    ),
  );
}

function bodyOf({ content }: Reply): Uint8Array | null {
  if (content instanceof ReadableStream) {
    throw new Error("the body of an operation arrives in chunks");
  }
  return content === null || content.length === 0 ? null : content;
}

/** Returns whether a body of user-defined code has a media type of JSON, and is valid JSON. */
function isValidJson(reply: Reply, body: Uint8Array): boolean {
  if (!/^application\/(?:[^;]*\+)?json(?:;|$)/i.test(contentType(reply))) return false;
  try {
    JSON.parse(strictUtf8.decode(body));
    return true;
  } catch {
    return false;
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function contentType({ headers }: Reply): string {
  return headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
}

/** Returns a JSON string: text as it is, bytes in base64url. */
function textOf(reply: Reply, body: Uint8Array): string {
  const type = contentType(reply);
  const isText = type.startsWith("text/") || textKinds.has(parseMediaType(type).kind) ||
    /[+/](?:json|xml)(?:;|$)|;\s*charset=/i.test(type);
  if (!isText) return JSON.stringify(base64url.encode(body));
  try {
    return JSON.stringify(strictUtf8.decode(body));
  } catch {
    return JSON.stringify(base64url.encode(body));
  }
}

const textKinds: ReadonlySet<MediaRange["kind"]> = new Set(["csv", "ndjson", "text", "xml"]);
