/** Returns the reply for a result: status, headers, body. @module */
import type { ResultBody, TransactionResult } from "../../database/transaction.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import type { Dialect } from "../../base/dialect.ts";
import { conditionalReply } from "./conditional.ts";
import {
  addressHeaders,
  contentRange,
  locationOf,
  rangeHeaders,
  rangeStatus,
} from "./address_headers.ts";
import { linkHeader, type LinkMode } from "./link.ts";
import { errorBody, type ErrorVerbosity } from "../../base/errors/error_response.ts";
import type { OptionsPlan } from "../plan/allowed_methods.ts";
import { countBound } from "../plan/read/count_plan.ts";
import { type Plan, readOf } from "../plan/plan.ts";
import type { ReadPlan } from "../plan/read/read_plan.ts";
import { resultColumn } from "../query/query.ts";
import type { ReadNode } from "../plan/read_node.ts";
import { hasConflictTarget } from "../plan/write/conflict.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { rangeBeyond } from "../transaction/result_checks.ts";
import {
  appliedHeader,
  readResultMetadata,
  type Reply,
  type ResultMetadata,
  successReply,
} from "./reply.ts";
import { standardVary } from "../../base/http/vary.ts";

export interface ResponseConfig {
  /** Whether `Prefer: tx=` may decide how the transaction ends. */
  readonly txOverridable: boolean;
  readonly dialect: Pick<Dialect, "errorPrefix" | "rangeUnit">;
  readonly verbosity: ErrorVerbosity;
  readonly links: LinkMode;
  /** Whether `Prefer: read=primary` has an effect. */
  readonly hasStandbys: boolean;
}

export type PlanResult = Pick<TransactionResult, "columns" | "body">;

type ReadPlanOf = Extract<Plan, { kind: "read" }>;
type MutatePlanOf = Extract<Plan, { kind: "mutate" }>;
type CallPlanOf = Extract<Plan, { kind: "call" }>;

/** Returns the reply to a read. `estimate` is the planner's estimate of the total, if requested. */
export function respondToRead(
  request: ApiRequest,
  plan: ReadPlanOf,
  reply: PlanResult,
  config: ResponseConfig & { readonly estimate: number | null },
): Reply {
  const metadata = readResultMetadata(reply.columns, plan.tagging !== null);
  const { read: { root } } = plan;
  const counted = totalOf(plan, metadata, config.estimate);
  const { total, countHeader } = boundedTotal(counted, request.preferences);
  const range = { first: request.bounds.first, rows: metadata.rows, total };
  const headers: HeaderList = [
    ...(metadata.isCounted
      ? pageHeaders(request, plan, { root, columns: reply.columns, range, countHeader, config })
      : []),
    ...addressHeaders(request, "/", plan.relation),
    ...appliedHeader(request.preferences, {
      tx: config.txOverridable,
      read: config.hasStandbys,
      maxRows: true,
    }),
  ];
  const ranged = rangedReply(request, plan, { metadata, range, headers, body: reply.body, config });
  return plan.read.showsSnapshot ? { ...ranged, snapshot: reply.columns.at(-1)! } : ranged;
}

/** Returns the headers of a page: links to other pages, and the range of a page without cursor. */
function pageHeaders(
  request: ApiRequest,
  plan: ReadPlanOf | CallPlanOf,
  { root, columns, range, countHeader, config }: {
    readonly root: ReadNode;
    readonly columns: TransactionResult["columns"];
    readonly range: RangedResult["range"];
    readonly countHeader: HeaderList;
    readonly config: ResponseConfig;
  },
): HeaderList {
  if (rangeStatus(range) === 416) return rangeHeaders(range, config.dialect);
  const { kind } = plan.count;
  const isExact = kind === "exact" || kind === "page";
  const page = { root, columns, rows: range.rows, total: isExact ? range.total : null };
  return [
    ...root.kind === "cursor"
      ? contentRange(`*/${range.total ?? "*"}`, config.dialect.rangeUnit)
      : rangeHeaders(range, config.dialect),
    ...countHeader,
    ...truncationHeader(readOf(plan), columns),
    ...linkHeader(request, page, config.links),
  ];
}

/** Returns `Svc-Truncated` with the number of rows after which the result was truncated. */
function truncationHeader({ cutAt }: ReadPlan, columns: TransactionResult["columns"]): HeaderList {
  const isCut = cutAt !== null && columns[resultColumn.more] === "1";
  return isCut ? [["Svc-Truncated", String(cutAt)]] : [];
}

export function respondToCall(
  request: ApiRequest,
  plan: CallPlanOf,
  reply: PlanResult,
  config: ResponseConfig,
): Reply {
  const { returns } = plan.call.routine;
  const columns = readResultMetadata(reply.columns, plan.tagging !== null);
  // A function without a set reports one row, even if a filter or an offset removes the row.
  const metadata = returns.set ? columns : { ...columns, rows: 1 };
  const counted = totalOf(plan, metadata, null);
  const { total, countHeader } = boundedTotal(counted, request.preferences);
  const range = { first: request.bounds.first, rows: metadata.rows, total };
  const { root } = plan.call.read;
  const headers: HeaderList = [
    ...pageHeaders(request, plan, { root, columns: reply.columns, range, countHeader, config }),
    ...(request.queryForm === undefined ? [] : addressHeaders(request, "/rpc/", plan.call.routine)),
    ...appliedHeader(request.preferences, {
      tx: config.txOverridable,
      maxAffected: true,
      read: config.hasStandbys && plan.call.access === "read only",
      maxRows: true,
    }),
  ];
  if (returns.void) {
    return successReply(request, metadata, {
      status: 204,
      headers,
      body: null,
      representation: null,
    });
  }
  return rangedReply(request, plan, { metadata, range, headers, body: reply.body, config });
}

