/** The two forms of a connection string: URIs, and keywords with values. @module */
import { checkParameters, type ConnectionParameters, isKeyword } from "./connection_parameters.ts";

export function isConnectionUri(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/** Parses a connection string. Throws an `Error` that names a bad parameter and contains neither
 * users nor passwords. */
export function parseConnectionString(text: string): ConnectionParameters {
  const parameters = isConnectionUri(text) ? parseUri(text) : parseKeywords(text);
  checkParameters(parameters);
  return parameters;
}

const uri = /^postgres(?:ql)?:\/\/(?:([^/]*)@)?([^/?]*)(\/[^?]*)?(?:\?(.*))?$/s;

/** Parses a URI. Parameters of its query override the parts before it, as in libpq. */
function parseUri(text: string): ConnectionParameters {
  const [, login = "", hosts = "", path = "", query = ""] = uri.exec(text) ?? [];
  const [user = "", password = ""] = login.split(/:(.*)/s, 2).map(decoded);
  const listed = hosts.split(",").map(splitHost);
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

/** Throws an `Error` for an invalid port. The error omits the text: if a password contains a slash,
 * a part of the password may be in the place of the port. */
export function checkPort(port: string): void {
  const number = /^\d{1,5}$/.test(port.trim()) ? Number(port) : 0;
  if (port.trim() === "" || (number >= 1 && number <= 65535)) return;
  throw new Error("the connection string has an invalid port number");
}

/** Splits a host and its port: `localhost:5432`, `[::1]:5432`, `%2Frun%2Fpostgresql`. */
function splitHost(text: string): readonly [host: string, port: string] {
  const [, bracketed, plain = "", port = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/s.exec(text) ??
    ["", undefined, text];
  return [bracketed ?? decoded(plain), port];
}

function readParameter(pair: string, query: string): readonly [keyword: string, value: string] {
  const [name = "", value] = pair.split(/=(.*)/s, 2).map(decoded);
  // `ssl=true` means `sslmode=require`, because drivers of other languages have this form.
  if (name === "ssl" && value === "true") return ["sslmode", "require"];
  if (value !== undefined && isKeyword(name)) return [name, value];
  throw new Error(
    query.includes("@")
      // The error omits the name, which may be the rest of a password after a question mark.
      ? "the connection string has an unknown parameter, or a special character that is not " +
        "percent-encoded"
      : value === undefined
      ? `missing "=" in URI query parameter: ${JSON.stringify(name)}`
      : `invalid URI query parameter: ${JSON.stringify(name)}`,
  );
}

/** Decodes percent encoding. Text that is not valid encoding is unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const pair = /\s*([A-Za-z_]\w*)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s\\']|\\.)*))\s*/y;

/** Parses keywords with values. Throws an `Error` with the unknown keyword, or the error's position. */
function parseKeywords(text: string): ConnectionParameters {
  const parameters = new Map<string, string>();
  pair.lastIndex = 0;
  for (let at = 0; at < text.length; at = pair.lastIndex) {
    pair.lastIndex = at;
    const match = pair.exec(text);
    if (match === null || match[0] === "") {
      throw new Error(
        `db-uri is neither a URI nor a list of keyword=value pairs (at character ${at + 1})`,
      );
    }
    const keyword = match[1]!.toLowerCase();
    if (!isKeyword(keyword)) throw new Error(`invalid connection option "${keyword}"`);
    parameters.set(keyword, (match[2] ?? match[3] ?? "").replace(/\\(.)/gs, "$1"));
  }
  return parameters;
}
