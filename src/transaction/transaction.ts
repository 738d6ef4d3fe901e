/**
 * Builds the transaction of a request as a batch: its statements in order, its end, and the bounds on its
 * result.
 *
 * @module
 */
import type { Identity } from "../auth/jwt_cache.ts";
import type { RoleDefaults } from "../config/in_database.ts";
import type { Config } from "../config/options.ts";
import type {
  Batch,
  BatchResult,
  BlockTransaction,
  ParamStream,
  ReadBatch,
  Statement,
  TransactionEnd,
} from "../database/database.ts";
import { errors } from "../errors/catalogue.ts";
import { DatabaseError } from "../errors/service_error.ts";
import { noIdentifiers, type RequestIdentifiers } from "../http/request_id.ts";
import type { RootPlan } from "../plan/root_plan.ts";
import { failedOperation } from "../query/patch.ts";
import { type Query, resultColumn } from "../query/query.ts";
import { schemaMetadataQuery } from "../query/schema_metadata.ts";
import type { ApiRequest, PayloadPieces } from "../request/api_request.ts";
import { compile, ident, type ParamValue, sql } from "../sql/fragment.ts";
import { accessOf, type DataPlan, isExplained, isolationOf } from "./data_plan.ts";
import { invalidResponseGuc, responseGucCheck } from "./response_guc_check.ts";
import { applyResultChecks, type ResultCheck, resultChecks } from "./result_checks.ts";
import {
  claimSettings,
  planContextOf,
  searchPathOf,
  settingsStatement,
  type TransactionSettings,
} from "./settings.ts";

/** Options that a transaction depends on. */
export type TransactionConfig = Pick<
  Config,
  | "appSettings"
  | "dbAnonRole"
  | "dbAnonStatementTimeout"
  | "dbExtraSearchPath"
  | "dbMaxCost"
  | "dbPipelining"
  | "dbPreparedStatements"
  | "dbPreRequest"
  | "dbReadOnly"
  | "dbStatementTimeout"
  | "dbTxEnd"
  | "jwtClaimSettings"
>;

/** The role of a transaction, and its settings in the database. */
export interface TransactionOwner {
  readonly identity: Identity;
  /** Undefined where the role has no settings of its own. */
  readonly defaults: RoleDefaults | undefined;
  /** Whether the login role sets `statement_timeout`. */
  readonly loginSetsTimeout: boolean;
  /** Default: {@linkcode noIdentifiers}. */
  readonly identifiers?: RequestIdentifiers;
}

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
}

/** A parameter of a query in pieces. */
export interface DividedParam {
  /** The parameter's value in the query. */
  readonly placeholder: ParamValue;
  readonly pieces: PayloadPieces;
}

/** A batch, and the positions of the statements whose results are read afterwards. */
export interface RequestTransaction {
  readonly batch: Batch;
  readonly checks: readonly ResultCheck[];
  /** Position of the planner's estimate, or null. */
  readonly estimate: number | null;
  /** Position of the check of `response.headers` and `response.status`, or null. */
  readonly responseGucCheck: number | null;
  /** Position of the statement whose rows are an execution plan, or null. */
  readonly explained: number | null;
  /** Position of the statement that applies a patch document, or null. */
  readonly patching: number | null;
}

/** Builds the transaction of a request. */
export function buildTransaction(
  request: ApiRequest,
  { plan, query, kind, isRetrySafe, divided = null }: PlannedQuery,
  owner: TransactionOwner,
  config: TransactionConfig,
): RequestTransaction {
  const access = config.dbReadOnly ? "read only" : accessOf(plan);
  const isPlan = isExplained(plan);
  const checks = isPlan ? [] : resultChecks(request, plan);
  const bounds = access === "read write" ? checks.map((check) => check.bounds) : [];
  const end = plannedEnd(request, config);
  const isolation = isolationOf(plan, owner.defaults);
  const maxCost = divided === null ? maxCostOf(plan, owner, config) : null;
  const isImplicit = config.dbPreparedStatements && end === "commit" && maxCost === null &&
    isolation === "read committed" && bounds.length === 0 && divided === null;
  const form = isImplicit ? access : "block";
  const settings = settingsOf(request, plan, owner, config);
  const before = preamble(settingsStatement(settings, form), { config, owner });
  // The estimate goes first: the body may be on its way to the client when a later statement runs.
  const estimate = query.estimate === null ? null : before.push(query.estimate) - 1;
  const costLimit = maxCost === null ? null : {
    statement: before.push(explained(query.main)) - 1,
    maxCost,
  };
  const statements = [...before, query.main];
  const place = (statement: Statement) => statements.push(statement) - 1;
  if (end === "rollback") place(checkConstraints);
  const isWrite = access === "read write" && !isPlan;
  const gucCheck = isWrite ? place(responseGucCheck) : null;
  const transaction = isImplicit ? { form: "implicit" } as const : {
    form: "block",
    isolation,
    end: end === "commit" && bounds.length > 0 ? bounds : end,
  } as const;
  const common = {
    transaction,
    statements,
    planContext: planContextOf(settings),
    kind: config.dbPipelining && divided === null ? kind : null,
    ...(costLimit === null ? {} : { costLimit }),
  };
  const stream = divided === null
    ? {}
    : { stream: paramStream(query.main, before.length, divided) };
  return {
    batch: access === "read write" ? { ...common, access, ...stream } : {
      ...common,
      access,
      // A serializable transaction can fail at its end, even one that only reads.
      body: isolation === "serializable" ? "hold" : "stream",
      retry: isRetrySafe && config.dbPreRequest === null ? "safe" : "never",
    },
    checks,
    estimate,
    responseGucCheck: gucCheck,
    explained: isPlan ? before.length : null,
    patching: plan.kind === "mutate" && plan.mutate.kind === "patch" ? before.length : null,
  };
}

