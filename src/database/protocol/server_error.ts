/** Reads the errors of the server. @module */
import type { DatabaseFailure, ErrorSubject } from "../../base/errors/service_error.ts";
import { statementNamePrefix } from "../failure.ts";
import { readFields } from "./messages.ts";

/** SQLSTATE of a prepared statement that the server does not know. */
export const unknownStatement = "26000";

/** SQLSTATE of a Parse whose name is taken. */
export const duplicateStatement = "42P05";

/** SQLSTATEs by which a server shows that it is not the one that the connection prepared statements on. */
export type StaleStatement = typeof unknownStatement | typeof duplicateStatement;

/** SQLSTATE of a prepared statement whose result would have another type than the one it announced. */
const featureNotSupported = "0A000";
/** The routine of PostgreSQL that raises this; the message depends on `lc_messages`. */
const planRevalidation = "RevalidateCachedQuery";

export interface ServerError {
  readonly failure: DatabaseFailure;
  /** An error of a pooler, which names no routine, does not tell that PostgreSQL ends it. */
  readonly isFatal: boolean;
  /**
   * Whether a prepared statement cannot run any more: the server forgot it (26000, after DISCARD ALL),
   * has one of that name from another connection (42P05), or its result changed. Functions raise the same.
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
  return {
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

/** The fields of the protocol that name what an error concerns. */
const subjectFields = {
  relation: "t",
  column: "c",
  routine: "R",
} as const;

/** A pooler's error has none of the fields. */
function subjectOf(fields: ReadonlyMap<string, string>, sql: string): ErrorSubject {
  const named = Object.entries(subjectFields).flatMap(([name, field]) => {
    const text = fields.get(field);
    return text === undefined ? [] : [[name, text]];
  });
  // The SQL of a function has its position in `p`.
  const position = fields.get("P") ?? fields.get("p");
  const names = namesAt(fields.get("q") ?? sql, Number(position ?? 0));
  return {
    ...Object.fromEntries(named),
    ...(names.length === 0 ? {} : { names }),
    ...(fields.has("W") ? { isNested: true } : {}),
  };
}

/** Returns the parts of the qualified name at a position, in characters from 1; empty without a name. */
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
