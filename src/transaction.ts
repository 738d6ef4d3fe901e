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
import type { RoleDefaults } from "./config/in_database.ts";
import type { Config } from "./config/options.ts";
import { FootingLost } from "./database/footing.ts";
import type { Pace } from "./database/pace.ts";
import { errors } from "./errors/catalogue.ts";
import { DatabaseError } from "./errors/service_error.ts";
import { changeLimit } from "./plan/mutate_plan.ts";
import type { Plan } from "./plan/plan.ts";
import type { RootPlan } from "./plan/root_plan.ts";
import { callQuery, fact, mutateQuery, type Query, readQuery } from "./query/query.ts";
import { badOverride, overridesCheck } from "./query/overrides_check.ts";
import { schemaFactsQuery } from "./query/root.ts";
import { requestFooting } from "./query/request_footing.ts";
import {
  claimSettings,
  searchPathOf,
  settingsInBlock,
  settingsStatement,
  type TransactionSettings,
} from "./query/settings.ts";
import { compile, ident, sql } from "./sql/fragment.ts";
import type { ApiRequest } from "./request/api_request.ts";

/** Plans that need the database. */
export type DataPlan = Extract<Plan, { kind: "read" | "mutate" | "call" }>;

/** Options that a transaction depends on. */
export type TransactionConfig = Pick<
  Config,
  | "appSettings"
  | "dbExtraSearchPath"
  | "dbPreparedStatements"
  | "dbPreRequest"
  | "dbTxEnd"
  | "jwtClaimSettings"
>;

/** Whose transaction it is, and what the transactions of that role begin with. */
export interface TransactionOwner {
  readonly identity: Identity;
  /** Undefined when the role has nothing of its own. */
  readonly defaults: RoleDefaults | undefined;
  /** Gives what is aborted when nobody waits for the answer any more. */
  readonly signal?: () => AbortSignal;
}

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
  /** Position of the statement whose rows are an execution plan, or null. */
  readonly explained: number | null;
  /** None of the database's own code is run. */
  readonly quiet: boolean;
}

/** What a request asks of the database, and in which words. */
export interface Asked {
  readonly plan: DataPlan;
  /** Says it; of a plan that is quiet, as one that is carried out like that, if so wanted. */
  readonly query: (quiet: boolean) => Query;
  /** How long requests like this one take, where that is known of several. */
  readonly pace?: Pace;
}

/** Puts the transaction of a request together; with `isLoud` not as a quiet one. */
export function requestTransaction(
  request: ApiRequest,
  { plan, query: say, pace }: Asked,
  owner: TransactionOwner,
  { config, isLoud }: { readonly config: TransactionConfig; readonly isLoud: boolean },
): RequestTransaction {
  const end = plannedEnding(request, config);
  const access = accessOf(plan);
  const isolation = isolationOf(plan, owner);
  const explained = isExplained(plan);
  const kept = access === "read write" && !explained;
  const check = kept ? resultCheck(request, plan) : null;
  const isImplicit = config.dbPreparedStatements && end === "commit" &&
    isolation === "read committed" && check === null;
  const purpose = access === "read only" ? "reading" : "writing";
  const settings = settingsOf(request, plan, owner, config);
  const footing = isImplicit && !isLoud && isQuiet(plan, config)
    ? requestFooting(purpose, settings)
    : null;
  const quiet = footing !== null;
  const query = say(quiet);
  const before = [
    ...(quiet ? [] : [settingsStatement(settings, isImplicit ? purpose : "block")]),
    ...(config.jwtClaimSettings && !(quiet && purpose === "reading")
      ? [claimSettings(owner.identity.claims)]
      : []),
    ...preRequest(config),
  ];
  // Before the main statement, whose body may be on its way to the client when later ones run.
  const estimate = query.estimate === null ? null : before.push(query.estimate) - 1;
  const after: Statement[] = [];
  const place = (statement: Statement) => before.length + after.push(statement);
  if (end === "rollback") place(constraintsNow);
  const overrides = kept && !quiet ? place(overridesCheck) : null;
  const sharing = (pace: Pace) => {
    if (!mayRunTwice(plan, config)) return { pace, once: true, undoable: quiet };
    return quiet ? { pace } : { pace, inBlock: () => settingsInBlock(settings, before[0]!) };
  };
  const batch: Batch = {
    access,
    isolation,
    footing: footing ?? "any",
    statements: [...before, query.main, ...after],
    end: check === null ? end : (head) => (check(head), end),
    // What was only read can be shown before the end; what is written only when it is certain.
    stream: access === "read only" && isolation !== "serializable",
    ...signalOf(owner),
    ...(isImplicit ? { block: "implicit" } : {}),
    ...(isImplicit && pace !== undefined ? sharing(pace) : {}),
  };
  return { batch, estimate, overrides, explained: explained ? before.length : null, quiet };
}

/** Puts the transaction of a description together, whose last statement gives one text or nothing. */
export function rootTransaction(
  request: ApiRequest,
  plan: RootPlan,
  owner: TransactionOwner,
  config: TransactionConfig,
): Batch {
  const settings = settingsOf(request, plan, owner, config);
  const before = [settingsStatement(settings, "block"), ...preRequest(config)];
  return {
    access: "read only",
    isolation: isolationOf(plan, owner),
    footing: "any",
    statements: plan.headersOnly ? before : [...before, schemaFactsQuery(plan)],
    end: "commit",
    stream: false,
    ...signalOf(owner),
  };
}

function signalOf({ signal }: TransactionOwner): Pick<Batch, "signal"> {
  return signal === undefined ? {} : { signal };
}

/** What {@linkcode rootTransaction} gave. */
export function rootFactsOf({ rows }: BatchReply): string | null {
  return rows.at(-1)?.[0]?.[0] ?? null;
}

