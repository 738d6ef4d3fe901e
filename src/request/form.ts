/**
 * Form bodies (`application/x-www-form-urlencoded`).
 *
 * @module
 */
import { percentDecode } from "./percent.ts";

/** Names and values in the order sent. */
export type FormFields = readonly (readonly [name: string, value: string])[];

/** Reads the fields; null when one is no UTF-8 or holds NUL. A field without `=` is empty. */
export function readForm(text: string): FormFields | null {
  const fields: [string, string][] = [];
  for (const piece of text.split("&")) {
    if (piece === "") continue;
    const at = piece.indexOf("=");
    const name = decode(at < 0 ? piece : piece.slice(0, at));
    const value = at < 0 ? "" : decode(piece.slice(at + 1));
    if (name === null || value === null) return null;
    fields.push([name, value]);
  }
  return fields;
}

function decode(raw: string): string | null {
  const decoded = percentDecode(raw.replaceAll("+", " "), "reject");
  return decoded?.includes("\0") ? null : decoded;
}

/** Writes fields as the text of one JSON object of strings; of a name the last value counts. */
export function formToJson(fields: FormFields): string {
  const members = [...new Map(fields)]
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{${members.join(",")}}`;
}
