/** Forwards requests to an upstream server, and copies of reads to a shadow. @module */
import { framingHeaders, hasBody, isHeaderName } from "../../base/errors/http_text.ts";
import type { RepeatedRead, Shadow } from "./shadow.ts";
import { observedAnswer } from "./timed_answer.ts";
import type { HandleApi } from "../../api/handler/handler.ts";

/** Returns a function that responds to requests with the upstream's responses. */
export function proxyHandler(shadow: Shadow): HandleApi {
  const { upstream, fetch, tally, now } = shadow.options;
  return async function proxy(request) {
    tally.requests++;
    const { method, signal, headers: received } = request;
    const headers = endToEnd(received, ["content-length", "expect", "host"]);
    // Requests no compression, because a compressed answer cannot be compared.
    headers.set("Accept-Encoding", "identity");
    const read = { method, target: targetOf(request), headers };
    if (changedPath.test(read.target)) return refusal(400, "expected a path without . and ..");
    const hasContent = received.has("Content-Length") || received.has("Transfer-Encoding");
    const body = hasContent ? request.body : null;
    const init = { method, headers, body, signal, redirect: "manual" } as const;
    const send = () => fetch(upstream + read.target, { ...init, ...body && { duplex: "half" } });
    const isCompared = isRead(read) && shadow.reserve();
    try {
      if (!isCompared) return responseOf(await send());
      const { response, copy } = await observedAnswer(send, now);
      void copy.then((answer) => shadow.compareLater(read, answer));
      return responseOf(response);
    } catch {
      if (isCompared) shadow.compareLater(read, null);
      return refusal(502, `cannot reach ${upstream}: start that server, or correct --upstream`);
    }
  };
}

/** Matches paths that `fetch` would change: dot segments, backslashes and fragments. */
const changedPath = /#|^[^?]*(?:\\|\/(?:\.|%2e){1,2}(?:[/?]|$))/i;

/** Returns whether a request is a read whose response can be compared. */
export function isRead({ method, target, headers }: RepeatedRead): boolean {
  if (method !== "GET" && method !== "HEAD" || changedPath.test(target)) return false;
  return !/text\/event-stream|\.plan\b/i.test(headers.get("Accept") ?? "");
}

/** Returns path and query, as received. */
function targetOf({ url }: Request): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  return start < 0 ? "/" : url.slice(start);
}

/** Returns headers without connection headers (RFC 9110, section 7.6.1) and without the listed
 * names. */
function endToEnd(received: Headers, others: readonly string[]): Headers {
  const headers = new Headers(received);
  const options = received.get("Connection")?.split(/[\s,]+/).filter(isHeaderName) ?? [];
  for (const name of [...framingHeaders, ...options]) {
    if (name.toLowerCase() !== "content-length") headers.delete(name);
  }
  for (const name of others) headers.delete(name);
  return headers;
}

function responseOf({ status, statusText, headers: received, body }: Response): Response {
  // Removes Content-Encoding in Node, which decompresses bodies. Deno does not for such a request.
  const isDecoded = body !== null && !("Deno" in globalThis) && received.has("Content-Encoding");
  const headers = endToEnd(received, isDecoded ? ["content-encoding", "content-length"] : []);
  return new Response(hasBody(status) ? body : null, { status, statusText, headers });
}

function refusal(status: number, message: string): Response {
  return Response.json({ message: `svc shadow: ${message}` }, { status });
}
