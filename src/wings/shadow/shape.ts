/** Shapes of reads, and texts for reports, which contain no secrets. @module */
import { redact } from "../../base/lib/redact.ts";
import { operators } from "../../api/request/url/operators.ts";
import { percentDecode } from "../../base/http/percent.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";

/** A read, from its request line. */
export interface ReadLine {
  readonly method: string;
  /** Path and query string. */
  readonly target: string;
}

/** Maximum characters of a text in a report. */
const maxTextChars = 160;

/** Returns the shape of a read: the path, and the names of parameters and operators without values. */
export function shapeOf({ method, target }: ReadLine): string {
  const [path = "", ...query] = target.split("?");
  const names = splitQuery(query.join("?")).map(({ name, value }) =>
    name + operatorOf(value ?? "")
  );
  const params = [...new Set(names)].sort().join("&");
  return shownText(`${method} ${path}${params && `?${params}`}`);
}

function operatorOf(value: string): string {
  const [, not = "", word = ""] = /^(not\.)?([a-z]+)(?:\([^)]*\))?\./.exec(value) ?? [];
  return operators.has(word) ? `=${not}${word}` : "";
}

/** Returns a target, or a text that may contain a target, for a report: without secrets. */
export function shownTarget(text: string): string {
  return shownText(text.replace(
    /([?&;][^=&;]*=)[^&;]*/g,
    (param, head: string) => isSecretName(percentDecode(param, "replace")) ? `${head}***` : param,
  ));
}

/** Returns a value of a body for a report, without secrets. `place` is the place of the value. */
export function shownValue(value: unknown, place: string): string {
  if (value === undefined) return "nothing";
  const hide = (name: string, member: unknown) => isSecretName(name) ? "***" : member;
  return isSecretName(place) ? "***" : shownTarget(JSON.stringify(value, hide));
}

/** Returns whether values of this name may be secrets. */
export function isSecretName(name: string): boolean {
  return /token|secret|pass|pwd|jwt|api_?key|private|credential|authorization|cookie|session/i
    .test(name);
}

/** Returns one line without tokens, and without characters that control a terminal. */
export function shownText(text: string): string {
  const line = redact(text).replace(/\p{Cf}/gu, " ");
  return line.length > maxTextChars ? `${line.slice(0, maxTextChars)}…` : line;
}
