/** Builds the script of a request: the statements of its transaction in order, each with its role. A plain
 * request is one operation, a batch has several. @module */
import type { Config } from "../../state/config/options.ts";
import type {
  AccessMode,
  IsolationLevel,
  Statement,
  StatementRole,
  Transaction,
  TransactionBlock,
  TransactionEnd,
} from "../../database/transaction.ts";
import type { FailedOperation } from "../../base/errors/service_error.ts";
import type { Query } from "../query/query.ts";
import type { ApiRequest } from "../request/api_request.ts";
import type { ParamValue } from "../../base/sql/fragment.ts";
import { type CostLimit, explained } from "./cost_limit.ts";
import { accessOf, type DataPlan, isExplained, isolationOf } from "./data_plan.ts";
import { keyStatements, type RequestKey } from "./idempotency.ts";
import {
  type DescribedRequest,
  preRequestStatement,
  settingsOf,
  settingStatements,
  type SharedSettings,
  sharedSettings,
  type TransactionActor,
  type TransactionConfig,
} from "./preamble.ts";
import { responseGucCheck } from "./response_guc_check.ts";
import { type ResultCheck, resultChecks } from "./result_checks.ts";
import { planContextOf, type SettingsForm, type TransactionSettings } from "./settings.ts";
import type { Payload } from "../request/body/body_decoder.ts";

/** Whether `Prefer: tx=` may choose how a transaction ends. */
export function isEndOverridable({ dbTxEnd }: Pick<Config, "dbTxEnd">): boolean {
  return dbTxEnd === "commit-allow-override" || dbTxEnd === "rollback-allow-override";
}

/** The parts of an operation's script that depend on its plan, its role and the configuration alone. */
interface CompiledOperation {
  readonly access: AccessMode;
  readonly isolation: IsolationLevel;
  /** Highest cost of the statement; null for no limit. */
  readonly maxCost: number | null;
  readonly checks: readonly ResultCheck[];
  readonly settings: SharedSettings;
  readonly planContext: string;
}

/** Requests whose scripts differ only by parameters. `compiled` has the common parts, by role. */
export interface ScriptKind {
  readonly compiled: Map<string, CompiledOperation>;
}

/** Maximum number of roles for which a kind stores compiled operations. Each user may have a role. */
const maxRoles = 100;

/** A planned request, and its SQL. */
export interface PlannedQuery {
  readonly plan: DataPlan;
  readonly query: Query;
  /** Null if the kind is unknown. */
  readonly kind: ScriptKind | null;
  /** Whether a second execution has no observable effect, apart from `db-pre-request`. */
  readonly isRetrySafe: boolean;
  /** Whether the request may change the session, and so affect later transactions. */
  readonly mayChangeSession: boolean;
}

/** A statement that fails unless a result has the rows that a reference needs. */
export interface ReferenceCheck {
  readonly statement: Statement;
  /** The reference's source, as sent. */
  readonly source: string;
}

/** A planned request: the only operation, or one of a batch. */
export interface RequestOperation {
  readonly request: ApiRequest;
  readonly planned: PlannedQuery;
  /** The operation as errors of a batch describe it; null for a plain request. */
  readonly place: FailedOperation | null;
  readonly referenceChecks: readonly ReferenceCheck[];
}

/** Data of a batch, except its operations. */
export interface BatchHead {
  /** The batch as `db-pre-request` sees it. */
  readonly request: DescribedRequest;
  /** The isolation level; null if the settings of the role and the functions determine it. */
  readonly isolation: IsolationLevel | null;
}

/** The operations of a request, and the data that they share. */
export interface RequestWork {
  readonly operations: readonly RequestOperation[];
  /** Null for a plain request. */
  readonly batch: BatchHead | null;
  /** Null without a body. */
  readonly payload: Payload | null;
  /** Null without an `Idempotency-Key`. */
  readonly key: RequestKey | null;
}

/** A body in chunks. Each chunk is a parameter of one execution of the main statement. */
export interface DividedParam {
  /** The value that marks the parameter in the query. */
  readonly placeholder: ParamValue;
  readonly chunks: Iterable<Uint8Array>;
}

export interface RequestScript {
  /** The transaction with all its statements and its planned end. */
  readonly transaction: Transaction;
  readonly end: TransactionEnd;
  /** Limits by ascending position of their statements. Each takes a round trip, in a block. */
  readonly costLimits: readonly CostLimit[];
  /** The checks of each operation's result. */
  readonly checks: readonly (readonly ResultCheck[])[];
  /** Null unless the body is divided. */
  readonly divided: DividedParam | null;
}

/** Whether the transaction of a plan may write. */
export function mayWrite(plan: DataPlan, { dbReadOnly }: Pick<Config, "dbReadOnly">): boolean {
  return !dbReadOnly && accessOf(plan) === "read write";
}

