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
  if (config.mcpPath === null) return [];
  const found = [
    ...hiddenRelations.map((relation) =>
      note(
        "mcp-path-hides",
        "warn",
        relation,
        `requests to ${config.mcpPath} reach the endpoint ` +
          `for agents, not ${relation}: choose another mcp-path`,
      )
    ),
    config.mcpWrite?.includes("*")
      ? note(
        "mcp-write-all",
        "warn",
        "mcp-write",
        "agents may write to every relation that their " +
          "role may write to: list the relations in mcp-write",
      )
      : null,
    anonymousFinding(config),
    audienceFinding(config),
  ];
  return found.filter((finding) => finding !== null);
}

function anonymousFinding(
  { dbAnonRole, mcpRoles, serverHost, serverUnixSocket }: Config,
): Finding | null {
  const isOpen = dbAnonRole !== null && mcpRoles?.includes(dbAnonRole) !== false;
  if (!isOpen || serverUnixSocket !== null || isLoopbackHost(serverHost)) return null;
  return note(
    "mcp-anonymous",
    "warn",
    dbAnonRole,
    "other machines may use the endpoint for agents " +
      "without a token: set mcp-roles to the roles of agents",
  );
}

/** A token for another service counts unless its audience is checked. */
function audienceFinding(
  { jwtAud, mcpAuthorizationServers, mcpResource, openapiServerProxyUri }: Config,
): Finding | null {
  if (mcpAuthorizationServers === null) {
    if (jwtAud !== null) return null;
    return note(
      "mcp-audience",
      "info",
      "jwt-aud",
      "the endpoint for agents takes tokens for any " +
        "audience: set mcp-authorization-servers, or jwt-aud",
    );
  }
  if (mcpResource !== null || openapiServerProxyUri !== null) return null;
  return note(
    "mcp-resource",
    "warn",
    "mcp-resource",
    "agents look for the issuers of tokens at an " +
      "address of this machine: set mcp-resource to the public address of mcp-path",
  );
}

function note(
  name: string,
  level: Finding["level"],
  subject: string,
  message: string,
): Finding {
  return { name, level, subject, message, sql: null };
}
