/**
 * What a server must do to authenticate a connection: `require_auth` and `channel_binding`. They keep
 * somebody between the service and the server from asking for a weaker method.
 *
 * Source: PostgreSQL documentation, "Parameter Key Words" of libpq; RFC 5802 and RFC 5929 for SCRAM
 * with channel binding.
 *
 * @module
 */

/** How `pg` tells what the server asks for. */
export interface AuthEvents {
  listeners(event: string): readonly ((message: AuthMessage) => void)[];
  removeAllListeners(event: string): unknown;
  on(event: string, listener: (message: AuthMessage) => void): unknown;
  emit(event: "error", error: Error): unknown;
}

/** A message of the server; SASL names its mechanisms. */
export interface AuthMessage {
  readonly mechanisms?: readonly string[];
}

/** What is demanded, as the connection string has it. */
export interface AuthRequirements {
  readonly require_auth?: string;
  readonly channel_binding?: string;
}

/** The events of requests by the methods that they are for, and what libpq calls them. */
const requests: readonly (readonly [event: string, method: string, what: string])[] = [
  ["authenticationCleartextPassword", "password", "server requested a cleartext password"],
  ["authenticationMD5Password", "md5", "server requested a hashed password"],
  ["authenticationSASL", "scram-sha-256", "server requested SCRAM-SHA-256 authentication"],
];

/** The method of a server that lets everybody in. */
const noMethod = "none";

/** Returns whether `require_auth` allows a method: its list has it, or has others marked by `!`. */
function isAllowed(list: string, method: string): boolean {
  const items = list.split(",");
  return list === "" || list.startsWith("!")
    ? !items.includes(`!${method}`)
    : items.includes(method);
}

/**
 * Sees to it that a connection that is being opened answers only what is allowed. Whatever else the
 * server asks for is an `error` event, and nothing is sent. To be called when the handlers of `pg`
 * are in place.
 */
export function guardAuthentication(
  connection: AuthEvents,
  requirements: AuthRequirements,
): void {
  const bound = requirements.channel_binding === "require";
  const { require_auth: list = "" } = requirements;
  if (!bound && list === "") return;
  const failure = (what: string) =>
    new Error(`authentication method requirement "${list}" failed: ${what}`);
  let isProven = false;
  const watch = (event: string, problemOf: (message: AuthMessage) => Error | null) => {
    const handlers = [...connection.listeners(event)];
    connection.removeAllListeners(event);
    connection.on(event, (message) => {
      const problem = problemOf(message);
      if (problem !== null) connection.emit("error", problem);
      else for (const handle of handlers) handle(message);
    });
  };
  for (const [event, method, what] of requests) {
    watch(event, ({ mechanisms = [] }) => {
      if (!isAllowed(list, method)) return failure(what);
      isProven = method !== "scram-sha-256";
      return bound && !mechanisms.includes("SCRAM-SHA-256-PLUS") ? new Error(notBound) : null;
    });
  }
  watch("authenticationSASLFinal", () => {
    isProven = true;
    return null;
  });
  watch("authenticationOk", () => {
    if (isProven || (isAllowed(list, noMethod) && !bound)) return null;
    return bound ? new Error(notBound) : failure("server did not complete authentication");
  });
}

const notBound = "channel binding required but not supported by server's authentication request";
