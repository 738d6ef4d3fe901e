/**
 * Applies `server-compression` to requests and results.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import { isResponseCoding } from "../http/accept_encoding.ts";
import { uncodedTags } from "../http/etag.ts";
import type { RawRequest } from "../request/raw_request.ts";
import { compressReply } from "../response/compress.ts";
import type { BodyEncoders } from "../response/encoders.ts";
import type { PipelineResult } from "./pipeline.ts";

type CompressionConfig = Pick<Config, "serverCompression" | "serverCompressionMinSize">;

/** Returns the request with the tags that uncompressed responses have, which database code compares. */
export function withUncodedTags(
  pieces: RawRequest,
  { serverCompression }: Pick<CompressionConfig, "serverCompression">,
): RawRequest {
  if (serverCompression === null) return pieces;
  const { headers } = pieces;
  const conditions = (["if-match", "if-none-match"] as const)
    .flatMap((name) => headers[name] === undefined ? [] : [[name, uncodedTags(headers[name])]]);
  if (conditions.length === 0) return pieces;
  return { ...pieces, headers: { ...headers, ...Object.fromEntries(conditions) } };
}

/** Returns the result with a compressed reply, if the configuration and the client want that. */
export function compressedResult(
  result: PipelineResult,
  { method, headers, cookies }: RawRequest,
  { request, config: { serverCompression, serverCompressionMinSize: minBytes }, encoders }: {
    readonly request: Request;
    readonly config: CompressionConfig;
    readonly encoders: () => BodyEncoders;
  },
): PipelineResult {
  if (serverCompression === null) return result;
  const reply = compressReply(result.reply, {
    method,
    headers,
    hasCookies: Object.keys(cookies).length > 0,
    ifNoneMatch: request.headers.get("if-none-match"),
    codings: serverCompression.filter(isResponseCoding),
    minBytes,
    encoders: encoders(),
  });
  return reply === result.reply ? result : { ...result, reply };
}
