/**
 * The order in which a request is checked. The first check that fails decides the response, and no later
 * one runs:
 *
 * 1. Open connections: `src/server/`.
 * 2. Lengths of URL and header: {@linkcode lengthError}.
 * 3. CORS preflights are answered: `handler.ts`.
 * 4. The health path is answered: `handler.ts`.
 * 5. Limits by address: {@linkcode checkBeforeToken}.
 * 6. Token and its revocation: `src/auth/`.
 * 7. Origin, limits by role, claim and token: {@linkcode checkIdentity}.
 * 8. Requests in progress: {@linkcode RequestsInFlight}.
 * 9. Schema cache, path, method, and the plan as far as it needs no body: `pipeline.ts`.
 * 10. Privilege for a long body: `early_privilege.ts`.
 * 11. Body: `src/request/body.ts`.
 * 12. Queue: `src/database/pool/`.
 * 13. Cost of the plan, then the transaction: `pipeline.ts`.
 *
 * @module
 */
import type { Credential } from "../auth/credential.ts";
import type { Identity } from "../auth/jwt_cache.ts";
import type { Config } from "../config/options.ts";
import { errors } from "../errors/catalogue.ts";
import type { ServiceError } from "../errors/service_error.ts";
import { isForeignWrite } from "../http/foreign_site.ts";
import type { Admission } from "../rate_limits/rate_limiter.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Header } from "../response/overrides.ts";

/** A request that is checked. */
export interface CheckedRequest {
  readonly request: Request;
  readonly pieces: RawRequest;
  readonly credential: Credential;
  readonly config: Config;
  /** Counts the request; null without `rate-limits`. */
  readonly admission: Admission | null;
  /** Collects headers that checks add to the response, whatever it is. */
  readonly addedHeaders: Header[];
}

/** Bytes of each header line beside name and value: colon, space and line end. */
const headerLineBytes = 4;

/** Returns the error `131` or `132` if the URL or the header exceeds its limit; null otherwise. */
export function lengthError(
  headers: Iterable<readonly [name: string, value: string]>,
  { path, query }: Pick<RawRequest, "path" | "query">,
  { serverMaxUrlLength, serverMaxHeaderSize }: Pick<
    Config,
    "serverMaxHeaderSize" | "serverMaxUrlLength"
  >,
): ServiceError | null {
  if (serverMaxUrlLength > 0) {
    const length = path.length + (query === "" ? 0 : query.length + 1);
    if (length > serverMaxUrlLength) return errors.urlTooLong(serverMaxUrlLength, length);
  }
  if (serverMaxHeaderSize > 0) {
    let size = 0;
    // A header value has one character per byte.
    for (const [name, value] of headers) {
      size += name.length + value.length + headerLineBytes;
    }
    if (size > serverMaxHeaderSize) return errors.headersTooLarge(serverMaxHeaderSize, size);
  }
  return null;
}

/** Checks a request before its token is verified. Throws the error of the first check that fails. */
export function checkBeforeToken({ admission }: CheckedRequest): void {
  admission?.chargeClient();
}

/** Checks a request whose token was verified. Throws the error of the first check that fails. */
export function checkIdentity(checked: CheckedRequest, identity: Identity): void {
  checkOrigin(checked);
  checked.admission?.chargeIdentity({ ...identity, token: checked.credential.token });
}

/**
 * With `jwt-cookie-name`, rejects writes that a browser may send for a page of another origin, with a token
 * or without one: such a page could also log the user in under another name. A page cannot make a browser send
 * a Bearer token.
 */
function checkOrigin({ request, pieces, credential, config }: CheckedRequest): void {
  if (config.jwtCookieName === null || credential.source === "bearer") return;
  const { method, headers } = pieces;
  // HTTP/2 has `:authority` instead of `Host`.
  const host = headers["host"] ?? new URL(request.url).host;
  const rules = { origins: config.jwtCookieOrigins ?? [], ownUrl: config.openapiServerProxyUri };
  if (isForeignWrite({ method, headers, host }, rules)) throw errors.crossOriginWrite();
}
