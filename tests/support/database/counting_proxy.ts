/** A TCP proxy that counts what passes. @module */

/** Pieces of data as they were read from either side. */
export interface PassedPieces {
  readonly toServer: number;
  readonly fromServer: number;
}

/** A proxy on a free local port. */
export interface CountingProxy extends AsyncDisposable {
  readonly port: number;
  /** Pieces that passed since the last call. */
  take(): PassedPieces;
  /** Bytes that came from the server since the last call. */
  takeBytes(): number;
}

/** Starts a proxy to a local port. */
export function startCountingProxy(serverPort: number): CountingProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const counts = { toServer: 0, fromServer: 0 };
  let bytes = 0;
  const connections = new Set<Deno.Conn>();
  const passing: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const client of listener) {
      const server = await Deno.connect({ hostname: "127.0.0.1", port: serverPort });
      server.setNoDelay();
      client.setNoDelay();
      connections.add(client).add(server);
      passing.push(
        pass(client, server, () => counts.toServer++),
        pass(server, client, (read) => {
          counts.fromServer++;
          bytes += read;
        }),
      );
    }
  })();
  return {
    port: listener.addr.port,
    take: () => {
      const taken = { ...counts };
      counts.toServer = counts.fromServer = 0;
      return taken;
    },
    takeBytes: () => {
      const taken = bytes;
      bytes = 0;
      return taken;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting.catch(() => {});
      for (const connection of connections) close(connection);
      await Promise.all(passing);
    },
  };
}

async function pass(from: Deno.Conn, to: Deno.Conn, count: (bytes: number) => void): Promise<void> {
  const buffer = new Uint8Array(1024 * 1024);
  try {
    for (let read; (read = await from.read(buffer)) !== null;) {
      count(read);
      for (let at = 0; at < read;) at += await to.write(buffer.subarray(at, read));
    }
  } catch {
    // One side is gone; so is the other.
  }
  close(to);
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It was closed already.
  }
}
