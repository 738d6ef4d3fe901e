/** The words of a command line that starts this program with the same configuration. @module */
import type { CallWords } from "../../base/observe/call_words.ts";
import { programCall } from "../../base/lib/program_call.ts";
import { shellWord } from "../../base/lib/shell_word.ts";
import { isEmbedded } from "../../database/open.ts";
import type { ConfigArguments } from "./config_files.ts";

/** Name in messages for a connection string that is an argument. */
export const connectionName = "the connection string";

/** Returns the words that start the program with the configuration of `args`, for advice in logs. */
export function callWords(args: ConfigArguments): CallWords {
  return { program: programCall(), source: sourceWord(args) };
}

/** Returns the argument that names the configuration, without the secrets of a connection string. */
export function sourceWord({ file, flags }: ConfigArguments): string {
  if (file !== null) return shellWord(file);
  const uri = flags.get("db-uri");
  if (uri === undefined) return "";
  const word = isEmbedded(uri.value) ? shellWord(uri.value) : "postgres://…";
  return uri.name === connectionName ? word : `--db-uri=${word}`;
}
