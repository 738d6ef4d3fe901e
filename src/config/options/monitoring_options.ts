/**
 * Options of logs, metrics, identifiers of requests, and headers of all responses.
 *
 * @module
 */
import { isHealthPath } from "../checks.ts";
import { boolean, integer, oneOf, text } from "../codecs.ts";
import { headerValues } from "../header_codec.ts";
import { option } from "./option.ts";
import { headerName } from "./shared_codecs.ts";

export const monitoringOptions = {
  "db-trace-application-name": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: true,
    doc: "Sets `application_name` in each transaction: `svc` and the request's `traceparent` or " +
      "identifier.",
    example: "true",
    extension: true,
  }),
  "log-format": option({
    codec: oneOf(["text", "json"], "Invalid log-format. Check your configuration."),
    default: "text",
    reloadable: true,
    inDatabase: false,
    doc: "Format of log lines: text, or one JSON object per line.",
    example: '"json"',
    extension: true,
  }),
  "log-query-string": option({
    codec: boolean,
    default: true,
    reloadable: true,
    inDatabase: false,
    doc: "Logs the query string of requests; if false, only the path.",
    example: "false",
    extension: true,
  }),
  "metrics-max-routes": option({
    codec: integer({ min: 0 }),
    default: 200,
    reloadable: true,
    inDatabase: false,
    doc: "Most routes that the metrics count apart; further ones count as `_other`.",
    example: "500",
    extension: true,
  }),
  "server-health-path": option({
    codec: text({
      type: "path",
      expected:
        'a path in quotes of two or more segments that is not below /rpc, such as "/-/health"',
      check: isHealthPath,
    }),
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "Path on the API port that returns 200 or 503 as `/ready` does; `/live` below it is " +
      "liveness.",
    example: '"/-/health"',
    extension: true,
  }),
  "server-request-id-header": option({
    codec: headerName,
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Header with the identifier of a request: taken from the request or made, sent back, " +
      "logged, and set as `request.id`.",
    example: '"X-Request-Id"',
    extension: true,
  }),
  "server-response-headers": option({
    codec: headerValues,
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Headers to add to each response that has none of the same name, as a JSON object.",
    example: `'{"Strict-Transport-Security": "max-age=63072000"}'`,
    extension: true,
  }),
  "server-security-headers": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: true,
    doc: "Adds `X-Content-Type-Options`, `Referrer-Policy` and, except to HTML, " +
      "`Content-Security-Policy` to each response.",
    example: "true",
    extension: true,
  }),
} as const;
