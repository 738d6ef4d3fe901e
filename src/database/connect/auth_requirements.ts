/** Checks the authentication method that a server requests: an attacker in between could request a
 * weaker one. Source: `require_auth` and `channel_binding` of libpq; RFC 5802, RFC 5929. @module */

export interface AuthEvents {
  listeners(event: string): readonly ((message: AuthMessage) => void)[];
  removeAllListeners(event: string): unknown;
  on(event: string, listener: (message: AuthMessage) => void): unknown;
  emit(event: "error", error: Error): unknown;
}

/** An authentication message of the server; with SASL it lists the mechanisms. */
export interface AuthMessage {
  readonly mechanisms?: readonly string[];
}

export interface AuthRequirements {
  readonly require_auth?: string;
  readonly channel_binding?: string;
}

/** Events of authentication requests, with their methods and with libpq's wording. */
const authRequests: readonly (readonly [event: string, method: string, wording: string])[] = [
  ["authenticationCleartextPassword", "password", "server requested a cleartext password"],
  ["authenticationMD5Password", "md5", "server requested a hashed password"],
  ["authenticationSASL", "scram-sha-256", "server requested SCRAM-SHA-256 authentication"],
];

const trustMethod = "none";

function isAllowed(list: string, method: string): boolean {
  const items = list.split(",");
  return list === "" || list.startsWith("!")
    ? !items.includes(`!${method}`)
    : items.includes(method);
}

/**
 * Makes a connection that is being opened reply to allowed requests only. Any other request of the
 * server becomes an `error` event, and nothing is sent. Call it after `pg` has added its handlers.
 */
export function guardAuthentication(
  connection: AuthEvents,
  requirements: AuthRequirements,
): void {
  const requiresBinding = requirements.channel_binding === "require";
  const { require_auth: list = "" } = requirements;
  if (!requiresBinding && list === "") return;
  const failure = (problem: string) =>
    new Error(`authentication method requirement "${list}" failed: ${problem}`);
  let isProven = false;
  const guard = (event: string, problemOf: (message: AuthMessage) => Error | null) => {
    const handlers = [...connection.listeners(event)];
    connection.removeAllListeners(event);
    connection.on(event, (message) => {
      const problem = problemOf(message);
      if (problem !== null) connection.emit("error", problem);
      else for (const handle of handlers) handle(message);
    });
  };
  for (const [event, method, wording] of authRequests) {
    guard(event, ({ mechanisms = [] }) => {
      if (!isAllowed(list, method)) return failure(wording);
      isProven = method !== "scram-sha-256";
      return requiresBinding && !mechanisms.includes("SCRAM-SHA-256-PLUS")
        ? new Error(bindingUnsupported)
        : null;
    });
  }
  guard("authenticationSASLFinal", () => {
    isProven = true;
    return null;
  });
  guard("authenticationOk", () => {
    if (isProven || (isAllowed(list, trustMethod) && !requiresBinding)) return null;
    return requiresBinding
      ? new Error(bindingUnsupported)
      : failure("server did not complete authentication");
  });
}

const bindingUnsupported =
  "channel binding required but not supported by server's authentication request";