export function buildScript(
  work: RequestWork,
  actor: TransactionActor,
  config: TransactionConfig,
): RequestScript {
  const { operations, batch } = work;
  const compiled = operations.map((operation) => compiledOf(operation, actor, config));
  const first = compiled[0]!;
  const isWriting = compiled.some(({ access }) => access === "read write");
  const access = isWriting ? "read write" : "read only";
  const end = plannedEnd(batch?.request ?? operations[0]!.request, config);
  const isolation = batch === null ? first.isolation : strictestOf(compiled, batch, actor);
  const divided = dividedOf(work);
  const isPlain = batch === null && work.key === null && divided === null;
  const isImplicit = isPlain && end === "commit" && isolation === "read committed" &&
    config.dbPreparedStatements &&
    // Settings for workers need a block, because Citus forwards settings in a block only.
    actor.usesSetCommands !== true &&
    (access === "read only" || first.checks.length === 0) && first.maxCost === null;
  const form = isImplicit ? access : "block";
  const builder = new ScriptBuilder(work, { access, end, form, divided, actor, config });
  if (batch !== null) builder.addHead(batch);
  compiled.forEach((each, index) => builder.addOperation(operations[index]!, each, index));
  if (batch !== null && end === "rollback") builder.add(checkConstraints);
  const block = isImplicit ? null : { isolation, end };
  const transaction = transactionOf(builder, work, { access, block, isPlain, config });
  const checks = compiled.map((each) => each.checks);
  return { transaction, end, costLimits: builder.costLimits, checks, divided };
}

/** Compiles an operation. If requests share its plan, it is compiled once for each role. */
function compiledOf(
  { request, planned: { plan, kind } }: RequestOperation,
  actor: TransactionActor,
  config: TransactionConfig,
): CompiledOperation {
  const { identity: { role } } = actor;
  const kept = kind?.compiled.get(role);
  if (kept !== undefined) return kept;
  const settings = sharedSettings(request, plan, actor, config);
  const compiled: CompiledOperation = {
    access: mayWrite(plan, config) ? "read write" : "read only",
    isolation: isolationOf(plan, actor.defaults),
    maxCost: maxCostOf(plan, actor, config),
    checks: resultChecks(request, plan),
    settings,
    planContext: planContextOf(settings),
  };
  if (kind !== null) {
    if (kind.compiled.size >= maxRoles) kind.compiled.clear();
    kind.compiled.set(role, compiled);
  }
  return compiled;
}

/** Returns the body of a plain request in chunks; null for a whole body. */
function dividedOf({ payload, batch }: RequestWork): DividedParam | null {
  if (batch !== null || payload?.kind !== "json" || payload.chunks === undefined) return null;
  return { placeholder: payload.text, chunks: payload.chunks };
}

function transactionOf(
  { statements, planContext }: Pick<Transaction, "planContext" | "statements">,
  { operations, batch }: RequestWork,
  { access, block, isPlain, config: { dbPipelining, dbPreRequest } }: {
    readonly access: AccessMode;
    readonly block: TransactionBlock | null;
    readonly isPlain: boolean;
    readonly config: TransactionConfig;
  },
): Transaction {
  const [{ planned }] = operations as readonly [RequestOperation];
  const kind = isPlain && dbPipelining ? planned.kind : null;
  const mayChangeSession = dbPreRequest !== null ||
    operations.some(({ planned }) => planned.mayChangeSession);
  const common = { block, statements, planContext, kind, mayChangeSession };
  if (access === "read write") return { ...common, access };
  // A serializable read does not stream, because the transaction can fail at its end.
  const isSerializable = block?.isolation === "serializable";
  const isRetrySafe = batch === null && planned.isRetrySafe && dbPreRequest === null;
  return {
    ...common,
    access,
    body: batch === null && !isSerializable ? "stream" : "hold",
    retry: isRetrySafe ? "safe" : "never",
  };
}

/** Returns the position of the statement with a role, or -1. */
export function positionOf(
  { transaction: { statements } }: Pick<RequestScript, "transaction">,
  role: StatementRole,
  operation?: number,
): number {
  return statements.findIndex((statement) =>
    statement.role === role && (operation === undefined || statement.operation === operation)
  );
}

/** The isolation levels, from the least strict to the strictest. */
export const isolationLevels: readonly IsolationLevel[] = [
  "read committed",
  "repeatable read",
  "serializable",
];

/** Returns the strictest level that a batch needs. */
function strictestOf(
  operations: readonly CompiledOperation[],
  batch: BatchHead,
  { defaults }: TransactionActor,
): IsolationLevel {
  const levels = operations.map(({ isolation }) => isolation);
  const all = [batch.isolation, defaults?.isolation ?? null, ...levels];
  return isolationLevels.findLast((level) => all.includes(level)) ?? "read committed";
}

export function plannedEnd(
  { preferences }: Pick<ApiRequest, "preferences">,
  config: Pick<Config, "dbTxEnd">,
): TransactionEnd {
  const preferred = isEndOverridable(config) ? preferences.tx : null;
  return preferred ?? (config.dbTxEnd.startsWith("commit") ? "commit" : "rollback");
}

/**
 * Returns the highest cost of a plan's statement; null for no limit. The planner knows the cost of
 * relations, and assumes a constant cost of functions.
 */