/**
 * Says what a failed transaction means: a failure of the check of the overrides is the service's own
 * error.
 */
export function transactionError(error: unknown, { overrides }: RequestTransaction): unknown {
  if (!(error instanceof DatabaseError) || error.statement !== overrides) return error;
  const bad = badOverride(error.failure.sqlstate);
  if (bad === null) return error;
  return bad === "status" ? errors.invalidResponseStatus() : errors.invalidResponseHeaders();
}

/** Checks the result of a transaction that changes nothing. Raises `116` and `124`. */
export function checkResult(request: ApiRequest, plan: DataPlan, reply: BatchReply): void {
  if (accessOf(plan) !== "read only" || isExplained(plan)) return;
  resultCheck(request, plan)?.(reply.head);
}

/** The lines of the execution plan that was asked for; null when none was. */
export function explainedLines(
  reply: BatchReply,
  { explained }: RequestTransaction,
): readonly string[] | null {
  return explained === null ? null : reply.rows[explained]!.map(([line]) => line ?? "");
}

function isExplained({ representation }: DataPlan): boolean {
  return representation.explain !== null;
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

/** The words for what a plan asks; `quiet` where it is, and is to be carried out like that. */
export function queryOf(plan: DataPlan, quiet: boolean): Query {
  const { explain, format } = plan.representation;
  const shown = { explain, format };
  const bodiless = { explain, format: null };
  switch (plan.kind) {
    case "read":
      return readQuery(
        plan.read,
        plan.count,
        plan.headersOnly ? bodiless : shown,
        quiet ? plan.quiet : null,
      );
    case "mutate":
      return mutateQuery(plan.mutate, shown, quiet);
    case "call": {
      const silent = plan.headersOnly || plan.call.routine.returns.void;
      return callQuery(plan.call, plan.count, silent ? bodiless : shown);
    }
    default:
      return plan satisfies never;
  }
}

/**
 * Whether nobody notices when the transaction is run a second time. One that only reads may notify,
 * lock or call other servers all the same, in functions that do not say that they do nothing of it.
 */
function mayRunTwice(plan: DataPlan, { dbPreRequest }: TransactionConfig): boolean {
  if (accessOf(plan) !== "read only" || dbPreRequest !== null) return false;
  return plan.kind !== "call" || plan.call.routine.volatility !== "volatile";
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

function isolationOf(plan: DataPlan | RootPlan, { defaults }: TransactionOwner): IsolationLevel {
  const own = plan.kind === "call" ? plan.call.isolation : null;
  return own ?? defaults?.isolation ?? "read committed";
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
  plan: DataPlan | RootPlan,
  { identity: { role, claims }, defaults }: TransactionOwner,
  config: TransactionConfig,
): TransactionSettings {
  const ofFunction = plan.kind === "call" ? plan.call.routine.settings : [];
  const { method, path, headers, cookies } = request;
  return {
    searchPath: searchPathOf(request.schema, config.dbExtraSearchPath),
    role,
    roleSettings: defaults?.settings ?? [],
    claims,
    method,
    path,
    headers,
    cookies,
    timezone: request.preferences.timezone,
    later: [...ofFunction, ...config.appSettings],
  };
}

/** Relations that were met and have become others than the schema cache knows. */
const doubted = new WeakSet<object>();

/** Whether none of the database's own code runs, as far as is known. */
export function isQuiet(
  plan: DataPlan,
  { dbPreRequest }: Pick<TransactionConfig, "dbPreRequest">,
): boolean {
  if (dbPreRequest !== null) return false;
  switch (plan.kind) {
    case "read":
      return plan.quiet !== null && !plan.quiet.some((relation) => doubted.has(relation));
    case "mutate":
      return plan.quiet;
    case "call":
      return false;
    default:
      return plan satisfies never;
  }
}

/**
 * Whether a quiet reading failed because code has run all the same, or may have: a relation has become
 * another one since the schema cache was read, and what runs there was not told what the request said.
 */
export function isDoubtful(
  { quiet }: RequestTransaction,
  plan: DataPlan,
  error: unknown,
): boolean {
  if (!quiet || plan.kind !== "read") return false;
  return error instanceof FootingLost ||
    (error instanceof DatabaseError && !/^(08|53|57|58)/.test(error.failure.sqlstate));
}

/** Has a plan's relations read as if code ran, until the schema cache is read again. */
export function doubt(plan: DataPlan): void {
  if (plan.kind !== "read") return;
  for (const relation of plan.quiet ?? []) doubted.add(relation);
}

/** The reply of a quiet transaction as one in which nobody said anything of the response. */
export function unsaid(reply: BatchReply): BatchReply {
  const head = [...reply.head];
  head[fact.headers] = null;
  head[fact.status] = null;
  return { ...reply, head };
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
  const singular = singularCheck(plan);
  const affecting = affectedCheck(request, plan);
  const limited = limitCheck(plan);
  if (singular === null && affecting === null && limited === null) return null;
  return (head) => {
    const rows = Number(head[fact.rows] ?? 0);
    const affected = Number(head[fact.affected] ?? rows);
    for (const check of [singular, affecting, limited]) check?.(rows, affected);
  };
}

/** Looks at the rows of the result, or at those that were written, of which it may show fewer. */
type RowsCheck = (rows: number, affected: number) => void;

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
  return (_rows, affected) => {
    if (affected > maxAffected) throw errors.maxAffectedExceeded(affected);
  };
}

function limitCheck(plan: DataPlan): RowsCheck | null {
  const limit = plan.kind === "mutate" ? changeLimit(plan.mutate) : null;
  if (limit === null) return null;
  return (_rows, affected) => {
    if (affected > limit) throw errors.limitSurpassed(affected, limit);
  };
}
