/** Prints results of SQL as tables or as CSV. @module */
import type { StatementResult } from "../database/connection/sql_session.ts";
import { printable } from "../lib/printable.ts";

export type OutputFormat = "table" | "csv";

/** Returns the text of a result. Tables end with the number of rows, CSV begins with the names. */
export function resultText(result: StatementResult, format: OutputFormat): string {
  const { columns, rows, copied, tag } = result;
  if (copied !== "") return copied;
  if (columns === null) return format === "csv" ? "" : `${tag}\n`;
  if (format === "csv") return [columns, ...rows].map(csvLine).join("");
  return tableText(columns, rows);
}

/** `value *( "," value ) CRLF` (RFC 4180), with a line feed alone. NULL is empty without quotes. */
function csvLine(values: readonly (string | null)[]): string {
  return values.map((value) => {
    if (value === null) return "";
    return value === "" || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  }).join(",") + "\n";
}

function tableText(
  columns: readonly string[],
  rows: readonly (readonly (string | null)[])[],
): string {
  const cells = [columns, ...rows].map((row) => row.map((value) => printable(value ?? "")));
  const widths = columns.map((_, column) =>
    cells.reduce((width, row) => Math.max(width, lengthOf(row[column] ?? "")), 0)
  );
  const line = (row: readonly string[]) =>
    row.map((cell, column) => ` ${cell}${" ".repeat(widths[column]! - lengthOf(cell))} `)
      .join("|").trimEnd() + "\n";
  const ruler = widths.map((width) => "-".repeat(width + 2)).join("+") + "\n";
  const [head = [], ...body] = cells;
  const count = `(${rows.length} ${rows.length === 1 ? "row" : "rows"})\n`;
  return line(head) + ruler + body.map(line).join("") + count;
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}
