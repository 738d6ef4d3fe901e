/** Receives request bodies. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { ServiceError } from "../../../base/errors/service_error.ts";
import { type ChunkReader, chunkReader } from "../../../base/lib/chunk_reader.ts";
import { schedule, turn } from "../../../base/lib/timers.ts";
import type { BodyDecoder, OnKeys, Payload } from "./body_decoder.ts";
import { type BodyTimeout, inTime } from "../../../base/lib/time_limits.ts";
import type { PayloadReader } from "./payload.ts";
import { contentCoding, decodedChunks } from "./content_coding.ts";
import { decodeChunks } from "./decode_chunks.ts";
import type { DecoderOptions } from "./decoders.ts";
import {
  divideBody,
  type DivisionOptions,
  type JsonPayload,
  maxWholeBytes,
} from "./divided_body.ts";

/** Bodies up to this size are read before the look-up of the relation: syntax errors take precedence. */
const maxShortBytes = 64 * 1024;
/** Bodies up to this size are received by one call of the runtime, which is the fastest way. */
const maxChunkBytes = 4 * 1024;
/** Buffer size for a body of known length. */
const bufferBytes = 256 * 1024;
/** Factor by which the buffer exceeds the received bytes. Unused pages of the buffer occupy no memory. */
const growthFactor = 1024;
/** Number of bytes that are copied between two pauses. To copy them takes some milliseconds. */
const copyBytes = 4 * 1024 * 1024;
/** Maximum payload. PostgreSQL rejects messages of 1 GiB (`MaxAllocSize`), which also contain other
 * parameters. */
const maxPayloadBytes = 1023 * 1024 * 1024;

/** Checks of a long body before it has arrived completely. Default: none. */
export interface LongBodyChecks {
  /** Runs before the body is received. */
  readonly head?: () => void;
  /** Runs when the decoder knows the keys of the body. */
  readonly keys?: OnKeys;
  /** Returns whether several statements may insert the rows of the payload; of any payload, if
   * null. Default: they may not. */
  readonly isDivisible?: (payload: Payload | null) => boolean;
}

export interface ReceivingOptions {
  readonly checks?: LongBodyChecks;
  /** Maximum bytes of a body; 0 means no limit. Default: 0. */
  readonly maxBytes?: number;
  /** Returns the error of a longer body. Default: `130`. */
  readonly tooLarge?: TooLarge;
  /** Default: no limit. */
  readonly timeout?: BodyTimeout;
  /** How rows of a divisible body are divided. Default: the body is not divided. */
  readonly division?: DivisionOptions;
  /** Yields to other requests. Default: one turn of the event loop. */
  readonly pause?: () => Promise<void>;
}

/** Where a body comes from. The body of an operation has arrived with its batch. */
export type BodySource =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "payload"; readonly payload: Payload }
  | {
    readonly kind: "request";
    readonly request: Request;
    readonly options: Omit<ReceivingOptions, "checks">;
    /** Called when the whole body has arrived. */
    readonly onEnd: (() => void) | undefined;
  };

/** Returns the body of a source. Throws the errors of {@linkcode receiveBody}. */
export async function readBody(
  source: BodySource,
  reader: PayloadReader,
  checks: LongBodyChecks = {},
): Promise<Payload> {
  if (source.kind === "payload") return source.payload;
  if (source.kind === "bytes") return decodeBody(reader, source.bytes);
  const { request, options, onEnd } = source;
  const payload = await receiveBody(request, reader.begin, { ...options, checks });
  onEnd?.();
  return payload;
}

/** Creates the error for a body above the limit `allowed`. `length` is null if unknown. */
type TooLarge = (allowed: number, length: number | null) => ServiceError;

const noTimeout: BodyTimeout = { milliseconds: 0, schedule };

/**
 * Receives a body and decodes each chunk as it arrives, so that memory contains only the payload.
 * Throws `102` if the body breaks off or is malformed, `130` if it is too large, `133` if it
 * stalls, and the errors of the checks.
 *
 * A body is long if its length, or its `Content-Length`, exceeds {@linkcode maxShortBytes}. A
 * compressed or chunked body is also treated as long.
 */
