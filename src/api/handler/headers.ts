/** Lists of response headers, and responses made of them. @module */
import type { HeaderList } from "../../base/lib/header_list.ts";
import type { Reply } from "../response/reply.ts";
import type { Exchange } from "./exchange.ts";

/** Returns a reply with additional headers. */
export function withHeaders(reply: Reply, added: HeaderList): Reply {
  return added.length === 0 ? reply : { ...reply, headers: [...reply.headers, ...added] };
}

export function emptyReply(status: number, headers: HeaderList): Reply {
  return { status, headers, content: null, length: null };
}

export function hasHeader(expected: string, headers: HeaderList): boolean {
  for (const [name] of headers) {
    if (name.length !== expected.length) continue;
    if (name === expected || name.toLowerCase() === expected.toLowerCase()) return true;
  }
  return false;
}

export function withoutHeader(removed: string, headers: HeaderList): HeaderList {
  return headers.filter(([name]) => name.toLowerCase() !== removed.toLowerCase());
}

/** Returns a `Response`. The headers are added after its construction, because runtimes are faster
 * then. `omitsLength` leaves `Content-Length` to the server. */
export function responseWith(
  headers: HeaderList,
  body: BodyInit | null,
  { omitsLength = false, ...init }: ResponseInit & { readonly omitsLength?: boolean },
): Response {
  const response = new Response(body, init);
  for (const [name, value] of headers) {
    if (!omitsLength || name !== "Content-Length") response.headers.append(name, value);
  }
  return response;
}

export function toResponse({ request: { method }, info }: Exchange, reply: Reply): Response {
  const { status, statusText = "", content, headers } = reply;
  const isHead = method === "HEAD";
  if (isHead && content instanceof ReadableStream) content.cancel().catch(() => {});
  // An empty body is left out, so that the server sends the length 0 in place of chunks.
  const isEmpty = content instanceof Uint8Array && content.length === 0;
  const body = isHead || isEmpty ? null : content as BodyInit | null;
  const omitsLength = info.setsContentLength === true && body instanceof Uint8Array;
  // Without `encodeBody`, Workers would encode a body again that already has a `Content-Encoding`.
  const init = { status, statusText, encodeBody: "manual", omitsLength };
  return responseWith(headers, body, init);
}
