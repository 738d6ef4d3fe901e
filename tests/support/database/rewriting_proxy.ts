/** A TCP proxy that changes the SQL which passes: it imitates engines that lack something. It can
 * lead new connections elsewhere, as when a pooler is put between. @module */
import { startTcpProxy, type TcpProxy } from "./tcp_proxy.ts";

/** Returns the SQL that the server gets for one statement. */
export type Rewrite = (sql: string) => string;

/** Starts a proxy to a local port. Clients must not encrypt. */
export function startRewritingProxy(
  serverPort: number,
  rewrite: Rewrite = (sql) => sql,
): TcpProxy {
  return startTcpProxy(serverPort, () => ({ toServer: messageRewriter(rewrite) }));
}

const utf8 = new TextEncoder();
const decoder = new TextDecoder();

/** Returns a function that takes a client's bytes and returns the bytes of its complete messages,
 * changed. */
function messageRewriter(rewrite: Rewrite): (bytes: Uint8Array) => Uint8Array {
  let pending = new Uint8Array();
  let isStarted = false;
  return (bytes) => {
    pending = join(pending, bytes);
    const messages: Uint8Array[] = [];
    while (true) {
      const typeLength = isStarted ? 1 : 0;
      if (pending.length < typeLength + 4) break;
      const view = new DataView(pending.buffer, pending.byteOffset);
      const length = typeLength + view.getInt32(typeLength);
      if (pending.length < length) break;
      const message = pending.subarray(0, length);
      messages.push(isStarted ? rewriteMessage(message, rewrite) : message);
      isStarted = true;
      pending = pending.slice(length);
    }
    return join(...messages);
  };
}

/** Changes the text of Query and Parse. */
function rewriteMessage(message: Uint8Array, rewrite: Rewrite): Uint8Array {
  const type = String.fromCharCode(message[0]!);
  if (type !== "Q" && type !== "P") return message;
  const start = type === "Q" ? 5 : message.indexOf(0, 5) + 1;
  const end = message.indexOf(0, start);
  const text = utf8.encode(rewrite(decoder.decode(message.subarray(start, end))));
  const changed = join(message.subarray(0, start), text, message.subarray(end));
  new DataView(changed.buffer).setInt32(1, changed.length - 1);
  return changed;
}

function join(...chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}
