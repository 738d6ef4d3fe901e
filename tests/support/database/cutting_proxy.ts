/** A TCP proxy that cuts a connection in the middle of a chosen exchange. @module */
import { type Passage, startTcpProxy } from "./tcp_proxy.ts";

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
  /** Bytes of the last write behind its message `Execute` of COMMIT; null if it has none. */
  readonly afterCommit: number | null;
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
  passage: Passage | null;
  writes: number;
  wholeWrites: number;
  afterCommit: number | null;
  received: number;
}

/** Starts a proxy to a local port. */
export function startCuttingProxy(serverPort: number): CuttingProxy {
  let watched: Watched | null = null;
  const proxy = startTcpProxy(serverPort, () => ({
    toServer: (chunk, passage) => chunk.subarray(0, keepOfWrite(watched, passage, chunk)),
    fromServer: (chunk, passage) => chunk.subarray(0, keepOfAnswer(watched, passage, chunk)),
  }));
  return {
    ...proxy,
    arm: (marker, cut) => {
      const bytes = new TextEncoder().encode(marker);
      watched = {
        marker: bytes,
        cut,
        passage: null,
        writes: 0,
        wholeWrites: 0,
        afterCommit: null,
        received: 0,
      };
    },
    disarm: () => {
      const { wholeWrites = 0, afterCommit = null, received = 0, passage = null } = watched ?? {};
      watched = null;
      const [isCut, port] = [passage?.isCut ?? false, passage?.port ?? null];
      return { cut: isCut, wholeWrites, afterCommit, received, port };
    },
  };
}

/** How many bytes of a write go on to the server; fewer than there are cut the connection. */
function keepOfWrite(watched: Watched | null, passage: Passage, bytes: Uint8Array): number {
  if (watched === null || watched.passage?.isCut) return bytes.length;
  if (watched.passage === null && holds(bytes, watched.marker)) watched.passage = passage;
  if (watched.passage !== passage) return bytes.length;
  const { cut } = watched;
  watched.afterCommit = lengthAfterCommit(bytes);
  if (cut?.side === "to server" && cut.write === watched.writes++) {
    passage.isCut = true;
    return Math.max(0, bytes.length - cut.lost);
  }
  watched.wholeWrites++;
  return bytes.length;
}

/** Bytes behind the message that executes COMMIT, which a write prepares as its first statement. */
function lengthAfterCommit(bytes: Uint8Array): number | null {
  if (!holds(bytes.subarray(0, 16), new TextEncoder().encode("P\0\0\0\x0e\0commit\0"))) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const type = bytes[at];
    at += 1 + view.getUint32(at + 1);
    if (type === "E".charCodeAt(0)) return bytes.length - at;
  }
  return null;
}

/** The same of an answer, to the client. */
function keepOfAnswer(watched: Watched | null, passage: Passage, bytes: Uint8Array): number {
  if (watched?.passage !== passage) return bytes.length;
  const before = watched.received;
  watched.received += bytes.length;
  if (watched.cut?.side !== "from server") return bytes.length;
  const left = watched.cut.passed - before;
  if (bytes.length <= left) return bytes.length;
  passage.isCut = true;
  return left;
}

function holds(bytes: Uint8Array, marker: Uint8Array): boolean {
  for (let at = bytes.indexOf(marker[0]!); at >= 0; at = bytes.indexOf(marker[0]!, at + 1)) {
    if (marker.every((code, index) => bytes[at + index] === code)) return true;
  }
  return false;
}
