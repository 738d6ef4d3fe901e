/** Parses the head of a batch request, and creates the head of each operation: the head of the
 * equivalent single request. @module */
import type { Config } from "../../../state/config/options.ts";
import { errors } from "../../../base/errors/catalogue.ts";
import { parseAccept } from "../../../base/http/accept.ts";
import { canonicalText, parseMediaType } from "../../../base/http/media_type.ts";
import { parsePreferences } from "../../request/preferences.ts";
import { chooseSchema } from "../../request/profile.ts";
import type { RawRequest } from "../../request/raw_request.ts";
import type { DescribedRequest } from "../../transaction/preamble.ts";
import type { BatchOperation } from "./batch_document.ts";

/** Returns whether a request is a batch. If there is a function for `/`, the request must have the
 * media type of batches. */
export function isBatch(
  { method, path, headers }: RawRequest,
  { batchMaxOperations, dbRootSpec }: Pick<Config, "batchMaxOperations" | "dbRootSpec">,
): boolean {
  if (batchMaxOperations === 0 || method !== "POST" || path !== "/") return false;
  return dbRootSpec === null || mediaOf(headers).kind === "batch";
}

/** Returns the media type. A missing type is not taken for JSON: pages of other sites can make a
 * browser send requests without a type. */
function mediaOf(headers: RawRequest["headers"]): ReturnType<typeof parseMediaType> {
  return parseMediaType(headers["content-type"]?.trim() || "application/octet-stream");
}

/** Returns the batch as `db-pre-request` sees it. Throws `106`. */
export function describedBatch(
  { method, path, headers, cookies }: RawRequest,
  config: Pick<Config, "dbSchemas">,
): DescribedRequest {
  const { schema } = chooseSchema({ method, headers }, config);
  const preferences = parsePreferences(batchPreferences(headers["prefer"]).join(", "));
  return { method, path, headers, cookies, schema, preferences };
}

/** Throws `107` for media types that are not for batches, and `122` for preferences without effect. */
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

/** Throws `141` if the known length of the document exceeds the limit. */
export function checkDocumentLength(
  { headers }: RawRequest,
  { batchMaxBytes }: Pick<Config, "batchMaxBytes">,
): void {
  if (Number(headers["content-length"] ?? 0) > batchMaxBytes) {
    throw errors.batchTooLarge("document", batchMaxBytes);
  }
}

/** Preferences of a batch that apply to its operations. */
const preferencesOfBatch = /^(?:tx|timezone|handling|read)\s*=/i;

/** Headers of a batch that apply to its operations, too. */
export interface BatchHeaders extends Pick<RawRequest, "cookies"> {
  readonly inherited: RawRequest["headers"];
  readonly prefer: string | undefined;
}

/** Returns the headers that apply to operations. Headers about the batch's body and response are left out. */
export function inheritedHeaders(
  { headers, cookies }: Pick<RawRequest, "headers" | "cookies">,
): BatchHeaders {
  const inherited = Object.entries(headers).filter(([name]) => !ofBatchAlone.test(name));
  return { inherited: Object.fromEntries(inherited), prefer: headers["prefer"], cookies };
}

/** Returns the request of an operation. Its headers override the headers of the batch. */
export function operationRequest(
  { method, url, headers }: Pick<BatchOperation, "method" | "url" | "headers">,
  { inherited, prefer: ofBatch, cookies }: BatchHeaders,
): RawRequest {
  const mark = url.indexOf("?");
  const { prefer: ownPrefer, ...own } = headers;
  const prefer = operationPreferences(ownPrefer, ofBatch);
  return {
    method,
    path: visible(mark < 0 ? url : url.slice(0, mark)),
    query: mark < 0 ? "" : visible(url.slice(mark + 1)),
    headers: {
      ...inherited,
      ...own,
      ...(prefer === null ? {} : { prefer }),
    },
    cookies,
  };
}

const ofBatchAlone = /^(?:accept|content-.*|idempotency-key|if-.*|prefer|range|transfer-encoding)$/;

/** Escapes characters that cannot occur in the URL of a request. */
function visible(text: string): string {
  return text.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** Returns the `Prefer` header of an operation. The preference `handling` of the operation
 * overrides the batch's. */
function operationPreferences(own: string | undefined, ofBatch: string | undefined): string | null {
  const header = [...tokensOf(own), ...batchPreferences(ofBatch)].join(", ");
  return header === "" ? null : header;
}

/** Returns the preferences of a batch that apply to its operations. */
export function batchPreferences(header: string | undefined): readonly string[] {
  return tokensOf(header).filter((token) => preferencesOfBatch.test(token));
}

/** Returns the preferences that have no effect in the header of a batch. */
export function otherPreferences(header: string | undefined): readonly string[] {
  return tokensOf(header).filter((token) => !preferencesOfBatch.test(token));
}

function tokensOf(header: string | undefined): readonly string[] {
  return (header ?? "").split(",").map((token) => token.trim()).filter((token) => token !== "");
}
