/**
 * What a result is answered with: status, headers, body.
 *
 * @module
 */
import type { BatchResult, ResultBody } from "../database/database.ts";
import type { HeaderList } from "../lib/header_list.ts";
import type { Dialect } from "../dialect.ts";
import { errors } from "../errors/catalogue.ts";
import { errorBody, type ErrorVerbosity } from "../errors/error_response.ts";
import type { Plan } from "../plan/plan.ts";
import { honoursResolution } from "../plan/mutate_plan.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { locationOf } from "./location.ts";
import {
  appliedHeader,
  contentRange,
  type Facts,
  rangeHeaders,
  rangeStatus,
  readFacts,
  type Reply,
  succeed,
} from "./reply.ts";

/** What a response depends on beside the plan and the result. */
export interface ResponseConfig {
  /** Whether `Prefer: tx=` may choose how the transaction ends. */
  readonly txOverridable: boolean;
  readonly dialect: Pick<Dialect, "errorPrefix" | "rangeUnit">;
  readonly verbosity: ErrorVerbosity;
}

type ReadPlanOf = Extract<Plan, { kind: "read" }>;
type MutatePlanOf = Extract<Plan, { kind: "mutate" }>;
type CallPlanOf = Extract<Plan, { kind: "call" }>;

/** Answers a read. `estimate` is the planner's estimate of the total, when it was asked for. */
export function respondToRead(
  request: ApiRequest,
  plan: ReadPlanOf,
  reply: BatchResult,
  config: ResponseConfig & { readonly estimate: number | null },
): Reply {
  const facts = readFacts(reply.head);
  const total = totalOf(plan, facts, config.estimate);
  const shown = { first: request.window.first, rows: facts.rows, total };
  const { canonical } = request.query;
  const headers: HeaderList = [
    ...rangeHeaders(shown, config.dialect),
    ["Content-Location", `/${encodePath(plan.relation.name)}${canonical && `?${canonical}`}`],
    ...appliedHeader(request.preferences, { tx: config.txOverridable }),
  ];
  return ranged(request, plan, { facts, shown, headers, body: reply.body, config });
}

/** Answers a call. */
export function respondToCall(
  request: ApiRequest,
  plan: CallPlanOf,
  reply: BatchResult,
  config: ResponseConfig,
): Reply {
  const { returns } = plan.call.routine;
  const found = readFacts(reply.head);
  // One value or one row counts as one, also where a filter or an offset leaves nothing of it.
  const facts = returns.set ? found : { ...found, rows: 1 };
  const total = totalOf(plan, facts, null);
  const shown = { first: request.window.first, rows: facts.rows, total };
  const headers: HeaderList = [
    ...rangeHeaders(shown, config.dialect),
    ...appliedHeader(request.preferences, { tx: config.txOverridable, maxAffected: true }),
  ];
  if (returns.void) {
    return succeed(request, facts, { status: 204, headers, body: null, representation: null });
  }
  return ranged(request, plan, { facts, shown, headers, body: reply.body, config });
}

/** Answers a write. */
export function respondToMutation(
  request: ApiRequest,
  plan: MutatePlanOf,
  reply: BatchResult,
  config: ResponseConfig,
): Reply {
  const facts = readFacts(reply.head);
  const shows = plan.mutate.read !== null;
  const body = shows ? reply.body : plan.action === "insert" ? emptyBody : null;
  return succeed(request, facts, {
    status: mutationStatus(request, plan, facts),
    headers: [
      ...mutationHeaders(request, plan, facts, config.dialect),
      ...appliedHeader(request.preferences, {
        resolution: plan.action === "insert" && honoursResolution(request, plan.mutate.relation),
        missing: plan.action === "insert" || plan.action === "update",
        return: true,
        maxAffected: plan.action === "update" || plan.action === "delete",
        tx: config.txOverridable,
      }),
    ],
    body,
    representation: shows ? plan.representation : null,
  });
}

