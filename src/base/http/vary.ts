/** The `Vary` response header (RFC 9110, section 12.5.5). @module */
import type { HeaderList } from "../lib/header_list.ts";

/** The headers that most answers depend on. */
export const standardVary = ["Vary", "Accept, Prefer, Range"] as const;

/** Returns headers whose `Vary` also contains `fields`, which are names of request headers. */
export function withVary(headers: HeaderList, fields: readonly string[]): HeaderList {
  return varyBy(fields)(headers);
}

/** Returns a function that adds `fields` to the `Vary` of a response. The function is fast if most
 * responses have the same `Vary`. */
export function varyBy(fields: readonly string[]): (headers: HeaderList) => HeaderList {
  const added = ["Vary", fields.join(", ")] as const;
  let [last, lastExtended] = ["", added[1]];
  return (headers) => {
    const index = headers.findIndex(([name]) => name.length === 4 && name.toLowerCase() === "vary");
    if (index < 0) return [...headers, added];
    const [name, value] = headers[index]!;
    if (value !== last) [last, lastExtended] = [value, extended(value, fields)];
    return headers.with(index, [name, lastExtended]);
  };
}

function extended(value: string, fields: readonly string[]): string {
  const names = value.split(",").map((listed) => listed.trim().toLowerCase());
  if (names.includes("*")) return value;
  return [value, ...fields.filter((field) => !names.includes(field.toLowerCase()))].join(", ");
}
