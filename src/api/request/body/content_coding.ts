/** Decodes request bodies by their `Content-Encoding` (RFC 9110, section 8.4). @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { ServiceError } from "../../../base/errors/service_error.ts";
import { builtinModule } from "../../../base/lib/builtin_modules.ts";

/** Codings that a runtime with `node:zlib` decodes. Not all runtimes notice truncated data of other
 * codings. */
export type ContentCoding = "gzip" | "deflate";

/** Chunks of a decoder of `node:zlib` have at most this many bytes. */
const chunkBytes = 64 * 1024;
/** Decoders get short chunks, so that svc notices the ratio of a bomb after a few megabytes. */
const countedSliceBytes = 16 * 1024;
/** A body may decode to this many bytes at any ratio. */
const minCheckedBytes = 1024 * 1024;
/** JSON and CSV rarely shrink to less than a hundredth; bombs shrink to a thousandth. */
const maxRatio = 200;

const zlib = builtinModule("node:zlib");
const stream = builtinModule("node:stream");

/** Returns the coding of a body, or null. Throws `138` for other codings, and for several. */
export function contentCoding(headers: Headers): ContentCoding | null {
  const name = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity") return null;
  const coding = name === "x-gzip" ? "gzip" : name;
  if (zlib !== null && (coding === "gzip" || coding === "deflate")) return coding;
  throw errors.unsupportedContentCoding(name, zlib === null ? [] : ["gzip", "deflate"]);
}

/**
 * If `isLimited`, the decoded length has another limit than a multiple of the body's. Throws `139` for corrupt
 * or cut data, `130` for a bomb, and what `pieces` throws.
 */
export async function* decodedPieces(
  pieces: AsyncIterable<Uint8Array>,
  { coding, isLimited }: { readonly coding: ContentCoding; readonly isLimited: boolean },
): AsyncGenerator<Uint8Array> {
  let received = 0;
  let decoded = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; at += countedSliceBytes) {
        const slice = piece.subarray(at, at + countedSliceBytes);
        received += slice.length;
        // The decoder reads it later.
        yield slice.slice();
      }
    }
  }
  const options = { chunkSize: chunkBytes };
  const decoder = coding === "gzip" ? zlib!.createGunzip(options) : zlib!.createInflate(options);
  // The decoder fails with the error of the pipeline.
  stream!.pipeline(counted(), decoder, () => {});
  try {
    for await (const piece of decoder) {
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
