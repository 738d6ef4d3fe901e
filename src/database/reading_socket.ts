/**
 * A socket that reads into one buffer again and again: what is received costs no memory of its own.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import net from "node:net";
import type { Socket } from "./connect.ts";

const bufferSize = 64 * 1024;

/** A socket whose bytes can be had as they lie in its buffer. */
export interface ReadingSocket extends Socket {
  /** Takes the bytes, which are valid during the call only, in the place of `data` events. */
  readInto(take: (chunk: Uint8Array) => void): void;
}

/** Whether sockets of this runtime can read into a given buffer. */
export function canReadInto(): boolean {
  const { Deno, process, Bun } = globalThis as {
    Deno?: unknown;
    Bun?: unknown;
    process?: { versions?: { node?: string } };
  };
  return Bun === undefined && (Deno !== undefined || process?.versions?.node !== undefined) &&
    (globalThis as { WebSocketPair?: unknown }).WebSocketPair === undefined;
}

/** Makes one, not connected yet. Until somebody takes its bytes, copies of them are told as `data`. */
export function readingSocket(): ReadingSocket {
  let take: ((chunk: Uint8Array) => void) | null = null;
  const callback = (length: number, bytes: Uint8Array) => {
    const chunk = bytes.subarray(0, length);
    if (take !== null) take(chunk);
    else socket.emit("data", Buffer.from(chunk));
    return true;
  };
  const socket = new net.Socket({ onread: { buffer: new Uint8Array(bufferSize), callback } });
  return Object.assign(socket, {
    readInto: (taker: (chunk: Uint8Array) => void) => void (take = taker),
  }) as unknown as ReadingSocket;
}

/** A socket of the usual kind. */
export function plainSocket(): Socket {
  return new net.Socket() as unknown as Socket;
}

/** Whether a socket is one. */
export function isReadingSocket(socket: Socket): socket is ReadingSocket {
  return "readInto" in socket;
}
