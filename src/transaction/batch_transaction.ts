/**
 * Builds the transaction of several requests, which one batch has as its operations: each has the settings
 * and statements that it has alone.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import type {
  AccessMode,
  BlockTransaction,
  CostLimit,
  IsolationLevel,
  Statement,
} from "../database/batch.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { type DataPlan, isolationOf } from "./data_plan.ts";
import { keyStatements, type RequestKey } from "./idempotency.ts";
import {
  type DescribedRequest,
  preRequestStatements,
  settingsOf,
  settingStatements,
  type TransactionConfig,
  type TransactionOwner,
} from "./preamble.ts";
import { responseGucCheck } from "./response_guc_check.ts";
import { resultChecks } from "./result_checks.ts";
import { planContextOf, settingsStatement, type TransactionSettings } from "./settings.ts";
import {
  checkConstraints,
  explained,
  maxCostOf,
  mayWrite,
  plannedEnd,
  type PlannedQuery,
  type QueryPositions,
} from "./transaction.ts";

/** A planned request of a batch. */
export interface OperationQuery {
  readonly request: ApiRequest;
  readonly planned: PlannedQuery;
  readonly referenceChecks: readonly ReferenceCheck[];
}

/** A statement that fails unless a result has the rows that a reference needs. */
export interface ReferenceCheck {
  readonly statement: Statement;
  /** The reference's source, as sent. */
  readonly source: string;
}

/** The operations of a batch, and what holds for all of them. */
export interface BatchQueries {
  /** The batch itself, for the function before it. */
  readonly request: DescribedRequest;
  /** Isolation level of the batch; null to leave it to its role and functions. */
  readonly isolation: IsolationLevel | null;
  readonly operations: readonly OperationQuery[];
  /** Null without an `Idempotency-Key`. */
  readonly key: RequestKey | null;
}

/** Options that the transaction of a batch depends on. */
export type BatchTransactionConfig = TransactionConfig & Pick<Config, "batchPreRequest">;

/** Positions of the statements of one operation. */
export interface OperationStatements extends QueryPositions {
  readonly first: number;
  /** Position behind the last one. */
  readonly end: number;
  /** Of the first check of references. */
  readonly referenceChecks: number;
}

/** The transaction of a batch, and where its operations stand. */
export interface BatchTransaction {
  readonly access: AccessMode;
  /** It commits, if it does, without a look at the results. */
  readonly transaction: BlockTransaction & { readonly end: "commit" | "rollback" };
  readonly statements: readonly Statement[];
  readonly planContext: string;
  readonly costLimits: readonly CostLimit[];
  readonly operations: readonly OperationStatements[];
  /** Position of the statement that reads `response.*` of the function before the batch; null without one. */
  readonly overrides: number | null;
  /** Position of the first statement of the key; null without one. */
  readonly key: number | null;
  /** Whether the results can refuse the commit: their checks, or their size. */
  readonly dependsOnResults: boolean;
}

/** Builds the transaction of a batch. */
export function buildBatchTransaction(
  { request, isolation, operations, key }: BatchQueries,
  owner: TransactionOwner,
  config: BatchTransactionConfig,
): BatchTransaction {
  const isWriting = operations.some(({ planned }) => mayWrite(planned.plan, config));
  const access: AccessMode = isWriting ? "read write" : "read only";
  const builder = new StatementList(operations.length, { access, owner, config });
  const head = settingsOf(request, null, owner, config);
  if (config.dbPreRequest !== null || key !== null) builder.addHead(head);
  const overrides = config.dbPreRequest === null ? null : builder.place(readOverrides);
  const firstOfKey = key === null ? null : builder.statements.length;
  if (key !== null) builder.statements.push(...keyStatements(key));
  const placed = operations.map((operation, index) => builder.addOperation(operation, index));
  const end = plannedEnd(request, config);
  if (end === "rollback") builder.place(checkConstraints);
  const levels = operations.map(({ planned }) => isolationOf(planned.plan, owner.defaults));
  const { statements, costLimits } = builder;
  return {
    access,
    transaction: {
      form: "block",
      isolation: strictest([isolation, owner.defaults?.isolation ?? null, ...levels]),
      end,
    },
    statements,
    planContext: planContextOf(head),
    costLimits,
    operations: placed,
    overrides,
    key: firstOfKey,
    dependsOnResults: placed.some(({ checks }) => checks.length > 0) ||
      operations.some(({ planned: { plan } }) =>
        plan.kind !== "mutate" || plan.mutate.read !== null
      ),
  };
}

