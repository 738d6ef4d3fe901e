/** The query string as names and values, and back. @module */
import { getOrMake } from "../../../base/lib/group_by.ts";
import { encodeText, percentDecode } from "../../../base/http/percent.ts";

export interface QueryParam {
  readonly name: string;
  /** Null when there is no `=`. */
  readonly value: string | null;
}

export interface ValuedParam extends QueryParam {
  readonly value: string;
}

const ampersand = 0x26;
const semicolon = 0x3b;
const equals = 0x3d;

/** Splits a raw query string at `&` and `;`, and each part at its first `=`. */
export function splitQuery(raw: string): readonly QueryParam[] {
  const params: QueryParam[] = [];
  let start = 0;
  let equalsAt = -1;
  for (let at = 0; at <= raw.length; at++) {
    const code = at === raw.length ? ampersand : raw.charCodeAt(at);
    if (code === equals && equalsAt < 0) equalsAt = at;
    if (code !== ampersand && code !== semicolon) continue;
    const nameEnd = equalsAt < 0 ? at : equalsAt;
    const value = equalsAt < 0 ? null : decodeQueryText(raw.slice(equalsAt + 1, at));
    if (at > start) params.push({ name: decodeQueryText(raw.slice(start, nameEnd)), value });
    start = at + 1;
    equalsAt = -1;
  }
  return params;
}

/** A parameter of the root whose value is replaced. */
export interface ReplacedParam {
  readonly name: string;
  /** Null to remove the parameter. */
  readonly value: string | null;
}

/** Replaces parameters. The rest is unchanged, except characters that would end a link target or a header. */
export function withParams(raw: string, params: readonly ReplacedParam[]): string {
  const replaced = new Set(params.map(({ name }) => name));
  const rest = raw.split(/[&;]/).filter((piece) => {
    const equals = piece.indexOf("=");
    const name = decodeQueryText(equals < 0 ? piece : piece.slice(0, equals));
    // A parameter with a dot is a filter on a column that has the parameter's name.
    return piece !== "" && (!replaced.has(name) || decodeQueryText(piece).includes("."));
  });
  const added = params.flatMap(({ name, value }) => value === null ? [] : [`${name}=${value}`]);
  return [...rest, ...added].join("&").replace(
    /[^\x21\x23-\x3b\x3d\x3f-\x7e]+/g,
    (characters) => encodeURIComponent(characters.toWellFormed()),
  );
}

/** Decodes percent signs and plus signs. Bytes that are not UTF-8 become U+FFFD. */
export function decodeQueryText(raw: string): string {
  const spaced = raw.includes("+") ? raw.replaceAll("+", " ") : raw;
  return percentDecode(spaced, "replace");
}

/** Returns the canonical form: sorted by name, values of a name joined by commas, all but
 * unreserved characters encoded. */
export function canonicalQuery(params: readonly QueryParam[]): string {
  const groups = new Map<string, string[]>();
  for (const { name, value } of params) {
    getOrMake(groups, name, () => []).push(encodeText(value ?? ""));
  }
  return [...groups.keys()].sort()
    .map((name) => `${encodeText(name)}=${groups.get(name)!.join(",")}`).join("&");
}

/** Returns the form of {@linkcode canonicalQuery} in which repeated parameters are not joined. */
export function equivalentQuery(params: readonly QueryParam[]): string {
  const sorted = params.toSorted((one, other) =>
    one.name < other.name ? -1 : Number(one.name > other.name)
  );
  return sorted.map(({ name, value }) =>
    value === null ? encodeText(name) : `${encodeText(name)}=${encodeText(value)}`
  ).join("&");
}
