/** Reads the head of a request that is a batch. @module */
import type { Config } from "../config/options.ts";
import { errors } from "../errors/catalogue.ts";
import { parseAccept } from "../http/accept.ts";
import { canonicalText, parseMediaType } from "../http/media_type.ts";
import type { PayloadReader } from "../request/body/payload.ts";
import { parsePreferences } from "../request/preferences.ts";
import { chooseSchema } from "../request/profile.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { DescribedRequest } from "../transaction/preamble.ts";
import { batchDocumentDecoder } from "./batch_document.ts";
import { batchPreferences, otherPreferences } from "./operation_request.ts";

/** Whether a request is a batch. With a function for `/`, only the media type of batches says so. */
export function isBatch(
  { method, path, headers }: RawRequest,
  { batchMaxOperations, dbRootSpec }: Pick<Config, "batchMaxOperations" | "dbRootSpec">,
): boolean {
  if (batchMaxOperations === 0 || method !== "POST" || path !== "/") return false;
  return dbRootSpec === null || mediaOf(headers).kind === "batch";
}

/** A browser sends a request without a type to other sites, so that is not taken for JSON. */
function mediaOf(headers: RawRequest["headers"]): ReturnType<typeof parseMediaType> {
  return parseMediaType(headers["content-type"]?.trim() || "application/octet-stream");
}

/** Returns the batch as database code sees it before its operations. Throws `106`. */
export function describedBatch(
  { method, path, headers, cookies }: RawRequest,
  config: Pick<Config, "dbSchemas">,
): DescribedRequest {
  const { schema } = chooseSchema({ method, headers }, config);
  const preferences = parsePreferences(batchPreferences(headers["prefer"]).join(", "));
  return { method, path, headers, cookies, schema, preferences };
}

/** Throws `107` for other media types than those of a batch, and `122`. */
export function checkBatchHead({ headers }: RawRequest, { preferences }: DescribedRequest): void {
  const media = mediaOf(headers);
  if (media.kind !== "batch" && media.kind !== "json") {
    throw errors.unsupportedContentType(canonicalText(media), false);
  }
  const accepted = parseAccept(headers["accept"] ?? null);
  if (!accepted.some(isJsonRange)) throw errors.notAcceptable(accepted.map(canonicalText));
  const invalid = [...otherPreferences(headers["prefer"]), ...preferences.invalid];
  if (preferences.handling === "strict" && invalid.length > 0) {
    throw errors.invalidPreferences(invalid);
  }
}

function isJsonRange(range: ReturnType<typeof parseMediaType>): boolean {
  if (range.kind === "other") return range.text === "application/*";
  return range.kind === "any" || range.kind === "json";
}

/** Throws `141` if the length of the document is known to exceed the limit. */
export function checkDocumentLength(
  { headers }: RawRequest,
  { batchMaxBytes }: Pick<Config, "batchMaxBytes">,
): void {
  if (Number(headers["content-length"] ?? 0) > batchMaxBytes) {
    throw errors.batchTooLarge("document", batchMaxBytes);
  }
}

export function documentReader({ batchMaxBytes }: Pick<Config, "batchMaxBytes">): PayloadReader {
  return { format: "raw", begin: () => batchDocumentDecoder(batchMaxBytes) };
}
