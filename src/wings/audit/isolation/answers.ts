/** Whole answers as text, and their differences. @module */
import { isJsonObject } from "../../../base/lib/json_object.ts";
import type { CaseRequest } from "../policy_test/case_file.ts";
import { jsonOf } from "../policy_test/expectation.ts";

/** Returns the answer: status, headers, an empty line, body, entity tag. */
export async function answerText({ method }: CaseRequest, response: Response): Promise<string> {
  const { status, headers } = response;
  // The tag of a row that a request wrote has the number of its transaction. The body shows its length.
  const etag = /^(?:GET|HEAD)$/.test(method) ? headers.get("etag") ?? "" : "";
  const lines = Array.from(headers, ([name, value]) => (
    name === "etag" || name === "content-length" && value !== "0" ? "" : `${name}: ${value}\n`
  ));
  const bytes = new Uint8Array(await response.arrayBuffer());
  const [text, raw] = ["utf-8", "latin1"].map((label) =>
    new TextDecoder(label, { ignoreBOM: true }).decode(bytes)
  );
  // Bytes that are not UTF-8 keep their values.
  return `status ${status}\n${lines.join("")}\n${text!.includes("\uFFFD") ? raw : text}\n${etag}`;
}

/** Whether two answers differ. Without `order`, the planner chooses the order of rows by the size of tables. */
export function answersDiffer({ target }: CaseRequest, one: string, other: string): boolean {
  if (one === other || /[?&]order=/.test(target)) return one !== other;
  const [first, second] = [one, other].map((text) => {
    const [head, body = ""] = text.split(/\n\n(.*)\n/s);
    return head + (JSON.stringify(unordered(jsonOf(body))) ?? text);
  });
  return first !== second;
}

/** Returns a JSON value whose arrays are sorted. */
function unordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => JSON.stringify(unordered(each))).toSorted();
  if (!isJsonObject(value)) return value;
  return Object.entries(value).map(([name, each]) => [name, unordered(each)]);
}

/** Returns the line of the head that differs, or the text at the first byte of the body that differs. */
export function answerDifference(before: string, after: string): string {
  let at = 0;
  while (before[at] === after[at]) at++;
  const body = before.indexOf("\n\n") + 2;
  const start = Math.max(before.lastIndexOf("\n", at - 1) + 1, at < body ? 0 : at - 20);
  const [old, other] = [before, after].map((text) =>
    text.slice(start).split("\n", 1)[0]!.slice(0, 60)
  );
  const byte = new TextEncoder().encode(before.slice(body, at)).length;
  return `${at < body ? "" : `byte ${byte}: `}${old} became ${other}`;
}
