/** Writes array literals of PostgreSQL. Each element is quoted. @module */

export function arrayLiteral(elements: readonly string[]): string {
  return `{${elements.map((element) => `"${element.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
