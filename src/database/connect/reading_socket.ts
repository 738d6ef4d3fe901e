/**
 * A socket that reads into one buffer again and again: what is received costs no memory of its own.
 *
 * @module
 */
import type { Socket } from "./pg_client.ts";

const bufferBytes = 64 * 1024;

/** A socket whose bytes can be had as they lie in its buffer. */
export interface ReadingSocket extends Socket {
  /** Takes the bytes, which are valid during the call only, in the place of `data` events. */
  readInto(take: (chunk: Uint8Array) => void): void;
}

/** Makes the sockets that `pg` connects with. */
export interface Sockets {
  reading(): ReadingSocket;
  /** One of the usual kind, which encryption needs. */
  plain(): Socket;
}

/** The modules of Node that sockets are made of. They are not imported, as browsers have none. */
interface NodeModules {
  readonly net: typeof import("node:net");
  readonly buffer: typeof import("node:buffer");
}

/** Null where sockets cannot read into a given buffer. */
export function socketsOfRuntime(): Sockets | null {
  const modules = nodeModules();
  if (modules === null) return null;
  const { net, buffer: { Buffer } } = modules;
  return {
    reading: () => {
      let take: ((chunk: Uint8Array) => void) | null = null;
      const callback = (length: number, bytes: Uint8Array) => {
        const chunk = bytes.subarray(0, length);
        // Until somebody takes them, copies are told as `pg` expects them.
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

/** Node and Deno have what is needed; Bun and Workers only look as if they had. */
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

/** Whether a socket is one. */
export function isReadingSocket(socket: Socket): socket is ReadingSocket {
  return "readInto" in socket;
}