function maxCostOf(
  plan: DataPlan,
  { defaults }: TransactionActor,
  { dbMaxCost }: TransactionConfig,
): number | null {
  if (plan.kind === "call" || isExplained(plan)) return null;
  return (defaults?.maxCost ?? dbMaxCost) || null;
}

const savepoint = control("savepoint svc_operation");
/** Sets an access mode that is valid until the end of the savepoint. */
const readOnly = control("set transaction read only");
const release = control("release savepoint svc_operation");

function control(text: string): Statement {
  return { text, params: [], use: "none", isShared: true };
}

/** Checks deferred constraints before a rollback, as COMMIT would. */
const checkConstraints: Statement = {
  text: "set constraints all immediate",
  params: [],
  use: "none",
  runsUserCode: true,
};

const readOverrides: Statement = {
  text: "select pg_catalog.current_setting('response.headers', true), " +
    "pg_catalog.current_setting('response.status', true)",
  params: [],
  use: "rows",
  isShared: true,
  role: "overrides",
};

/** Properties of a script that all its statements depend on. */
interface ScriptForm {
  readonly access: AccessMode;
  readonly end: TransactionEnd;
  readonly form: SettingsForm;
  readonly divided: DividedParam | null;
  readonly actor: TransactionActor;
  readonly config: TransactionConfig;
}

class ScriptBuilder {
  readonly statements: Statement[] = [];
  readonly costLimits: CostLimit[] = [];
  /** `planContext` of the first settings in the script. */
  planContext: string | null = null;
  readonly #work: RequestWork;
  readonly #form: ScriptForm;
  /** Names of settings that functions of earlier operations have, and that later operations reset. */
  #restored: readonly string[] = noNames;

  constructor(work: RequestWork, form: ScriptForm) {
    this.#work = work;
    this.#form = form;
  }

  add(statement: Statement): void {
    this.statements.push(statement);
  }

  /** Adds the first statements of a batch: settings, `db-pre-request`, and `Idempotency-Key`. */
  addHead({ request }: BatchHead): void {
    const { actor, config } = this.#form;
    const { key } = this.#work;
    const settings = settingsOf(sharedSettings(request, null, actor, config), request, actor);
    this.planContext = planContextOf(settings);
    if (config.dbPreRequest === null && key === null) return;
    this.#addSettings({ ...settings, batchPosition: "" });
    if (config.dbPreRequest !== null) {
      this.add(preRequestStatement(config.dbPreRequest));
      this.add(readOverrides);
    }
    if (key !== null) this.statements.push(...keyStatements(key));
  }

  /** Adds the statements of an operation. */
  addOperation(
    { request, planned: { plan, query }, referenceChecks }: RequestOperation,
    compiled: CompiledOperation,
    index: number,
  ): void {
    const { access, end, divided, config } = this.#form;
    const { batch, key } = this.#work;
    const { planContext } = compiled;
    this.planContext ??= planContext;
    this.#addSettings(this.#operationSettings(request, plan, compiled.settings, index));
    const isOnlyReading = batch !== null && access === "read write" &&
      compiled.access === "read only";
    if (isOnlyReading) this.statements.push(savepoint, readOnly);
    const place = (statement: Statement) =>
      this.add(batch === null ? statement : { ...statement, planContext, operation: index });
    if (config.dbPreRequest !== null) place(preRequestStatement(config.dbPreRequest));
    if (batch === null && key !== null) this.statements.push(...keyStatements(key));
    for (const { statement } of referenceChecks) {
      this.add({ ...statement, role: "reference", operation: index });
    }
    // The estimate goes first: the client may get the body while a later statement runs.
    if (query.estimate !== null) place(query.estimate);
    const { maxCost } = compiled;
    if (divided === null && maxCost !== null) {
      this.costLimits.push({ statement: this.statements.length, maxCost });
      this.add({ ...explained(query.main), operation: index });
    }
    for (const { statement } of query.writes ?? noWrites) place(statement);
    if (batch === null) this.add(query.main);
    else place({ ...query.main, use: "held" });
    if (batch === null && end === "rollback") this.add(checkConstraints);
    if (access === "read write" && !isExplained(plan)) {
      this.add(batch === null ? responseGucCheck : { ...responseGucCheck, operation: index });
    }
    if (isOnlyReading) this.add(release);
  }

  #addSettings(settings: TransactionSettings): void {
    this.statements.push(...settingStatements(settings, this.#form.form, this.#form));
  }

  /** Returns the settings of an operation. Restores the settings that earlier functions have changed. */
  #operationSettings(
    request: ApiRequest,
    plan: DataPlan,
    shared: SharedSettings,
    index: number,
  ): TransactionSettings {
    const { batch, operations } = this.#work;
    const settings = settingsOf(shared, request, this.#form.actor);
    if (batch === null) return settings;
    const restored = this.#restored;
    if (plan.kind === "call") {
      const names = plan.call.routine.settings.map(([name]) => name);
      this.#restored = [...new Set([...restored, ...names])];
    }
    return { ...settings, restored, batchPosition: `${index}/${operations.length}` };
  }
}

const noNames: readonly string[] = [];
const noWrites: NonNullable<Query["writes"]> = [];