/**
 * Returns the highest cost of a plan's statement; null for no limit. The planner knows the cost of
 * relations, and takes that of functions for constant.
 */
function maxCostOf(
  plan: DataPlan,
  { defaults }: TransactionOwner,
  { dbMaxCost }: TransactionConfig,
): number | null {
  if (plan.kind === "call" || isExplained(plan)) return null;
  return (defaults?.maxCost ?? dbMaxCost) || null;
}

/** Returns the EXPLAIN of a statement with its parameters. */
function explained({ text, params }: Statement): Statement {
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
  { responseGucCheck: position, patching }: RequestTransaction,
): unknown {
  if (!(error instanceof DatabaseError)) return error;
  if (error.statement === patching) return patchError(error);
  if (error.statement !== position) return error;
  switch (invalidResponseGuc(error.failure.sqlstate)) {
    case "status":
      return errors.invalidResponseStatus();
    case "headers":
      return errors.invalidResponseHeaders();
    case null:
      return error;
  }
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
  reply: BatchResult,
  { estimate }: RequestTransaction,
): number | null {
  if (estimate === null) return null;
  const text = reply.rows[estimate]?.[0]?.[0];
  return text ? JSON.parse(text)[0]?.Plan?.["Plan Rows"] ?? null : null;
}

function plannedEnd({ preferences }: ApiRequest, config: TransactionConfig): TransactionEnd {
  const preferred = isEndOverridable(config) ? preferences.tx : null;
  return preferred ?? (config.dbTxEnd.startsWith("commit") ? "commit" : "rollback");
}

/** Checks deferred constraints before a rollback, as COMMIT would. */
const checkConstraints: Statement = {
  text: "set constraints all immediate",
  params: [],
  use: "none",
  runsUserCode: true,
};

function settingsOf(
  request: ApiRequest,
  plan: DataPlan | RootPlan,
  owner: TransactionOwner,
  config: TransactionConfig,
): TransactionSettings {
  const { identity: { role, claims }, defaults, identifiers = noIdentifiers } = owner;
  const ofFunction = plan.kind === "call" ? plan.call.routine.settings : [];
  const { method, path, headers, cookies } = request;
  return {
    searchPath: searchPathOf(request.schema, config.dbExtraSearchPath),
    role,
    roleSettings: defaults?.settings ?? [],
    timeoutMs: timeoutMsOf(owner, config),
    claims,
    method,
    path,
    headers,
    cookies,
    requestId: identifiers.requestId,
    applicationName: identifiers.applicationName,
    timezone: request.preferences.timezone,
    overrides: [...ofFunction, ...config.appSettings],
  };
}

const timeoutSetting = "statement_timeout";

/** Returns the timeout of a request: `TransactionSettings.timeoutMs`. */
function timeoutMsOf(
  { identity: { role }, defaults, loginSetsTimeout }: TransactionOwner,
  { dbAnonRole, dbAnonStatementTimeout, dbStatementTimeout }: TransactionConfig,
): number | null {
  const ofAnonymous = role === dbAnonRole ? dbAnonStatementTimeout : null;
  const seconds = ofAnonymous ?? dbStatementTimeout;
  if (seconds === null || seconds === 0) return null;
  const ofRole = defaults?.settings.some(([name]) => name.toLowerCase() === timeoutSetting);
  if (ofRole) return null;
  return loginSetsTimeout ? 0 : Math.round(seconds * 1000);
}

/** Returns the statements before those of the query. */
function preamble(
  settings: Statement,
  { config: { jwtClaimSettings, dbPreRequest }, owner }: {
    readonly config: TransactionConfig;
    readonly owner: TransactionOwner;
  },
): Statement[] {
  const statements = [settings];
  if (jwtClaimSettings) statements.push(claimSettings(owner.identity.claims));
  if (dbPreRequest !== null) {
    const { schema, name } = dbPreRequest;
    const called = schema === null ? ident(name) : ident(schema, name);
    statements.push({ ...compile(sql`select ${called}()`), use: "none", runsUserCode: true });
  }
  return statements;
}
