/** Options of logs, metrics, identifiers of requests, and headers of all responses. @module */
import { isHealthPath } from "../checks.ts";
import { boolean, oneOf, text } from "../codecs.ts";
import { headerValues } from "../header_codec.ts";
import { flag, option } from "./option.ts";
import { headerName } from "./shared_codecs.ts";

export const monitoringOptions = {
  "db-trace-application-name": flag({
    doc: "Sets `application_name` in each transaction: `svc` and the request's `traceparent` or " +
      "identifier.",
  }),
  "log-format": option({
    codec: oneOf(["text", "json"], "log-format"),
    default: "text",
    doc: "Format of log lines: text, or one JSON object per line.",
    example: '"json"',
    inDatabase: false,
  }),
  "log-query-string": option({
    codec: boolean,
    default: true,
    doc: "Logs the query string of requests; if false, only the path.",
    example: "false",
    inDatabase: false,
  }),
  "log-findings": option({
    codec: boolean,
    default: true,
    inDatabase: false,
    doc: "Diagnoses the database after the start and each reload, and logs the number of findings.",
    example: "false",
  }),
  "server-health-path": option({
    codec: text({
      type: "path",
      expected:
        'a path in quotes of two or more segments that is not below /rpc, such as "/-/health"',
      check: isHealthPath,
    }),
    default: null,
    doc: "Path on the API port that returns 200 or 503 as `/ready` does; `/live` below it is " +
      "liveness.",
    example: '"/-/health"',
    endpoint: { paths: "one" },
    reloadable: false,
  }),
  "server-request-id-header": option({
    codec: headerName,
    default: null,
    doc: "Header with the identifier of a request: taken from the request or made, sent back, " +
      "logged, and set as `request.id`.",
    example: '"X-Request-Id"',
  }),
  "server-response-headers": option({
    codec: headerValues,
    default: null,
    doc: "Headers to add to each response, unless it has a header of the same name; a JSON object.",
    example: `'{"Strict-Transport-Security": "max-age=63072000"}'`,
  }),
  "server-security-headers": flag({
    doc: "Adds `X-Content-Type-Options`, `Referrer-Policy` and, except to HTML, " +
      "`Content-Security-Policy` to each response.",
  }),
} as const;
