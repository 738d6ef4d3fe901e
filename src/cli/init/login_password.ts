/** The login of the service: its password is new, that of an earlier file, or unknown. @module */
import type { Choices } from "./choices.ts";
import { loginOf, loginUri } from "./login_uri.ts";
import { randomText } from "./scram.ts";

/** The connection string of the configuration file. */
export interface PlannedLogin {
  readonly uri: string;
  /** Null if the role exists and its password is unknown. */
  readonly password: string | null;
}

const passwordBytes = 24;

/** Chooses the password. `previousUri` is that of a file that is overwritten; null without one. */
export function planLogin(
  uri: string,
  { loginRole }: Pick<Choices, "loginRole">,
  { previousUri, database, exists }: {
    readonly previousUri: string | null;
    /** Null if the server cannot be reached. */
    readonly database: string | null;
    readonly exists: boolean;
  },
): PlannedLogin {
  const password = passwordIn(previousUri, loginRole) ?? passwordIn(uri, loginRole) ??
    (exists ? null : randomText(passwordBytes));
  const name = database ?? databaseOf(uri);
  return { uri: loginUri(uri, { user: loginRole, password, database: name }), password };
}

/** Returns the password of a connection string if it is that of the role. */
function passwordIn(uri: string | null, role: string): string | null {
  if (uri === null) return null;
  const { user, password } = loginOf(uri);
  return user === role ? password : null;
}

/** As libpq, the database of a connection string is its user unless it names one. */
function databaseOf(uri: string): string {
  const { user, database } = loginOf(uri);
  return database || user || "postgres";
}
