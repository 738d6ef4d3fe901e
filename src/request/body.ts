/**
 * Receives request bodies.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";

/** Bodies up to this length are left to the runtime, which is quickest with them. */
const smallLength = 64 * 1024;
/** The length of the buffer that long bodies arrive through. */
const pieceLength = 256 * 1024;
/** How much more room than what has come is made at a time: room costs memory only when used. */
const growth = 1024;

/**
 * Receives a whole body in one buffer, without the copies that the runtime would leave behind. What
 * `Content-Length` claims is not believed before it comes. Raises `102` when the body breaks off.
 */
export async function readBody(request: Request): Promise<Uint8Array> {
  const length = Number(request.headers.get("content-length") ?? NaN);
  try {
    // Asking for the stream makes one, which small bodies do without.
    if (length <= smallLength || request.body === null) {
      return new Uint8Array(await request.arrayBuffer());
    }
    return await collect(request.body, Number.isSafeInteger(length) ? length : Infinity);
  } catch {
    throw errors.invalidBody("The body ended early");
  }
}

async function collect(body: ReadableStream<Uint8Array>, expected: number): Promise<Uint8Array> {
  let buffer = new ArrayBuffer(Math.min(expected, smallLength));
  let length = 0;
  for await (const piece of piecesOf(body)) {
    const needed = length + piece.length;
    if (needed > buffer.byteLength) {
      const room = expected === Infinity ? needed * 2 : Math.min(expected, needed * growth);
      buffer = enlarged(buffer, Math.max(needed, room));
    }
    new Uint8Array(buffer).set(piece, length);
    length = needed;
  }
  return new Uint8Array(buffer, 0, length);
}

/** Gives a larger buffer of the same beginning, and the old one's memory back at once if that goes. */
function enlarged(buffer: ArrayBuffer, length: number): ArrayBuffer {
  if ("transfer" in buffer) return buffer.transfer(length);
  const larger = new Uint8Array(length);
  larger.set(new Uint8Array(buffer));
  return larger.buffer;
}

/** The pieces of a stream, each valid until the next one is asked for. */
async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = bytesReader(body);
  if (reader === null) return yield* body;
  let buffer = new ArrayBuffer(pieceLength);
  for (;;) {
    const { value, done } = await reader.read(new Uint8Array(buffer));
    if (done) return;
    yield value;
    buffer = value.buffer;
  }
}

/** A reader that fills a buffer of ours again and again, where the stream has such a one. */
function bytesReader(body: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | null {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    return null;
  }
}