const isolationLevels: readonly IsolationLevel[] = [
  "read committed",
  "repeatable read",
  "serializable",
];

function strictest(levels: readonly (IsolationLevel | null)[]): IsolationLevel {
  return isolationLevels.findLast((level) => levels.includes(level)) ?? "read committed";
}

const savepoint = control("savepoint svc_operation");
/** The end of the savepoint ends the access mode that is set in it. */
const readOnly = control("set transaction read only");
const release = control("release savepoint svc_operation");

function control(text: string): Statement {
  return { text, params: [], use: "none", isShared: true };
}

/** Collects the statements of a batch. */
class StatementList {
  readonly statements: Statement[] = [];
  readonly costLimits: CostLimit[] = [];
  readonly #count: number;
  readonly #access: AccessMode;
  readonly #owner: TransactionOwner;
  readonly #config: BatchTransactionConfig;
  /** Names of the settings that functions of earlier operations have. */
  readonly #functionSettings = new Set<string>();

  constructor(
    count: number,
    { access, owner, config }: {
      readonly access: AccessMode;
      readonly owner: TransactionOwner;
      readonly config: BatchTransactionConfig;
    },
  ) {
    this.#count = count;
    this.#access = access;
    this.#owner = owner;
    this.#config = config;
  }

  /** Adds a statement, and returns its position. */
  place(statement: Statement): number {
    return this.statements.push(statement) - 1;
  }

  /** Adds the settings of the batch, and the function before it. */
  addHead(settings: TransactionSettings): void {
    this.#addSettings({ ...settings, batchPosition: "" });
    this.statements.push(...preRequestStatements(this.#config));
  }

  #addSettings(settings: TransactionSettings): void {
    const context = { config: this.#config, owner: this.#owner };
    this.statements.push(...settingStatements(settingsStatement(settings, "block"), context));
  }

  addOperation(
    { request, planned: { plan, query }, referenceChecks }: OperationQuery,
    index: number,
  ): OperationStatements {
    const [owner, config] = [this.#owner, this.#config];
    const first = this.statements.length;
    const settings = this.#operationSettings(request, plan, index);
    this.#addSettings(settings);
    const isOnlyReading = this.#access === "read write" && !mayWrite(plan, config);
    if (isOnlyReading) this.statements.push(savepoint, readOnly);
    const planContext = planContextOf(settings);
    const preRequest = config.batchPreRequest === "each" ? preRequestStatements(config) : [];
    this.statements.push(...preRequest.map((statement) => ({ ...statement, planContext })));
    const firstCheck = this.statements.length;
    this.statements.push(...referenceChecks.map(({ statement }) => statement));
    const estimate = query.estimate === null
      ? null
      : this.place({ ...query.estimate, planContext });
    const maxCost = maxCostOf(plan, owner, config);
    if (maxCost !== null) {
      this.costLimits.push({ statement: this.place(explained(query.main)), maxCost });
    }
    const { writes = [] } = query;
    const firstWrite = this.statements.length;
    for (const { statement } of writes) this.place({ ...statement, planContext });
    const main = this.place({ ...query.main, use: "held", planContext });
    const gucCheck = this.#access === "read write" ? this.place(responseGucCheck) : null;
    if (isOnlyReading) this.place(release);
    return {
      first,
      end: this.statements.length,
      referenceChecks: firstCheck,
      estimate,
      responseGucCheck: gucCheck,
      patching: plan.kind === "mutate" && plan.mutate.kind === "patch" ? main : null,
      levels: { first: firstWrite, paths: writes.map(({ path }) => path) },
      checks: resultChecks(request, plan),
    };
  }

  /** Returns the settings of an operation, with those restored that functions of earlier ones have. */
  #operationSettings(request: ApiRequest, plan: DataPlan, index: number): TransactionSettings {
    const settings = settingsOf(request, plan, this.#owner, this.#config);
    const restored = [...this.#functionSettings];
    const ofFunction = plan.kind === "call" ? plan.call.routine.settings : [];
    for (const [name] of ofFunction) this.#functionSettings.add(name);
    return { ...settings, restored, batchPosition: `${index}/${this.#count}` };
  }
}

const readOverrides: Statement = {
  text: "select pg_catalog.current_setting('response.headers', true), " +
    "pg_catalog.current_setting('response.status', true)",
  params: [],
  use: "rows",
  isShared: true,
};
