/** Compresses replies: `server-compression`. @module */
import {
  chooseCoding,
  isCompressible,
  type ResponseCoding,
} from "../../base/http/accept_encoding.ts";
import { codedTag, namedTag } from "../../base/http/etag.ts";
import { isCrossOrigin } from "../../base/http/foreign_site.ts";
import { withVary } from "../../base/http/vary.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import type { BodyEncoder, BodyEncoders } from "./encoders.ts";
import type { Header } from "./overrides.ts";
import type { Reply } from "./reply.ts";

export interface CompressionContext {
  readonly method: string;
  /** Request headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly hasCookies: boolean;
  /** `If-None-Match` as received. */
  readonly ifNoneMatch: string | null;
  /** Codings that the configuration enables, in order of preference. */
  readonly codings: readonly ResponseCoding[];
  readonly encoders: BodyEncoders;
}

/** Minimum size to compress, if the length of the body is known. */
const minBytes = 1024;

/**
 * Returns the reply in a coding that the client accepts, or unchanged. Adds `Vary: Accept-Encoding`
 * to every reply that another request may receive compressed.
 *
 * Errors, responses to HEAD, bodies of known length below the minimum, and types that rarely shrink
 * stay uncompressed. So do replies to requests that a page of another origin may have made with
 * cookies. If such a reply repeats text of the page, its compressed length would reveal secrets in
 * the reply (BREACH, Gluck, Harris and Prado, 2013).
 */
export function compressReply(reply: Reply, context: CompressionContext): Reply {
  if (!mayBeCompressed(reply)) return reply;
  const { content, length, status } = reply;
  const { method, headers, hasCookies, codings, encoders, ifNoneMatch } = context;
  const varied = { ...reply, headers: withVary(reply.headers, ["Accept-Encoding"]) };
  if (status === 304) return { ...varied, headers: namedTags(varied.headers, ifNoneMatch ?? "") };
  if (content === null || method === "HEAD" || (length !== null && length < minBytes)) {
    return varied;
  }
  if (hasCookies && isCrossOrigin(headers)) return varied;
  const offered = codings.filter((coding) => encoders.has(coding));
  const coding = chooseCoding(headers["accept-encoding"] ?? null, offered);
  if (coding === null) return varied;
  const encoder = encoders.get(coding)!;
  return encodedReply(varied, content, { coding, encoder }) ?? varied;
}

function mayBeCompressed({ status, headers }: Reply): boolean {
  if (status === 304) return true;
  if (status < 200 || status === 204 || status >= 300) return false;
  if (valueOf("content-encoding", headers) !== null) return false;
  const cacheControl = valueOf("cache-control", headers)?.toLowerCase() ?? "";
  if (/(?:^|[\s,])no-transform(?:[\s,]|$)/.test(cacheControl)) return false;
  return isCompressible(valueOf("content-type", headers) ?? "");
}

function valueOf(name: string, headers: HeaderList): string | null {
  for (const [key, value] of headers) {
    if (key.length === name.length && key.toLowerCase() === name) return value;
  }
  return null;
}

/** Returns headers whose `ETag` is for the coding that the client has, as `If-None-Match` names it. */
function namedTags(headers: HeaderList, ifNoneMatch: string): HeaderList {
  return headers.map(([name, value]) =>
    [name, name.toLowerCase() === "etag" ? namedTag(value, ifNoneMatch) : value] as const
  );
}

/** Returns the encoded reply; null if the encoder cannot open another stream. */
function encodedReply(
  reply: Reply,
  content: Uint8Array | ReadableStream<Uint8Array>,
  { coding, encoder }: { readonly coding: ResponseCoding; readonly encoder: BodyEncoder },
): Reply | null {
  const headers = encodedHeaders(reply.headers, coding);
  if (content instanceof Uint8Array) {
    const encoded = encoder.encode(content);
    headers.push(["Content-Length", String(encoded.length)]);
    return { ...reply, headers, content: encoded, length: encoded.length };
  }
  const encoded = encoder.encodeStream(content);
  return encoded === null ? null : { ...reply, headers, content: encoded, length: null };
}

function encodedHeaders(headers: HeaderList, coding: ResponseCoding): Header[] {
  const encoded: Header[] = [];
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    if (key === "content-length") continue;
    encoded.push([name, key === "etag" ? codedTag(value, coding) : value]);
  }
  encoded.push(["Content-Encoding", coding]);
  return encoded;
}
