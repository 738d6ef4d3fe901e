/**
 * Hints for roles that the login role may not take.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import { parseConnectionString } from "../database/connect/connection_string.ts";
import { isEmbedded } from "../database/open.ts";
import { nameText } from "../sql/name_text.ts";

/** Facts about the login role and the server. */
export interface LoginContext {
  readonly config: Pick<Config, "dbUri">;
  /** Result of `version()`; null before the service knows it. */
  readonly serverVersion: string | null;
}

/** Returns the hint for a role that exists. A superuser must stay out of reach of requests. */
export function grantAdvice(role: string, login: LoginContext): string {
  if (/^(pg_|postgres$)/.test(role)) return `Send a token of another role than ${nameText(role)}`;
  const grant = grantText(role, login);
  return grant === null
    ? `Grant ${nameText(role)} to the login role, unless it is a superuser`
    : `Unless ${nameText(role)} is a superuser: ${grant}`;
}

/** Returns the hint for a role that does not exist; null for a name that PostgreSQL reserves. */
export function createAdvice(role: string, login: LoginContext): string | null {
  if (/^(pg_|public$|none$)/.test(role)) return null;
  const create = `create role ${nameText(role)} nologin;`;
  const grant = grantText(role, login);
  return grant === null ? `${create} then grant it to the login role` : `${create} ${grant}`;
}

/** The first major version with options of memberships. */
const firstVersionWithOptions = 16;

/** Returns the statement; null if the login role or the version is unknown. */
function grantText(role: string, { config, serverVersion }: LoginContext): string | null {
  const login = loginOf(config.dbUri);
  const major = Number(/^PostgreSQL (\d+)/.exec(serverVersion ?? "")?.[1]);
  if (login === null || Number.isNaN(major)) return null;
  const options = major >= firstVersionWithOptions ? " with inherit false, set true" : "";
  return `grant ${nameText(role)} to ${nameText(login)}${options};`;
}

/** Returns the user of `db-uri`; null if it names none. */
function loginOf(uri: string): string | null {
  if (isEmbedded(uri)) return null;
  try {
    return parseConnectionString(uri).get("user") || null;
  } catch {
    return null;
  }
}
