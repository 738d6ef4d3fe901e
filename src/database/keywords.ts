/**
 * Connection strings of the form `host=… port=… user=…`.
 *
 * Source: PostgreSQL documentation, "Keyword/Value Connection Strings".
 *
 * @module
 */

const names: ReadonlyMap<string, string> = new Map([
  ["host", "host"],
  ["hostaddr", "host"],
  ["port", "port"],
  ["user", "user"],
  ["password", "password"],
  ["dbname", "database"],
  ["application_name", "application_name"],
  ["options", "options"],
  ["target_session_attrs", "target_session_attrs"],
]);

const pair = /\s*([A-Za-z_]\w*)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s\\']|\\.)*))\s*/y;

/**
 * Reads keywords and values; keywords that mean nothing to a connection here are passed over.
 * Raises an `Error` that says where reading stopped, without repeating values.
 */
export function parseKeywords(text: string): Readonly<Record<string, unknown>> {
  const settings: Record<string, unknown> = {};
  pair.lastIndex = 0;
  for (let at = 0; at < text.length; at = pair.lastIndex) {
    pair.lastIndex = at;
    const found = pair.exec(text);
    if (found === null || found[0] === "") {
      throw new Error(
        `db-uri is neither a URI nor a list of keyword=value pairs (at character ${at + 1})`,
      );
    }
    const value = (found[2] ?? found[3] ?? "").replace(/\\(.)/g, "$1");
    assign(settings, found[1]!.toLowerCase(), value);
  }
  return settings;
}

function assign(settings: Record<string, unknown>, keyword: string, value: string): void {
  if (keyword === "sslmode") settings["ssl"] = sslByMode.get(value) ?? false;
  const name = names.get(keyword);
  if (name !== undefined) settings[name] = value;
}

const sslByMode: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["require", { rejectUnauthorized: false }],
  ["verify-ca", true],
  ["verify-full", true],
]);
