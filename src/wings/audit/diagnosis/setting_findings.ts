/** The findings in the configuration and in the server's state. @module */
import type { Config } from "../../../state/config/options.ts";
import { isEmbedded } from "../../../database/open.ts";
import { isLoopbackHost } from "../../../base/http/host.ts";
import { quoteIdent } from "../../../base/sql/fragment.ts";
import { reloadTriggerSql } from "../../../state/schema_cache/reload_trigger.ts";
import type { Finding } from "./finding.ts";
import { maxRoles } from "./queries/inputs.ts";
import type { Catalogue } from "./query.ts";

/** Oldest supported version of PostgreSQL, as `server_version_num`. */
const minVersion = 140_000;

/** Lists the findings. Findings that make requests fail come first. */
export function settingFindings(catalogue: Catalogue, config: Config): readonly Finding[] {
  const findings = [
    versionFinding(catalogue),
    limitsFinding(catalogue, config),
    adminFinding(config),
    anonymousFinding(config),
    tokenFinding(config),
    cookieOriginsFinding(config),
    triggerFinding(catalogue, config),
    readOnlyFinding(catalogue, config),
    standbyFinding(catalogue),
    rolesFinding(catalogue),
  ];
  return findings.filter((finding) => finding !== null);
}

function versionFinding({ version }: Catalogue): Finding | null {
  if (version >= minVersion) return null;
  const number = `${Math.trunc(version / 10_000)}.${version % 10_000}`;
  return note("version", "error", {
    subject: number,
    message: `PostgreSQL ${number} is older than 14, the oldest version that is supported`,
  });
}

function standbyFinding({ isStandby }: Catalogue): Finding | null {
  if (!isStandby) return null;
  return note("standby", "info", {
    subject: "server",
    message: "the server is a standby: writes fail with 25006",
  });
}

/** Warns that the service turns `default_transaction_read_only` off on its connections. Only
 * `db-read-only` forbids writes. */
function readOnlyFinding(
  { isReadOnly, isStandby, login }: Catalogue,
  { dbReadOnly }: Config,
): Finding | null {
  if (!isReadOnly || isStandby || dbReadOnly) return null;
  return note("read-only-default", "warn", {
    subject: login,
    message: `default_transaction_read_only is on for ${login}, but the service turns it off and ` +
      "requests can write: to forbid writes, set db-read-only = true",
  });
}

function anonymousFinding({ dbAnonRole, dialect }: Config): Finding | null {
  if (dbAnonRole !== null) return null;
  return note("no-anon-role", "info", {
    subject: "db-anon-role",
    message: `requests without a token fail with ${dialect.errorPrefix}302: set db-anon-role`,
  });
}

function tokenFinding({ dialect, ...config }: Config): Finding | null {
  const { jwtSecret, jwtJwksUrl, jwtIssuer, jwtIssuers } = config;
  if ([jwtSecret, jwtJwksUrl, jwtIssuer, jwtIssuers].some((option) => option !== null)) return null;
  return note("no-jwt-secret", "info", {
    subject: "jwt-secret",
    message: `requests with a token fail with ${dialect.errorPrefix}300: set jwt-secret`,
  });
}

/** Warns of an origin that `jwt-cookie-origins` allows but CORS does not. Browsers do not send the
 * cookie from such an origin. */
function cookieOriginsFinding(config: Config): Finding | null {
  const { jwtCookieOrigins, serverCorsAllowedOrigins } = config;
  const missing = jwtCookieOrigins?.find((one) => !serverCorsAllowedOrigins?.includes(one));
  if (missing === undefined) return null;
  return note("cookie-origins", "warn", {
    subject: missing,
    message: "pages of this origin of jwt-cookie-origins cannot send the cookie: add it to " +
      "server-cors-allowed-origins",
  });
}

