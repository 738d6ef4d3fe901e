/** The connection string that `svc init` works with. @module */
import { env } from "node:process";
import { parseConnectionString } from "../../database/connect/connection_string.ts";
import { isEmbedded } from "../../database/open.ts";
import type { ConfigArguments } from "../command.ts";
import { configOfFile } from "./init_files.ts";
import { programCall } from "../program_call.ts";
import { ask, isInteractive } from "./prompt.ts";

/**
 * Returns the connection string of the arguments, of the configuration file that they name, or of the
 * environment; else asks for it. Throws an `Error` without a terminal.
 */
export function targetConnection(args: ConfigArguments): string {
  const named = namedConnection(args);
  if (named !== null) return named;
  if (!isInteractive()) {
    throw new Error(`expected a connection string: ${programCall()} init postgres://…`);
  }
  return ask(
    "Connection string of the database, as its owner or a superuser,\n" +
      "such as postgres://me@localhost:5432/shop",
    null,
    checked,
  );
}

/** Returns the connection string that the arguments or the environment name; null without one. */
export function namedConnection({ file, flags }: ConfigArguments): string | null {
  const named = flags.get("db-uri")?.value ?? (file === null ? null : fileConnection(file)) ??
    env["SVC_DB_URI"] ?? env["DATABASE_URL"];
  return named ? checked(named) : null;
}

function fileConnection(file: string): string {
  const config = configOfFile(file);
  if (config === null) throw new Error(`${file}: cannot read db-uri`);
  return config.dbUri;
}

/** Throws an `Error` for a connection string that cannot be parsed. */
function checked(text: string): string {
  if (text === "") throw new Error("a connection string is needed");
  if (!isEmbedded(text)) parseConnectionString(text);
  return text;
}
