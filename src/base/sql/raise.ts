/** Errors that statements of the service raise on purpose, each with a detail. PostgreSQL raises errors of a
 * chosen text in procedural languages only. @module */
import type { DatabaseFailure } from "../errors/service_error.ts";
import { type Sql, sql } from "./fragment.ts";

/**
 * Renders a text that always fails: it reads a setting that cannot exist, named after the detail. The function
 * is stable, so the planner does not evaluate it. The detail has letters, digits, commas and spaces.
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
  // The words and the quotation marks around the name depend on `lc_messages`.
  return sqlstate === undefinedObject ? /svc\(([\w ,]*)\)/.exec(message)?.[1] ?? null : null;
}
