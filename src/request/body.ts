/**
 * Receives request bodies.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { type PieceReader, pieceReader } from "../lib/piece_reader.ts";
import { turn } from "../lib/timers.ts";
import type { Payload } from "./api_request.ts";
import type { BodyDecoder, OnKeys } from "./body_decoder.ts";
import { contentCoding, decodedPieces } from "./content_coding.ts";
import { decodePieces } from "./decode_pieces.ts";

/**
 * Bodies of up to this many bytes are read before anything is looked up, so that errors of their
 * syntax come first. They are left to the runtime, which is quickest with them.
 */
const smallLength = 64 * 1024;
/** Bytes of the buffer that a body of known length is read through. */
const bufferBytes = 256 * 1024;
/**
 * Bytes of the buffer that chunks are read through. Deno may hold back as many bytes for each piece
 * that it returns, since a piece ends where a chunk ends.
 */
const chunkBufferBytes = 64 * 1024;
/** How much more room than what has come is made at a time: room costs memory only when used. */
const growth = 1024;
/** Bytes that are copied in one go: some milliseconds' work. */
const copyLength = 4 * 1024 * 1024;
/** PostgreSQL takes no message of 1 GiB (`MaxAllocSize`); this leaves room for other parameters. */
const maxPayloadBytes = 1023 * 1024 * 1024;

/** What is checked before a long body is received, and as soon as its keys are known. */
export interface LongBodyChecks {
  readonly head: () => void;
  readonly keys: OnKeys;
}

export interface ReceivingOptions {
  /** None unless given. */
  readonly checks?: LongBodyChecks;
  /** The most bytes that a body may have; 0 sets no limit. Default: 0. */
  readonly maxBytes?: number;
  /** Lets the event loop go round once. */
  readonly pause?: () => Promise<void>;
}

const noChecks: LongBodyChecks = { head: () => {}, keys: () => {} };

/**
 * Receives a body and decodes it as it comes, so that only the payload is held, without the copies that
 * the runtime would leave behind. Throws `102` when the body breaks off or cannot be decoded, `130` when
 * it is too large, and what the checks throw.
 *
 * A body is long when it, or its `Content-Length`, exceeds {@linkcode smallLength} bytes, and when it
 * comes in chunks.
 */
export async function receiveBody(
  request: Request,
  begin: (onKeys: OnKeys) => BodyDecoder,
  { checks = noChecks, maxBytes = 0, pause = turn }: ReceivingOptions = {},
): Promise<Payload> {
  const coding = request.headers.has("content-encoding")
    ? await contentCoding(request.headers)
    : null;
  const allowed = maxBytes === 0 ? maxPayloadBytes : Math.min(maxBytes, maxPayloadBytes);
  const declared = expectedLength(request.headers);
  const expected = coding === null ? declared : Infinity;
  const guard = new LongBodyGuard(checks, maxBytes);
  if (expected > smallLength) guard.open();
  if (declared > allowed && declared < Infinity) throw errors.bodyTooLarge(allowed, declared);
  const decoder = begin((payload) => guard.check(payload));
  // Asking for the stream makes one, which small bodies do without.
  if (expected <= smallLength || request.body === null) {
    const bytes = await unbroken(async () => new Uint8Array(await request.arrayBuffer()));
    guard.count(bytes.length);
    return await decodeAtOnce(decoder, bytes, pause);
  }
  const collected = new Collected(decoder.work === "converts" ? Infinity : expected, pause);
  const reader = pieceReader(request.body, expected < Infinity ? bufferBytes : chunkBufferBytes);
  const received = receivedPieces(reader);
  const pieces = guarded(coding === null ? received : decodedPieces(received, coding), guard);
  try {
    for await (const bytes of decodePieces(pieces, decoder, pause)) await collected.add(bytes);
  } finally {
    // The server can discard the rest.
    reader.release();
  }
  return decoder.payload(collected.bytes());
}

/** What the headers say of a body's length: infinite for chunks, NaN for nothing. */
function expectedLength(headers: Headers): number {
  if (headers.has("transfer-encoding")) return Infinity;
  return Number(headers.get("content-length") ?? NaN);
}

async function unbroken<Result>(receive: () => Promise<Result>): Promise<Result> {
  try {
    return await receive();
  } catch {
    throw errors.invalidBody("The body ended early");
  }
}

async function decodeAtOnce(
  decoder: BodyDecoder,
  bytes: Uint8Array,
  pause: () => Promise<void>,
): Promise<Payload> {
  const decoded = decoder.write(bytes);
  if (decoder.work !== "converts") {
    decoder.end();
    return decoder.payload(decoded);
  }
  const collected = new Collected(Infinity, pause);
  await collected.add(decoded);
  await collected.add(decoder.end());
  return decoder.payload(collected.bytes());
}

/** Counts a body's bytes against the limit, and runs the checks once the body has proved to be long. */
class LongBodyGuard {
  readonly #checks: LongBodyChecks;
  readonly #maxBytes: number;
  #isOpen = false;
  #keys: Payload | null = null;
  #length = 0;

  constructor(checks: LongBodyChecks, maxBytes: number) {
    this.#checks = checks;
    this.#maxBytes = maxBytes;
  }

  /** Bytes have come. */
  count(bytes: number): void {
    this.#length += bytes;
    if (this.#length > smallLength) this.open();
    if (this.#maxBytes > 0 && this.#length > this.#maxBytes) {
      throw errors.bodyTooLarge(this.#maxBytes, null);
    }
  }

  /** The body is long. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#checks.head();
    if (this.#keys !== null) this.#checks.keys(this.#keys);
  }

  /** The keys are known. */
  check(payload: Payload): void {
    this.#keys = payload;
    if (this.#isOpen) this.#checks.keys(payload);
  }
}

/** Yields the same pieces; the guard counts them. */
async function* guarded(
  pieces: AsyncIterable<Uint8Array>,
  guard: LongBodyGuard,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    guard.count(piece.length);
    yield piece;
  }
}

/** The bytes of a payload, in one buffer. */
class Collected {
  readonly #expected: number;
  readonly #pause: () => Promise<void>;
  #buffer: Uint8Array;
  #length = 0;

  /** `expected` is the number of bytes that will come, if it is an integer. */
  constructor(expected: number, pause: () => Promise<void>) {
    this.#expected = Number.isSafeInteger(expected) ? expected : Infinity;
    this.#pause = pause;
    this.#buffer = new Uint8Array(Math.min(this.#expected, smallLength));
  }

  async add(piece: Uint8Array): Promise<void> {
    const needed = this.#length + piece.length;
    if (needed > maxPayloadBytes) throw errors.bodyTooLarge(maxPayloadBytes, null);
    if (needed > this.#buffer.length) {
      const room = this.#expected === Infinity
        ? needed * 2
        : Math.min(this.#expected, needed * growth);
      await this.#enlarge(Math.max(needed, room));
    }
    this.#buffer.set(piece, this.#length);
    this.#length = needed;
  }

  /** Copies to a larger buffer, with pauses. */
  async #enlarge(length: number): Promise<void> {
    const larger = new Uint8Array(length);
    for (let at = 0; at < this.#length; at += copyLength) {
      if (at > 0) await this.#pause();
      larger.set(this.#buffer.subarray(at, Math.min(at + copyLength, this.#length)), at);
    }
    this.#buffer = larger;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }
}

/**
 * Yields the pieces of a body, each valid until the next one is requested. Throws `102` if the body
 * breaks off.
 */
async function* receivedPieces({ next }: PieceReader): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { value, done } = await unbroken(next);
    if (done) return;
    yield value;
  }
}
