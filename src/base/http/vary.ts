/** The `Vary` response header (RFC 9110, section 12.5.5). @module */
import type { HeaderList } from "../lib/header_list.ts";

/** Returns headers whose `Vary` names a field of the request. */
export function withVary(headers: HeaderList, field: string): HeaderList {
  const varied: (readonly [name: string, value: string])[] = [];
  let hasVary = false;
  for (const [name, value] of headers) {
    if (name.toLowerCase() !== "vary") {
      varied.push([name, value]);
      continue;
    }
    hasVary = true;
    const names = value.split(",").map((listed) => listed.trim().toLowerCase());
    const isVaried = names.includes("*") || names.includes(field.toLowerCase());
    varied.push([name, isVaried ? value : `${value}, ${field}`]);
  }
  if (!hasVary) varied.push(["Vary", field]);
  return varied;
}
