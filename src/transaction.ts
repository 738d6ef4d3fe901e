/**
 * One request's transaction: which statements in which order, how it ends, and what has to be true
 * of the result for it to be kept.
 *
 * @module
 */
import type {
  AnswerHead,
  Batch,
  BatchReply,
  Ending,
  IsolationLevel,
  Statement,
} from "./database/database.ts";
import type { Identity } from "./auth/jwt_cache.ts";
import type { Config } from "./config/options.ts";
import { errors } from "./errors/catalogue.ts";
import { DatabaseError } from "./errors/service_error.ts";
import { changeLimit } from "./plan/mutate_plan.ts";
import type { Plan } from "./plan/plan.ts";
import { callQuery, fact, mutateQuery, type Query, readQuery } from "./query/query.ts";
import { invalidStatusState, overridesCheck } from "./query/overrides_check.ts";
import { settingsStatement } from "./query/settings.ts";
import { compile, ident, sql } from "./sql/fragment.ts";
import type { ApiRequest } from "./request/api_request.ts";

/** Plans that need the database. */
export type DataPlan = Extract<Plan, { kind: "read" | "mutate" | "call" }>;

/** Options that a transaction depends on. */
export type TransactionConfig = Pick<
  Config,
  "appSettings" | "dbExtraSearchPath" | "dbPreRequest" | "dbTxEnd"
>;

/** Whether `Prefer: tx=` may choose how a transaction ends. */
export function isEndOverridable({ dbTxEnd }: Pick<Config, "dbTxEnd">): boolean {
  return dbTxEnd === "commit-allow-override" || dbTxEnd === "rollback-allow-override";
}

/** A batch, and where in it the statements stand that are looked at afterwards. */
export interface RequestTransaction {
  readonly batch: Batch;
  /** Position of the planner's estimate, or null. */
  readonly estimate: number | null;
  /** Position of the check of the overrides, or null. */
  readonly overrides: number | null;
}

/** Puts the transaction of a request together. */
export function requestTransaction(
  request: ApiRequest,
  plan: DataPlan,
  identity: Identity,
  config: TransactionConfig,
): RequestTransaction {
  const query = queryOf(plan);
  const end = plannedEnding(request, config);
  const access = accessOf(plan);
  const before = [settingsOf(request, plan, identity, config), ...preRequest(config)];
  const after: Statement[] = [];
  const place = (statement: Statement) => before.length + after.push(statement);
  const estimate = query.estimate === null ? null : place(query.estimate);
  if (end === "rollback") place(constraintsNow);
  const overrides = access === "read write" ? place(overridesCheck) : null;
  const check = access === "read write" ? resultCheck(request, plan) : null;
  const isolation = isolationOf(plan);
  const batch: Batch = {
    access,
    isolation,
    statements: [...before, query.main, ...after],
    end: check === null ? end : (head) => (check(head), end),
    // What was only read can be shown before the end; what is written only when it is certain.
    stream: access === "read only" && isolation !== "serializable",
  };
  return { batch, estimate, overrides };
}

/**
 * Says what a failed transaction means: a failure of the check of the overrides is the service's own
 * error.
 */
export function transactionError(error: unknown, { overrides }: RequestTransaction): unknown {
  if (!(error instanceof DatabaseError) || error.statement !== overrides) return error;
  return error.failure.sqlstate === invalidStatusState
    ? errors.invalidResponseStatus()
    : errors.invalidResponseHeaders();
}

/** Checks the result of a transaction that changes nothing. Raises `116` and `124`. */
export function checkResult(request: ApiRequest, plan: DataPlan, reply: BatchReply): void {
  if (accessOf(plan) === "read only") resultCheck(request, plan)?.(reply.head);
}

/** The planner's number of rows, out of its plan as JSON. */
export function estimateOf(
  reply: BatchReply,
  { estimate }: RequestTransaction,
): number | null {
  if (estimate === null) return null;
  const text = reply.rows[estimate]?.[0]?.[0];
  return text ? JSON.parse(text)[0]?.Plan?.["Plan Rows"] ?? null : null;
}

