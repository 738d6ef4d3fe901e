/** A socket that reads into one reused buffer, so receiving allocates no memory. @module */
import type { Socket } from "./pg_client.ts";

const bufferBytes = 64 * 1024;

/** A socket that hands out received bytes without a copy. */
interface ReadingSocket extends Socket {
  /** Replaces the `data` events by a function. Its bytes are valid during the call only. */
  readInto(take: (chunk: Uint8Array) => void): void;
}

export interface Sockets {
  reading(): ReadingSocket;
  /** A usual socket, which encryption needs. */
  plain(): Socket;
}

/** The Node modules of sockets. They are not imported, as browsers lack them. */
interface NodeModules {
  readonly net: typeof import("node:net");
  readonly buffer: typeof import("node:buffer");
}

/** Returns the runtime's sockets; null where they cannot read into a buffer. */
export function socketsOfRuntime(): Sockets | null {
  const modules = nodeModules();
  if (modules === null) return null;
  const { net, buffer: { Buffer } } = modules;
  return {
    reading: () => {
      let take: ((chunk: Uint8Array) => void) | null = null;
      const callback = (length: number, bytes: Uint8Array) => {
        const chunk = bytes.subarray(0, length);
        // While `pg` authenticates, it expects copies as `data` events.
        if (take === null) socket.emit("data", Buffer.from(chunk));
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

/** Node and Deno support `onread`; Bun and Workers accept the option and ignore it. */
function nodeModules(): NodeModules | null {
  const { Bun, WebSocketPair, process } = globalThis as {
    Bun?: unknown;
    WebSocketPair?: unknown;
    process?: { getBuiltinModule?(name: string): unknown };
  };
  if (Bun !== undefined || WebSocketPair !== undefined) return null;
  const get = process?.getBuiltinModule;
  if (get === undefined) return null;
  return { net: get("node:net"), buffer: get("node:buffer") } as NodeModules;
}

export function isReadingSocket(socket: Socket): socket is ReadingSocket {
  return "readInto" in socket;
}
