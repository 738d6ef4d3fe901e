/** A TCP proxy that cuts a connection in the middle of a chosen exchange. @module */

/** Where to cut, counted from the write to the server that holds the marker. */
export type Cut =
  /** The last write of that exchange loses its last bytes. `write` counts the writes from 0. */
  | { readonly side: "to server"; readonly write: number; readonly lost: number }
  /** The client gets so many bytes of the answer. */
  | { readonly side: "from server"; readonly passed: number };

/** What happened while it was watched. */
export interface CutReport {
  /** Whether the cut took place. */
  readonly cut: boolean;
  /** Writes that reached the server whole, from the one with the marker. */
  readonly wholeWrites: number;
  /** Bytes that the server answered, up to the cut and with what it swallowed. */
  readonly received: number;
  /** The port from which the server was talked to; null when the marker was not seen. */
  readonly port: number | null;
}

export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** Watches, and cuts, the next exchange whose first write holds the marker; null cuts none. */
  arm(marker: string, cut: Cut | null): void;
  /** Ends watching. */
  disarm(): CutReport;
}

/** The exchange that is watched. */
interface Watched {
  readonly marker: Uint8Array;
  readonly cut: Cut | null;
  /** The connection that it takes place on. */
  client: Deno.Conn | null;
  writes: number;
  wholeWrites: number;
  received: number;
  isCut: boolean;
}

/** Starts a proxy to a local port. */
export function startCuttingProxy(serverPort: number): CuttingProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections = new Set<Deno.Conn>();
  const ports = new WeakMap<Deno.Conn, number>();
  const passing: Promise<void>[] = [];
  let watched: Watched | null = null;
  const accept = async (client: Deno.Conn) => {
    const server = await Deno.connect({ hostname: "127.0.0.1", port: serverPort });
    connections.add(client).add(server);
    ports.set(client, server.localAddr.port);
    passing.push(
      pass(client, server, (bytes) => keepOfWrite(watched, client, bytes)),
      pass(server, client, (bytes) => keepOfAnswer(watched, client, bytes)),
    );
  };
  const accepting = (async () => {
    for await (const client of listener) await accept(client).catch(() => close(client));
  })();
  return {
    port: listener.addr.port,
    arm: (marker, cut) => {
      const bytes = new TextEncoder().encode(marker);
      const counts = { writes: 0, wholeWrites: 0, received: 0 };
      watched = { marker: bytes, cut, client: null, isCut: false, ...counts };
    },
    disarm: () => {
      const { isCut: cut = false, wholeWrites = 0, received = 0, client = null } = watched ?? {};
      watched = null;
      return { cut, wholeWrites, received, port: client && (ports.get(client) ?? null) };
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting.catch(() => {});
      for (const connection of connections) close(connection);
      await Promise.all(passing);
    },
  };
}

/** How many bytes of a write go on to the server; fewer than there are cut the connection. */
function keepOfWrite(watched: Watched | null, client: Deno.Conn, bytes: Uint8Array): number {
  if (watched === null || watched.isCut) return bytes.length;
  if (watched.client === null && holds(bytes, watched.marker)) watched.client = client;
  if (watched.client !== client) return bytes.length;
  const { cut } = watched;
  if (cut?.side === "to server" && cut.write === watched.writes++) {
    watched.isCut = true;
    return Math.max(0, bytes.length - cut.lost);
  }
  watched.wholeWrites++;
  return bytes.length;
}

/** The same of an answer, to the client. */
function keepOfAnswer(watched: Watched | null, client: Deno.Conn, bytes: Uint8Array): number {
  if (watched?.client !== client) return bytes.length;
  const before = watched.received;
  watched.received += bytes.length;
  if (watched.cut?.side !== "from server") return bytes.length;
  const left = watched.cut.passed - before;
  if (bytes.length <= left) return bytes.length;
  watched.isCut = true;
  return left;
}

function holds(bytes: Uint8Array, marker: Uint8Array): boolean {
  for (let at = bytes.indexOf(marker[0]!); at >= 0; at = bytes.indexOf(marker[0]!, at + 1)) {
    if (marker.every((code, index) => bytes[at + index] === code)) return true;
  }
  return false;
}

async function pass(
  from: Deno.Conn,
  to: Deno.Conn,
  keep: (bytes: Uint8Array) => number,
): Promise<void> {
  const buffer = new Uint8Array(1024 * 1024);
  try {
    for (let read; (read = await from.read(buffer)) !== null;) {
      const kept = keep(buffer.subarray(0, read));
      for (let at = 0; at < kept;) at += await to.write(buffer.subarray(at, kept));
      if (kept < read) break;
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
