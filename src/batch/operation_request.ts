/** An operation of a batch as the request that it would be alone. @module */
import { errors } from "../errors/catalogue.ts";
import { parsePreferences } from "../request/preferences.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { BatchOperation } from "./batch_document.ts";

/** Preferences of a batch that hold for its operations. */
const preferencesOfBatch = /^(?:tx|timezone|handling|read)=/;
/** Preferences that an operation cannot have: they concern the transaction. */
const preferencesOfTransaction = /^(?:tx|timezone)=/;

/** Headers of a batch that its operations have, too. */
export interface BatchHeaders extends Pick<RawRequest, "cookies"> {
  readonly inherited: RawRequest["headers"];
  readonly prefer: string | undefined;
}

/** Returns the headers that are not about the body and the answer of the batch itself. */
export function inheritedHeaders(
  { headers, cookies }: Pick<RawRequest, "headers" | "cookies">,
): BatchHeaders {
  const inherited = Object.entries(headers).filter(([name]) => !ofBatchAlone.test(name));
  return { inherited: Object.fromEntries(inherited), prefer: headers["prefer"], cookies };
}

/**
 * Returns the request of an operation. It has inherited headers under its own. Throws `122` for a preference of the transaction if the handling is strict.
 */
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

/** Encodes characters that no URL of a request has. */
function visible(text: string): string {
  return text.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** Returns the header of an operation, whose `handling` comes before that of the batch; null for none. */
function operationPreferences(own: string | undefined, ofBatch: string | undefined): string | null {
  const tokens = tokensOf(own);
  const kept = tokens.filter((token) => !preferencesOfTransaction.test(token));
  const header = [...kept, ...batchPreferences(ofBatch)].join(", ");
  if (kept.length < tokens.length) {
    const { handling, invalid } = parsePreferences(header);
    const refused = tokens.filter((token) => preferencesOfTransaction.test(token));
    if (handling === "strict") throw errors.invalidPreferences([...refused, ...invalid]);
  }
  return header === "" ? null : header;
}

/** Returns the preferences of a batch that hold for its operations. */
export function batchPreferences(header: string | undefined): readonly string[] {
  return tokensOf(header).filter((token) => preferencesOfBatch.test(token));
}

/** Returns the other preferences of a batch, which mean nothing there. */
export function otherPreferences(header: string | undefined): readonly string[] {
  return tokensOf(header).filter((token) => !preferencesOfBatch.test(token));
}

function tokensOf(header: string | undefined): readonly string[] {
  return (header ?? "").split(",").map((token) => token.trim()).filter((token) => token !== "");
}
