/**
 * The plans that need a transaction, and the transaction's access mode and isolation level. @module
 */
import type {
  AccessMode,
  IsolationLevel,
  Statement,
  StatementRole,
} from "../../database/transaction.ts";
import type { RoleDefaults } from "../../state/config/in_database.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { Plan } from "../plan/plan.ts";
import type { RowVersion } from "../plan/write/row_version.ts";
import type { RootPlan } from "../plan/root_plan.ts";
import type { Relation } from "../../state/schema_cache/schema_cache.ts";
import {
  callQuery,
  mutateQuery,
  type Query,
  readQuery,
  type ResultOptions,
} from "../query/query.ts";

/** A plan that needs a transaction. */
export type DataPlan = Extract<Plan, { kind: "read" | "mutate" | "call" }>;

/** References from and to other operations of a batch. */
export type QueryReferences = Pick<ResultOptions, "keptFor" | "substitute">;

/** Maximum number of parameters. In the message Bind, this number has 16 bits. */
const maxParams = 65_535;

/** Returns the SQL of a plan. Throws `177` for more parameters than PostgreSQL accepts. */
export function queryOf(plan: DataPlan, references: QueryReferences = {}): Query {
  const query = versionedQueryOf(plan, references);
  if (query.main.params.length > maxParams) {
    throw errors.queryTooComplex(maxParams, "parameters of the statement");
  }
  const { main, estimate, writes } = query;
  const plain = withoutVersions(plan);
  const unversioned = plain === null ? null : versionedQueryOf(plain, references).main;
  const levels = writes?.map((write) => ({
    ...write,
    statement: withRole(write.statement, "level"),
  }));
  return {
    main: withRole(main, "main"),
    estimate: estimate === null ? null : withRole(estimate, "estimate"),
    ...(unversioned === null ? {} : { unversioned: withRole(unversioned, "main") }),
    ...(levels === undefined ? {} : { writes: levels }),
  };
}

function withRole(statement: Statement, role: StatementRole): Statement {
  return { ...statement, role };
}

/** Returns the relation that a plan reads or writes; null for a call. */
export function relationOf(plan: DataPlan): Relation | null {
  switch (plan.kind) {
    case "read":
      return plan.relation;
    case "mutate":
      return plan.mutate.relation;
    case "call":
      return null;
    default:
      return plan satisfies never;
  }
}

/** Returns how a plan reads row versions; null if it does not. */
export function rowVersionIn({ tagging, ...plan }: DataPlan): RowVersion | null {
  if (tagging !== null && tagging.version !== null) return tagging.version;
  const precondition = plan.kind === "mutate" ? plan.mutate.precondition : undefined;
  return precondition?.kind === "version" ? precondition.version : null;
}

/** Returns the plan without row versions; null if it does not use them. */
function withoutVersions(plan: DataPlan): DataPlan | null {
  if (rowVersionIn(plan) === null) return null;
  const tagging = plan.tagging === null ? null : { ...plan.tagging, version: null };
  if (plan.kind !== "mutate" || plan.mutate.precondition?.kind !== "version") {
    return { ...plan, tagging };
  }
  const precondition = { ...plan.mutate.precondition, version: null };
  return { ...plan, tagging, mutate: { ...plan.mutate, precondition } };
}

function versionedQueryOf(plan: DataPlan, references: QueryReferences): Query {
  const { tagging, representation: { explain, format } } = plan;
  const withBody = { explain, format, tagging, ...references };
  const withoutBody = { ...withBody, format: null };
  switch (plan.kind) {
    case "read":
      return readQuery(plan.read, plan.count, plan.headersOnly ? withoutBody : withBody);
    case "mutate":
      return mutateQuery(plan.mutate, withBody);
    case "call": {
      const hasBody = !plan.headersOnly && !plan.call.routine.returns.void;
      return callQuery(plan.call, plan.count, hasBody ? withBody : withoutBody);
    }
    default:
      return plan satisfies never;
  }
}

/** Returns the access mode of a plan's transaction. */
export function accessOf(plan: DataPlan): AccessMode {
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

/** Returns the isolation level: of the function, of the role, or `read committed`. */
export function isolationOf(
  plan: DataPlan | RootPlan,
  defaults: RoleDefaults | undefined,
): IsolationLevel {
  const ofFunction = plan.kind === "call" ? plan.call.isolation : null;
  return ofFunction ?? defaults?.isolation ?? "read committed";
}

/** Returns whether the response contains the execution plan in place of the rows. */
export function isExplained({ representation }: DataPlan): boolean {
  return representation.explain !== null;
}
