/** The `Vary` response header (RFC 9110, section 12.5.5). @module */
import type { HeaderList } from "../lib/header_list.ts";

/** The headers that most answers depend on. */
export const standardVary = ["Vary", "Accept, Prefer, Range"] as const;

/** Returns headers whose `Vary` names fields of the request. */
export function withVary(headers: HeaderList, fields: readonly string[]): HeaderList {
  const varied: (readonly [name: string, value: string])[] = [];
  let hasVary = false;
  for (const [name, value] of headers) {
    if (name.toLowerCase() !== "vary") {
      varied.push([name, value]);
      continue;
    }
    hasVary = true;
    const names = value.split(",").map((listed) => listed.trim().toLowerCase());
    const added = names.includes("*")
      ? []
      : fields.filter((field) => !names.includes(field.toLowerCase()));
    varied.push([name, [value, ...added].join(", ")]);
  }
  if (!hasVary) varied.push(["Vary", fields.join(", ")]);
  return varied;
}
