/** The login of the service: its connection string, and its password with the verifier for
 * PostgreSQL. The SQL contains only the verifier. @module */
import { Buffer } from "node:buffer";
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import {
  isConnectionUri,
  parseConnectionString,
} from "../../../database/connect/connection_string.ts";

export interface DatabaseLogin {
  readonly user: string;
  /** Null leaves the password out. */
  readonly password: string | null;
  readonly database: string;
}

const passwordBytes = 24;

/** Returns the password of a role. A missing role gets a new password. For an existing role, returns
 * the password in its connection string, otherwise null. */
export function planPassword(
  role: string,
  { exists, uris }: { readonly exists: boolean; readonly uris: readonly string[] },
): string | null {
  const login = uris.map(loginOf).find(({ user, password }) => user === role && password !== null);
  return login?.password ?? (exists ? null : randomText(passwordBytes));
}

/** Returns the login in a connection string; an empty text for an absent user or database. */
export function loginOf(connection: string): DatabaseLogin {
  const parameters = parseConnectionString(connection);
  return {
    user: parameters.get("user") ?? "",
    password: parameters.get("password") || null,
    database: parameters.get("dbname") ?? "",
  };
}

/** Parameters of a connection string that a login replaces. */
const loginKeywords: ReadonlySet<string> = new Set(["user", "password", "dbname"]);

/** Returns a connection string as a URI, in which user, password and database are replaced. */
export function loginUri(
  connection: string,
  { user, password, database }: DatabaseLogin,
): string {
  const [, hosts = "", query = ""] = isConnectionUri(connection)
    ? /^[^:]*:\/\/(?:[^/]*@)?([^/?]*)(?:\/[^?]*)?(?:\?(.*))?$/s.exec(connection) ?? []
    : ["", "", new URLSearchParams(Array.from(parseConnectionString(connection))).toString()];
  const params = query.replaceAll("+", "%20").split("&").filter((pair) =>
    /=./.test(pair) && !loginKeywords.has(decodeURIComponent(pair.split("=")[0]!))
  );
  const name = encodeURIComponent(user) +
    (password === null ? "" : `:${encodeURIComponent(password)}`);
  const path = encodeURIComponent(database);
  return `postgres://${name}@${hosts}/${path}${params.length === 0 ? "" : `?${params.join("&")}`}`;
}

/** Iterations of PostgreSQL's verifiers (`scram_iterations`). */
const iterations = 4096;

/** Returns the SCRAM-SHA-256 verifier of an ASCII password (RFC 5802, section 3), in the form of
 * `pg_authid.rolpassword`: `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`. */
export function scramVerifier(password: string, salt: Uint8Array = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const hmac = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(hmac("Client Key")).digest("base64");
  const serverKey = hmac("Server Key").toString("base64");
  const shownSalt = Buffer.from(salt).toString("base64");
  return `SCRAM-SHA-256$${iterations}:${shownSalt}$${storedKey}:${serverKey}`;
}

/** Returns random bytes as base64url, which needs no escapes in a URI or SQL. */
export function randomText(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}
