/** Reads JSON without loss of digits. @module */

/** Numbers of at most 15 digits are exact as doubles. */
const longNumber = /[0-9.]{16}/;

/**
 * Parses JSON. A number that a double cannot hold, such as a large `bigint`, becomes a text with its
 * digits: a changed key would name another row. Throws `SyntaxError`.
 *
 * Runtimes without the source text of numbers round them (ECMAScript, `JSON.parse` source text access).
 */
export function parseExactly(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text);
  return JSON.parse(text, exactNumber);
}

function exactNumber(
  this: unknown,
  _key: string,
  value: unknown,
  context?: { readonly source?: string },
): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined || String(value) === source) return value;
  return significantDigits(source) > 15 ? source : value;
}

function significantDigits(source: string): number {
  return source.replace(/[eE].*$/, "").replace(/[^0-9]/g, "").replace(/^0+/, "").length;
}
