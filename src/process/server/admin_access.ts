/** Controls access to the admin server's inner paths: the console, its data, the configuration and
 * the schema cache. @module */
import { hostName, isAddress, isLoopbackAddress } from "../../base/http/host.ts";
import { areEqual, sha256 } from "../../base/lib/sha256.ts";
import type { Peer, Protection } from "../../base/http/admin_route.ts";

/** Options of the configuration that access depends on. */
export interface AccessOptions {
  /** Values of `admin-allowed-hosts`. */
  readonly allowedHosts: readonly string[];
  /** Value of `admin-token`; null if it is not set. */
  readonly token: string | null;
  readonly guard: TokenGuard;
}

/** A refused request: status, and reason in one line. */
export interface AccessRefusal {
  readonly status: 401 | 403 | 429;
  readonly text: string;
}

/**
 * Resolves with the reason why a request may not access an inner path, or null.
 *
 * The `Host` header must be `localhost`, an address or an allowed name. A web page that binds its
 * name to a loopback address (DNS rebinding) sends that name as `Host`. Without `admin-token`, a
 * peer that is not trusted must be on this machine, and its request must not have passed a proxy,
 * which forwards requests of other machines.
 */
export async function accessRefusal(
  request: Request,
  { client, isTrusted = false }: Peer,
  { protection, allowedHosts, token, guard }: AccessOptions & { readonly protection: Protection },
): Promise<AccessRefusal | null> {
  if (client !== null && !isAllowedHost(request, allowedHosts)) return forbid(wrongHost);
  if (token === null && !isTrusted && !isDirectLocal(request, client)) return forbid(wrongPeer);
  if (protection === "data" && isForeign(request)) return forbid(wrongPage);
  if (token === null || protection === "page") return null;
  return await guard.check(request.headers.get("admin-token"), { client, token });
}

const wrongHost = "Open this page by localhost or by an address, or name its host in " +
  "admin-allowed-hosts\n";

const wrongPeer = "Open this page on the machine itself, or set admin-token\n";

const wrongPage = "Only the console's own page may request this path\n";

function forbid(text: string): AccessRefusal {
  return { status: 403, text };
}

const wrongToken = { status: 401, text: "Send admin-token in the header Admin-Token\n" } as const;

const tooManyTokens = {
  status: 429,
  text: "Too many wrong tokens, try again in a minute\n",
} as const;

/** Returns whether the host is allowed. In HTTP/2, only the URL contains the host. */
function isAllowedHost(request: Request, allowedHosts: readonly string[]): boolean {
  const name = hostName(hostOf(request));
  if (name === null) return false;
  return name === "localhost" || isAddress(name) ||
    allowedHosts.some((allowed) => hostName(allowed) === name);
}

function hostOf(request: Request): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}

function isDirectLocal({ headers }: Request, client: Peer["client"]): boolean {
  if (client === undefined || isForwarded(headers)) return false;
  return client === null || isLoopbackAddress(client);
}

/** Headers that proxies, content delivery networks and tunnels add. */
const proxyHeaders = new RegExp(
  "^(?:forwarded|via|x-forwarded-.*|x-original-.*|x-envoy-.*|x-real-ip|x-client-ip|" +
    "x-cluster-client-ip|true-client-ip|fastly-client-ip|cf-.*)$",
);

function isForwarded(headers: Headers): boolean {
  return Array.from(headers.keys()).some((name) => proxyHeaders.test(name));
}

/**
 * Returns whether a page other than the console may have sent the request. Forms and simple requests
 * cannot have the header `Console`. For other requests, browsers require CORS headers, which the
 * admin server does not send.
 */
function isForeign(request: Request): boolean {
  const { headers, method } = request;
  if (method === "OPTIONS" || headers.get("console") !== "1") return true;
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return true;
  const origin = headers.get("origin");
  return origin !== null && !isOriginOf(origin, hostOf(request));
}

/** Returns whether an origin has the host and port of the request. */
function isOriginOf(origin: string, host: string): boolean {
  const scheme = /^https?:\/\//.exec(origin)?.[0];
  return scheme !== undefined && origin.slice(scheme.length).toLowerCase() === host.toLowerCase();
}

/** Number of wrong tokens of a peer within {@linkcode windowMs} after which it is refused. */
const maxFailures = 10;

/** Milliseconds from the first failure in which failures are counted. A refusal lasts as long. */
const windowMs = 60_000;

/** Maximum number of peers that are stored. The oldest is dropped first. */
const maxPeers = 10_000;

/** Checks tokens, and limits wrong tokens per peer. */
export class TokenGuard {
  readonly #now: () => number;
  readonly #failures = new Map<string, { readonly since: number; readonly count: number }>();

  /** `now` returns milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Resolves with the refusal, or null for the right token. Compares digests in constant time. The
   * right token is valid even after failures, because peers using one proxy have the same address.
   * A request without a token is not a failure.
   */
  async check(
    sent: string | null,
    { client, token }: { readonly client: string | null | undefined; readonly token: string },
  ): Promise<AccessRefusal | null> {
    if (sent === null) return wrongToken;
    const peer = client ?? "";
    if (areEqual(await sha256(sent), await sha256(token))) {
      this.#failures.delete(peer);
      return null;
    }
    const now = this.#now();
    const record = this.#failures.get(peer) ?? { since: now, count: 0 };
    const previous = now - record.since < windowMs ? record : { since: now, count: 0 };
    if (previous.count >= maxFailures) return tooManyTokens;
    const count = previous.count + 1;
    // A refusal lasts a minute from the failure that reaches the maximum.
    const since = count >= maxFailures ? now : previous.since;
    this.#failures.delete(peer);
    this.#failures.set(peer, { since, count });
    if (this.#failures.size > maxPeers) this.#failures.delete(this.#failures.keys().next().value!);
    return wrongToken;
  }
}
