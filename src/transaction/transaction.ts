/**
 * Builds the transaction of a request as a batch: its statements in order, its end, and the bounds on its
 * result.
 *
 * @module
 */
import { lacks } from "../database/capabilities.ts";
import type { Config } from "../config/options.ts";
import type {
  Batch,
  BatchResult,
  BlockTransaction,
  ParamStream,
  ReadBatch,
  Statement,
  TransactionEnd,
  WriteBatch,
} from "../database/batch.ts";
import { errors } from "../errors/catalogue.ts";
import { DatabaseError } from "../errors/service_error.ts";
import type { RootPlan } from "../plan/root_plan.ts";
import { lostRowsOf } from "../query/level_keys.ts";
import { failedOperation } from "../query/patch.ts";
import { type Query, resultColumn } from "../query/query.ts";
import { schemaMetadataQuery } from "../query/schema_metadata.ts";
import type { ApiRequest, PayloadPieces } from "../request/api_request.ts";
import type { ParamValue } from "../sql/fragment.ts";
import { accessOf, type DataPlan, isExplained, isolationOf } from "./data_plan.ts";
import {
  answerStatement,
  closingStatement,
  type KeyedWrite,
  keyError,
  type KeyPositions,
  keyStatements,
  type RequestKey,
} from "./idempotency.ts";
import { invalidResponseGuc, responseGucCheck } from "./response_guc_check.ts";
import { applyResultChecks, type ResultCheck, resultChecks } from "./result_checks.ts";
import {
  type DescribedRequest,
  preamble,
  settingsOf,
  type TransactionConfig,
  type TransactionOwner,
} from "./preamble.ts";
import { planContextOf, settingsStatement } from "./settings.ts";

/** Whether `Prefer: tx=` may choose how a transaction ends. */
export function isEndOverridable({ dbTxEnd }: Pick<Config, "dbTxEnd">): boolean {
  return dbTxEnd === "commit-allow-override" || dbTxEnd === "rollback-allow-override";
}

/** A planned request, and its SQL. */
export interface PlannedQuery {
  readonly plan: DataPlan;
  readonly query: Query;
  /** Identifies requests whose batches differ only by their parameters; null where that is unknown. */
  readonly kind: object | null;
  /** Whether a second execution has no observable effect, apart from `db-pre-request`. */
  readonly isRetrySafe: boolean;
  /** The body in pieces, for each of which the query is executed. Default: the body is whole. */
  readonly divided?: DividedParam | null;
  /** Present if the query writes, its body is whole, and it takes effect once. */
  readonly keyed?: KeyedWrite | null;
}

/** A parameter of a query in pieces. */
export interface DividedParam {
  /** The parameter's value in the query. */
  readonly placeholder: ParamValue;
  readonly pieces: PayloadPieces;
}

/** Positions of the statements of a query in its transaction, and the checks of its result. */
export interface QueryPositions {
  readonly checks: readonly ResultCheck[];
  /** Position of the planner's estimate, or null. */
  readonly estimate: number | null;
  /** Position of the check of `response.headers` and `response.status`, or null. */
  readonly responseGucCheck: number | null;
  /** Position of the statement that applies a patch document, or null. */
  readonly patching: number | null;
  /** The writes of a nested insert: the position of the first one, and the path of each in errors. */
  readonly levels: { readonly first: number; readonly paths: readonly (string | null)[] };
}

/** A batch, and the positions of the statements whose results are read afterwards. */
export interface RequestTransaction extends QueryPositions {
  readonly batch: Batch;
  /** Position of the statement whose rows are an execution plan, or null. */
  readonly explained: number | null;
  /** Positions of the statements of an `Idempotency-Key`, or null. */
  readonly key: KeyPositions | null;
}

/** Whether the transaction of a plan may write. */
export function mayWrite(plan: DataPlan, { dbReadOnly }: Pick<Config, "dbReadOnly">): boolean {
  return !dbReadOnly && accessOf(plan) === "read write";
}

