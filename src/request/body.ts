/**
 * Receives request bodies.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";

/**
 * Bodies of up to this many bytes are read before anything is looked up, so that errors of their
 * syntax come first. They are left to the runtime, which is quickest with them.
 */
const smallLength = 64 * 1024;
/** The length of the buffer that long bodies arrive through. */
const pieceLength = 256 * 1024;
/** How much more room than what has come is made at a time: room costs memory only when used. */
const growth = 1024;

/** Called before a long body is read; what it throws, reading throws. */
export type BeforeLong = () => void;

/**
 * Receives a whole body in one buffer, without the copies that the runtime would leave behind. What
 * `Content-Length` claims is not believed before it comes. Raises `102` when the body breaks off.
 *
 * A body is long when it, or its `Content-Length`, exceeds {@linkcode smallLength} bytes, and when it
 * comes in chunks.
 */
export async function readBody(
  request: Request,
  beforeLong: BeforeLong = () => {},
): Promise<Uint8Array> {
  const expected = expectedLength(request.headers);
  if (expected > smallLength) beforeLong();
  // Asking for the stream makes one, which small bodies do without.
  if (expected <= smallLength || request.body === null) {
    return await unbroken(async () => new Uint8Array(await request.arrayBuffer()));
  }
  return await collect(request.body, expected, beforeLong);
}

/** What the headers say of a body's length: infinite for chunks, NaN for nothing. */
function expectedLength(headers: Headers): number {
  if (headers.has("transfer-encoding")) return Infinity;
  return Number(headers.get("content-length") ?? NaN);
}

async function collect(
  body: ReadableStream<Uint8Array>,
  expected: number,
  beforeLong: BeforeLong,
): Promise<Uint8Array> {
  const collected = new Collected(expected);
  const pieces = piecesOf(body);
  for (;;) {
    const { value, done } = await unbroken(() => pieces.next());
    if (done) return collected.bytes();
    const before = collected.length;
    collected.add(value);
    const isLongNow = before <= smallLength && collected.length > smallLength;
    if (Number.isNaN(expected) && isLongNow) beforeLong();
  }
}

async function unbroken<Result>(receive: () => Promise<Result>): Promise<Result> {
  try {
    return await receive();
  } catch {
    throw errors.invalidBody("The body ended early");
  }
}

/** The bytes that have come, in one buffer. */
class Collected {
  readonly #expected: number;
  #buffer: ArrayBuffer;
  length = 0;

  constructor(expected: number) {
    this.#expected = Number.isSafeInteger(expected) ? expected : Infinity;
    this.#buffer = new ArrayBuffer(Math.min(this.#expected, smallLength));
  }

  add(piece: Uint8Array): void {
    const needed = this.length + piece.length;
    if (needed > this.#buffer.byteLength) {
      const room = this.#expected === Infinity
        ? needed * 2
        : Math.min(this.#expected, needed * growth);
      this.#buffer = enlarged(this.#buffer, Math.max(needed, room));
    }
    new Uint8Array(this.#buffer).set(piece, this.length);
    this.length = needed;
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.#buffer, 0, this.length);
  }
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
