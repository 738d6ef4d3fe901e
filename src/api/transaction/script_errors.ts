/** Converts an error of PostgreSQL to an error of the service, by the role of the statement. @module */
import type { Statement, TransactionResult } from "../../database/transaction.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { DatabaseError } from "../../base/errors/service_error.ts";
import { raisedDetail } from "../../base/sql/raise.ts";
import { lostRowsOf, unequalRows, unfoundRowOf } from "../query/level_keys.ts";
import { failedOperation } from "../query/patch.ts";
import { rowsOfFailedCheck } from "../query/result_reference.ts";
import { invalidResponseGuc } from "./response_guc_check.ts";
import { positionOf, type RequestOperation, type RequestScript } from "./script.ts";

export function statementError(
  error: DatabaseError,
  statement: Statement | undefined,
  { transaction: { statements } }: RequestScript,
  operation: RequestOperation,
): Error {
  switch (statement?.role) {
    case "main":
      return isPatch(operation) ? patchError(error) : error;
    case "level": {
      const { path } = operation.planned.query.writes![ordinalOf(statement, statements)]!;
      return path === null ? error : levelError(error, path);
    }
    case "reference": {
      const { source } = operation.referenceChecks[ordinalOf(statement, statements)]!;
      const rows = rowsOfFailedCheck(error.failure);
      return rows === null ? error : errors.referenceWithoutValue(source, rows);
    }
    case "response settings": {
      const setting = invalidResponseGuc(error.failure);
      return setting === null ? error : responseErrors[setting]();
    }
    default:
      return error;
  }
}

/** Returns the position of a statement among the statements of its role and operation. */
function ordinalOf(statement: Statement, statements: readonly Statement[]): number {
  const { role, operation } = statement;
  return statements.filter((each) => each.role === role && each.operation === operation)
    .indexOf(statement);
}

function isPatch({ planned: { plan } }: RequestOperation): boolean {
  return plan.kind === "mutate" && plan.mutate.kind === "patch";
}

const responseErrors = {
  status: errors.invalidResponseStatus,
  headers: errors.invalidResponseHeaders,
} as const;

/** PostgreSQL's message for a value of the body that is neither the object nor the array of a level. */
const wrongShape = /^cannot call (?:json|populate)\w+ on an? (?:non-)?(?:array|object|scalar)$/;

/** Returns the error of a level of a nested insert. */
function levelError(error: DatabaseError, path: string): Error {
  const { sqlstate, message } = error.failure;
  if (sqlstate === "22023" && wrongShape.test(message)) {
    return errors.notNestable(
      [path],
      "Expected an object, or an array of objects where it has many rows",
    );
  }
  if (raisedDetail(error.failure) === unequalRows) {
    return errors.notNestable([path], "Related rows differ in a column that they share");
  }
  const unfound = unfoundRowOf(error.failure);
  if (unfound !== null) return unfoundError(unfound, path);
  const lost = lostRowsOf(error.failure);
  return lost === null ? error : errors.rowsNotAssigned(path, lost.sent, lost.written);
}

/** Returns the error of a row that was neither found nor inserted, or inserted with other values. */
function unfoundError({ row, reason }: NonNullable<ReturnType<typeof unfoundRowOf>>, path: string) {
  switch (reason) {
    case "empty":
      return errors.invalidConflict(`Row ${row} has NULL where rows are found by their values`);
    case "lost":
      return errors.invalidConflict("An inserted row is not found by the values of the body");
    case "skipped":
      return errors.invalidConflict(`Row ${row} was neither found nor inserted`);
    default: {
      const message = `row ${row} of "${path}" exists and is hidden by row-level security`;
      return new DatabaseError({ sqlstate: "42501", message, detail: null, hint: null });
    }
  }
}

/** Returns the error of an operation of a patch document that fails on a row. */
function patchError(error: DatabaseError): Error {
  const number = failedOperation(error.failure);
  if (number === null) return error;
  return errors.patchDoesNotApply(`Operation ${number} finds no target, or its test fails`);
}

/** Returns the planner's estimate of rows; null if the operation has no estimate. */
export function estimateOf(
  { rows }: Pick<TransactionResult, "rows">,
  script: RequestScript,
  operation: number | undefined,
): number | null {
  const position = positionOf(script, "estimate", operation);
  const text = position < 0 ? undefined : rows[position]?.[0]?.[0];
  return text ? JSON.parse(text)[0]?.Plan?.["Plan Rows"] ?? null : null;
}
