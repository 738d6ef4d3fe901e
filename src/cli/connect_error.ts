/**
 * The message of commands that cannot connect to the database.
 *
 * @module
 */
import { svcDialect } from "../dialect.ts";
import { errorFacts } from "../errors/error_response.ts";
import { oneLine, redact } from "../observe/redact.ts";
import { printError } from "./output.ts";

/** Writes why a connection failed, in one line without secrets. */
export function printConnectError(thrown: unknown): void {
  printError(`${svcDialect.productToken}: ${connectProblem(thrown)}`);
}

/** Returns why a connection failed, in one line without secrets. */
export function connectProblem(thrown: unknown): string {
  const { message, details } = errorFacts(thrown, svcDialect);
  const reason = typeof details === "string" && details !== "" ? details : message;
  const text = oneLine(redact(reason)).replace(/^FATAL:\s*/, "");
  return `cannot connect to the database: ${text}`;
}
