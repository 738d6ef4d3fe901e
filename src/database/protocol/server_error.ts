/** Reads the errors of the server. @module */
import type { DatabaseFailure, ErrorSubject } from "../../base/errors/service_error.ts";
import { statementNamePrefix } from "../failure.ts";
import { readFields } from "./messages.ts";

/** SQLSTATE of a prepared statement that the server does not know. */
export const unknownStatement = "26000";

/** SQLSTATE of a Parse message with a name that is in use. */
export const duplicateStatement = "42P05";

/** SQLSTATEs that show that statements were prepared on another server connection. */
export type StaleStatement = typeof unknownStatement | typeof duplicateStatement;

/** SQLSTATE of a prepared statement whose result type has changed. */
const featureNotSupported = "0A000";
/** The routine of PostgreSQL that raises {@linkcode featureNotSupported} in this case. Its name
 * identifies the error, because `lc_messages` translates the message. */
const planRevalidation = "RevalidateCachedQuery";

export interface ServerError {
  readonly failure: DatabaseFailure;
  /** Position in the statement, in characters from 1; null if the server names none. */
  readonly position: number | null;
  /** Whether PostgreSQL closes the connection with this error. False for an error of a pooler,
   * which names no routine. */
  readonly isFatal: boolean;
  /**
   * Whether the error is typical of a prepared statement that cannot run any more. Its statement is
   * unknown (26000, after DISCARD ALL) or from another connection (42P05), or its result type has
   * changed. Functions can raise the same errors.
   */
  readonly isStale: boolean;
}

/** Reads an error. `sql` is the statement that failed, if it is known. */
export function readServerError(payload: Uint8Array, sql = ""): ServerError {
  const fields = readFields(payload);
  const isFatal = ["FATAL", "PANIC"].includes(fields.get("V") ?? "");
  const sqlstate = fields.get("C") ?? "XX000";
  const message = fields.get("M") ?? "";
  const routine = fields.get("R");
  const position = fields.get("P");
  return {
    position: position === undefined ? null : Number(position),
    failure: {
      sqlstate,
      message,
      detail: fields.get("D") ?? null,
      hint: fields.get("H") ?? null,
      ...(fields.has("R") ? { subject: subjectOf(fields, sql) } : {}),
      ...(isFatal ? { fatal: true } : {}),
    },
    isFatal: isFatal && routine !== undefined,
    isStale: !fields.has("W") && (sqlstate === unknownStatement ||
      (sqlstate === duplicateStatement && message.includes(`"${statementNamePrefix}`)) ||
      (sqlstate === featureNotSupported && routine === planRevalidation)),
  };
}

/** The fields of the protocol that name the subject of an error. */
const subjectFields = {
  relation: "t",
  column: "c",
  routine: "R",
} as const;

/** Returns the subject of an error; empty for errors of a pooler, which lack the fields. */
function subjectOf(fields: ReadonlyMap<string, string>, sql: string): ErrorSubject {
  const named = Object.entries(subjectFields).flatMap(([name, field]) => {
    const text = fields.get(field);
    return text === undefined ? [] : [[name, text]];
  });
  // For the SQL of a function, the position is in the field `p`.
  const position = fields.get("P") ?? fields.get("p");
  const names = namesAt(fields.get("q") ?? sql, Number(position ?? 0));
  return {
    ...Object.fromEntries(named),
    ...(names.length === 0 ? {} : { names }),
    ...(fields.has("W") ? { isNested: true } : {}),
  };
}

/** Returns the parts of the qualified name at a position, which counts characters from 1; empty if
 * there is no name. */
function namesAt(sql: string, position: number): readonly string[] {
  if (position === 0) return [];
  const part = /\.?(?:"((?:[^"]|"")*)"|([\p{L}_][\p{L}\p{N}_$]*))/uy;
  part.lastIndex = Array.from(sql).slice(0, position - 1).join("").length;
  const names: string[] = [];
  for (let match = part.exec(sql); match !== null; match = part.exec(sql)) {
    names.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (sql[part.lastIndex] !== ".") break;
  }
  return names;
}
