/**
 * `svc sql`: runs SQL on the database of `db-uri`, from an argument, a file, a pipe or a terminal.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import type { ConfigFlags } from "../config/load.ts";
import type { SqlSession, TextResult } from "../database/connection/sql_session.ts";
import { svcDialect } from "../dialect.ts";
import { isComplete } from "../sql/statements.ts";
import type { Command, CommandCall } from "./command.ts";
import { configReader, openConfiguredSession } from "./config_files.ts";
import { print, printError } from "./output.ts";
import { parseMetaCommand } from "./sql_meta.ts";
import { failureLines, type OutputFormat, printable, resultText } from "./sql_output.ts";
import { readLine } from "./standard_streams.ts";

/** The command. */
export const sqlCommand: Command = {
  name: "sql",
  doc: "Run SQL on the database, from a terminal, a pipe, a file or an argument",
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
  const { session, close } = await openConfiguredSession(config, file);
  try {
    const shell = new SqlShell(session, flags.has("--csv") ? "csv" : "table");
    if (script !== null) return await shell.runScript(script) ? 0 : 1;
    await shell.interact({ readLine, prompt: print });
    return 0;
  } finally {
    await close();
  }
}

/** The option is required, although SQL needs no exposed schema. */
function withSchemas(flags: ConfigFlags): ConfigFlags {
  return new Map([["db-schemas", { name: "--db-schemas", value: "public" }], ...flags]);
}

/** Returns the SQL that the arguments or a pipe give; null on a terminal. */
function readScript(flags: CommandCall["flags"]): Script | null {
  const [text, file] = [flags.get("-c"), flags.get("--file")];
  if (text !== undefined && file !== undefined) throw new Error("-c and --file exclude each other");
  if (text !== undefined) return { text, name: "-c" };
  if (file !== undefined) return { text: readText(file, file), name: file };
  return isatty(0) ? null : { text: readText(0, "stdin"), name: "stdin" };
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

/** Terminal of a {@linkcode SqlShell}. */
export interface ShellTerminal {
  /** Returns the next line without its end; null at the end of the input. */
  readonly readLine: () => string | null;
  readonly prompt: (text: string) => void;
}

/** Runs texts and prints their results. */
export class SqlShell {
  readonly #session: Pick<SqlSession, "run">;
  readonly #format: OutputFormat;

  constructor(session: Pick<SqlSession, "run">, format: OutputFormat) {
    this.#session = session;
    this.#format = format;
  }

  /**
   * Runs a text in one transaction, unless it has transactions of its own. A text that begins with a
   * backslash is a command. Resolves with whether it succeeded.
   */
  async runScript(script: Script): Promise<boolean> {
    if (!script.text.trimStart().startsWith("\\")) return await this.#run(script);
    const command = parseMetaCommand(script.text);
    if (command.kind === "query") return await this.#run({ ...script, text: command.text });
    if (command.kind === "quit") return true;
    printError(`${svcDialect.productToken}: ${command.message}`);
    return false;
  }

  /** Reads statements until `\q` or the end of the input. An error does not end the shell. */
  async interact({ readLine, prompt }: ShellTerminal): Promise<void> {
    let text = "";
    while (true) {
      prompt(text === "" ? "=> " : "-> ");
      const line = readLine();
      if (line === null) return;
      if (text === "" && /^\s*\\/.test(line)) {
        if (parseMetaCommand(line).kind === "quit") return;
        await this.runScript({ text: line, name: "line" });
        continue;
      }
      text += `${line}\n`;
      if (!isComplete(text)) continue;
      if (text.trim() !== "") await this.#run({ text, name: "line" });
      text = "";
    }
  }

  async #run(script: Script): Promise<boolean> {
    const result: TextResult = await this.#session.run(script.text);
    for (const notice of result.notices) printError(printable(notice));
    for (const each of result.results) print(resultText(each, this.#format));
    const [failure, ...others] = failureLines(result, script);
    if (failure === undefined) return true;
    printError(`${svcDialect.productToken}: ${failure}`);
    for (const line of others) printError(line);
    return false;
  }
}
