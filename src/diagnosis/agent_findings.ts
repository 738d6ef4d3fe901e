/** The findings in the options of the endpoint for agents. @module */
import type { Config } from "../config/options.ts";
import { isLoopbackHost } from "../http/host.ts";
import type { Finding } from "./finding.ts";
import type { CatalogueFacts } from "./query.ts";

/** Lists the findings; none while the endpoint is off. */
export function agentFindings(
  { hiddenRelations }: Pick<CatalogueFacts, "hiddenRelations">,
  config: Config,
): readonly Finding[] {
  const { mcpPath, mcpWrite, dbAnonRole } = config;
  if (mcpPath === null) return [];
  return [
    ...hiddenRelations.map((relation) => [
      "mcp-path-hides",
      relation,
      `requests to ${mcpPath} reach the endpoint for agents, not ${relation}: choose another mcp-path`,
    ]),
    ...mcpWrite?.includes("*")
      ? [[
        "mcp-write-all",
        "mcp-write",
        "agents may write to every relation that their role may write to: list the relations in " +
        "mcp-write",
      ]]
      : [],
    ...isOpenToAnonymous(config)
      ? [[
        "mcp-anonymous",
        dbAnonRole!,
        "other machines may use the endpoint for agents without a token: set mcp-roles to the roles " +
        "of agents",
      ]]
      : [],
    ...audienceFindings(config),
  ].map(([name = "", subject = "", message = ""]) => {
    const level = name === "mcp-audience" ? "info" : "warn";
    return { name, level, subject, message, sql: null };
  });
}

function isOpenToAnonymous(
  { dbAnonRole, mcpRoles, serverHost, serverUnixSocket }: Config,
): boolean {
  const isAccepted = dbAnonRole !== null && mcpRoles?.includes(dbAnonRole) !== false;
  return isAccepted && serverUnixSocket === null && !isLoopbackHost(serverHost);
}

/** A token for another service counts unless its audience is checked. */
function audienceFindings(
  { jwtAud, mcpAuthorizationServers, mcpResource, openapiServerProxyUri }: Config,
): readonly string[][] {
  if (mcpAuthorizationServers === null) {
    if (jwtAud !== null) return [];
    const message = "the endpoint for agents takes tokens for any audience: set " +
      "mcp-authorization-servers, or jwt-aud";
    return [["mcp-audience", "jwt-aud", message]];
  }
  if (mcpResource !== null || openapiServerProxyUri !== null) return [];
  const message = "agents look for the issuers of tokens at an address of this machine: set " +
    "mcp-resource to the public address of mcp-path";
  return [["mcp-resource", "mcp-resource", message]];
}
