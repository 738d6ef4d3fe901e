/** Opens, encrypts and authenticates connections by `npm:pg`. @module */
import pg from "pg";
import { ConnectionRefused, placeOf } from "./hosts.ts";
import type { Settings } from "./targets.ts";

/** Events of a connection that authenticates. With SASL, a message lists the mechanisms of the server. */
export interface AuthEvents {
  listeners(event: string): readonly ((message: AuthMessage) => void)[];
  removeAllListeners(event: string): unknown;
  on(event: string, listener: (message: AuthMessage) => void): unknown;
  emit(event: "error", error: Error): unknown;
}

export interface AuthMessage {
  readonly mechanisms?: readonly string[];
  readonly parameterName?: string;
  readonly parameterValue?: string;
}

/** The socket that `pg` has opened: a Node socket, or another runtime's emulation of it. */
export interface Socket {
  on(event: "data", listener: (chunk: Uint8Array) => void): this;
  on(event: "error", listener: (error: Error) => void): this;
  on(event: "close", listener: () => void): this;
  removeAllListeners(event?: string): this;
  write(chunk: Uint8Array): boolean;
  pause(): void;
  resume(): void;
  end(chunk?: Uint8Array): void;
  destroy(): void;
  unref?(): void;
}

/** The members of `pg.Client` that svc uses. The published types of `pg` lack some of them. */
export interface Client {
  connect(): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): this;
  readonly connection: AuthEvents & { readonly stream: Socket };
  readonly host: string;
  readonly port: number;
  readonly ssl: unknown;
  readonly processID: number | null;
  readonly secretKey: number | null;
  /** Parameters of the session, as the server has reported them. */
  parameters?: ReadonlyMap<string, string>;
}

/** Opens and authenticates a connection. Throws an `Error` with the reason if that fails. */
export async function openClient(settings: Settings): Promise<Client> {
  const client = new (pg as unknown as { Client: new (settings: Settings) => Client }).Client(
    settings["sslmode"] === "allow" ? { ...settings, ssl: false } : settings,
  );
  // The socket also reports errors after connecting. The listener prevents uncaught errors.
  client.on("error", () => {});
  const parameters = new Map<string, string>();
  client.parameters = parameters;
  client.connection.on("parameterStatus", ({ parameterName = "", parameterValue = "" }) => {
    parameters.set(parameterName, parameterValue);
  });
  try {
    const connected = client.connect();
    if (settings["channel_binding"] === "require") requireChannelBinding(client.connection);
    await connected;
    return client;
  } catch (error) {
    client.connection.stream.destroy();
    const second = secondAttempt(settings, error);
    if (second !== null) return await openClient(second);
    throw failureOf(error, { ...settings, host: client.host, port: client.port });
  }
}

/**
 * Allows only authentication with channel binding (RFC 5929) on a connection that is being opened,
 * because an attacker in between could request a weaker method. Other requests cause an `error`
 * event, and nothing is sent. Call this function after `pg` has added its handlers.
 */
export function requireChannelBinding(connection: AuthEvents): void {
  let isProven = false;
  const guard = (event: string, isAllowed: (message: AuthMessage) => boolean) => {
    const handlers = [...connection.listeners(event)];
    connection.removeAllListeners(event);
    connection.on(event, (message) => {
      if (!isAllowed(message)) connection.emit("error", new Error(bindingUnsupported));
      else for (const handle of handlers) handle(message);
    });
  };
  guard("authenticationCleartextPassword", () => false);
  guard("authenticationMD5Password", () => false);
  guard(
    "authenticationSASL",
    ({ mechanisms = [] }) => mechanisms.includes("SCRAM-SHA-256-PLUS"),
  );
  guard("authenticationSASLFinal", () => isProven = true);
  guard("authenticationOk", () => isProven);
}

const bindingUnsupported =
  "channel binding required but not supported by server's authentication request";

/** An error of `pg`: system errors have an `address`, errors of the server a `severity`. */
interface PgFailure {
  readonly message: string;
  readonly code?: unknown;
  readonly address?: unknown;
  readonly severity?: unknown;
}

/** Returns the settings for a second attempt, encrypted or not as `sslmode` permits, or null. */
function secondAttempt(settings: Settings, error: unknown): Settings | null {
  const { sslmode, ssl } = settings;
  if (ssl === false) return null;
  if (sslmode === "prefer" && isEncryptionRefused(error)) return { ...settings, ssl: false };
  const isRefused = (error as PgFailure).code === "28000";
  return sslmode === "allow" && isRefused ? { ...settings, sslmode: "require" } : null;
}

const noEncryption = "The server does not support SSL connections";

/** Returns whether the connection may succeed without encryption: the server has no TLS, the
 * handshake failed, or `pg_hba.conf` has a rule against it. */
function isEncryptionRefused(error: unknown): boolean {
  const { code, message } = error as PgFailure;
  return message.includes(noEncryption) || code === "28000" ||
    /^ERR_(?:SSL|TLS)|^EPROTO/.test(String(code));
}

/** Words a failed connection as libpq does, so that operators' tools recognise it. */
export function failureOf(error: unknown, settings: Settings): Error {
  if (error instanceof AggregateError) {
    const texts = error.errors.map((one) => failureOf(one, settings).message);
    return new Error(texts.join(""));
  }
  const failure = (error instanceof Error ? error : new Error("connecting failed")) as PgFailure;
  const host = String(settings["host"]);
  if (failure.code === "ENOTFOUND" || failure.code === "EAI_AGAIN") {
    return new Error(
      `could not translate host name "${host}" to address: ${lookupReasons[failure.code]}\n`,
    );
  }
  const address = typeof failure.address === "string" ? failure.address : undefined;
  const text = `${placeOf(settings, address)} failed: ${reasonOf(failure, host)}\n`;
  return isRefusal(failure) ? new ConnectionRefused(text) : new Error(text);
}

const lookupReasons = {
  ENOTFOUND: "Name or service not known",
  EAI_AGAIN: "Temporary failure in name resolution",
} as const;

const systemReasons: ReadonlyMap<unknown, string> = new Map([
  ["ECONNREFUSED", "Connection refused"],
  ["ENOENT", "No such file or directory"],
  ["EACCES", "Permission denied"],
  ["ENETUNREACH", "Network is unreachable"],
  ["EHOSTUNREACH", "No route to host"],
  ["ETIMEDOUT", "Connection timed out"],
  ["ECONNRESET", "Connection reset by peer"],
]);

function reasonOf({ code, severity, message }: PgFailure, host: string): string {
  if (code === "28P01" && !message.startsWith(wrongPassword)) {
    // The English words come first: tools look for them, and the message may be translated.
    return `FATAL:  ${wrongPassword} (${message})`;
  }
  if (typeof severity === "string") return `${severity}:  ${message}`;
  if (isPasswordMissing(message)) return "fe_sendauth: no password supplied";
  const reason = systemReasons.get(code) ?? message;
  if (code !== "ECONNREFUSED" && code !== "ENOENT") return reason;
  return `${reason}\n\t` +
    (host.startsWith("/")
      ? "Is the server running locally and accepting connections on that socket?"
      : "Is the server running on that host and accepting TCP/IP connections?");
}

const wrongPassword = "password authentication failed";

function isPasswordMissing(message: string): boolean {
  return message.includes("client password must be a");
}

/** Returns whether the server refused the connection for a reason other than its start or stop. */
function isRefusal({ severity, code, message }: PgFailure): boolean {
  return isPasswordMissing(message) || (typeof severity === "string" && code !== "57P03");
}
