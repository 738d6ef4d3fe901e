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

/** An error after which the primary may execute the read. */
interface StandbyRefusal {
  readonly reason: RefusalReason;
  readonly isUnbegun: boolean;
}

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

/** Returns null for an error that the primary would have, too. */
export function refusalOf(error: unknown): StandbyRefusal | null {
  if (error instanceof ServiceError) {
    const { own, code } = error.fields;
    const reason = own ? ownReasons.get(code) : undefined;
    return reason === undefined ? null : { reason, isUnbegun: code !== "001" };
  }
  if (!(error instanceof DatabaseError)) return null;
  const { sqlstate } = error.failure;
  const isCheck = error.statement < 0 && sqlstate !== queryCanceled;
  const known = raisedDetail(error.failure) === null ? reasons.get(sqlstate) : undefined;
  const reason = sqlstate.startsWith("08")
    ? "connection"
    : known ?? (isCheck ? "position" : undefined);
  return reason === undefined
    ? null
    : { reason, isUnbegun: error.statement < 0 || error.precedesExecution };
}
