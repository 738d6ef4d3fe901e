/** The codec of response headers: a JSON object of names and values. @module */
import { parseJsonObject } from "../../base/lib/json_object.ts";
import { isHeaderName } from "../../base/errors/http_text.ts";
import { accept, type Codec, quote, reject } from "./codecs.ts";

/** Values by the headers' names. */
export type HeaderValues = Readonly<Record<string, string>>;

const format = {
  expected: 'a JSON object of header names and values, such as {"X-Frame-Options": "DENY"}',
};

/** Headers that the server sets by itself. */
const ownHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "server",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

export const headerValues: Codec<HeaderValues> = {
  type: "headers",
  read(raw) {
    const values = typeof raw === "string" ? parseJsonObject(raw) : null;
    if (values === null) return reject(raw, format);
    const problem = problemOf(Object.entries(values));
    return problem === null ? accept(values as HeaderValues) : reject(raw, format, problem);
  },
  print: (values) => quote(JSON.stringify(values)),
};

/** Returns the problem of the first invalid header; null if all are valid. */
function problemOf(headers: readonly (readonly [name: string, value: unknown])[]): string | null {
  const names = new Set<string>();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    if (!isHeaderName(name)) return `${JSON.stringify(name)} is not a header name`;
    if (ownHeaders.has(key)) return `the server sets ${name} by itself`;
    if (names.has(key)) return `${name} occurs twice`;
    names.add(key);
    if (typeof value !== "string") return `the value of ${name} is not a text`;
    if (!isHeaderValue(value)) {
      return `the value of ${name} has a character that no header may have`;
    }
  }
  return null;
}

/** Returns whether a value is valid: printable Latin-1 and tabs, without CR, LF or NUL (RFC 9110,
 * section 5.5). */
function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}
