/** A socket that reads into one reused buffer, so receiving allocates no memory. @module */
import { builtinModule } from "../../base/lib/builtin_modules.ts";
import type { Socket } from "./pg_client.ts";

const bufferBytes = 64 * 1024;

/** A socket that hands out received bytes without a copy. */
interface ReadingSocket extends Socket {
  /** Replaces the `data` events by a function, which must not use the bytes after it returns. */
  readInto(take: (chunk: Uint8Array) => void): void;
}

export interface Sockets {
  reading(): ReadingSocket;
  /** Returns a socket of the usual class, which encryption needs. */
  plain(): Socket;
}

/** Returns the runtime's sockets; null where they cannot read into a buffer. */
export function socketsOfRuntime(): Sockets | null {
  // Bun and Workers are excluded, because they accept `onread` and ignore it.
  if ("Bun" in globalThis || "WebSocketPair" in globalThis) return null;
  const net = builtinModule("node:net");
  const buffer = builtinModule("node:buffer");
  if (net === null || buffer === null) return null;
  return {
    reading: () => {
      let take: ((chunk: Uint8Array) => void) | null = null;
      const callback = (length: number, bytes: Uint8Array) => {
        const chunk = bytes.subarray(0, length);
        // While `pg` authenticates, it expects copies as `data` events.
        if (take === null) socket.emit("data", buffer.Buffer.from(chunk));
        else take(chunk);
        return true;
      };
      const socket = new net.Socket({ onread: { buffer: new Uint8Array(bufferBytes), callback } });
      return Object.assign(socket, {
        readInto: (taker: (chunk: Uint8Array) => void) => void (take = taker),
      }) as unknown as ReadingSocket;
    },
    plain: () => new net.Socket() as unknown as Socket,
  };
}

export function isReadingSocket(socket: Socket): socket is ReadingSocket {
  return "readInto" in socket;
}
