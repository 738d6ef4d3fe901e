/**
 * The API as a Cloudflare Worker, with `wrangler.toml` beside this file:
 *
 *     deno task build && npx wrangler dev --config examples/worker/wrangler.toml
 *
 * @module
 */
import { createHandler } from "../../dist/svc.js";

let api = null;

export default {
  fetch(request, env, context) {
    api ??= createHandler({
      dbUri: env.DB_URI,
      dbSchemas: env.DB_SCHEMAS.split(","),
      dbAnonRole: env.DB_ANON_ROLE,
      jwtSecret: env.JWT_SECRET,
      jwtJwksUrl: env.JWT_JWKS_URL,
      jwtCookieName: env.JWT_COOKIE_NAME,
      rateLimits: env.RATE_LIMITS,
      serverCompression: env.COMPRESSION?.split(","),
      serverRequestIdHeader: env.REQUEST_ID_HEADER,
      serverHealthPath: env.HEALTH_PATH,
      serverSecurityHeaders: env.SECURITY_HEADERS === "true",
      serverQueryMethod: env.QUERY_METHOD === "true",
    });
    return api(request, {
      client: request.headers.get("CF-Connecting-IP"),
      waitUntil: (work) => context.waitUntil(work),
    });
  },
};
