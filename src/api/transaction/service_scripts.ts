/** Builds scripts of requests that have no operation: for the API description, and for the stored
 * reply of a key. @module */
import type {
  ReadTransaction,
  Statement,
  TransactionResult,
  WriteTransaction,
} from "../../database/transaction.ts";
import type { RootPlan } from "../plan/root_plan.ts";
import { schemaMetadataQuery } from "../query/schema_metadata.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { isExplained, isolationOf } from "./data_plan.ts";
import { answerStatement, type RequestKey } from "./idempotency.ts";
import {
  preamble,
  settingsOf,
  sharedSettings,
  type TransactionActor,
  type TransactionConfig,
} from "./preamble.ts";
import { explained } from "./cost_limit.ts";
import { plannedEnd, type RequestOperation, type RequestWork } from "./script.ts";
import { planContextOf } from "./settings.ts";

/** Builds the transaction of the OpenAPI description. Its last statement returns at most one text. */
export function buildRootScript(
  request: ApiRequest,
  plan: RootPlan,
  actor: TransactionActor,
  config: TransactionConfig,
): ReadTransaction {
  const settings = settingsOf(sharedSettings(request, plan, actor, config), request, actor);
  const before = preamble(settings, { config, actor });
  return {
    access: "read only",
    block: {
      isolation: isolationOf(plan, actor.defaults),
      end: "commit",
    },
    statements: plan.headersOnly ? before : [...before, schemaMetadataQuery(plan)],
    body: "hold",
    retry: "never",
    planContext: planContextOf(settings),
    kind: null,
    mayChangeSession: config.dbPreRequest !== null,
  };
}

/** Returns the text of {@linkcode buildRootScript}'s last statement. */
export function schemaMetadataOf({ rows }: TransactionResult): string | null {
  return rows.at(-1)?.[0]?.[0] ?? null;
}

export type KeyedWork = Pick<RequestWork, "batch" | "operations"> & { readonly key: RequestKey };

/** Builds the transaction that reads the stored reply of a key, with the settings of the request.
 * The transaction may write, because `db-pre-request` may write. */
export function buildReplayScript(
  { operations, batch, key }: KeyedWork,
  actor: TransactionActor,
  config: TransactionConfig,
): WriteTransaction {
  const [first] = operations;
  const request = batch?.request ?? first!.request;
  const plan = batch === null ? first!.planned.plan : null;
  const settings = settingsOf(sharedSettings(request, plan, actor, config), request, actor);
  const before = preamble(settings, { config, actor });
  return {
    access: "read write",
    block: {
      isolation: "read committed",
      end: plannedEnd(request, config),
    },
    statements: [...before, ...operations.flatMap(privilegeChecks), answerStatement(key)],
    planContext: planContextOf(settings),
    kind: null,
    mayChangeSession: config.dbPreRequest !== null,
  };
}

/** Returns statements that fail if the role lacks a privilege that the query needs. They change nothing. */
function privilegeChecks(
  { planned: { plan, query: { main, writes = [] } } }: RequestOperation,
): readonly Statement[] {
  if (isExplained(plan)) return [];
  return [...writes.map(({ statement }) => statement), main]
    .map((statement) => ({ ...explained(statement), use: "none" }));
}
