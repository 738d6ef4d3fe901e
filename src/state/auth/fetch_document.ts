/** Fetches the documents of issuers: key sets and discovery documents. @module */
import type { Schedule } from "../../base/lib/timers.ts";
import { errorMessage } from "../../base/errors/error_message.ts";

/** The `fetch` of the Fetch standard. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A document, and how long it is fresh. */
export interface FetchedDocument {
  readonly text: string;
  readonly maxAgeSeconds: number;
}

/** Reports that a document cannot be fetched or used. The message is for the operator. */
export class KeyFetchError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "KeyFetchError";
  }
}

/** Maximum milliseconds for a response, so that requests that need the keys do not wait longer. */
const fetchTimeoutMs = 5000;

/** Maximum size. Key sets of large providers have some 10 kB. */
const maxBytes = 1024 ** 2;

/**
 * Fetches a document. Follows no redirects, because an open redirect of the issuer could choose the
 * keys.
 *
 * Rejects with `KeyFetchError` if no response arrives within 5 s, if its status is not 200, or if
 * it is larger than 1 MiB.
 */
export async function fetchDocument(
  url: string,
  { fetch, schedule }: { readonly fetch: Fetch; readonly schedule: Schedule },
): Promise<FetchedDocument> {
  const aborter = new AbortController();
  let cancel = () => {};
  const timedOut = new Promise<never>((_, reject) => {
    cancel = schedule(() => {
      reject(new KeyFetchError(`no answer within ${fetchTimeoutMs / 1000} s`));
      aborter.abort();
    }, fetchTimeoutMs);
  });
  try {
    return await Promise.race([request(url, fetch, aborter.signal), timedOut]);
  } catch (error) {
    if (error instanceof KeyFetchError) throw error;
    const reason = errorMessage(error);
    throw new KeyFetchError(`the request failed: ${reason.replaceAll(url, "URL")}`);
  } finally {
    cancel();
  }
}

async function request(url: string, fetch: Fetch, signal: AbortSignal): Promise<FetchedDocument> {
  const headers = { Accept: "application/jwk-set+json, application/json" };
  const response = await fetch(url, { headers, redirect: "manual", signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new KeyFetchError(`status ${response.status}`);
  }
  const maxAgeSeconds = maxAgeOf(response.headers.get("cache-control"));
  return { text: await readText(response), maxAgeSeconds };
}

async function readText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  // Leaving the loop cancels the stream.
  for await (const bytes of body ?? []) {
    length += bytes.byteLength;
    if (length > maxBytes) throw new KeyFetchError(`more than ${maxBytes} bytes`);
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}

const minAgeSeconds = 60;
const maxAgeSeconds = 86_400;
const usualAgeSeconds = 600;

/** Returns the seconds for which a response is fresh: its `max-age` (RFC 9111, section 5.2.2.1),
 * limited to 60 to 86,400; 600 by default. */
export function maxAgeOf(cacheControl: string | null): number {
  const digits = /(?:^|[\s,])max-age\s*=\s*"?(\d+)/i.exec(cacheControl ?? "")?.[1];
  if (digits === undefined) return usualAgeSeconds;
  return Math.min(Math.max(Number(digits), minAgeSeconds), maxAgeSeconds);
}
