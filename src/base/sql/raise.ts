/** Errors that svc's statements raise on purpose, each with a detail. Plain SQL has no RAISE, so
 * they use a failure of PostgreSQL. @module */
import type { DatabaseFailure } from "../errors/service_error.ts";
import { type Sql, sql } from "./fragment.ts";

/**
 * Renders an expression that always fails, because it reads a setting that does not exist. The name
 * of the setting contains the detail: letters, digits, commas and spaces. The function is stable,
 * so the planner does not evaluate it.
 */
export function raise(detail: Sql): Sql {
  return sql`pg_catalog.current_setting('svc(' || ${detail} || ')')`;
}

/** SQLSTATE `undefined_object`. */
const undefinedObject = "42704";

/** Returns the detail of an error that {@linkcode raise} made; null for other errors. */
export function raisedDetail(
  { sqlstate, message }: Pick<DatabaseFailure, "message" | "sqlstate">,
): string | null {
  // Only the name is compared: the words and quotation marks around it depend on `lc_messages`.
  return sqlstate === undefinedObject ? /svc\(([\w ,]*)\)/.exec(message)?.[1] ?? null : null;
}
