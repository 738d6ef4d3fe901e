/** Makes the replies of operations from their results. @module */
import { batchReply, type OperationReply } from "./batch/batch_reply.ts";
import { OperationError } from "../transaction/operation_error.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import { targetNameUsesOf } from "../plan/plan.ts";
import type { Reply } from "../response/reply.ts";
import {
  type PlanResult,
  respondToCall,
  respondToMutation,
  respondToPlan,
  respondToRead,
} from "../response/response.ts";
import { targetNameHeaders } from "../../base/errors/target_name_warning.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import { type DataPlan, isExplained, relationOf } from "../transaction/data_plan.ts";
import { applyResultChecks } from "../transaction/result_checks.ts";
import {
  type BatchHead,
  isEndOverridable,
  positionOf,
  type RequestOperation,
} from "../transaction/script.ts";
import { estimateOf } from "../transaction/script_errors.ts";
import type { Context } from "./exchange.ts";
import { hasHeader, withHeaders } from "./headers.ts";
import type { FinishedScript } from "../transaction/script_run.ts";

/** The inputs of a reply other than operations and results. */
type ReplyContext = Pick<Context, "bookmarkHeader" | "dialect" | "snapshot">;

/** Returns the reply of a script. Throws the error of the first failed check. */
export function replyOf(finished: FinishedScript, context: ReplyContext): Reply {
  const { work: { operations: [operation], batch }, result } = finished;
  if (batch !== null) return replyToBatch(finished, batch, context);
  return operationReply(operation!, { index: undefined, result, finished, context });
}

function replyToBatch(
  finished: FinishedScript,
  { request: { preferences } }: BatchHead,
  context: ReplyContext,
): Reply {
  const { work: { operations }, script, result: { rows }, held } = finished;
  const replies = operations.map((operation, index): OperationReply => {
    const { place } = operation;
    const result = held[index];
    if (result === undefined) throw new Error(`operation ${index} has no result`);
    try {
      const reply = operationReply(operation, { index, result, finished, context });
      return { id: place!.id, reply, isJson: isJson(operation.planned.plan) };
    } catch (error) {
      throw new OperationError(error, place);
    }
  });
  const overrides = positionOf(script, "overrides");
  const [headers = null, status = null] = overrides < 0 ? [] : rows[overrides]?.[0] ?? [];
  try {
    const reply = batchReply(replies, {
      preferences,
      isEndOverridable: isEndOverridable(context.snapshot.config),
      hasStandbys: context.bookmarkHeader !== null,
      overrides: { headers, status },
    });
    const setsCookie = replies.some(({ reply: { headers } }) => hasHeader("Set-Cookie", headers));
    return setsCookie ? { ...reply, isKept: false } : reply;
  } catch (error) {
    throw new OperationError(error, null);
  }
}

/** Returns whether PostgreSQL or the service writes the body as JSON. */
function isJson({ representation: { format: { kind } } }: DataPlan): boolean {
  return kind === "array" || kind === "object" || kind === "geojson";
}

function operationReply(
  { request, planned: { plan, query } }: RequestOperation,
  { index, result, finished: { script, result: { rows } }, context }: {
    /** Undefined for a plain request. */
    readonly index: number | undefined;
    readonly result: PlanResult;
    readonly finished: FinishedScript;
    readonly context: ReplyContext;
  },
): Reply {
  applyResultChecks(script.checks[index ?? 0]!, result.columns);
  const { bookmarkHeader, dialect, snapshot: { cache, config } } = context;
  const responseConfig = {
    txOverridable: isEndOverridable(config),
    dialect,
    verbosity: config.clientErrorVerbosity,
    links: config.serverLinkHeader,
    hasStandbys: bookmarkHeader !== null,
    estimate: query.estimate === null ? null : estimateOf({ rows }, script, index),
  };
  const reply = isExplained(plan)
    ? respondToPlan(request, plan, rows[positionOf(script, "main")]!.map(([line]) => line ?? ""))
    : respond(request, plan, result, responseConfig);
  const uses = targetNameUsesOf(plan);
  const deprecation = deprecationOf(request, plan, cache);
  if (uses.length === 0 && deprecation === undefined) return reply;
  return withHeaders(reply, [...targetNameHeaders(uses, dialect), ...deprecation ?? []]);
}

function respond(
  request: RequestOperation["request"],
  plan: DataPlan,
  result: PlanResult,
  config: Parameters<typeof respondToRead>[3],
): Reply {
  switch (plan.kind) {
    case "read":
      return respondToRead(request, plan, result, config);
    case "mutate":
      return respondToMutation(request, plan, result, config);
    case "call":
      return respondToCall(request, plan, result, config);
    default:
      return plan satisfies never;
  }
}

/** Returns the headers of a deprecated relation, function or schema; undefined if it is not deprecated. */
function deprecationOf(
  { schema }: RequestOperation["request"],
  plan: DataPlan,
  cache: SchemaCache | null,
): HeaderList | undefined {
  const target = plan.kind === "call" ? plan.call.routine : relationOf(plan);
  return target?.deprecation ?? cache?.deprecation(schema);
}