/** Answers with the execution plan of a statement, of which nothing else is told. */
export function respondToPlan(
  request: ApiRequest,
  { representation }: ReadPlanOf | MutatePlanOf | CallPlanOf,
  lines: readonly string[],
): Reply {
  const content = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
  const body = request.method === "HEAD" ? null : { length: content.length, content };
  return succeed(request, nothingSet, { status: 200, headers: [], body, representation });
}

const nothingSet: Facts = readFacts([]);

/** Answers OPTIONS. */
export function respondToOptions(allow: string): Reply {
  const headers: HeaderList = [
    ["Allow", allow],
    ["Access-Control-Allow-Origin", "*"],
    ["Vary", "Accept, Prefer, Range"],
    ["Content-Length", "0"],
  ];
  return { status: 200, headers, content: null, length: 0 };
}

const emptyBody: ResultBody = { length: 0, content: new Uint8Array(0) };

interface Ranged {
  readonly facts: Facts;
  readonly shown: {
    readonly first: bigint;
    readonly rows: number;
    readonly total: number | null;
  };
  readonly headers: HeaderList;
  readonly body: ResultBody;
  readonly config: ResponseConfig;
}

function ranged(
  request: ApiRequest,
  plan: ReadPlanOf | CallPlanOf,
  { facts, shown, headers, body, config }: Ranged,
): Reply {
  const status = rangeStatus(shown);
  const { representation } = plan;
  if (status !== 416) {
    const shownBody = plan.headersOnly ? null : body;
    return succeed(request, facts, { status, headers, body: shownBody, representation });
  }
  const error = outOfRange(shown.first, shown.total!, config);
  return succeed(request, facts, {
    status,
    headers,
    body: plan.headersOnly ? null : error,
    representation,
  });
}

/** The error body of a window that begins behind the last row. */
function outOfRange(
  first: bigint,
  total: number,
  { dialect, verbosity }: ResponseConfig,
): ResultBody {
  const { facts } = errors.invalidRange(
    `An offset of ${first} was requested, but there are only ${total} rows.`,
  );
  const text = errorBody(dialect.errorPrefix + facts.code, facts, verbosity);
  const content = new TextEncoder().encode(text);
  return { length: content.length, content };
}

function totalOf(
  { count }: ReadPlanOf | CallPlanOf,
  { rows, total }: Facts,
  estimate: number | null,
): number | null {
  switch (count.kind) {
    case "none":
      return null;
    case "page":
      return rows;
    case "exact":
      return total;
    case "planned":
      return estimate;
    case "estimated":
      return count.cap !== null && total !== null && total <= count.cap
        ? total
        : Math.max(total ?? 0, estimate ?? 0);
    default:
      return count satisfies never;
  }
}

function mutationStatus(
  { preferences }: ApiRequest,
  { action, mutate }: MutatePlanOf,
  { affected, updated }: Facts,
): number {
  const inserted = affected - updated;
  const shows = mutate.read !== null;
  switch (action) {
    case "insert":
      return preferences.resolution === "merge-duplicates" && mutate.kind === "insert" &&
          mutate.conflict !== null && inserted <= 0
        ? 200
        : 201;
    case "put":
      return shows ? (inserted > 0 ? 201 : 200) : 204;
    case "update":
    case "delete":
      return shows ? 200 : 204;
    default:
      return action satisfies never;
  }
}

function mutationHeaders(
  { preferences }: ApiRequest,
  { action, mutate }: MutatePlanOf,
  { rows, key }: Facts,
  { rangeUnit }: Pick<Dialect, "rangeUnit">,
): HeaderList {
  if (action === "put") return [];
  const counted = preferences.count === "exact" || preferences.count === "estimated";
  const total = counted ? String(rows) : "*";
  const range = action === "update" && rows > 0 ? `0-${rows - 1}` : "*";
  return [
    ...contentRange(`${range}/${total}`, rangeUnit),
    ...(key === null ? [] : [["Location", locationOf(mutate.relation, key)] as const]),
  ];
}

function encodePath(name: string): string {
  return encodeURIComponent(name);
}
