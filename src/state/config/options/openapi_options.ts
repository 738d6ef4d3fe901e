/** Options of the OpenAPI document. @module */
import { isProxyUri } from "../checks.ts";
import { oneOf, text } from "../codecs.ts";
import { flag, option } from "./option.ts";

export const openapiOptions = {
  "openapi-mode": option({
    codec: oneOf(["follow-privileges", "ignore-privileges", "disabled"], "openapi-mode"),
    default: "follow-privileges",
    doc: "OpenAPI document at `/`: by the privileges of the role, with everything, or disabled.",
    isOfPostgrest: true,
  }),
  "openapi-security-active": flag({
    doc: "Adds security definitions to the OpenAPI document at `/`.",
    isOfPostgrest: true,
  }),
  "openapi-server-proxy-uri": option({
    aliases: ["server-proxy-uri"],
    codec: text({
      type: "URI",
      expected: "an http or https URI in quotes of host, port and path",
      check: (value) =>
        isProxyUri(value) ||
        "Malformed proxy uri, a correct example: https://example.com:8443/basePath",
    }),
    default: null,
    doc: "Base URL in the OpenAPI document at `/`.",
    example: '"https://example.com:8443/basePath"',
    isOfPostgrest: true,
  }),
  "openapi-version": option({
    codec: oneOf(["2.0", "3.1"], "openapi-version"),
    default: "2.0",
    doc: "OpenAPI version of the document at `/`, unless `Accept` names one.",
    example: '"3.1"',
  }),
} as const;
