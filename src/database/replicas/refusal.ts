/** Classifies the errors of a standby that the primary may not have. Source: PostgreSQL
 * documentation, "Handling Query Conflicts". @module */
import { DatabaseError, ServiceError } from "../../errors/service_error.ts";
import { raisedDetail } from "../../sql/raise.ts";

/** Why the primary repeats a read. Label of a metric. */
export type RefusalReason =
  /** Replay needs what the read uses. */
  | "conflict"
  /** A standby never does this. */
  | "read-only"
  /** The connection ended, or none could be opened. */
  | "connection"
  | "busy"
  /** A change of the schema is not replayed yet. */
  | "schema"
  /** The check of the position failed: another server than the monitor's has answered. */
  | "position";

const reasons: ReadonlyMap<string, RefusalReason> = new Map<string, RefusalReason>([
  ["40001", "conflict"],
  ["40P01", "conflict"],
  ["25006", "read-only"],
  ["0A000", "read-only"],
  ["55000", "read-only"],
  ["57P01", "connection"],
  ["57P02", "connection"],
  ["57P03", "connection"],
  ["42P01", "schema"],
  ["42703", "schema"],
  ["42704", "schema"],
  ["42883", "schema"],
]);

/** Codes of the service's own errors. */
const ownReasons: ReadonlyMap<string, RefusalReason> = new Map([
  ["000", "connection"],
  ["001", "connection"],
  ["003", "busy"],
]);

const queryCanceled = "57014";

/** Returns why the primary may execute a read after an error; null if it would have the error, too. */
export function refusalOf(error: unknown): RefusalReason | null {
  if (error instanceof ServiceError) {
    const { own, code } = error.fields;
    return own ? ownReasons.get(code) ?? null : null;
  }
  if (!(error instanceof DatabaseError)) return null;
  const { sqlstate } = error.failure;
  if (sqlstate.startsWith("08")) return "connection";
  const known = raisedDetail(error.failure) === null ? reasons.get(sqlstate) : undefined;
  const isCheck = error.statement < 0 && sqlstate !== queryCanceled;
  return known ?? (isCheck ? "position" : null);
}