function queryOf(plan: DataPlan): Query {
  switch (plan.kind) {
    case "read":
      return readQuery(
        plan.read,
        plan.count,
        plan.headersOnly ? null : plan.representation.format,
      );
    case "mutate":
      return mutateQuery(plan.mutate, plan.representation.format);
    case "call": {
      const bodiless = plan.headersOnly || plan.call.routine.returns.void;
      return callQuery(plan.call, plan.count, bodiless ? null : plan.representation.format);
    }
    default:
      return plan satisfies never;
  }
}

function accessOf(plan: DataPlan): Batch["access"] {
  switch (plan.kind) {
    case "read":
      return "read only";
    case "mutate":
      return "read write";
    case "call":
      return plan.call.access;
    default:
      return plan satisfies never;
  }
}

function isolationOf(plan: DataPlan): IsolationLevel {
  return plan.kind === "call" ? plan.call.isolation ?? "read committed" : "read committed";
}

function plannedEnding({ preferences }: ApiRequest, config: TransactionConfig): Ending {
  const wanted = isEndOverridable(config) ? preferences.tx : null;
  return wanted ?? (config.dbTxEnd.startsWith("commit") ? "commit" : "rollback");
}

/** Deferred constraints speak up at COMMIT only: before a rollback they are asked. */
const constraintsNow: Statement = {
  text: "set constraints all immediate",
  params: [],
  use: "none",
};

function settingsOf(
  request: ApiRequest,
  plan: DataPlan,
  { role, claims }: Identity,
  config: TransactionConfig,
): Statement {
  const ofFunction = plan.kind === "call" ? plan.call.routine.settings : [];
  return settingsStatement({
    searchPath: [request.schema, ...config.dbExtraSearchPath],
    role,
    roleSettings: [],
    claims,
    method: request.method,
    path: request.path,
    headers: JSON.stringify(request.headers),
    cookies: JSON.stringify(request.cookies),
    timezone: request.preferences.timezone,
    later: [...ofFunction, ...config.appSettings],
  });
}

function preRequest({ dbPreRequest }: TransactionConfig): readonly Statement[] {
  if (dbPreRequest === null) return [];
  const { schema, name } = dbPreRequest;
  const called = schema === null ? ident(name) : ident(schema, name);
  return [{ ...compile(sql`select ${called}()`), use: "none" }];
}

type ResultCheck = (head: AnswerHead) => void;

/** What the number of rows has to be, if anything. */
function resultCheck(request: ApiRequest, plan: DataPlan): ResultCheck | null {
  const checks = [
    singularCheck(plan),
    affectedCheck(request, plan),
    limitCheck(plan),
  ].filter((check) => check !== null);
  if (checks.length === 0) return null;
  return (head) => {
    const rows = Number(head[fact.rows] ?? 0);
    for (const check of checks) check(rows);
  };
}

type RowsCheck = (rows: number) => void;

function singularCheck(plan: DataPlan): RowsCheck | null {
  if (plan.kind === "mutate" && plan.action === "put") {
    return (rows) => {
      if (rows !== 1) throw errors.putMismatch();
    };
  }
  const single = plan.kind === "call" && !plan.call.routine.returns.set;
  if (plan.representation.format.kind !== "object" || single) return null;
  return (rows) => {
    if (rows !== 1) throw errors.notSingular(rows);
  };
}

function affectedCheck({ preferences }: ApiRequest, plan: DataPlan): RowsCheck | null {
  const { handling, maxAffected } = preferences;
  const counted = plan.kind === "call" ||
    (plan.kind === "mutate" && (plan.action === "update" || plan.action === "delete"));
  if (!counted || handling !== "strict" || maxAffected === null) return null;
  return (rows) => {
    if (rows > maxAffected) throw errors.maxAffectedExceeded(rows);
  };
}

function limitCheck(plan: DataPlan): RowsCheck | null {
  const limit = plan.kind === "mutate" ? changeLimit(plan.mutate) : null;
  if (limit === null) return null;
  return (rows) => {
    if (rows > limit) throw errors.limitSurpassed(rows, limit);
  };
}
