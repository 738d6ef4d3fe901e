/**
 * Which servers a connection string names, in which order they are tried, and what a server must be
 * to be taken.
 *
 * Source: PostgreSQL documentation, "Connection Strings", "Specifying Multiple Hosts" and
 * "target_session_attrs".
 *
 * @module
 */
import {
  appliedParameters,
  type ConnectionEnvironment,
  type ConnectionParameters,
} from "./connection_parameters.ts";
import { checkPort, parseConnectionString } from "./connection_string.ts";
import { type Encryption, encryptionOf, type ReadFile } from "./encryption.ts";
import { type Login, passwordIn } from "./passfile.ts";

/** What `pg` takes; `connect.ts` sees to `sslmode`, `channel_binding` and `require_auth`. */
export type Settings = Readonly<Record<string, unknown>>;

/** What a session must be for: a value of `target_session_attrs`. */
export type SessionTarget =
  | "any"
  | "read-write"
  | "read-only"
  | "primary"
  | "standby"
  | "prefer-standby";

/** Where to connect. */
export interface Targets {
  /** One record per host, in the order in which they are named; at least one. */
  readonly servers: readonly Settings[];
  readonly session: SessionTarget;
  /** Servers are tried in the order in which they are named, or in another one each time. */
  readonly order: "named" | "random";
}

/** What a connection string may refer to. */
export interface ConnectionSources {
  readonly environment?: ConnectionEnvironment;
  readonly readFile?: ReadFile;
}

/**
 * Reads a connection string. Throws an `Error` that says what is wrong with it, without repeating
 * users or passwords.
 */
export function connectionTargets(
  text: string,
  { environment = {}, readFile = refuseFile }: ConnectionSources = {},
): Targets {
  const options = appliedParameters(parseConnectionString(text), environment);
  const settings = { ...timesOf(options), ...loginOf(options) };
  const encryption = encryptionOf(options, readFile);
  const passfile = options.get("passfile");
  const servers = addressesOf(options).map((place) => ({
    ...(passfile === undefined ? {} : { password: passwordReader(passfile, place, readFile) }),
    ...settings,
    ...addressOf(place),
    ...encrypted(encryption, place),
  }));
  return {
    servers,
    session: (options.get("target_session_attrs") ?? "any") as SessionTarget,
    order: options.get("load_balance_hosts") === "random" ? "random" : "named",
  };
}

function refuseFile(): never {
  throw new Error("files cannot be read here");
}

/** Options by their names in `pg`. */
const loginNames: readonly (readonly [keyword: string, name: string])[] = [
  ["user", "user"],
  ["password", "password"],
  ["dbname", "database"],
  ["application_name", "application_name"],
  ["fallback_application_name", "fallback_application_name"],
  ["options", "options"],
  ["sslmode", "sslmode"],
  ["sslnegotiation", "sslnegotiation"],
  ["channel_binding", "channel_binding"],
  ["require_auth", "require_auth"],
];

function loginOf(options: ConnectionParameters): Settings {
  return Object.fromEntries(
    loginNames
      .map(([keyword, name]) => [name, options.get(keyword)] as const)
      .filter(([, value]) => value !== undefined),
  );
}

/** Makes what `pg` asks for a password when the server wants one. A missing file has none. */
function passwordReader(passfile: string, { host, address }: ServerAddress, readFile: ReadFile) {
  return (login: Login) => {
    const name = host || address || "localhost";
    return passwordIn(textOf(passfile, readFile), { ...login, host: name });
  };
}

function textOf(file: string, readFile: ReadFile): string {
  try {
    return readFile(file);
  } catch {
    return "";
  }
}

/** Timers count milliseconds in 31 bits. */
const maxTimeoutMs = 2 ** 31 - 1;

/** What is no time at all, or none that ends, is left to the service. */
function timesOf(options: ConnectionParameters): Settings {
  const msOf = (keyword: string) =>
    Math.min(Number(options.get(keyword) ?? 0) * 1000, maxTimeoutMs);
  const [timeout, idle] = [msOf("connect_timeout"), msOf("keepalives_idle")];
  return {
    ...(timeout > 0 ? { connectionTimeoutMillis: timeout } : {}),
    ...(idle > 0 ? { keepAliveInitialDelayMillis: idle } : {}),
    ...(Number(options.get("keepalives") ?? 1) === 0 ? { keepAlive: false } : {}),
  };
}

/** One server's place as the options have it; empty for what is left to `pg`. */
interface ServerAddress {
  readonly host: string;
  readonly address: string;
  readonly port: string;
}

/** One host name or port is for all, else each has its own. */
function addressesOf(options: ConnectionParameters): readonly ServerAddress[] {
  const listed = (keyword: string) => (options.get(keyword) ?? "").split(",");
  const [hosts, addresses, ports] = [listed("host"), listed("hostaddr"), listed("port")];
  const count = addresses[0] === "" ? hosts.length : addresses.length;
  for (const port of ports) checkPort(port);
  if (hosts.length !== 1 && hosts.length !== count) {
    throw new Error(`could not match ${hosts.length} host names to ${count} hostaddr values`);
  }
  if (ports.length !== 1 && ports.length !== count) {
    throw new Error(`could not match ${ports.length} port numbers to ${count} hosts`);
  }
  const pick = (values: readonly string[], at: number) => values[values.length === 1 ? 0 : at]!;
  return Array.from({ length: count }, (_, at) => ({
    host: pick(hosts, at),
    address: pick(addresses, at),
    port: pick(ports, at).trim(),
  }));
}

function addressOf({ host, address, port }: ServerAddress): Settings {
  const reached = address || host;
  return {
    ...(reached === "" ? {} : { host: reached }),
    ...(port === "" ? {} : { port: Number(port) }),
  };
}

/** A certificate is for the host's name, wherever that leads. Sockets are not encrypted. */
function encrypted(encryption: Encryption | undefined, { host, address }: ServerAddress): Settings {
  if (encryption === undefined) return {};
  if (encryption === false || (address || host).startsWith("/")) return { ssl: false };
  const names = address === "" || host === "" ? {} : { host, servername: host };
  return { ssl: { ...encryption, ...names } };
}
