/** `svc sql`: runs SQL on the database of `db-uri`, from an argument, a file or a pipe. @module */
import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import type { ConfigFlags } from "../../state/config/load.ts";
import {
  failureLines,
  SqlSession,
  type StatementResult,
  type TextResult,
} from "../../database/connection/sql_session.ts";
import { svcDialect } from "../../base/dialect.ts";
import { printable } from "../../base/lib/printable.ts";
import { type Command, type CommandCall, flagsOf } from "../../api/command.ts";
import { configReader, openConfiguredTransport } from "../../state/config/config_files.ts";
import { paddedRows, print, printError } from "../../base/observe/output.ts";
import { readText } from "../../base/lib/files.ts";
import { wingOptions } from "../wings.ts";

export const sqlCommand: Command = {
  name: "sql",
  doc: "Run SQL on the database, from a pipe, a file or an argument",
  example: 'sql -c "select 1" svc.conf',
  page: "docs/reference/command-line.md",
  flags: flagsOf({
    "-c TEXT": "Run this SQL and exit",
    "--file=FILE": "Run the SQL of a file and exit",
    "--csv": "Print results as CSV",
  }),
  run: runSql,
};

/** SQL with its name for errors. */
interface Script {
  readonly text: string;
  readonly name: string;
}

async function runSql({ config: args, flags }: CommandCall): Promise<number> {
  const script = readScript(flags);
  const { config, file } = configReader({ ...args, flags: withSchemas(args.flags) }, {
    wingOptions,
  });
  const { transport, close } = await openConfiguredTransport(config, file);
  try {
    return await runScript(new SqlSession(transport), script, flags.has("--csv") ? "csv" : "table")
      ? 0
      : 1;
  } finally {
    await close();
  }
}

/** Runs SQL in one transaction, unless it contains transaction commands, and prints the results.
 * Resolves with whether it succeeded. */
async function runScript(
  session: Pick<SqlSession, "run">,
  script: Script,
  format: OutputFormat,
): Promise<boolean> {
  const result: TextResult = await session.run(script.text);
  for (const notice of result.notices) printError(printable(notice));
  for (const each of result.results) print(resultText(each, format));
  const [failure, ...others] = failureLines(result, script);
  if (failure === undefined) return true;
  printError(`${svcDialect.productToken}: ${failure}`);
  for (const line of others) printError(line);
  return false;
}

/** Adds a value of `db-schemas`, which a configuration requires, although SQL does not use it. */
function withSchemas(flags: ConfigFlags): ConfigFlags {
  return new Map([["db-schemas", { name: "--db-schemas", value: "public" }], ...flags]);
}

/** Returns the SQL from the arguments or a pipe. Throws an `Error` on a terminal. */
function readScript(flags: CommandCall["flags"]): Script {
  const [text, file] = [flags.get("-c"), flags.get("--file")];
  if (text !== undefined && file !== undefined) throw new Error("-c and --file exclude each other");
  if (text !== undefined) return { text, name: "-c" };
  if (file !== undefined) return { text: readText(file), name: file };
  if (isatty(0)) throw new Error("sql: expected -c TEXT, --file=FILE or a pipe; psql has a prompt");
  return { text: new TextDecoder().decode(readFileSync(0)), name: "stdin" };
}

type OutputFormat = "table" | "csv";

/** Returns a result as text. Tables end with the number of rows, CSV begins with the column names. */
export function resultText(result: StatementResult, format: OutputFormat): string {
  const { columns, rows, copied, tag } = result;
  if (copied !== "") return copied;
  if (columns === null) return format === "csv" ? "" : `${tag}\n`;
  if (format === "csv") return [columns, ...rows].map(csvLine).join("");
  return tableText(columns, rows);
}

/** Writes `value *( "," value ) LF`; RFC 4180 has CRLF. NULL is an empty unquoted field. */
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
  const [head = [], ...body] = paddedRows(cells);
  const line = (row: readonly string[]) =>
    row.map((cell) => ` ${cell} `).join("|").trimEnd() + "\n";
  const ruler = head.map((cell) => ` ${cell} `.replace(/./gsu, "-")).join("+") + "\n";
  const count = `(${rows.length} ${rows.length === 1 ? "row" : "rows"})\n`;
  return line(head) + ruler + body.map(line).join("") + count;
}
