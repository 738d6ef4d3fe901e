/** Decodes request bodies by their `Content-Encoding` (RFC 9110, section 8.4). @module */
import { errors } from "../../errors/catalogue.ts";
import { ServiceError } from "../../errors/service_error.ts";
import { type BuiltinModule, builtinModule } from "../../lib/builtin_modules.ts";

export type ContentCoding = "gzip" | "deflate" | "br" | "zstd";

/**
 * A `DecompressionStream` returns all that a piece decodes to as one chunk. Deflate expands a byte to at
 * most 1,032, so pieces of this length bound a chunk by 4 MiB.
 */
const decompressedSliceBytes = 4 * 1024;
/** Chunks of a decoder of `node:zlib` have at most this many bytes. */
const chunkBytes = 64 * 1024;
/**
 * Decoders receive a body in pieces of at most this length. The ratio of a bomb then shows after a few
 * megabytes, although the decoder has not read all that it received.
 */
const countedSliceBytes = 16 * 1024;
/** A body may decode to this many bytes at any ratio. */
const minCheckedBytes = 1024 * 1024;
/** JSON and CSV rarely shrink to less than a hundredth; bombs shrink to a thousandth. */
const maxRatio = 200;

const aliases: ReadonlyMap<string, ContentCoding> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["br", "br"],
  ["zstd", "zstd"],
]);

/**
 * Returns the coding of a body; null if it has none. Throws `138` for codings that this runtime cannot
 * decode, and for several.
 */
export async function contentCoding(
  headers: Headers,
  codecs: Promise<Codecs> = runtimeCodecs(),
): Promise<ContentCoding | null> {
  const value = headers.get("content-encoding");
  const name = value?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity") return null;
  const offered = await codecs;
  const coding = aliases.get(name);
  if (coding !== undefined && offered.has(coding)) return coding;
  throw errors.unsupportedContentCoding(name, [...offered.keys()]);
}

/** Decodes a stream of pieces. Rejects if they are corrupt or truncated. */
type Decode = (pieces: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** The codings that a runtime decodes, the preferred one first. */
export type Codecs = ReadonlyMap<ContentCoding, Decode>;

export interface DecodingOptions {
  readonly coding: ContentCoding;
  /** Whether the decoded length has another limit than a multiple of the body's. */
  readonly isLimited: boolean;
  /** Default: those of the runtime. */
  readonly codecs?: Promise<Codecs>;
}

/**
 * Yields the decoded bytes of a body, each piece valid until the next one is requested. Throws `139` if
 * they are corrupt or truncated, `130` if the body is a bomb, and what `pieces` throws.
 */
export async function* decodedPieces(
  pieces: AsyncIterable<Uint8Array>,
  { coding, isLimited, codecs = runtimeCodecs() }: DecodingOptions,
): AsyncGenerator<Uint8Array> {
  const decode = (await codecs).get(coding)!;
  let received = 0;
  let decoded = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; at += countedSliceBytes) {
        const slice = piece.subarray(at, at + countedSliceBytes);
        received += slice.length;
        yield slice;
      }
    }
  }
  try {
    for await (const piece of decode(counted())) {
      decoded += piece.length;
      if (!isLimited && decoded > minCheckedBytes && decoded > received * maxRatio) {
        throw errors.bodyExpandsTooMuch(maxRatio);
      }
      yield piece;
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : errors.undecodableBody(coding);
  }
}

type Zlib = BuiltinModule<"node:zlib">;

let codecsOfRuntime: Promise<Codecs> | null = null;

function runtimeCodecs(): Promise<Codecs> {
  return codecsOfRuntime ??= codecsOf(builtinModule("node:zlib"));
}

/**
 * Returns the codings that can be decoded in bounded memory. A `DecompressionStream` bounds `gzip` and
 * `deflate` alone; the others need `node:zlib`. Some runtimes take a truncated body for a whole one:
 * there the coding is left out.
 */
export async function codecsOf(zlib: Zlib | null): Promise<Codecs> {
  const candidates = zlib === null ? standardDecoders : zlibDecoders(zlib);
  const codecs = new Map<ContentCoding, Decode>();
  for (const [coding, decode] of candidates) {
    if (await noticesTruncation(decode, truncated[coding])) codecs.set(coding, decode);
  }
  return codecs;
}

type Decoders = readonly (readonly [coding: ContentCoding, decode: Decode])[];

const standardDecoders: Decoders = [
  ["gzip", (pieces) => decompressed(pieces, "gzip")],
  ["deflate", (pieces) => decompressed(pieces, "deflate")],
];

const zlibFunctions = {
  gzip: "createGunzip",
  deflate: "createInflate",
  br: "createBrotliDecompress",
  zstd: "createZstdDecompress",
} as const;

/** Older versions of `node:zlib` lack some codings. */
function zlibDecoders(zlib: Zlib): Decoders {
  return (Object.keys(zlibFunctions) as ContentCoding[]).flatMap((coding) => {
    const create: Zlib[typeof zlibFunctions[ContentCoding]] | undefined =
      zlib[zlibFunctions[coding]];
    if (create === undefined) return [];
    const decode: Decode = (pieces) => unzipped(pieces, () => create({ chunkSize: chunkBytes }));
    return [[coding, decode] as const];
  });
}

/** The text `a` in each coding, without its last byte. */
const truncated: Readonly<Record<ContentCoding, Uint8Array>> = {
  gzip: Uint8Array.of(
    ...[0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x4b, 0x04, 0x00],
    ...[0x43, 0xbe, 0xb7, 0xe8, 0x01, 0x00, 0x00],
  ),
  deflate: Uint8Array.of(0x78, 0x9c, 0x4b, 0x04, 0x00, 0x00, 0x62, 0x00),
  br: Uint8Array.of(0x0b, 0x00, 0x80, 0x61),
  zstd: Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x09, 0x00, 0x00),
};

async function noticesTruncation(decode: Decode, body: Uint8Array): Promise<boolean> {
  async function* pieces() {
    yield body;
  }
  try {
    for await (const _ of decode(pieces()));
    return false;
  } catch {
    return true;
  }
}

interface ZlibDecoder extends AsyncIterable<Uint8Array> {
  write(bytes: Uint8Array): boolean;
  end(): void;
  destroy(error?: Error): void;
  on(event: "drain" | "close", listener: () => void): void;
}

async function* unzipped(
  pieces: AsyncIterable<Uint8Array>,
  create: () => ZlibDecoder,
): AsyncGenerator<Uint8Array> {
  const decoder = create();
  let isClosed = false;
  let resume = () => {};
  decoder.on("drain", () => resume());
  decoder.on("close", () => {
    isClosed = true;
    resume();
  });
  const feeding = (async () => {
    for await (const piece of pieces) {
      if (isClosed) return;
      // The decoder reads it later.
      if (decoder.write(piece.slice()) || isClosed) continue;
      await new Promise<void>((resolve) => resume = resolve);
    }
    decoder.end();
  })().catch((error) => decoder.destroy(error));
  try {
    yield* decoder;
  } finally {
    decoder.destroy();
  }
  await feeding;
}

async function* decompressed(
  pieces: AsyncIterable<Uint8Array>,
  format: "gzip" | "deflate",
): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new DecompressionStream(format);
  const writer = writable.getWriter();
  const feeding = (async () => {
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; at += decompressedSliceBytes) {
        await writer.write(piece.slice(at, at + decompressedSliceBytes));
      }
    }
    await writer.close();
  })().catch(async (error) => {
    await writer.abort(error).catch(() => {});
    throw error;
  });
  feeding.catch(() => {});
  yield* readable;
  await feeding;
}
