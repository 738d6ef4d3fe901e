/**
 * The plans that need a transaction, and the properties of that: access mode and isolation level.
 *
 * @module
 */
import type { AccessMode, IsolationLevel } from "../database/database.ts";
import type { RoleDefaults } from "../config/in_database.ts";
import type { Plan } from "../plan/plan.ts";
import type { RootPlan } from "../plan/root_plan.ts";
import {
  callQuery,
  mutateQuery,
  type Query,
  readQuery,
  type ResultOptions,
} from "../query/query.ts";

/** A plan that needs a transaction. */
export type DataPlan = Extract<Plan, { kind: "read" | "mutate" | "call" }>;

/** References from and to the operations of a batch. */
export type QueryReferences = Pick<ResultOptions, "keptFor" | "substitutes">;

/** Returns the SQL of a plan. */
export function queryOf(plan: DataPlan, references: QueryReferences = {}): Query {
  const { explain, format } = plan.representation;
  const withBody = { explain, format, ...references };
  const withoutBody = { explain, format: null, ...references };
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

/** Returns the isolation level: that of the function, of the role, or `read committed`. */
export function isolationOf(
  plan: DataPlan | RootPlan,
  defaults: RoleDefaults | undefined,
): IsolationLevel {
  const ofFunction = plan.kind === "call" ? plan.call.isolation : null;
  return ofFunction ?? defaults?.isolation ?? "read committed";
}

/** Whether the response contains the execution plan in place of the rows. */
export function isExplained({ representation }: DataPlan): boolean {
  return representation.explain !== null;
}
