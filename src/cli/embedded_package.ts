/** Loads PGlite, which the npm package of svc leaves to its users to install. @module */
import { errorCode } from "../lib/error_code.ts";
import { installCall } from "./program_call.ts";

/** Rejects with an `Error` that says how to install PGlite if it is missing. */
export async function requireEmbeddedPostgres(): Promise<void> {
  try {
    await import("@electric-sql/pglite");
  } catch (error) {
    if (errorCode(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error(
      `the embedded PostgreSQL needs the package @electric-sql/pglite: ${installCall()}`,
      { cause: error },
    );
  }
}
