/** Decodes request bodies by their `Content-Encoding` (RFC 9110, section 8.4). @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { ServiceError } from "../../../base/errors/service_error.ts";
import { builtinModule } from "../../../base/lib/builtin_modules.ts";

/** Codings that runtimes with `node:zlib` decode. For other codings, not all runtimes detect truncated data. */
export type ContentCoding = "gzip" | "deflate";

/** Maximum bytes of a chunk that a decoder of `node:zlib` returns. */
const chunkBytes = 64 * 1024;
/** Size of the chunks that a decoder receives. They are small, so that a bomb is detected after a
 * few megabytes. */
const countedSliceBytes = 16 * 1024;
/** Up to this decoded size, the ratio of decoded to received bytes is not checked. */
const minCheckedBytes = 1024 * 1024;
/** Maximum ratio of decoded to received bytes. JSON and CSV rarely exceed 100; bombs reach 1000. */
const maxRatio = 200;

const zlib = builtinModule("node:zlib");
const stream = builtinModule("node:stream");

/** Returns the coding of a body; null if it is not encoded. Throws `138` for unsupported codings,
 * and for several. */
export function contentCoding(headers: Headers): ContentCoding | null {
  const name = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity") return null;
  const coding = name === "x-gzip" ? "gzip" : name;
  if (zlib !== null && (coding === "gzip" || coding === "deflate")) return coding;
  throw errors.unsupportedContentCoding(name, zlib === null ? [] : ["gzip", "deflate"]);
}

/**
 * Yields the decoded chunks. With `isLimited`, the decoded length is limited elsewhere, not by a
 * multiple of the body's length. Throws `139` for corrupt or truncated data, `130` for a bomb, and
 * the errors of `chunks`.
 */
export async function* decodedChunks(
  chunks: AsyncIterable<Uint8Array>,
  { coding, isLimited }: { readonly coding: ContentCoding; readonly isLimited: boolean },
): AsyncGenerator<Uint8Array> {
  let received = 0;
  let decoded = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += countedSliceBytes) {
        const slice = chunk.subarray(at, at + countedSliceBytes);
        received += slice.length;
        // A copy is passed: the bytes of `chunk` may change before the decoder reads the slice.
        yield slice.slice();
      }
    }
  }
  const options = { chunkSize: chunkBytes };
  const decoder = coding === "gzip" ? zlib!.createGunzip(options) : zlib!.createInflate(options);
  // No callback is needed: if the pipeline fails, the loop over the decoder throws its error.
  stream!.pipeline(counted(), decoder, () => {});
  try {
    for await (const chunk of decoder) {
      decoded += chunk.length;
      if (!isLimited && decoded > minCheckedBytes && decoded > received * maxRatio) {
        throw errors.bodyExpandsTooMuch(maxRatio);
      }
      yield chunk;
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : errors.undecodableBody(coding);
  }
}
