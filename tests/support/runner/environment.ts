/** What `run_tests.ts` prepares for all test files, handed over by environment variables. @module
 */

/** Connection URI of a superuser of the PostgreSQL server that tests may fill. */
export const serverVariable = "SVC_TEST_URI";

/** Folder with a cluster that no server runs on, to be copied, and the password of its superuser. */
export const clusterVariable = "SVC_TEST_POSTGRES_CLUSTER";

/** Data folder of a PGlite with nothing in it yet, to be copied. */
export const pgliteVariable = "SVC_TEST_PGLITE";

/** Gives the value; raises an `Error` that describes how tests are run if there is none. */
export function prepared(variable: string): string {
  const value = Deno.env.get(variable);
  if (value !== undefined && value !== "") return value;
  throw new Error(`${variable} is not set: run this file by \`deno task test <file>\``);
}
