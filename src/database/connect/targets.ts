/** Reads the servers of a connection string, and the required session attributes. @module */
import {
  appliedParameters,
  type ConnectionEnvironment,
  type ConnectionParameters,
} from "./connection_parameters.ts";
import { checkPort, parseConnectionString } from "./connection_string.ts";
import { encryptionOf, type ReadFile, sslModeOf } from "./encryption.ts";

/** Options of `pg.Client`; `pg_client.ts` handles `sslmode` and `channel_binding`. */
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
}

export interface ConnectionSources {
  readonly environment?: ConnectionEnvironment;
  readonly readFile?: ReadFile;
}

/** Returns the servers of a connection string. Throws an `Error` that contains neither users nor passwords. */
export function connectionTargets(
  text: string,
  { environment = {}, readFile = rejectFile }: ConnectionSources = {},
): Targets {
  const options = appliedParameters(parseConnectionString(text), environment);
  const settings = { ...timesOf(options), ...loginOf(options), sslmode: sslModeOf(options) };
  const encryption = encryptionOf(options, readFile);
  // A connection to a Unix socket is not encrypted.
  const servers = addressesOf(options).map((address) => ({
    ...settings,
    ...address,
    ssl: address.host?.startsWith("/") ? false : encryption,
  }));
  return { servers, session: (options.get("target_session_attrs") ?? "any") as SessionTarget };
}

function rejectFile(): never {
  throw new Error("cannot read files in this runtime");
}

/** Parameters that have the same name in `pg`, and the database. */
const login =
  /^(?:user|password|dbname|(?:fallback_)?application_name|options|sslnegotiation|channel_binding)$/;

function loginOf(options: ConnectionParameters): Settings {
  return Object.fromEntries(
    [...options].filter(([keyword]) => login.test(keyword))
      .map(([keyword, value]) => [keyword === "dbname" ? "database" : keyword, value]),
  );
}

/** Maximum timeout. Timers count milliseconds in 31 bits, so a longer timeout would end at once. */
const maxTimeoutMs = 2 ** 31 - 1;

/** Returns the timeouts. If a timeout is not positive, it is left out, and the service's default applies. */
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

/** Returns the address of each server. An empty field is left out, so that `pg` uses its default. A
 * single port applies to all. */
function addressesOf(
  options: ConnectionParameters,
): readonly { readonly host?: string; readonly port?: number }[] {
  const listed = (keyword: string) => (options.get(keyword) ?? "").split(",");
  const [hosts, ports] = [listed("host"), listed("port")];
  for (const port of ports) checkPort(port);
  if (ports.length !== 1 && ports.length !== hosts.length) {
    throw new Error(`could not match ${ports.length} port numbers to ${hosts.length} hosts`);
  }
  return hosts.map((host, at) => {
    const port = ports[ports.length === 1 ? 0 : at]!.trim();
    return {
      ...(host === "" ? {} : { host }),
      ...(port === "" ? {} : { port: Number(port) }),
    };
  });
}
