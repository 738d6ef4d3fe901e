/** Loads PGlite, which the npm package of svc leaves to its users to install. @module */
import process from "node:process";
import { errorCode } from "../lib/error_code.ts";
import { embeddedCall } from "./program_call.ts";
import { callArguments } from "./secret_flags.ts";
import { shellWord } from "./shell_word.ts";

/** Rejects with an `Error` that says how to install PGlite if it is missing. */
export async function requireEmbeddedPostgres(): Promise<void> {
  try {
    await import("@electric-sql/pglite");
  } catch (error) {
    if (errorCode(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    const words = callArguments(process.argv.slice(2)).map(shellWord);
    throw new Error(
      "the embedded PostgreSQL needs the package @electric-sql/pglite; run this instead: " +
        [embeddedCall(), ...words].join(" "),
      { cause: error },
    );
  }
}
