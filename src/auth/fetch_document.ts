/** Fetches the documents of issuers: key sets and discovery documents. @module */
import type { Schedule } from "../lib/timers.ts";

/** The `fetch` of the Fetch standard. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The answer to one request. */
export interface FetchedDocument {
  /** Null if the document with the requested `ETag` is still the current one. */
  readonly text: string | null;
  readonly etag: string | null;
  readonly maxAgeSeconds: number;
}

/** A document cannot be fetched or used. The message is for the operator. */
export class KeyFetchError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "KeyFetchError";
  }
}

/** A slower answer fails, so that no request waits longer. */
const fetchTimeoutMs = 5000;

/** Key sets of large providers have some 10 kB. */
const maxBytes = 1024 ** 2;

/**
 * Fetches a document; `etag` is that of the known version. Follows no redirects, which would let an
 * open redirect of the issuer choose the keys.
 *
 * Rejects with `KeyFetchError` if no answer comes within 5 s, if its status is neither 200 nor 304, or
 * if it has more than 1 MiB.
 */
export async function fetchDocument(
  url: string,
  { etag, fetch, schedule }: {
    readonly etag: string | null;
    readonly fetch: Fetch;
    readonly schedule: Schedule;
  },
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
    return await Promise.race([request(url, { etag, fetch, signal: aborter.signal }), timedOut]);
  } catch (error) {
    if (error instanceof KeyFetchError) throw error;
    throw new KeyFetchError(`the request failed: ${messageOf(error).replaceAll(url, "URL")}`);
  } finally {
    cancel();
  }
}

async function request(
  url: string,
  { etag, fetch, signal }: {
    readonly etag: string | null;
    readonly fetch: Fetch;
    readonly signal: AbortSignal;
  },
): Promise<FetchedDocument> {
  const response = await fetch(url, {
    headers: {
      Accept: "application/jwk-set+json, application/json",
      ...(etag === null ? {} : { "If-None-Match": etag }),
    },
    redirect: "manual",
    signal,
  });
  const maxAgeSeconds = maxAgeOf(response.headers.get("cache-control"));
  if (response.status === 304 && etag !== null) {
    await response.body?.cancel();
    return { text: null, etag, maxAgeSeconds };
  }
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new KeyFetchError(`status ${response.status}`);
  }
  const text = await readText(response);
  return { text, etag: response.headers.get("etag"), maxAgeSeconds };
}

async function readText({ body }: Response): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    length += value.byteLength;
    if (length > maxBytes) {
      await reader.cancel();
      throw new KeyFetchError(`more than ${maxBytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

const minAgeSeconds = 60;
const maxAgeSeconds = 86_400;
const usualAgeSeconds = 600;

/**
 * Returns the seconds for which an answer is fresh: its `max-age` (RFC 9111, section 5.2.2.1), at least
 * 60 and at most 86,400; 600 without one.
 */
export function maxAgeOf(cacheControl: string | null): number {
  const digits = /(?:^|[\s,])max-age\s*=\s*"?(\d+)/i.exec(cacheControl ?? "")?.[1];
  if (digits === undefined) return usualAgeSeconds;
  return Math.min(Math.max(Number(digits), minAgeSeconds), maxAgeSeconds);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
