/** A TCP proxy on a free local port, which filters what passes. @module */

/** A connection of a client, and what passes on it. */
export interface Passage {
  /** Port from which the server sees it. */
  readonly port: number;
  /** Whether it ends after the chunk that is being filtered. */
  isCut: boolean;
}

/** Returns the part of a chunk that passes. */
export type Filter = (chunk: Uint8Array, passage: Passage) => Uint8Array;

export interface Filters {
  readonly toServer?: Filter;
  readonly fromServer?: Filter;
}

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Leads new connections to another local port, and cuts those that are open. */
  redirect(serverPort: number): void;
}

/** Starts a proxy to a local port. Each connection has separate filters. */
export function startTcpProxy(serverPort: number, filtersOf: () => Filters): TcpProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections = new Set<Deno.Conn>();
  const passing: Promise<void>[] = [];
  let target = serverPort;
  const accept = async (client: Deno.TcpConn) => {
    const server = await Deno.connect({ hostname: "127.0.0.1", port: target });
    for (const connection of [client, server]) {
      connection.setNoDelay();
      connections.add(connection);
    }
    const passage = { port: server.localAddr.port, isCut: false };
    const { toServer = whole, fromServer = whole } = filtersOf();
    passing.push(
      pass([client, server], passage, toServer),
      pass([server, client], passage, fromServer),
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

const whole: Filter = (chunk) => chunk;

async function pass(
  [from, to]: readonly [Deno.Conn, Deno.Conn],
  passage: Passage,
  filter: Filter,
): Promise<void> {
  const buffer = new Uint8Array(1024 * 1024);
  try {
    for (let read; (read = await from.read(buffer)) !== null && !passage.isCut;) {
      const bytes = filter(buffer.subarray(0, read), passage);
      for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
      if (passage.isCut) break;
    }
  } catch {
    // One side is gone; so is the other.
  }
  close(from);
  close(to);
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It was closed already.
  }
}
