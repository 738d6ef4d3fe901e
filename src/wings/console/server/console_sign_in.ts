/** Creates tokens for roles, on machines that `admin-sign-in` trusts. @module */
import { signToken, tokenClaims } from "../../../state/auth/sign_token.ts";
import { metadataTransaction } from "../../../database/transaction.ts";
import { isJsonObject, parseJsonObject } from "../../../base/lib/json_object.ts";
import type { HandlerState } from "../../../state/app_state/handler_state.ts";

/** Query of the roles that the login role may set. */
const rolesQuery = `select rolname from pg_catalog.pg_roles
where rolname !~ '^pg_' and rolname <> session_user and not rolsuper
  and pg_catalog.pg_has_role(session_user, oid, 'MEMBER') order by rolname limit 1000`;

/** Response of `/console/roles`: the roles for requests. */
export interface ConsoleRoles {
  readonly roles: readonly string[];
}

/** Resolves with the roles for requests. */
export async function consoleRoles({ database }: HandlerState): Promise<ConsoleRoles> {
  const transaction = metadataTransaction([{ text: rolesQuery, params: [], use: "rows" }]);
  const { rows } = await database.transaction({ ...transaction, isTraced: false });
  return { roles: rows.at(-1)!.map(([name]) => name!) };
}

/** Seconds for which a token is valid. */
const validitySeconds = 3600;

/** Resolves with a token for the role and claims of a JSON text; null without `jwt-secret` or a usable role. */
export async function consoleToken(
  appState: HandlerState,
  text: string,
): Promise<{ readonly token: string } | null> {
  const { snapshot: { config }, now } = appState;
  const { role, claims } = parseJsonObject(text) ?? {};
  if (config.jwtSecret === null || typeof role !== "string") return null;
  const { roles } = await consoleRoles(appState);
  if (!roles.includes(role)) return null;
  const standard = tokenClaims(role, config, { now: now(), seconds: validitySeconds });
  const all = { ...isJsonObject(claims) ? claims : {}, ...standard };
  return { token: await signToken(all, config.jwtSecret) };
}