/** Builds the transaction of a request. */
export function buildTransaction(
  request: ApiRequest,
  { plan, query, kind, isRetrySafe, divided = null, keyed = null }: PlannedQuery,
  owner: TransactionOwner,
  config: TransactionConfig,
): RequestTransaction {
  const access = mayWrite(plan, config) ? "read write" : "read only";
  const isPlan = isExplained(plan);
  const checks = isPlan ? [] : resultChecks(request, plan);
  const bounds = access === "read write" ? checks.map((check) => check.bounds) : [];
  const end = plannedEnd(request, config);
  const isolation = isolationOf(plan, owner.defaults);
  const maxCost = divided === null ? maxCostOf(plan, owner, config) : null;
  const isImplicit = config.dbPreparedStatements && !lacks(config.dbCapabilities, "isolation") &&
    end === "commit" && maxCost === null &&
    isolation === "read committed" && bounds.length === 0 && divided === null && keyed === null;
  const form = isImplicit ? access : "block";
  const settings = settingsOf(request, plan, owner, config);
  const before = preamble(settingsStatement(settings, form), { config, owner });
  const keyPosition = before.length;
  if (keyed !== null) before.push(...keyStatements(keyed.key));
  // The estimate goes first: the body may be on its way to the client when a later statement runs.
  const estimate = query.estimate === null ? null : before.push(query.estimate) - 1;
  const costLimit = maxCost === null ? null : {
    statement: before.push(explained(query.main)) - 1,
    maxCost,
  };
  const { writes = [] } = query;
  const firstWrite = before.length;
  const main = firstWrite + writes.length;
  const statements = [...before, ...writes.map(({ statement }) => statement), query.main];
  const place = (statement: Statement) => statements.push(statement) - 1;
  if (end === "rollback") place(checkConstraints);
  const isWrite = access === "read write" && !isPlan;
  const gucCheck = isWrite ? place(responseGucCheck) : null;
  const transaction = isImplicit ? { form: "implicit" } as const : {
    form: "block",
    isolation,
    end: end === "commit" && (bounds.length > 0 || keyed !== null) ? bounds : end,
  } as const;
  const common = {
    transaction,
    statements,
    planContext: planContextOf(settings),
    kind: config.dbPipelining && divided === null && keyed === null ? kind : null,
    ...(costLimit === null ? {} : { costLimits: [costLimit] }),
  };
  const stream = divided === null ? {} : { stream: paramStream(query.main, main, divided) };
  return {
    batch: access === "read write" ? { ...common, access, ...stream, ...closingOf(keyed) } : {
      ...common,
      access,
      // A serializable transaction can fail at its end, even one that only reads.
      body: isolation === "serializable" ? "hold" : "stream",
      retry: isRetrySafe && config.dbPreRequest === null ? "safe" : "never",
    },
    checks,
    estimate,
    responseGucCheck: gucCheck,
    explained: isPlan ? main : null,
    patching: plan.kind === "mutate" && plan.mutate.kind === "patch" ? main : null,
    levels: { first: firstWrite, paths: writes.map(({ path }) => path) },
    key: keyed === null ? null : { first: keyPosition, closing: statements.length },
  };
}

function closingOf(keyed: KeyedWrite | null): Pick<WriteBatch, "closing"> {
  if (keyed === null) return {};
  const { key, answer } = keyed;
  return { closing: (result) => closingStatement(key, answer(result)) };
}

/**
 * Builds the transaction that reads the answer kept for a key, with the settings of the request. It may
 * write, as the function before each request may.
 */
export function buildReplayTransaction(
  request: DescribedRequest,
  { plan, key }: { readonly plan: DataPlan | null; readonly key: RequestKey },
  owner: TransactionOwner,
  config: TransactionConfig,
): WriteBatch {
  const settings = settingsOf(request, plan, owner, config);
  const before = preamble(settingsStatement(settings, "block"), { config, owner });
  return {
    access: "read write",
    transaction: {
      form: "block",
      isolation: "read committed",
      end: plannedEnd(request, config),
    },
    statements: [...before, answerStatement(key)],
    planContext: planContextOf(settings),
    kind: null,
  };
}

/**
 * Returns the highest cost of a plan's statement; null for no limit. The planner knows the cost of
 * relations, and takes that of functions for constant.
 */
export function maxCostOf(
  plan: DataPlan,
  { defaults }: TransactionOwner,
  { dbMaxCost }: TransactionConfig,
): number | null {
  if (plan.kind === "call" || isExplained(plan)) return null;
  return (defaults?.maxCost ?? dbMaxCost) || null;
}

/** Returns the EXPLAIN of a statement with its parameters. */
export function explained({ text, params }: Statement): Statement {
  return { text: `explain (format json) ${text}`, params, use: "rows" };
}

