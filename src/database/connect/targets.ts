/** Reads the servers of a connection string, their order, and the required session attributes. @module */
import {
  appliedParameters,
  type ConnectionEnvironment,
  type ConnectionParameters,
} from "./connection_parameters.ts";
import { checkPort, parseConnectionString } from "./connection_string.ts";
import { type Encryption, encryptionOf, type ReadFile, sslModeOf } from "./encryption.ts";

/** Options of `pg.Client`; `pg_client.ts` handles `sslmode`, `channel_binding` and `require_auth`. */
export type Settings = Readonly<Record<string, unknown>>;

export type SessionTarget =
  | "any"
  | "read-write"
  | "read-only"
  | "primary"
  | "standby"
  | "prefer-standby";

export interface Targets {
  /** One record per host in the order of the connection string; at least one. */
  readonly servers: readonly Settings[];
  readonly session: SessionTarget;
  /** Order of the attempts: as listed, or shuffled for each connection. */
  readonly order: "named" | "random";
}

export interface ConnectionSources {
  readonly environment?: ConnectionEnvironment;
  readonly readFile?: ReadFile;
}

/** Throws an `Error` with the problem, which contains neither users nor passwords. */
export function connectionTargets(
  text: string,
  { environment = {}, readFile = rejectFile }: ConnectionSources = {},
): Targets {
  const options = appliedParameters(parseConnectionString(text), environment);
  const settings = { ...timesOf(options), ...loginOf(options), sslmode: sslModeOf(options) };
  const encryption = encryptionOf(options, readFile);
  const passfile = options.get("passfile");
  const servers = addressesOf(options).map((place) => ({
    ...(passfile === undefined ? {} : { password: passwordReader(passfile, place, readFile) }),
    ...settings,
    ...addressOf(place),
    ...encryptionFor(encryption, place),
  }));
  return {
    servers,
    session: (options.get("target_session_attrs") ?? "any") as SessionTarget,
    order: options.get("load_balance_hosts") === "random" ? "random" : "named",
  };
}

function rejectFile(): never {
  throw new Error("cannot read files in this runtime");
}

const loginNames: readonly (readonly [keyword: string, name: string])[] = [
  ["user", "user"],
  ["password", "password"],
  ["dbname", "database"],
  ["application_name", "application_name"],
  ["fallback_application_name", "fallback_application_name"],
  ["options", "options"],
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

/** Returns the function by which `pg` gets a password on demand. A missing file counts as empty. */
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

/** Timers count milliseconds in 31 bits; a longer time would end at once. */
const maxTimeoutMs = 2 ** 31 - 1;

/** A time that is not positive is left out: the service's default applies. */
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

/** The address of one server; an empty field leaves the default to `pg`. */
interface ServerAddress {
  readonly host: string;
  readonly address: string;
  readonly port: string;
}

/** A single host name or port applies to all servers. */
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

/** The certificate is verified for the host name, even with `hostaddr`. Unix sockets stay unencrypted. */
function encryptionFor(
  encryption: Encryption,
  { host, address }: ServerAddress,
): Settings {
  if (encryption === false || (address || host).startsWith("/")) return { ssl: false };
  const names = address === "" || host === "" ? {} : { host, servername: host };
  return { ssl: { ...encryption, ...names } };
}

/** The login whose password is looked up. */
interface Login {
  readonly host: string;
  readonly port: number | string;
  readonly database: string;
  readonly user: string;
}

/** Returns the password of the first matching line; undefined if no line matches. */
function passwordIn(text: string, login: Login): string | undefined {
  const names = [login.host, String(login.port), login.database, login.user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    const fields = row.exec(line)?.slice(1);
    if (fields === undefined) continue;
    const fits = names.every((name, at) => fields[at] === "*" || plain(fields[at]!) === name);
    if (fits) return plain(fields[names.length]!);
  }
  return undefined;
}

/** `host:port:database:user:password`; a backslash escapes a colon or a backslash. */
const row = new RegExp(`^${String.raw`((?:[^\\:]|\\.)*):`.repeat(4)}(.*)$`);

function plain(field: string): string {
  return field.replace(/\\(.)/g, "$1");
}
