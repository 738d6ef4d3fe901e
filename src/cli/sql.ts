/** `svc sql`: runs SQL on the database of `db-uri`, from an argument, a file or a pipe. @module */
import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import type { ConfigFlags } from "../config/load.ts";
import { failureLines, SqlSession, type TextResult } from "../database/connection/sql_session.ts";
import { svcDialect } from "../dialect.ts";
import { printable } from "../lib/printable.ts";
import type { Command, CommandCall } from "./command.ts";
import { configReader, openConfiguredTransport } from "./config_files.ts";
import { print, printError } from "./output.ts";
import { type OutputFormat, resultText } from "./sql_output.ts";

/** The command. */
export const sqlCommand: Command = {
  name: "sql",
  doc: "Run SQL on the database, from a pipe, a file or an argument",
  flags: [
    { name: "-c", value: "next", placeholder: "TEXT", doc: "Run this SQL and exit" },
    {
      name: "--file",
      value: "required",
      placeholder: "FILE",
      doc: "Run the SQL of a file and exit",
    },
    { name: "--csv", value: "none", doc: "Print results as CSV" },
  ],
  run: runSql,
};

/** SQL with its name for errors. */
interface Script {
  readonly text: string;
  readonly name: string;
}

async function runSql({ config: args, flags }: CommandCall): Promise<number> {
  const script = readScript(flags);
  const { config, file } = configReader({ ...args, flags: withSchemas(args.flags) });
  const { transport, close } = await openConfiguredTransport(config, file);
  try {
    return await runScript(new SqlSession(transport), script, flags.has("--csv") ? "csv" : "table")
      ? 0
      : 1;
  } finally {
    await close();
  }
}

/**
 * Runs a text in one transaction, unless it has transactions of its own, and prints its results.
 * Resolves with whether it succeeded.
 */
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

/** The option is required, although SQL needs no exposed schema. */
function withSchemas(flags: ConfigFlags): ConfigFlags {
  return new Map([["db-schemas", { name: "--db-schemas", value: "public" }], ...flags]);
}

/** Returns the SQL that the arguments or a pipe give. Throws an `Error` on a terminal. */
function readScript(flags: CommandCall["flags"]): Script {
  const [text, file] = [flags.get("-c"), flags.get("--file")];
  if (text !== undefined && file !== undefined) throw new Error("-c and --file exclude each other");
  if (text !== undefined) return { text, name: "-c" };
  if (file !== undefined) return { text: readText(file, file), name: file };
  if (isatty(0)) throw new Error("sql: expected -c TEXT, --file=FILE or a pipe; psql has a prompt");
  return { text: readText(0, "stdin"), name: "stdin" };
}

function readText(source: string | number, name: string): string {
  try {
    return new TextDecoder().decode(readFileSync(source));
  } catch (error) {
    const { code } = error as { code?: unknown };
    throw new Error(code === "ENOENT" ? `${name}: no such file` : `${name}: cannot be read`, {
      cause: error,
    });
  }
}
