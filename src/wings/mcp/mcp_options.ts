/** Options of the endpoint for agents, which speaks the Model Context Protocol
 * (https://modelcontextprotocol.io). @module */
import type { Config, OptionValues } from "../../state/config/options.ts";
import { isProxyUri, isUri } from "../../state/config/checks.ts";
import { integer, list, text } from "../../state/config/codecs.ts";
import { time } from "../../state/config/units.ts";
import { option } from "../../state/config/options/option.ts";
import { endpointPath, origins } from "../../state/config/options/shared_codecs.ts";

/** Tools that read, in the order in which clients see them. */
export const readTools = ["list_relations", "describe_relation", "query", "call_function"] as const;

/** Value of `mcp-tools` for a tool for each line of the option `operations`, in place of the other tools. */
export const operationsWord = "operations";

function isReadTool(name: string): true | string {
  return name === operationsWord || (readTools as readonly string[]).includes(name) ||
    `${name} is not a tool for reading`;
}

const names = (what: string) => list({ expected: `${what} in quotes` });

export const mcpOptions = {
  "mcp-allowed-origins": option({
    codec: origins(),
    default: null,
    doc: "Origins whose pages may use the endpoint for agents; if it is not set, none may.",
    example: '"https://agents.example.com"',
    inDatabase: false,
  }),
  "mcp-authorization-servers": option({
    codec: list({
      expected: 'URIs in quotes, separated by commas, such as "https://id.example.com"',
      check: isUri,
    }),
    default: null,
    doc:
      "Issuers that agents get tokens from (RFC 9728), which must then name `mcp-resource` in `aud`.",
    example: '"https://id.example.com"',
    inDatabase: false,
  }),
  "mcp-functions": option({
    codec: names("functions"),
    default: null,
    doc: "Functions that are separate tools, named `rpc.<name>`.",
    example: '"remaining, api.report"',
  }),
  "mcp-max-rows": option({
    codec: integer({ min: 1, max: 1_000_000 }),
    default: 100,
    doc: "Most rows of one call: rows of a result, of each embed, and rows that one call writes.",
  }),
  "mcp-path": option({
    codec: endpointPath("/mcp"),
    default: null,
    doc: "Path of the endpoint for agents; see [Connect an agent](../how-to/connect-an-agent.md).",
    example: '"/mcp"',
    endpoint: { paths: "one", requestsPerMinute: 120 },
    reloadable: false,
  }),
  "mcp-resource": option({
    codec: text({ type: "URI", expected: "an http or https URI in quotes", check: isProxyUri }),
    default: null,
    doc: "URI of the endpoint for agents (RFC 8707); if it is not set, " +
      "`openapi-server-proxy-uri` and `mcp-path`.",
    example: '"https://shop.example.com/mcp"',
    inDatabase: false,
  }),
  "mcp-roles": option({
    codec: names("roles"),
    default: null,
    doc: "Roles that may use the endpoint for agents; if it is not set, all may.",
    example: '"agent"',
  }),
  "mcp-timeout": option({
    codec: time({ min: 0.001 }),
    default: 10,
    doc: "`statement_timeout` of calls, unless the role's is shorter.",
    example: '"10s"',
  }),
  "mcp-tools": option({
    codec: list({
      expected: `names in quotes, separated by commas, of ${readTools.join(", ")}`,
      empty: "value",
      check: isReadTool,
    }),
    default: readTools,
    doc: "Tools that agents get for reading; `operations` has one for each line of `operations`.",
    example: '"list_relations, describe_relation, query"',
  }),
  "mcp-write": option({
    codec: names("relations and functions"),
    default: null,
    doc: "Relations and functions that agents may write to, `*` for all; if it is not set, calls " +
      "only read.",
    example: '"todos, api.complete"',
    inDatabase: false,
  }),
} as const;

/** The configuration with the options of this wing. */
export type McpConfig = Config & OptionValues<typeof mcpOptions>;
