/** Complete responses as text, and their differences. @module */
import type { CaseRequest } from "../policy_test/case_file.ts";

/** Returns the response as text: status, headers, an empty line, body, entity tag. */
export async function wholeAnswer({ method }: CaseRequest, response: Response): Promise<string> {
  const { status, headers } = response;
  // After a write, the entity tag contains the number of the transaction, so it is not compared.
  const etag = /^(?:GET|HEAD)$/.test(method) ? headers.get("etag") ?? "" : "";
  const lines = Array.from(headers, ([name, value]) => (
    name === "etag" || name === "content-length" && value !== "0" ? "" : `${name}: ${value}\n`
  ));
  // A body that is not UTF-8 is read as Latin-1, which keeps the values of the bytes.
  const bytes = new Uint8Array(await response.arrayBuffer());
  const [text = "", raw] = ["utf-8", "latin1"].map((label) =>
    new TextDecoder(label, { ignoreBOM: true }).decode(bytes)
  );
  return `status ${status}\n${lines.join("")}\n${text.includes("\uFFFD") ? raw : text}\n${etag}`;
}

/** Returns the differing line of the head, or the text around the first differing byte of the body. */
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
