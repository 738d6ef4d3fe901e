/**
 * Admits requests. A request is checked in the order of this list. The first failed check decides
 * the response, and later checks do not run:
 *
 * 1. Open connections: `src/process/server/`. 2. Lengths of URL and header:
 * `src/api/request/length_limits.ts`. 3. Preflights, invalid hosts and health checks are answered:
 * `early_answers.ts`. 4. Limits by address, token and its revocation, origin, limits by role, claim
 * and token, requests in progress: {@linkcode admit}. 5. Schema cache, path, method, and the plan
 * as far as it needs no body: `plan_request.ts`. 6. Body: `src/api/request/body/body.ts`. 7. Queue:
 * `src/database/pool/`. 8. Cost of the plan, then the transaction: `src/api/transaction/script_run.ts`.
 *
 * @module
 */
import { authenticate } from "../../state/auth/authenticate.ts";
import type { Identity } from "../../state/auth/jwt_cache.ts";
import type { RevocationIndex } from "../../state/auth/revocations.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { networkOf } from "../../base/http/client_address.ts";
import { isForeignWrite } from "../../base/http/foreign_site.ts";
import { beforeDeadline } from "../../base/lib/time_limits.ts";
import { Admission } from "../../state/rate_limits/rate_limiter.ts";
import { limitedResource } from "./limited_resource.ts";
import type { RawRequest } from "../request/raw_request.ts";
import { isBatch } from "./batch/batch_head.ts";
import type { Exchange } from "./exchange.ts";

/** Runs the checks that do not depend on the path, and sets the identity of the request. Throws or
 * rejects with the error of the first failed check. Returns null if all checks were synchronous. */
export function admit(exchange: Exchange): Promise<void> | null {
  admitClient(exchange);
  const { identity, context: { snapshot: { config } } } = exchange;
  const verified = identity ?? authenticateRequest(exchange, config.jwtAud);
  if (!(verified instanceof Promise)) {
    enter(exchange, verified);
    return null;
  }
  return beforeDeadline(verified, exchange.deadline, errors)
    .then((found) => enter(exchange, found));
}

/** Checks a request before its token is verified. `raw` is the request that policies match, if
 * it differs from the original. */
export function admitClient(exchange: Exchange, raw = exchange.raw): void {
  if (exchange.refusal !== null) throw exchange.refusal;
  const { context: { snapshot: { rateLimits, config } } } = exchange;
  if (rateLimits === null) return;
  const dbRootSpec = isBatch(raw, config) ? null : config.dbRootSpec;
  exchange.admission = admissionOf(exchange, raw, dbRootSpec);
  exchange.admission?.chargeClient();
}

/** Returns the charges of a request or batch operation; null without policies. */
export function admissionOf(
  { context: { snapshot: { rateLimits: limits, config }, counters }, client }: Exchange,
  raw: RawRequest,
  dbRootSpec: Exchange["context"]["snapshot"]["config"]["dbRootSpec"],
): Admission | null {
  if (limits === null) return null;
  const { serverQueryMethod } = config;
  const { relationPrefix } = limits;
  const resource = limitedResource(raw, { serverQueryMethod, dbRootSpec, relationPrefix });
  const onRefused = (policy: string) => counters.rateLimited.increment(policy);
  return new Admission({ limits, onRefused, client, resource });
}

/** Verifies the token of a request, which must be for `audience` unless that is null. */
export function authenticateRequest(
  { context: { snapshot, appState, now, anonymous }, info, credential }: Exchange,
  audience: string | null,
): Identity | Promise<Identity> {
  if (credential.token === null && anonymous !== null) return anonymous;
  const { config, auth } = snapshot;
  const authenticateBy = (revocations: RevocationIndex | null) =>
    authenticate(credential.token, {
      ...auth,
      now: Math.floor(now() / 1000),
      skewSeconds: config.jwtSkew,
      revocations,
      waitUntil: info.waitUntil,
      dbAnonRole: config.dbAnonRole,
      jwtAud: audience,
    });
  const index = credential.token === null ? null : appState.revocations.current();
  return index instanceof Promise ? index.then(authenticateBy) : authenticateBy(index);
}

function enter(exchange: Exchange, identity: Identity): void {
  exchange.identity = identity;
  admitIdentity(exchange, identity);
  exchange.stopwatch.lap("jwt");
  const { context: { inFlight, snapshot: { config } } } = exchange;
  inFlight.enter(config.serverMaxRequests);
  exchange.hasEntered = true;
}

/** Checks a request after its token was verified. */
export function admitIdentity(exchange: Exchange, identity: Identity): void {
  checkOrigin(exchange);
  exchange.admission?.chargeIdentity({ ...identity, token: exchange.credential.token });
}

/**
 * Rejects writes from pages of other origins if `jwt-cookie-name` is set, because a browser adds
 * the cookie. Requests without a token are checked, too: such a page could log the user in under
 * another name. A Bearer token passes, because other pages cannot make a browser send one.
 */
function checkOrigin(
  { request, raw, credential, context: { snapshot: { config } } }: Exchange,
): void {
  if (config.jwtCookieName === null || credential.source === "bearer") return;
  const { method, headers } = raw;
  // HTTP/2 has `:authority` instead of `Host`.
  const host = headers["host"] ?? new URL(request.url).host;
  const rules = { origins: config.jwtCookieOrigins ?? [], ownUrl: config.openapiServerProxyUri };
  if (isForeignWrite({ method, headers, host }, rules)) throw errors.crossOriginWrite();
}

/** Returns a text that identifies the client for limits: its token's subject, or its network. */
export function clientKeyOf({ identity, client }: Exchange): string {
  const { iss, sub } = JSON.parse(identity!.claims) as Readonly<Record<string, unknown>>;
  if (typeof sub === "string") return JSON.stringify(["subject", iss, sub]);
  return JSON.stringify(["network", client === null ? null : networkOf(client)]);
}
