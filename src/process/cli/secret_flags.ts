/** Warnings about secrets on the command line, which other users of the machine can read. @module */
import type { ConfigFlag, ConfigFlags } from "../../state/config/load.ts";
import { environmentName } from "../../state/config/names.ts";
import { connectionName } from "../../state/config/call_words.ts";
import { isEmbedded } from "../../database/open.ts";
import { parseConnectionString } from "../../database/connect/connection_string.ts";

/** Returns the name of the secret part of a value, or null. */
type SecretPart = (value: string) => string | null;

/** Options that are secret, or have a secret part. */
const secretParts: ReadonlyMap<string, SecretPart> = new Map<string, SecretPart>([
  ["db-uri", (value) => hasPassword(value) ? "a password" : null],
  ["admin-token", (value) => value === "" ? null : "a secret"],
  ["jwt-secret", (value) => value === "" ? null : "a secret"],
]);

/** Returns one line for each flag with a secret. The lines do not contain the secrets. */
export function secretWarnings(flags: ConfigFlags): readonly string[] {
  return Array.from(flags, ([key, flag]) => warning(key, flag)).filter((line) => line !== null);
}

function warning(key: string, { name, value }: ConfigFlag): string | null {
  const part = value.startsWith("@") ? null : secretParts.get(key)?.(value) ?? null;
  if (part === null) return null;
  return `warning: ${name} contains ${part}, which other users of this machine can read; ` +
    `set ${variableFor(key, name)} instead`;
}

/** Returns the environment variables to use in place of a flag. Omits `SVC_DB_URI`, because a call with
 * this variable is not in quick mode. */
function variableFor(key: string, name: string): string {
  return name === connectionName ? "PGPASSWORD or DATABASE_URL" : environmentName(key);
}

function hasPassword(connection: string): boolean {
  if (isEmbedded(connection)) return false;
  try {
    return Boolean(parseConnectionString(connection).get("password"));
  } catch {
    return false;
  }
}
