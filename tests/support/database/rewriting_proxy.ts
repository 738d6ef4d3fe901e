/** A TCP proxy that changes the SQL which passes: a stand-in for engines that lack something. It
 * can lead new connections elsewhere, as when a pooler is put between. @module */

/** Returns the SQL that the server gets for one statement. */
export type Rewrite = (sql: string) => string;

/** A proxy on a free local port. */
export interface RewritingProxy extends AsyncDisposable {
  readonly port: number;
  /** Leads new connections to another local port, and cuts those that are open. */
  redirect(serverPort: number): void;
}

/** Starts a proxy to a local port. Clients must not encrypt. */
export function startRewritingProxy(
  serverPort: number,
  rewrite: Rewrite = (sql) => sql,
): RewritingProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections = new Set<Deno.Conn>();
  const passing: Promise<void>[] = [];
  let target = serverPort;
  const accept = async (client: Deno.Conn) => {
    const server = await Deno.connect({ hostname: "127.0.0.1", port: target });
    connections.add(client).add(server);
    passing.push(
      pass(client, server, messageRewriter(rewrite)),
      pass(server, client, (bytes) => bytes),
    );
  };
  const cut = () => {
    for (const connection of connections) close(connection);
    connections.clear();
  };
  const accepting = (async () => {
    for await (const client of listener) await accept(client).catch(() => close(client));
  })();
  return {
    port: listener.addr.port,
    redirect(port) {
      target = port;
      cut();
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting.catch(() => {});
      cut();
      await Promise.all(passing);
    },
  };
}

async function pass(
  from: Deno.Conn,
  to: Deno.Conn,
  change: (bytes: Uint8Array) => Uint8Array,
): Promise<void> {
  const buffer = new Uint8Array(65_536);
  try {
    for (let read = await from.read(buffer); read !== null; read = await from.read(buffer)) {
      await writeAll(to, change(buffer.slice(0, read)));
    }
  } catch {
    // The other side is closed below.
  }
  close(from);
  close(to);
}

async function writeAll(to: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It is closed.
  }
}

const utf8 = new TextEncoder();
const decoder = new TextDecoder();

/** Returns a function that takes a client's bytes and returns those of its whole messages, changed. */
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
