/**
 * Connection strings of the form `host=… port=… user=…`.
 *
 * Source: PostgreSQL documentation, "Keyword/Value Connection Strings".
 *
 * @module
 */
import { type ConnectionParameters, isKeyword } from "./connection_parameters.ts";

const pair = /\s*([A-Za-z_]\w*)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s\\']|\\.)*))\s*/y;

/**
 * Reads keywords and values. Throws an `Error` that names an unknown keyword, or says where reading
 * stopped; it repeats no value.
 */
export function parseKeywords(text: string): ConnectionParameters {
  const options = new Map<string, string>();
  pair.lastIndex = 0;
  for (let at = 0; at < text.length; at = pair.lastIndex) {
    pair.lastIndex = at;
    const found = pair.exec(text);
    if (found === null || found[0] === "") {
      throw new Error(
        `db-uri is neither a URI nor a list of keyword=value pairs (at character ${at + 1})`,
      );
    }
    const keyword = found[1]!.toLowerCase();
    if (!isKeyword(keyword)) throw new Error(`invalid connection option "${keyword}"`);
    options.set(keyword, (found[2] ?? found[3] ?? "").replace(/\\(.)/gs, "$1"));
  }
  return options;
}
