/** Options of the HTTP server. @module */
import { isResponseCoding } from "../../../base/http/accept_encoding.ts";
import { isTrustedProxy } from "../../../base/http/client_address.ts";
import { checkRateLimits, isPathPrefix } from "../checks.ts";
import { fileMode, integer, list, oneOf, orWord, text } from "../codecs.ts";
import { size, time } from "../units.ts";
import { flag, ofDialect, option } from "./option.ts";
import { headerName, host, origins, port, socketPath } from "./shared_codecs.ts";

export const serverOptions = {
  "server-compression": option({
    codec: list({
      expected: 'codings in quotes, separated by commas: "zstd", "br", "gzip"',
      check: isResponseCoding,
    }),
    default: null,
    doc: "Codings that compress responses, the preferred one first; if it is not set, none does.",
    example: '"zstd, br, gzip"',
  }),
  "server-cors-allowed-origins": option({
    codec: origins({ isHarmless: true }),
    default: null,
    doc: "Origins that CORS allows; if it is not set, CORS allows any.",
    example: '"https://example.com, https://www.example.com:8443"',
    isOfPostgrest: true,
  }),
  "server-host": option({
    codec: host,
    default: ofDialect,
    doc: "Host to bind to: a name, an address, `*` (any), `*4`/`*6` (any, IPv4/IPv6 preferred) " +
      "or `!4`/`!6` (IPv4/IPv6 only).",
    example: '"*4"',
    reloadable: false,
    isOfPostgrest: true,
  }),
  "server-link-header": option({
    codec: oneOf(["cursor", "all", "none"], "server-link-header"),
    default: "cursor",
    doc: "Pages whose responses have a `Link` header: those by a cursor, those by `limit` and " +
      "`offset` as well, or none.",
    example: '"all"',
  }),
  "server-path-prefix": option({
    codec: text({
      type: "path",
      expected: 'a path in quotes without a slash at its end, such as "/rest/v1"',
      check: isPathPrefix,
    }),
    default: null,
    doc:
      "Path below which requests are served; other paths are 404, except `server-health-path`; see " +
      "[Move from Supabase](../how-to/move-from-supabase.md).",
    example: '"/rest/v1"',
  }),
  "server-port": option({
    codec: port,
    default: 3000,
    doc: "Port to bind to; 0 takes any free port.",
    reloadable: false,
    isOfPostgrest: true,
  }),
  "rate-limits": option({
    codec: text({
      type: "policies",
      expected: 'policies in quotes, such as "anon: 60/1m by ip for web_anon"',
      check: checkRateLimits,
    }),
    default: null,
    doc: "Policies that limit the rate of requests, separated by `;`; see " +
      "[Limit requests](../how-to/limit-requests.md).",
    example: '"login: 5/1m by ip on /rpc/login; anon: 60/1m by ip for web_anon"',
  }),
  "server-query-method": flag({
    doc: "Reads by QUERY, and by POST to `/<relation>/$query`, with the parameters in the body; " +
      "see [Send long queries](../how-to/send-long-queries.md).",
  }),
  "server-reuseport": flag({
    doc: "Lets several processes share the port (`SO_REUSEPORT`).",
    reloadable: false,
    isOfPostgrest: true,
  }),
  "server-workers": option({
    codec: orWord(
      integer({ min: 1, max: 256 }),
      "auto",
      'a whole number from 1 to 256 or "auto"',
    ),
    default: 1,
    doc:
      "Threads that serve requests; `auto` takes one for each core, or for every second one if " +
      "PostgreSQL runs on this machine; see [Use several cores](../how-to/use-several-cores.md).",
    example: "4",
    reloadable: false,
  }),
  "server-spool-size": option({
    codec: size(),
    default: 10 * 1024 ** 3,
    doc: "Bytes that the temporary files of long bodies may have in all; 0 lets no body use one.",
    example: '"10g"',
    isShared: true,
  }),
  "server-shutdown-wait-period": option({
    aliases: ["server-shutdown-delay"],
    codec: time(),
    default: 0,
    doc: "Time after SIGTERM during which requests are served while `/ready` returns 503.",
    example: '"10s"',
    reloadable: false,
  }),
  "server-timing-enabled": flag({
    doc: "Sends the `Server-Timing` header.",
    isOfPostgrest: true,
  }),
  "server-trace-header": option({
    codec: headerName,
    default: null,
    doc: "Request header to copy to the response.",
    example: '"X-Request-Id"',
    isOfPostgrest: true,
  }),
  "server-trusted-proxies": option({
    codec: list({
      expected: 'addresses or ranges in quotes, separated by commas, such as "10.0.0.0/8"',
      check: isTrustedProxy,
    }),
    default: null,
    doc: "Proxies whose `Forwarded` or `X-Forwarded-For` names the client: addresses, CIDR " +
      "ranges, and `unix` for the peers of a Unix socket.",
    example: '"127.0.0.1, 10.0.0.0/8"',
    inDatabase: false,
  }),
  "server-unix-socket": option({
    codec: socketPath,
    default: null,
    doc: "Unix socket to listen on, instead of `server-host` and `server-port`.",
    example: '"/run/svc/svc.sock"',
    reloadable: false,
    isOfPostgrest: true,
  }),
  "server-unix-socket-mode": option({
    codec: fileMode("server-unix-socket-mode"),
    default: 0o660,
    doc: "File mode of the Unix socket.",
    reloadable: false,
    isOfPostgrest: true,
  }),
} as const;
