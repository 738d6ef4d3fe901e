/**
 * Measures how deep brackets nest in a value, for an engine that cannot guard its own stack.
 *
 * @module
 */
import type { ParamValue } from "../../sql/fragment.ts";

const codes = { quote: 0x22, backslash: 0x5c, open: [0x5b, 0x7b], close: [0x5d, 0x7d] } as const;

/**
 * Whether brackets and braces outside of double quotes nest deeper than `limit` anywhere in a value.
 * For other text than JSON the depth may be overestimated. For JSON it is never underestimated.
 */
export function nestsDeeper(value: ParamValue, limit: number): boolean {
  if (value === null) return false;
  if (typeof value !== "string" && !(value instanceof Uint8Array)) return false;
  if (value.length <= limit) return false;
  const at = typeof value === "string"
    ? (index: number) => value.charCodeAt(index)
    : (index: number) => value[index]!;
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < value.length; index++) {
    const code = at(index);
    if (code === codes.backslash && quoted) index++;
    else if (code === codes.quote) quoted = !quoted;
    else if (quoted) continue;
    else if (code === codes.open[0] || code === codes.open[1]) {
      if (++depth > limit) return true;
    } else if (code === codes.close[0] || code === codes.close[1]) depth--;
  }
  return false;
}
