/** The error of calls that cannot connect to the database. @module */
import { svcDialect } from "../dialect.ts";
import { errorMembers } from "./error_response.ts";
import { redact } from "../lib/redact.ts";

/** Reports that the database cannot be reached. The last line of the message is the remedy. */
export class CannotConnectError extends Error {
  constructor(thrown: unknown) {
    const [reason = "", ...others] = reasonOf(thrown);
    const advice = connectAdvice(reason);
    const lines = others.map((line) => `\n  ${line}`).join("");
    super(
      `cannot connect to the database: ${reason}${lines}${advice === null ? "" : `\n${advice}`}`,
    );
    this.name = "CannotConnectError";
  }
}

/** Returns the lines of a message that explains a failure. They contain no secrets. */
function reasonOf(thrown: unknown): readonly string[] {
  const { message, details } = errorMembers(thrown, svcDialect);
  const reason = typeof details === "string" && details !== "" ? details : message;
  const lines = reason.split(/\r\n|[\r\n]/).map(redact).filter((line) => line !== "");
  return lines.map((line) => line.replace(/^FATAL:\s*/, ""));
}

/** Patterns of failure reasons, each with advice. */
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

/** Returns advice for the reason of a failed connection; null for unknown reasons. */
export function connectAdvice(reason: string): string | null {
  return advices.find(([pattern]) => pattern.test(reason))?.[1] ?? null;
}
