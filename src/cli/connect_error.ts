/**
 * The message of calls that cannot connect to the database.
 *
 * @module
 */
import { svcDialect } from "../dialect.ts";
import { errorFacts } from "../errors/error_response.ts";
import { oneLine, redact } from "../observe/redact.ts";

/** Reports that the database cannot be reached. The message is of one or two lines. */
export class CannotConnectError extends Error {
  constructor(thrown: unknown) {
    const advice = connectAdvice(reasonOf(thrown));
    super(`${connectProblem(thrown)}${advice === null ? "" : `\n${advice}`}`);
    this.name = "CannotConnectError";
  }
}

/** Returns why a connection failed, in one line without secrets. */
export function connectProblem(thrown: unknown): string {
  return `cannot connect to the database: ${reasonOf(thrown)}`;
}

/** Returns the reason of a failure in one line, without secrets. */
function reasonOf(thrown: unknown): string {
  const { message, details } = errorFacts(thrown, svcDialect);
  const reason = typeof details === "string" && details !== "" ? details : message;
  return oneLine(redact(reason)).replace(/^FATAL:\s*/, "");
}

/** Patterns of reasons, and the next step. */
const advices: readonly (readonly [reason: RegExp, advice: string])[] = [
  [
    /password authentication failed|no password|password supplied/i,
    "Correct the user or the password; special characters in a URI are percent-encoded. " +
    "PGPASSWORD can hold the password.",
  ],
  [/database "[^"]*" does not exist/, "Create the database, or correct the name after the last /."],
  [/role "[^"]*" does not exist/, "Create the role, or correct the user."],
  [/no pg_hba\.conf entry/, "Allow this login in pg_hba.conf of the server."],
  [/ssl|tls|certificate/i, "Correct sslmode and sslrootcert in the connection string."],
  [
    /refused|ENOENT|no such file/i,
    "Start PostgreSQL, or correct host and port in the connection string.",
  ],
  [
    /ENOTFOUND|EAI_AGAIN|not known|lookup|no address|name resolution/i,
    "Correct the host in the connection string.",
  ],
  [/timed out|timeout|unreachable/i, "Correct host and port, or open the firewall for them."],
];

/** Returns the next step after a connection failed for a reason; null for unknown reasons. */
export function connectAdvice(reason: string): string | null {
  return advices.find(([pattern]) => pattern.test(reason))?.[1] ?? null;
}
