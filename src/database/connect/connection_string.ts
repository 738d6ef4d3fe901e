/**
 * The two forms of a connection string: URIs, and keywords with values.
 *
 * Source: PostgreSQL documentation, "Connection Strings".
 *
 * @module
 */
import { checkParameters, type ConnectionParameters, isKeyword } from "./connection_parameters.ts";
import { parseKeywords } from "./keywords.ts";

/** Returns whether a connection string is a URI, as opposed to keywords and values. */
export function isConnectionUri(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/**
 * Reads a connection string. Throws an `Error` that names an option that does not exist or cannot be
 * used, and repeats neither users nor passwords.
 */
export function parseConnectionString(text: string): ConnectionParameters {
  const options = isConnectionUri(text) ? parseUri(text) : parseKeywords(text);
  checkParameters(options);
  return options;
}

const uri = /^postgres(?:ql)?:\/\/(?:([^/]*)@)?([^/?]*)(\/[^?]*)?(?:\?(.*))?$/s;

/** Parameters of the query part take the place of what stands before it, as libpq has it. */
function parseUri(text: string): ConnectionParameters {
  const [, login = "", places = "", path = "", query = ""] = uri.exec(text) ?? [];
  const [user = "", password = ""] = login.split(/:(.*)/s, 2).map(decoded);
  const listed = places.split(",").map(splitPlace);
  const ports = listed.map(([, port]) => port);
  for (const port of ports) checkPort(port);
  return new Map([
    ["user", user],
    ["password", password],
    ["host", listed.map(([host]) => host).join(",")],
    ["port", ports.some((port) => port !== "") ? ports.join(",") : ""],
    ["dbname", decoded(path.slice(1))],
    ...query.split("&").filter((pair) => pair !== "").map((pair) => readParameter(pair, query)),
  ]);
}

/** Throws an `Error` for what is no port. It is not repeated: it may be a password with a slash. */
export function checkPort(port: string): void {
  const number = /^\d{1,5}$/.test(port.trim()) ? Number(port) : 0;
  if (port.trim() === "" || (number >= 1 && number <= 65535)) return;
  throw new Error("the connection string has an invalid port number");
}

/** `localhost:5432`, `[::1]:5432`, `%2Frun%2Fpostgresql` */
function splitPlace(place: string): readonly [host: string, port: string] {
  const [, bracketed, plain = "", port = ""] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/s.exec(place) ??
      ["", undefined, place];
  return [bracketed ?? decoded(plain), port];
}

function readParameter(pair: string, query: string): readonly [keyword: string, value: string] {
  const [name = "", value] = pair.split(/=(.*)/s, 2).map(decoded);
  // As drivers of other languages write it.
  if (name === "ssl" && value === "true") return ["sslmode", "require"];
  if (value !== undefined && isKeyword(name)) return [name, value];
  throw new Error(
    query.includes("@")
      // What stands before an @ may be the rest of a password with a question mark.
      ? "the connection string has an unknown parameter, or a special character that is not " +
        "percent-encoded"
      : value === undefined
      ? `missing "=" in URI query parameter: ${JSON.stringify(name)}`
      : `invalid URI query parameter: ${JSON.stringify(name)}`,
  );
}

/** What is no percent encoding is meant as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
