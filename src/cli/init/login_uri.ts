/** Rewrites a connection string for another role. @module */
import {
  isConnectionUri,
  parseConnectionString,
} from "../../database/connect/connection_string.ts";

/** The login of a connection string. */
export interface DatabaseLogin {
  readonly user: string;
  /** Null leaves the password out. */
  readonly password: string | null;
  readonly database: string;
}

/** Parameters of the query part, or keywords, that the new login replaces. */
const loginKeywords: ReadonlySet<string> = new Set(["user", "password", "dbname"]);

/** Returns the connection string with another user, password and database. Keeps its form. */
export function loginUri(connection: string, login: DatabaseLogin): string {
  return isConnectionUri(connection) ? uriWith(connection, login) : keywordsWith(connection, login);
}

/** Returns the login of a connection string; an empty text for a user or database that is absent. */
export function loginOf(connection: string): DatabaseLogin {
  const parameters = parseConnectionString(connection);
  return {
    user: parameters.get("user") ?? "",
    password: parameters.get("password") || null,
    database: parameters.get("dbname") ?? "",
  };
}

function uriWith(uri: string, { user, password, database }: DatabaseLogin): string {
  const [, scheme = "", hosts = "", query = ""] =
    /^(postgres(?:ql)?:\/\/)(?:[^/]*@)?([^/?]*)(?:\/[^?]*)?(?:\?(.*))?$/s.exec(uri) ?? [];
  const kept = query.split("&").filter((pair) =>
    pair !== "" && !loginKeywords.has(decodeURIComponent(pair.split("=")[0]!))
  );
  const name = encodeURIComponent(user) +
    (password === null ? "" : `:${encodeURIComponent(password)}`);
  const path = encodeURIComponent(database);
  return `${scheme}${name}@${hosts}/${path}${kept.length === 0 ? "" : `?${kept.join("&")}`}`;
}

function keywordsWith(connection: string, { user, password, database }: DatabaseLogin): string {
  const kept = Array.from(parseConnectionString(connection))
    .filter(([keyword, value]) => !loginKeywords.has(keyword) && value !== "");
  const own: readonly (readonly [string, string])[] = [
    ["dbname", database],
    ["user", user],
    ...(password === null ? [] : [["password", password]] as const),
  ];
  return [...kept, ...own].map(([keyword, value]) => `${keyword}=${keywordValue(value)}`).join(" ");
}

/** Quotes a value as libpq does, unless it is plain. */
function keywordValue(value: string): string {
  return /^[A-Za-z0-9_.:/-]+$/.test(value) ? value : `'${value.replace(/['\\]/g, "\\$&")}'`;
}