function paramStream(
  { params }: Statement,
  statement: number,
  { placeholder, pieces }: DividedParam,
): ParamStream {
  const param = params.indexOf(placeholder);
  return { statement, param, values: pieces.arrays, summed: [resultColumn.rows] };
}

/** Builds the transaction of the OpenAPI description. Its last statement returns at most one text. */
export function buildRootTransaction(
  request: ApiRequest,
  plan: RootPlan,
  owner: TransactionOwner,
  config: TransactionConfig,
): ReadBatch {
  const settings = settingsOf(request, plan, owner, config);
  const before = preamble(settingsStatement(settings, "block"), { config, owner });
  const transaction: BlockTransaction = {
    form: "block",
    isolation: isolationOf(plan, owner.defaults),
    end: "commit",
  };
  return {
    access: "read only",
    transaction,
    statements: plan.headersOnly ? before : [...before, schemaMetadataQuery(plan)],
    body: "hold",
    retry: "never",
    planContext: planContextOf(settings),
    kind: null,
  };
}

/** Returns the text of {@linkcode buildRootTransaction}'s last statement. */
export function schemaMetadataOf({ rows }: BatchResult): string | null {
  return rows.at(-1)?.[0]?.[0] ?? null;
}

/**
 * Returns the error of a failed transaction: an invalid `response.*` and a patch that does not apply are
 * errors of the service.
 */
export function transactionError(
  error: unknown,
  transaction: RequestTransaction,
): unknown {
  if (!(error instanceof DatabaseError)) return error;
  const { key } = transaction;
  const ofKey = key === null ? null : keyError(error, key);
  return ofKey ?? statementError(error, transaction);
}

/** Returns the error of a statement of a query, or of the check behind it. */
export function statementError(
  error: DatabaseError,
  { patching, levels, responseGucCheck }: QueryPositions,
): Error {
  if (error.statement === patching) return patchError(error);
  const path = levels.paths[error.statement - levels.first] ?? null;
  if (path !== null) return levelError(error, path);
  if (error.statement !== responseGucCheck) return error;
  switch (invalidResponseGuc(error.failure.sqlstate)) {
    case "status":
      return errors.invalidResponseStatus();
    case "headers":
      return errors.invalidResponseHeaders();
    case null:
      return error;
  }
}

/** Returns the error of a level of a nested insert. */
function levelError(error: DatabaseError, path: string): Error {
  const lost = lostRowsOf(error.failure);
  return lost === null ? error : errors.rowsNotAssigned(path, lost.sent, lost.written);
}

/** Returns the error of an operation that fails on a row. */
function patchError(error: DatabaseError): Error {
  const number = failedOperation(error.failure);
  if (number === null) return error;
  return errors.patchDoesNotApply(`Operation ${number} finds no target, or its test fails`);
}

/** Throws the error of the first check that fails; the transaction was rolled back then. */
export function checkBatchResult({ checks }: RequestTransaction, { columns }: BatchResult): void {
  applyResultChecks(checks, columns);
}

/** Returns the lines of the execution plan; null where the request did not ask for it. */
export function explainedLines(
  reply: BatchResult,
  { explained }: RequestTransaction,
): readonly string[] | null {
  return explained === null ? null : reply.rows[explained]!.map(([line]) => line ?? "");
}

/** Returns the planner's number of rows, from its plan as JSON. */
export function estimateOf(
  reply: Pick<BatchResult, "rows">,
  { estimate }: Pick<QueryPositions, "estimate">,
): number | null {
  if (estimate === null) return null;
  const text = reply.rows[estimate]?.[0]?.[0];
  return text ? JSON.parse(text)[0]?.Plan?.["Plan Rows"] ?? null : null;
}

export function plannedEnd(
  { preferences }: Pick<ApiRequest, "preferences">,
  config: Pick<Config, "dbTxEnd">,
): TransactionEnd {
  const preferred = isEndOverridable(config) ? preferences.tx : null;
  return preferred ?? (config.dbTxEnd.startsWith("commit") ? "commit" : "rollback");
}

/** Checks deferred constraints before a rollback, as COMMIT would. */
export const checkConstraints: Statement = {
  text: "set constraints all immediate",
  params: [],
  use: "none",
  runsUserCode: true,
};
