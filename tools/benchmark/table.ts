/** Prints tables and numbers for people. @module */

/** A Markdown table; all columns but the first are numbers, aligned to the right. */
export function markdownTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const widths = heads.map((head, column) =>
    Math.max(3, head.length, ...rows.map((row) => row[column]!.length))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => aligned(cell, widths[column]!, column)).join(" | ")} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`
  );
  return [line(heads), `| ${rule.join(" | ")} |`, ...rows.map(line)].join("\n");
}

function aligned(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

/** Formats a number with three significant digits: `12,300`, `12.3`, `0.123`; null as `–`. */
export function shown(number: number | null): string {
  if (number === null || Number.isNaN(number)) return "–";
  const digits = number === 0 ? 0 : Math.floor(Math.log10(Math.abs(number)));
  return number.toLocaleString("en-US", {
    minimumFractionDigits: 0,
    maximumFractionDigits: Math.min(3, Math.max(0, 2 - digits)),
  });
}