export async function receiveBody(
  request: Request,
  begin: (onKeys: OnKeys, options?: DecoderOptions) => BodyDecoder,
  options: ReceivingOptions = {},
): Promise<Payload> {
  const { checks = {}, maxBytes = 0, timeout = noTimeout, division, pause = turn } = options;
  const { tooLarge = errors.bodyTooLarge } = options;
  const coding = request.headers.has("content-encoding") ? contentCoding(request.headers) : null;
  const allowed = maxBytes === 0 ? maxPayloadBytes : Math.min(maxBytes, maxPayloadBytes);
  const declared = expectedLength(request.headers);
  const expected = coding === null ? declared : Infinity;
  const guard = new LongBodyGuard(checks, { maxBytes, tooLarge });
  if (expected > maxShortBytes) guard.open();
  const mayDivide = division !== undefined && mayBeDivided(expected, checks);
  const allowedLength = mayDivide && maxBytes === 0 ? Infinity : mayDivide ? maxBytes : allowed;
  if (declared > allowedLength && declared < Infinity) {
    throw tooLarge(allowedLength, declared);
  }
  const decoder = begin((payload) => guard.check(payload), { isCut: mayDivide });
  // Small bodies are received whole, because access to `body` would create a stream.
  const maxWhole = timeout.milliseconds > 0 ? maxChunkBytes : maxShortBytes;
  if (expected <= maxWhole || request.body === null) {
    const received = await unbroken(() => inTime(request.arrayBuffer(), timeout, errors));
    const bytes = new Uint8Array(received);
    guard.count(bytes.length);
    return await decodeAtOnce(decoder, bytes, pause);
  }
  const isChunked = request.headers.has("transfer-encoding");
  const reader = chunkReader(
    request.body,
    isChunked
      ? { kind: "joined", pause }
      : { kind: "buffer", bytes: expected <= maxShortBytes ? expected : bufferBytes },
  );
  const received = receivedChunks(reader, timeout);
  const watched = mayDivide ? division.minRate.watch(received) : received;
  const isLimited = maxBytes > 0;
  const chunks = guarded(
    coding === null ? watched : decodedChunks(watched, { coding, isLimited }),
    guard,
  );
  const decoded = decodeChunks(chunks, decoder, pause);
  const isLengthKnown = decoder.work !== "converts" && !mayDivide;
  const collected = new Collected(isLengthKnown ? expected : Infinity, pause);
  try {
    if (mayDivide) {
      const divided = await divideLongBody(collected, decoded, { decoder, division, checks });
      if (divided !== null) return divided;
    }
    for await (const bytes of decoded) await collected.add(bytes);
  } finally {
    // The reader is released, so that the server can discard the rest of the body.
    reader.release();
  }
  return decoder.payload(collected.bytes());
}

/** Returns whether a body might be divided: it is long and divisible, or its length is unknown. */
function mayBeDivided(expected: number, { isDivisible }: LongBodyChecks): boolean {
  if (isDivisible === undefined) return false;
  return Number.isNaN(expected) || (expected > maxWholeBytes && isDivisible(null));
}

/** Divides a long body. Returns null if it is not divided; `collected` then has its bytes. */
async function divideLongBody(
  collected: Collected,
  decoded: AsyncGenerator<Uint8Array>,
  { decoder, division, checks: { isDivisible } }: {
    readonly decoder: BodyDecoder;
    readonly division: DivisionOptions;
    readonly checks: LongBodyChecks;
  },
): Promise<JsonPayload | null> {
  let rowEnd = -1;
  for (let next = await decoded.next(); !next.done; next = await decoded.next()) {
    const bytes = next.value;
    const { cuts } = decoder;
    if (cuts === undefined) {
      await collected.add(bytes);
      return null;
    }
    if (bytes.length > 0 && cuts.lastRowEnd >= 0) rowEnd = collected.length + cuts.lastRowEnd;
    await collected.add(bytes);
    if (collected.length <= maxWholeBytes || rowEnd < 0 || !cuts.areKeysKnown) continue;
    const payload = decoder.payload(new Uint8Array(0));
    if (!isArray(payload) || cuts.problem !== null || !isDivisible?.(payload)) return null;
    const spool = division.openSpool();
    if (spool === null) return null;
    const start = { bytes: collected.bytes(), rowEnd };
    division.minRate.start();
    return await divideBody(payload, start, { rest: decoded, decoder, spool });
  }
  return null;
}

function isArray(payload: Payload): payload is JsonPayload {
  return payload.kind === "json" && payload.shape === "array";
}

/** Returns a body's length by its headers: Infinity for chunked bodies, NaN without a header. */
function expectedLength(headers: Headers): number {
  if (headers.has("transfer-encoding")) return Infinity;
  return Number(headers.get("content-length") ?? NaN);
}

