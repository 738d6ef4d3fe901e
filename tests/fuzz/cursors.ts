/** Properties of the texts of cursors. @module */
import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { maxCursorKeys, readCursor, writeCursor } from "../../src/api/request/url/cursor_text.ts";
import { base64Url } from "../unit/state/auth/tokens.ts";
import { altered, attempt, type FuzzTarget, fuzzTarget, strictUtf8, texts } from "./fuzz_target.ts";

const text = fc.string({ unit: "binary", maxLength: 12 })
  .map((each) => each.replaceAll("\0", "").toWellFormed());
const keys = fc.array(fc.option(text), { maxLength: maxCursorKeys });
const position = fc.record({ fingerprint: text, keys }, { noNullPrototype: true });

const marks = [...'[]{},:"\\ 12', '""', "null", "\\u0000", "\\ud800", "[1,", ',""'.repeat(3)];
const json = texts(['[1,"f",["1",null]]', `[1,"4f1d9c07",[${Array(16).fill('"é"')}]]`], marks);

/** Reads a cursor by other means; spellings of one JSON are alike. */
function expected(cursor: string): unknown {
  const isText = (value: unknown) =>
    typeof value === "string" && value.isWellFormed() && !value.includes("\0");
  const isKey = (key: unknown) => key === null || isText(key);
  if (/[\s=]/.test(cursor)) return undefined;
  const decode = () => Uint8Array.fromBase64(cursor, { alphabet: "base64url" });
  const value: unknown = attempt(() => JSON.parse(strictUtf8.decode(decode())))?.value;
  if (!Array.isArray(value) || value.length !== 3 || !Array.isArray(value[2])) return undefined;
  const [version, fingerprint, keys]: unknown[] = value;
  const isPosition = version === 1 && isText(fingerprint) && keys.length <= maxCursorKeys &&
    keys.every(isKey);
  return isPosition ? { fingerprint, keys } : undefined;
}

export const cursorTargets: readonly FuzzTarget[] = [
  fuzzTarget({
    name: "cursors are read as they were written",
    runs: 16_000,
    values: position,
    check: (each) => deepStrictEqual(readCursor(writeCursor(each)), each),
  }),
  fuzzTarget({
    name: "altered cursors say what their JSON says, or are refused",
    runs: 20_000,
    values: fc.oneof(
      altered(position.map(writeCursor), [..."AQgw0yf_-+=. \n"]),
      json.map(base64Url),
    ),
    check: (text) => deepStrictEqual(readCursor(text), expected(text)),
  }),
];
