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
 * Parses keywords and values. Throws an `Error` with the unknown keyword, or the position of the syntax
 * error; it contains no values.
 */
export function parseKeywords(text: string): ConnectionParameters {
  const parameters = new Map<string, string>();
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
    parameters.set(keyword, (found[2] ?? found[3] ?? "").replace(/\\(.)/gs, "$1"));
  }
  return parameters;
}