async function unbroken<Result>(receive: () => Promise<Result>): Promise<Result> {
  try {
    return await receive();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw errors.abandonedBody();
  }
}

/** Decodes a body that has arrived. Throws `102` if it is malformed. */
export function decodeBody({ begin }: PayloadReader, bytes: Uint8Array): Promise<Payload> {
  return decodeAtOnce(begin(() => {}), bytes, turn);
}

async function decodeAtOnce(
  decoder: BodyDecoder,
  bytes: Uint8Array,
  pause: () => Promise<void>,
): Promise<Payload> {
  if (decoder.work !== "converts" && bytes.length <= maxShortBytes) {
    const decoded = decoder.write(bytes);
    decoder.end();
    return decoder.payload(decoded);
  }
  const collected = new Collected(decoder.work === "converts" ? Infinity : bytes.length, pause);
  for await (const chunk of decodeChunks(oneOf(bytes), decoder, pause)) await collected.add(chunk);
  return decoder.payload(collected.bytes());
}

async function* oneOf(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}

/** Checks the size of a body. Runs the other checks when the body is known to be long. */
class LongBodyGuard {
  readonly #checks: LongBodyChecks;
  readonly #maxBytes: number;
  readonly #tooLarge: TooLarge;
  #isOpen = false;
  #keys: Payload | null = null;
  #length = 0;

  constructor(
    checks: LongBodyChecks,
    { maxBytes, tooLarge }: Required<Pick<ReceivingOptions, "maxBytes" | "tooLarge">>,
  ) {
    this.#checks = checks;
    this.#maxBytes = maxBytes;
    this.#tooLarge = tooLarge;
  }

  /** Adds bytes that have arrived. Throws beyond the limit. */
  count(bytes: number): void {
    this.#length += bytes;
    if (this.#length > maxShortBytes) this.open();
    if (this.#maxBytes > 0 && this.#length > this.#maxBytes) {
      throw this.#tooLarge(this.#maxBytes, null);
    }
  }

  /** Runs the checks of a long body, once. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#checks.head?.();
    if (this.#keys !== null) this.#checks.keys?.(this.#keys);
  }

  /** Checks the keys now if the body is known to be long, otherwise when it proves to be long. */
  check(payload: Payload): void {
    this.#keys = payload;
    if (this.#isOpen) this.#checks.keys?.(payload);
  }
}

async function* guarded(
  chunks: AsyncIterable<Uint8Array>,
  guard: LongBodyGuard,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    guard.count(chunk.length);
    yield chunk;
  }
}

/** Collects the bytes of a payload in one buffer. */
class Collected {
  readonly #expected: number;
  readonly #pause: () => Promise<void>;
  #buffer: Uint8Array;
  #length = 0;

  /** `expected` is the number of expected bytes; Infinity or NaN if unknown. */
  constructor(expected: number, pause: () => Promise<void>) {
    this.#expected = Number.isSafeInteger(expected) ? expected : Infinity;
    this.#pause = pause;
    this.#buffer = new Uint8Array(Math.min(this.#expected, maxShortBytes));
  }

  get length(): number {
    return this.#length;
  }

  async add(chunk: Uint8Array): Promise<void> {
    const needed = this.#length + chunk.length;
    if (needed > maxPayloadBytes) throw errors.bodyTooLarge(maxPayloadBytes, null);
    if (needed > this.#buffer.length) {
      const room = this.#expected === Infinity
        ? needed * 2
        : Math.min(this.#expected, needed * growthFactor);
      await this.#enlarge(Math.max(needed, room));
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = needed;
  }

  async #enlarge(length: number): Promise<void> {
    const larger = new Uint8Array(length);
    for (let at = 0; at < this.#length; at += copyBytes) {
      if (at > 0) await this.#pause();
      larger.set(this.#buffer.subarray(at, Math.min(at + copyBytes, this.#length)), at);
    }
    this.#buffer = larger;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }
}

/**
 * Yields the chunks of a body, each valid until the next one is requested. Throws `102` if the body
 * breaks off, and `133` if a chunk takes too long.
 */
async function* receivedChunks(
  { next }: ChunkReader,
  timeout: BodyTimeout,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { value, done } = await unbroken(() => inTime(next(), timeout, errors));
    if (done) return;
    timeout.pace?.count(value.length);
    yield value;
  }
}