/** Reports a missing event trigger, unless the database is embedded: no other session can change its schema. */
function triggerFinding(
  { hasReloadTrigger, isStandby }: Catalogue,
  { dbUri, dbSchemaWatch, dbChannel, dbChannelEnabled }: Config,
): Finding | null {
  const isNeeded = dbSchemaWatch === "notify" && dbChannelEnabled && !isEmbedded(dbUri);
  if (hasReloadTrigger || isStandby || !isNeeded) return null;
  return {
    name: "no-reload-trigger",
    level: "info",
    subject: dbChannel,
    message: "changes of the schema cause no reload: create these event triggers, or set " +
      'db-schema-watch = "auto"',
    sql: reloadTriggerSql(dbChannel).trimEnd(),
  };
}

/** Warns of missing limits, unless only this machine can reach the server. */
function limitsFinding({ rolesWithoutTimeout }: Catalogue, config: Config): Finding | null {
  if (config.serverUnixSocket !== null || isLoopbackHost(config.serverHost)) return null;
  const unlimited = rolesWithoutTimeout.filter((role) => !isTimed(role, config));
  const missing = [
    ...unlimited.slice(0, 1).map((role) => `statement_timeout of ${role}`),
    ...config.dbMaxRows === null ? ["db-max-rows"] : [],
    ...config.serverMaxBodySize === 0 ? ["server-max-body-size"] : [],
  ];
  if (missing.length === 0) return null;
  return {
    name: "no-limits",
    level: "warn",
    subject: "server-host",
    message: `other machines may send requests, and these limits are not set: ${
      missing.join(", ")
    }`,
    sql: unlimited.map((role) => `alter role ${role} set statement_timeout = '5s';`)
      .join("\n") || null,
  };
}

/** Returns whether an option limits the statements of a role that has no `statement_timeout`. The
 * role's name is quoted for SQL. */
function isTimed(
  role: string,
  { dbAnonRole: anonymous, dbAnonStatementTimeout, dbStatementTimeout }: Config,
): boolean {
  const isAnonymous = anonymous !== null && [anonymous, quoteIdent(anonymous)].includes(role);
  return Boolean((isAnonymous ? dbAnonStatementTimeout : null) ?? dbStatementTimeout);
}

function adminFinding(config: Config): Finding | null {
  const { adminServerHost: host, adminServerPort, adminServerUnixSocket } = config;
  if (adminServerPort === null || adminServerUnixSocket !== null || isLoopbackHost(host)) {
    return null;
  }
  return note("admin-open", "warn", {
    subject: "admin-server-host",
    message: `other machines may reach the admin server: set admin-server-host = "127.0.0.1"`,
  });
}

function rolesFinding({ uncheckedRoles, login }: Catalogue): Finding | null {
  if (uncheckedRoles === 0) return null;
  return note("roles-unchecked", "info", {
    subject: login,
    message: `${login} may become ${maxRoles + uncheckedRoles} roles: only the first ` +
      `${maxRoles} were checked`,
  });
}

/** Returns a finding that SQL cannot correct. */
function note(
  name: string,
  level: Finding["level"],
  { subject, message }: Pick<Finding, "subject" | "message">,
): Finding {
  return { name, level, subject, message, sql: null };
}

/** The options of the endpoint for agents on which findings depend. */
interface AgentConfig extends Config {
  readonly mcpAuthorizationServers: readonly string[] | null;
  readonly mcpPath: string | null;
  readonly mcpResource: string | null;
  readonly mcpRoles: readonly string[] | null;
  readonly mcpWrite: readonly string[] | null;
}

/** Lists findings in the options of the endpoint for agents; empty if the endpoint is off. */
export function agentFindings(
  { hiddenRelations }: Pick<Catalogue, "hiddenRelations">,
  ofProcess: Config,
): readonly Finding[] {
  const config = ofProcess as AgentConfig;
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
  { dbAnonRole, mcpRoles, serverHost, serverUnixSocket }: AgentConfig,
): boolean {
  const isAccepted = dbAnonRole !== null && mcpRoles?.includes(dbAnonRole) !== false;
  return isAccepted && serverUnixSocket === null && !isLoopbackHost(serverHost);
}

/** Warns if svc would accept a token for another service, or if agents could not find the issuers of tokens. */
function audienceFindings(
  { jwtAud, mcpAuthorizationServers, mcpResource, openapiServerProxyUri }: AgentConfig,
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
