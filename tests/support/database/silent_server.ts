/** A server that accepts connections and never sends a byte. @module */

/** Listens until it is disposed of. */
export interface SilentServer extends Disposable {
  readonly port: number;
  /** Resolves with the first connection. */
  readonly connected: Promise<void>;
}

/** Starts one on a free port. */
export function silentServer(): SilentServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  const accept = async () => {
    for await (const connection of listener) {
      connections.push(connection);
      resolve();
    }
  };
  const accepting = accept();
  accepting.catch(() => {});
  return {
    port: listener.addr.port,
    connected,
    [Symbol.dispose]() {
      listener.close();
      for (const connection of connections) connection.close();
    },
  };
}
