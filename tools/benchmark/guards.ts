/** Measures the cost of limits, logs, compression and sources of tokens: the service with and
 * without them, in turn. @module */
import { freePort } from "../../tests/support/server/free_port.ts";
import { issuerKey, signWith } from "../../tests/support/handler/key_sets.ts";
import { withClient } from "../../tests/support/database/postgres_client.ts";
import { signToken } from "../../tests/support/handler/token.ts";
import type { Bench } from "./bench.ts";
import { type ConfigCase, type ConfigGroup, measureGroups } from "./config_contest.ts";
import { userRole } from "./fixture.ts";
import { rowByKey } from "./cases.ts";

/** Limits that no request of the load reaches. */
const policies = "address: 90000/1s by ip; role: 90000/1s by role; all: 90000/1s by all on /items";

const rateLimits = { "rate-limits": policies };
const textLog = { "log-level": "info" };
const jsonLog = { "log-level": "info", "log-format": "json" };
/** The service counts requests if it has an admin server. */
const metrics = { "admin-server-host": "127.0.0.1", "admin-server-port": freePort() };
const cost = { "db-max-cost": 1_000_000 };
const timeouts = { "db-statement-timeout": "60s" };
const inProcess = { "server-max-requests": 10_000 };
/** Permitted operations with the same method and path. The request of the load matches the last one. */
const operations = [
  "probe web_anon GET /items?limit=..1",
  ...Array.from(
    { length: 998 },
    (_, at) => `of_${at} web_anon GET /items?select=a${at}:id&id=eq.*`,
  ),
  "one web_anon GET /items?id=eq.*",
].join("\n");
const all = { ...rateLimits, ...jsonLog, ...inProcess };

/** Number of rows in a page whose JSON has about 100 kB. */
const pageOfItems = 1000;

const coded = (accept: string): ConfigCase => ({
  name: accept,
  config: { "server-compression": "zstd, br, gzip" },
  accept,
});

/** A key that an issuer publishes, and the URL at which the service fetches it. */
const issued = await issuerKey("bench");
const claims = { sub: "user-1", jti: "1", role: userRole };
const keysPort = freePort();
const keysUrl = `http://127.0.0.1:${keysPort}/keys`;
const bySecret = await signToken(claims);

const groups: readonly ConfigGroup[] = [
  {
    name: "row by key, cached token",
    request: rowByKey.request,
    cases: [
      { name: "jwt-secret", config: {}, token: bySecret },
      {
        name: "jwt-jwks-url",
        config: { "jwt-jwks-url": keysUrl },
        token: await signWith(issued, claims),
      },
      { name: "jwt-revocations", config: { "jwt-revocations": "revoked_tokens" }, token: bySecret },
      { name: "jwt-cookie-name", config: { "jwt-cookie-name": "token" }, token: bySecret },
    ],
  },
  {
    name: "row by key",
    request: rowByKey.request,
    cases: [
      { name: "defaults", config: {} },
      { name: "3 rate policies", config: rateLimits },
      { name: "text log at info", config: textLog },
      { name: "JSON log at info", config: jsonLog },
      { name: "metrics", config: metrics },
      { name: "limits of requests in progress", config: inProcess },
      { name: "statement timeout", config: timeouts },
      { name: "cost limit", config: cost },
      { name: "entity tags", config: { "etag-mode": "on" } },
      { name: "1,000 operations", config: { operations } },
      { name: "rate policies, JSON log, limits", config: all },
    ],
  },
  {
    name: `page of ${pageOfItems} rows`,
    request: { line: `GET /items?limit=${pageOfItems}&id=gt.{1..100}` },
    cases: [
      { name: "uncompressed", config: {} },
      coded("zstd"),
      coded("br"),
      coded("gzip"),
    ],
  },
];

/** Returns a table for each request that the options select. */
export async function measureGuards(bench: Bench): Promise<string> {
  const keys = { keys: [issued.publicJwk] };
  const options = { hostname: "127.0.0.1", port: keysPort, onListen: () => {} };
  await using _issuer = Deno.serve(options, () => Response.json(keys));
  await withClient(bench.postgres.uri(), (client) => client.query(revokedTokens));
  return await measureGroups(groups, bench);
}

/** The maximum number of revocations of an instance. */
const revokedTokens = `
  create table revoked_tokens as
    select 'jti' as claim, md5(n::text) as value, null::bigint as issued_before,
      null::timestamptz as until
    from generate_series(1, 100000) n;
  grant select on revoked_tokens to authenticator`;