export function respondToMutation(
  request: ApiRequest,
  plan: MutatePlanOf,
  reply: PlanResult,
  config: ResponseConfig,
): Reply {
  const metadata = readResultMetadata(reply.columns, plan.tagging !== null);
  const returnsRows = plan.mutate.read !== null;
  const body = returnsRows ? reply.body : plan.action === "insert" ? emptyBody : null;
  return successReply(request, metadata, {
    status: mutationStatus(request, plan, metadata),
    headers: [
      ...mutationHeaders(request, plan, metadata, config.dialect),
      ...appliedHeader(request.preferences, {
        resolution: plan.action === "insert" && hasConflictTarget(request, plan.mutate.relation),
        missing: plan.action === "insert" || plan.action === "update",
        return: true,
        maxAffected: plan.action === "update" || plan.action === "delete",
        unmatched: request.query.on !== null,
        tx: config.txOverridable,
      }),
    ],
    body,
    representation: returnsRows ? plan.representation : null,
  });
}

export function respondToPlan(
  request: ApiRequest,
  { representation }: ReadPlanOf | MutatePlanOf | CallPlanOf,
  lines: readonly string[],
): Reply {
  const content = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
  const body = request.method === "HEAD" ? null : { length: content.length, content };
  return successReply(request, emptyMetadata, { status: 200, headers: [], body, representation });
}

const emptyMetadata: ResultMetadata = readResultMetadata([], false);

export function respondToOptions({ allow, acceptQuery }: OptionsPlan): Reply {
  const headers: HeaderList = [
    ["Allow", allow],
    ...(acceptQuery === null ? [] : [["Accept-Query", acceptQuery] as const]),
    ["Access-Control-Allow-Origin", "*"],
    standardVary,
    ["Content-Length", "0"],
  ];
  return { status: 200, headers, content: null, length: 0 };
}

const emptyBody: ResultBody = { length: 0, content: new Uint8Array(0) };

interface RangedResult {
  readonly metadata: ResultMetadata;
  readonly range: {
    readonly first: bigint;
    readonly rows: number;
    readonly total: number | null;
  };
  readonly headers: HeaderList;
  readonly body: ResultBody;
  readonly config: ResponseConfig;
}

function rangedReply(
  request: ApiRequest,
  plan: ReadPlanOf | CallPlanOf,
  { metadata, range, headers, body, config }: RangedResult,
): Reply {
  const status = rangeStatus(range);
  const content = status === 416 ? outOfRange(range.first, range.total!, config) : body;
  const reply = successReply(request, metadata, {
    status,
    headers,
    body: plan.headersOnly ? null : content,
    representation: plan.representation,
  });
  return status === 416 ? reply : conditionalReply(reply, request.preconditions, metadata.rows > 0);
}

/** Returns the error for a range that begins after the last row. */
function outOfRange(
  first: bigint,
  total: number,
  { dialect, verbosity }: ResponseConfig,
): ResultBody {
  const { fields } = rangeBeyond(first, total);
  const text = errorBody(dialect.errorPrefix + fields.code, fields, verbosity);
  const content = new TextEncoder().encode(text);
  return { length: content.length, content };
}

function totalOf(
  { count }: ReadPlanOf | CallPlanOf,
  { rows, total }: ResultMetadata,
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

/** Returns the total or, if there are more rows than the request counts, the header `Svc-Count`. */
function boundedTotal(
  counted: number | null,
  { count }: Pick<ApiRequest["preferences"], "count">,
): { readonly total: number | null; readonly countHeader: HeaderList } {
  const bound = countBound(count);
  if (bound === null || counted === null || counted <= bound) {
    return { total: counted, countHeader: [] };
  }
  return { total: null, countHeader: [["Svc-Count", `>${bound}`]] };
}

function mutationStatus(
  { preferences }: ApiRequest,
  { action, mutate }: MutatePlanOf,
  { affected, updated }: ResultMetadata,
): number {
  const inserted = affected - updated;
  const returnsRows = mutate.read !== null;
  switch (action) {
    case "insert":
      return preferences.resolution !== null && preferences.resolution !== "ignore-duplicates" &&
          inserted <= 0
        ? 200
        : 201;
    case "put":
      return returnsRows ? (inserted > 0 ? 201 : 200) : 204;
    case "update":
    case "delete":
      return returnsRows ? 200 : 204;
    default:
      return action satisfies never;
  }
}

function mutationHeaders(
  { preferences }: ApiRequest,
  { action, mutate }: MutatePlanOf,
  { rows, key }: ResultMetadata,
  { rangeUnit }: Pick<Dialect, "rangeUnit">,
): HeaderList {
  if (action === "put") return [];
  const isCounted = preferences.count !== null && preferences.count !== "planned";
  const { total, countHeader } = boundedTotal(isCounted ? rows : null, preferences);
  const range = action === "update" && rows > 0 ? `0-${rows - 1}` : "*";
  return [
    ...contentRange(`${range}/${total ?? "*"}`, rangeUnit),
    ...countHeader,
    ...(key === null ? [] : [["Location", locationOf(mutate.relation, key)] as const]),
  ];
}
