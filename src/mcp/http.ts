/** Bodies and replies of the endpoint. @module */
import { deferred } from "../lib/deferred.ts";
import type { HeaderList } from "../lib/header_list.ts";
import type { Reply } from "../response/reply.ts";

/** Returns a reply with a text. */
export function textReply(status: number, type: string, text: string): Reply {
  const content = new TextEncoder().encode(text);
  const headers = [["Content-Type", type], ["Content-Length", String(content.length)]] as const;
  return { status, headers, content, length: content.length };
}

/** Returns an error of JSON-RPC. A message that cannot be read has no `id`. */
export function protocolError(
  code: number,
  message: string,
  { status = 400, id = null }: { readonly status?: number; readonly id?: unknown } = {},
): Reply {
  const named = typeof id === "string" || typeof id === "number" ? id : null;
  const error = { jsonrpc: "2.0", error: { code, message }, id: named };
  return textReply(status, "application/json", JSON.stringify(error));
}

/** Returns the reply to a method that the path does not take. */
export function methodNotAllowed(allow: string): Reply {
  const headers = [["Allow", allow], ["Content-Length", "0"]] as const;
  return { status: 405, headers, content: null, length: 0 };
}

/** Returns headers whose challenge tells where tokens come from (RFC 9728, section 5.1). */
export function withChallenge(headers: HeaderList, metadataUrl: string): HeaderList {
  const parameter = `resource_metadata="${metadataUrl}"`;
  return headers.map(([name, value]) =>
    name.toLowerCase() !== "www-authenticate"
      ? [name, value] as const
      : [name, value === "Bearer" ? `Bearer ${parameter}` : `${value}, ${parameter}`] as const
  );
}

/** Makes a reply of the library's response. `onCancel` is called if the client leaves a stream. */
export async function replyOf(response: Response, onCancel: () => void): Promise<Reply> {
  const { status, body } = response;
  const headers = [...response.headers];
  if (response.headers.get("content-type")?.startsWith("text/event-stream") && body !== null) {
    return { status, headers, ...observed(body, onCancel), length: null };
  }
  const content = body === null ? null : new Uint8Array(await response.arrayBuffer());
  const length = content?.length ?? 0;
  if (status !== 202) headers.push(["Content-Length", String(length)]);
  return { status, headers, content, length };
}

/** Returns the stream, and when it ends. */
function observed(
  stream: ReadableStream<Uint8Array>,
  onCancel: () => void,
): Pick<Required<Reply>, "content" | "ended"> {
  const { promise: ended, resolve } = deferred<void>();
  const reader = stream.getReader();
  const content = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      resolve();
    },
    async cancel(reason) {
      onCancel();
      resolve();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return { content, ended };
}
