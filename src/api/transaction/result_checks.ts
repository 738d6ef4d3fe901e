/** Checks the number of rows of a result against the limits of the request. @module */
import type { ResultColumns } from "../../database/transaction.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";
import { missingKey } from "../plan/write/keyed_update.ts";
import { readOf } from "../plan/plan.ts";
import { changeLimit } from "../plan/write/mutate_plan.ts";
import { resultColumn } from "../query/query.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { type DataPlan, isExplained } from "./data_plan.ts";

/** Bounds on a number in the result: the first of the columns that is not NULL, or 0 if all columns
 * are NULL. */
export interface ColumnBounds {
  readonly columns: readonly number[];
  readonly min: number;
  readonly max: number;
}

/** Bounds, and the error for a number outside of them. */
export interface ResultCheck extends ColumnBounds {
  readonly error: (value: number, result: ResultColumns) => Error;
}

/** Lists the checks of a request's result, by descending priority of their errors. */
export function resultChecks(request: ApiRequest, plan: DataPlan): readonly ResultCheck[] {
  if (isExplained(plan)) return noChecks;
  if (plan.kind === "read") return [...singularCheck(plan), ...maxRowsCheck(request, plan)];
  return [
    ...preconditionCheck(plan),
    ...keyCheck(plan),
    ...singularCheck(plan),
    ...maxAffectedCheck(request, plan),
    ...limitCheck(plan),
    ...maxRowsCheck(request, plan),
    ...rangeCheck(request, plan),
  ];
}

/** Throws the error of the first failed check: `151`, `145`, `146`, `115`, `116`, `124`, `110`,
 * `179` or `103`. */
export function applyResultChecks(checks: readonly ResultCheck[], result: ResultColumns): void {
  for (const { columns, min, max, error } of checks) {
    const text = columns.map((column) => result[column] ?? null).find((cell) => cell !== null);
    const value = Number(text ?? 0);
    if (!(value >= min && value <= max)) throw error(value, result);
  }
}

const rowCount = [resultColumn.rows] as const;
/** Number of written rows; the result may have fewer. */
const affectedCount = [resultColumn.affected, resultColumn.rows] as const;

const one = { columns: rowCount, min: 1, max: 1 } as const;

/** Checks a write with `If-Match`: it must change rows, with entity tags one row. A PUT must insert none. */
function preconditionCheck(plan: DataPlan): readonly ResultCheck[] {
  const precondition = plan.kind === "mutate" ? plan.mutate.precondition : undefined;
  if (precondition === undefined) return noChecks;
  const min = 1;
  const max = precondition.kind === "version" ? 1 : Infinity;
  const error = () => errors.preconditionFailed();
  const changed: ResultCheck = { columns: affectedCount, min, max, error };
  if (plan.kind !== "mutate" || plan.action !== "put" || precondition.kind === "absent") {
    return [changed];
  }
  return [{ columns: [resultColumn.updated], min, max, error }, changed];
}

/** Checks an update by key: keys must be unique and, if requested, each must match a row. */
function keyCheck(plan: DataPlan): readonly ResultCheck[] {
  if (plan.kind !== "mutate" || plan.mutate.kind !== "update" || plan.mutate.key === null) {
    return noChecks;
  }
  const { columns, mustMatch } = plan.mutate.key;
  const on = columns.map(({ name }) => name);
  const checks: ResultCheck[] = [
    {
      ...none(resultColumn.rowWithoutKey),
      error: (row, result) => missingKey(on, result[resultColumn.missingKeyColumn] ?? "", row),
    },
    {
      ...none(resultColumn.rowWithRepeatedKey),
      error: (row) => errors.unmatchableRows(on, `Row ${row} has the key of an earlier row`),
    },
  ];
  if (mustMatch) {
    checks.push({
      ...none(resultColumn.unmatched),
      error: (rows, result) =>
        errors.unmatchedRows(rows, result[resultColumn.unmatchedKeys] ?? null),
    });
  }
  return checks;
}

/** The number in a column must be 0 or NULL. */
function none(column: number): ColumnBounds {
  return { columns: [column], min: 0, max: 0 };
}

function singularCheck(plan: DataPlan): readonly ResultCheck[] {
  if (plan.kind === "mutate" && plan.action === "put") {
    return [{ ...one, error: () => errors.putMismatch() }];
  }
  const single = plan.kind === "call" && !plan.call.routine.returns.set;
  if (plan.representation.format.kind !== "object" || single) return noChecks;
  return [{ ...one, error: (rows) => errors.notSingular(rows) }];
}

function maxAffectedCheck(
  { preferences: { handling, maxAffected } }: ApiRequest,
  plan: DataPlan,
): readonly ResultCheck[] {
  const counted = plan.kind === "call" ||
    (plan.kind === "mutate" && (plan.action === "update" || plan.action === "delete"));
  if (!counted || handling !== "strict" || maxAffected === null) return noChecks;
  const columns = plan.kind === "call" ? rowCount : affectedCount;
  return [{ columns, min: 0, max: maxAffected, error: (rows) => errors.maxAffectedExceeded(rows) }];
}

function limitCheck(plan: DataPlan): readonly ResultCheck[] {
  const limit = plan.kind === "mutate" ? changeLimit(plan.mutate) : null;
  if (limit === null) return noChecks;
  const error = (rows: number) => errors.limitSurpassed(rows, limit);
  return [{ columns: affectedCount, min: 0, max: Number(limit), error }];
}

function maxRowsCheck(
  { preferences: { maxRows } }: ApiRequest,
  plan: DataPlan,
): readonly ResultCheck[] {
  const cutAt = maxRows === null || plan.kind === "mutate" ? null : readOf(plan).cutAt;
  if (cutAt === null) return noChecks;
  return [{ ...none(resultColumn.more), error: () => errors.moreRows(cutAt) }];
}

/** Checks the range of a call that may write, so that a call with status 416 is rolled back. */
function rangeCheck({ bounds: { first } }: ApiRequest, plan: DataPlan): readonly ResultCheck[] {
  const mayWrite = plan.kind === "call" && plan.call.access === "read write";
  // No check with a bounded count, which does not show whether the range begins after the last row.
  const isCounted = mayWrite && plan.count.kind === "exact" && plan.count.bound === null;
  if (!isCounted || first === 0n) return noChecks;
  const error = (total: number) => rangeBeyond(first, total);
  return [{ columns: [resultColumn.total], min: Number(first), max: Infinity, error }];
}

/** Returns the error for a range that begins after the last row. */
export function rangeBeyond(first: bigint, total: number): ServiceError {
  return errors.invalidRange(
    `An offset of ${first} was requested, but there are only ${total} rows.`,
  );
}

const noChecks: readonly ResultCheck[] = [];
