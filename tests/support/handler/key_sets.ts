/** Issuers of tokens for tests: keys, tokens, and a `fetch` that answers for them. @module */
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import type { Fetch } from "../../../src/state/auth/fetch_document.ts";
import { RemoteKeySets } from "../../../src/state/auth/remote_key_set.ts";
import { MetricRegistry } from "../../../src/base/observe/metric_registry.ts";
import type { Claims } from "./token.ts";

/** A key pair, and the public part as an issuer publishes it. */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
  readonly privateJwk: JWK;
}

/** Makes a key pair; ES256 is the quickest to make. */
export async function issuerKey(kid: string, alg = "ES256"): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const publicJwk = { ...await exportJWK(publicKey), kid };
  return { kid, alg, privateKey, publicJwk, privateJwk: { ...await exportJWK(privateKey), kid } };
}

/** Signs claims. Parts of the header override the key's. */
export function signWith(
  { alg, kid, privateKey }: IssuerKey,
  claims: Claims,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg, kid, typ: "JWT", ...header })
    .sign(privateKey);
}

/** Answers of a source of keys: a body with its headers, a status, or a failure to connect. */
export type SourceAnswer =
  | { readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | "unreachable"
  /** Answers once the test calls `release`. */
  | { readonly held: Promise<void>; readonly body: unknown };

/** A `fetch` whose answers a test sets by URL. */
export interface KeySource {
  readonly fetch: Fetch;
  /** Answers by URL. */
  readonly answers: Map<string, SourceAnswer>;
  /** The requests so far. */
  readonly requests: { readonly url: string; readonly headers: Headers }[];
  /** Number of requests for a URL. */
  count(url: string): number;
}

/** Makes a source that fails unless a test sets an answer. */
export function keySource(answers: Readonly<Record<string, SourceAnswer>> = {}): KeySource {
  const map = new Map(Object.entries(answers));
  const requests: { url: string; headers: Headers }[] = [];
  return {
    answers: map,
    requests,
    count: (url) => requests.filter((request) => request.url === url).length,
    async fetch(url, { headers, redirect }) {
      if (redirect !== "manual") throw new Error("follows redirects");
      requests.push({ url, headers: new Headers(headers) });
      const answer = map.get(url) ?? "unreachable";
      if (answer === "unreachable") throw new TypeError(`cannot connect to ${url}`);
      if ("status" in answer) {
        return new Response(null, { status: answer.status, headers: answer.headers });
      }
      if ("held" in answer) await answer.held;
      const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
      return new Response(text, { headers: "headers" in answer ? answer.headers : {} });
    },
  };
}

/** Key sets of a service whose sources cannot be reached. */
export function testKeySets(): RemoteKeySets {
  return new RemoteKeySets({
    metricRegistry: new MetricRegistry(),
    fetch: keySource().fetch,
    now: () => 0,
    schedule: () => () => {},
    observe: () => {},
    sharing: "shared",
  });
}
