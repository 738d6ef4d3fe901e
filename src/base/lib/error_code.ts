/** Codes of errors that the runtime throws. @module */

/** Returns the code of a runtime's error, such as `ENOENT`; null if it has no code. */
export function errorCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : null;
}
