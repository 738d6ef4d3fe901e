/**
 * Which servers a connection string names, in which order they are tried, and what a server must be
 * to be taken.
 *
 * Source: PostgreSQL documentation, "Connection Strings", "Specifying Multiple Hosts" and
 * "target_session_attrs".
 *
 * @module
 */
import { parse as parseConnectionUri } from "pg-connection-string";
import { parseKeywords } from "./keywords.ts";

/** What `pg` takes. */
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
  /** One record per host, in the order in which they are to be tried; at least one. */
  readonly servers: readonly Settings[];
  readonly session: SessionTarget;
}

/** Variables that say what a connection string leaves open. */
export type ConnectionEnvironment = Readonly<Record<string, string | undefined>>;

const sessionTargets: ReadonlySet<string> = new Set<SessionTarget>([
  "any",
  "read-write",
  "read-only",
  "primary",
  "standby",
  "prefer-standby",
]);

/** Whether a connection string is a URI, as opposed to keywords and values. */
export function isConnectionUri(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/**
 * Reads a connection string. Raises an `Error` that says what is wrong with it, without repeating
 * users or passwords.
 */
export function connectionTargets(text: string, environment: ConnectionEnvironment = {}): Targets {
  const { hosts, ports, session, settings } = isConnectionUri(text)
    ? readUri(text)
    : readKeywords(text);
  const wanted = session || environment["PGTARGETSESSIONATTRS"] || "any";
  if (!sessionTargets.has(wanted)) {
    throw new Error(`invalid target_session_attrs value: "${wanted}"`);
  }
  const places = pair(hosts || environment["PGHOST"] || "", ports || environment["PGPORT"] || "");
  return {
    servers: places.map((place) => ({ ...settings, ...place })),
    session: wanted as SessionTarget,
  };
}

/** A connection string in parts; hosts and ports are lists with commas. */
interface Parts {
  readonly hosts: string;
  readonly ports: string;
  readonly session: string;
  readonly settings: Settings;
}

const uri = /^(postgres(?:ql)?:\/\/)(?:([^/]*)@)?([^/?]*)(\/[^?]*)?(?:\?(.*))?$/s;

const ownParameters = ["host", "hostaddr", "port", "target_session_attrs"] as const;

function readUri(text: string): Parts {
  const [, scheme = "", user = "", places = "", database = "", query = ""] = uri.exec(text) ?? [];
  const parameters = new URLSearchParams(query);
  const [host, address, port, session] = ownParameters.map((name) => parameters.get(name) ?? "");
  const kept = query.split("&").filter((pair) => {
    const name = pair.split("=", 1)[0]!;
    return name !== "" && !(ownParameters as readonly string[]).includes(name);
  });
  const login = user === "" ? "" : `${user.split(/:(.*)/s, 2).map(recoded).join(":")}@`;
  const plain = `${scheme}${login}${database || "/"}${kept.length > 0 ? `?${kept.join("&")}` : ""}`;
  const listed = places.split(",").map(splitPlace);
  return {
    hosts: address || host || listed.map(([name]) => name).join(","),
    ports: port ||
      (listed.some(([, number]) => number !== "")
        ? listed.map(([, number]) => number).join(",")
        : ""),
    session: session ?? "",
    settings: withEncryption(defined(parseConnectionUri(plain, { useLibpqCompat: true }))),
  };
}

/** `localhost:5432`, `[::1]:5432`, `%2Frun%2Fpostgresql` */
function splitPlace(place: string): readonly [host: string, port: string] {
  const [, bracketed, plain = "", port = ""] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/s.exec(place) ??
      ["", undefined, place];
  return [bracketed ?? decoded(plain), port];
}

function recoded(text: string): string {
  return encodeURIComponent(decoded(text));
}

/** What is no percent encoding is meant as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readKeywords(text: string): Parts {
  const { host, port, target_session_attrs: session, ...settings } = parseKeywords(text);
  const given = (value: unknown) => typeof value === "string" ? value : "";
  return { hosts: given(host), ports: given(port), session: given(session), settings };
}

/** Encryption that is only allowed is not asked for; see `connect.ts` for `prefer`. */
function withEncryption(settings: Settings): Settings {
  return settings["sslmode"] === "allow" ? { ...settings, ssl: false } : settings;
}

/** One port is for all hosts, else each has its own; what is left open is left to `pg`. */
function pair(hosts: string, ports: string): readonly Settings[] {
  const [names, numbers] = [hosts.split(","), ports.split(",")];
  if (numbers.length !== 1 && numbers.length !== names.length) {
    throw new Error(
      `could not match ${numbers.length} port numbers to ${names.length} hosts`,
    );
  }
  return names.map((host, at) => {
    const port = numbers[numbers.length === 1 ? 0 : at]!.trim();
    return {
      ...(host === "" ? {} : { host }),
      ...(port === "" ? {} : { port: portNumber(port) }),
    };
  });
}

function portNumber(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  // Not repeated: behind a slash that was not encoded it may be a password.
  if (port < 1 || port > 65535) throw new Error("the connection string has an invalid port number");
  return port;
}

function defined(settings: object): Settings {
  return Object.fromEntries(
    Object.entries(settings).filter(([, value]) =>
      value !== null && value !== undefined && value !== ""
    ),
  );
}
