/** The defaults of quick mode: schemas, anonymous role, and values for a safe first look at a
 * database. @module */
import type { Config } from "../../../state/config/options.ts";
import type { Dialect } from "../../../base/dialect.ts";
import { isLoopbackHost } from "../../../base/http/host.ts";
import { programCall } from "../../../base/lib/program_call.ts";
import { counted } from "../../../base/lib/printable.ts";
import { quoteIdent } from "../../../base/sql/fragment.ts";
import { likelySchema } from "../../../state/schema_cache/likely_schema.ts";
import type { AnonymousCandidate, QuickServer } from "./quick_server.ts";

/** Returns the defaults that do not depend on the database. */
export function fixedDefaults(dialect: Dialect): Partial<Config> {
  return {
    adminServerHost: "127.0.0.1",
    // Only the dialect that rejects invalid values has the value `advise`.
    ...(dialect.invalidConfig === "rejected" ? { clientErrorVerbosity: "advise" } as const : {}),
    dbMaxRows: 1000,
    dbSchemaWatch: "auto",
    dbStatementTimeout: 10,
    logLevel: "warn",
    openapiVersion: "3.1",
    serverBodyTimeout: 60,
    serverHeaderTimeout: 30,
    serverHost: "127.0.0.1",
    serverIdleTimeout: 30,
    serverMaxBodySize: 10_485_760,
  };
}

/** Options set by flags or the environment; null for unset ones. */
export interface QuickOptions {
  readonly schemas: readonly string[] | null;
  readonly anonRole: string | null;
  readonly host: string;
}

export interface QuickChoice {
  readonly schemas: readonly string[];
  readonly anonRole: string;
  /** Whether the login role runs requests without a token. All transactions are then read-only. */
  readonly isLoginRole: boolean;
  /** Whether functions of extensions are hidden, because the login role bypasses privileges. */
  readonly hidesExtensionFunctions: boolean;
  readonly warnings: readonly string[];
}

/** Data and choices of quick mode. */
export interface QuickStart {
  readonly server: QuickServer;
  readonly choice: QuickChoice;
  /** The value of `db-read-only`. */
  readonly isReadOnly: boolean;
}

/**
 * Chooses schemas and anonymous role. Throws an `Error` of one line in two cases: requests without
 * a token from other machines would bypass row-level security, or the login role may not set the
 * role.
 */
export function chooseDefaults(server: QuickServer, options: QuickOptions): QuickChoice {
  const schemas = options.schemas ?? [likelySchema(server.schemas) ?? "public"];
  if (options.anonRole !== null) checkAnonymousRole(server, options.anonRole);
  const anonRole = options.anonRole ?? chooseAnonymousRole(server.candidates, schemas);
  const isLoginRole = anonRole === null;
  const power = isLoginRole ? powerOf(server) : null;
  if (power !== null && !isLoopbackHost(options.host)) {
    throw new Error(
      `requests without a token would run as ${power}: give --anon-role, or run ${programCall()} init`,
    );
  }
  return {
    schemas,
    anonRole: anonRole ?? server.user,
    isLoginRole,
    hidesExtensionFunctions: isLoginRole && server.isSuperuser,
    warnings: [
      ...(options.schemas === null ? otherSchemas(server, schemas) : []),
      ...schemaWarnings(server, schemas),
      ...(isLoginRole ? loginRoleWarnings(server, { schemas, power, options }) : []),
      ...(isLoopbackHost(options.host)
        ? []
        : ["Other machines can send requests: the Host header is not checked."]),
    ],
  };
}

function checkAnonymousRole({ maySetAnonRole, user }: QuickServer, role: string): void {
  if (maySetAnonRole === true) return;
  const name = JSON.stringify(role);
  throw new Error(
    maySetAnonRole === null
      ? `cannot run requests as ${name}: the role does not exist`
      : `cannot run requests as ${name}: grant ${quoteIdent(role)} to ${quoteIdent(user)};`,
  );
}

function chooseAnonymousRole(
  candidates: readonly AnonymousCandidate[],
  schemas: readonly string[],
): string | null {
  const usable = candidates.filter((role) => schemas.some((name) => role.schemas.includes(name)));
  const preferred = ["web_anon", "anon"].find((name) => usable.some((role) => role.name === name));
  return preferred ?? null;
}

/** Returns how the role bypasses row-level security, as a phrase; null if it does not. */
function powerOf({ user, isSuperuser, bypassesRls }: QuickServer): string | null {
  const name = JSON.stringify(user);
  if (isSuperuser) return `superuser ${name}`;
  return bypassesRls ? `role ${name}, which bypasses row-level security` : null;
}

function schemaWarnings(
  { schemas }: QuickServer,
  chosen: readonly string[],
): readonly string[] {
  const names = schemas.map(({ name }) => name);
  if (chosen.some((name) => names.includes(name))) return [];
  const empty = `schema-empty: ${chosen.join(", ")} has no table, view or function`;
  if (names.length === 0) return [`${empty}; create one, and it is served.`];
  return [`${empty}; others have some: ${names.join(", ")}. Give --schemas=${names[0]}.`];
}

/** Lists the schemas that are not exposed. */
function otherSchemas(
  { schemas }: QuickServer,
  [chosen]: readonly string[],
): readonly string[] {
  const others = schemas.filter(({ name }) => name !== chosen);
  if (others.length === 0 || others.length === schemas.length) return [];
  const list = others.map(({ name, relations, functions }) => {
    const counts = relations > 0 ? counted(relations, "relation") : counted(functions, "function");
    return `${name} (${counts})`;
  });
  const names = [chosen, ...others.map(({ name }) => name)].join(",");
  return [`Other schemas: ${list.join(", ")}. --schemas=${names} serves several.`];
}

const outsideEffects = "Functions that a superuser calls may act outside of the transaction: " +
  "write files, run programs, connect elsewhere.";

function loginRoleWarnings(
  { user, schemas, isSuperuser }: QuickServer,
  { schemas: chosen, power, options: { host } }: {
    readonly schemas: readonly string[];
    readonly power: string | null;
    readonly options: QuickOptions;
  },
): readonly string[] {
  const name = JSON.stringify(user);
  const reach = isLoopbackHost(host) ? "read only, for this machine only" : "read only";
  const owned = schemas
    .filter((schema) => chosen.includes(schema.name))
    .reduce((sum, schema) => sum + schema.owned, 0);
  return [
    `No anonymous role: requests run as ${power ?? name}, ${reach}. ` +
    `\`${programCall()} init\` makes roles to continue with.`,
    ...(isSuperuser ? [outsideEffects] : []),
    ...(power === null && owned > 0
      ? [`${name} owns ${counted(owned, "relation")}: row-level security does not hold for it.`]
      : []),
  ];
}
