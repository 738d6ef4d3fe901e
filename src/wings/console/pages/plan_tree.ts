/** The tree of a plan by `EXPLAIN (FORMAT JSON)`. @module */
import { isJsonObject } from "../../../base/lib/json_object.ts";

/** A node of a plan. Numbers of rows are totals over all loops. */
export interface PlanNode {
  readonly json: Readonly<Record<string, unknown>>;
  readonly planRows: number;
  /** Null without ANALYZE. */
  readonly actualRows: number | null;
  /** Milliseconds, including the nodes below; null without ANALYZE. */
  readonly ms: number | null;
  readonly ownMs: number | null;
  readonly cost: number;
  /** Whether a node above may stop before it has read all rows. */
  readonly isCutShort: boolean;
  /** Text such as `12 hit, 3 read`; null without BUFFERS. */
  readonly buffers: string | null;
  readonly children: readonly PlanNode[];
}

/** A plan with the times of the statement. */
export interface ExplainedPlan {
  readonly root: PlanNode;
  readonly planningMs: number | null;
  readonly executionMs: number | null;
}

/** Returns the plan in a JSON text; null for other texts. */
export function planRoot(text: string): ExplainedPlan | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const statement = Array.isArray(value) ? value[0] : value;
  if (!isJsonObject(statement) || !isJsonObject(statement.Plan)) return null;
  return {
    root: nodeOf(statement.Plan, { isCutShort: false, processes: 1 }),
    planningMs: numberOf(statement["Planning Time"]),
    executionMs: numberOf(statement["Execution Time"]),
  };
}

/** Properties of a node that depend on the nodes above it. */
interface PlanPlace {
  readonly isCutShort: boolean;
  /** Number of processes that run the node in parallel: the leader, and the workers of a Gather above. */
  readonly processes: number;
}

function nodeOf(json: PlanNode["json"], { isCutShort, processes }: PlanPlace): PlanNode {
  const below: PlanPlace = {
    isCutShort: json["Node Type"] === "Limit" || isCutShort,
    processes: processes + (numberOf(json["Workers Launched"]) ?? 0),
  };
  const children = (Array.isArray(json.Plans) ? json.Plans : []).filter(isJsonObject)
    .map((each) => nodeOf(each, below));
  const loops = numberOf(json["Actual Loops"]) ?? 1;
  const time = numberOf(json["Actual Total Time"]);
  const rows = numberOf(json["Actual Rows"]);
  const ms = time === null ? null : time * Math.max(1, loops / processes);
  const childMs = children.reduce((sum, child) => sum + (child.ms ?? 0), 0);
  return {
    json,
    children,
    ms,
    isCutShort,
    planRows: Math.round((numberOf(json["Plan Rows"]) ?? 0) * Math.max(1, loops)),
    actualRows: rows === null ? null : Math.round(rows * loops),
    ownMs: ms === null ? null : Math.max(0, ms - childMs),
    cost: numberOf(json["Total Cost"]) ?? 0,
    buffers: buffersOf(json),
  };
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function buffersOf(json: PlanNode["json"]): string | null {
  const [hit, read] = [numberOf(json["Shared Hit Blocks"]), numberOf(json["Shared Read Blocks"])];
  return hit === null || read === null ? null : `${hit} hit, ${read} read`;
}

/** Returns the title of a node: `Index Scan on film using film_pkey`. */
export function nodeTitle({ json }: PlanNode): string {
  const part = (word: string, name: string) =>
    typeof json[name] === "string" ? ` ${word} ${json[name]}` : "";
  const on = part("on", "Relation Name") || part("on", "Function Name") || part("on", "CTE Name");
  return `${json["Node Type"]}${on}${part("using", "Index Name")}`;
}

/** Factor between estimated and actual rows from which an estimate is marked. */
const maxEstimateError = 10;

/** Returns the factor between estimated and actual rows; null if they are close. */
export function estimateError({ planRows, actualRows, isCutShort }: PlanNode): number | null {
  if (actualRows === null || (isCutShort && actualRows < planRows)) return null;
  const [few, many] = [Math.min(planRows, actualRows), Math.max(planRows, actualRows)];
  const factor = Math.round(many / Math.max(1, few));
  return factor >= maxEstimateError ? factor : null;
}

/** Returns the node with the longest time, not counting its descendants; null without ANALYZE. Leaves
 * out nodes that only read clauses such as `svc:page`. */
export function slowestNode(root: PlanNode): PlanNode | null {
  return nodesOf(root).filter((node) => node.ownMs !== null && !readsOwnClauses(node))
    .reduce<PlanNode | null>((most, each) => each.ownMs! > (most?.ownMs ?? -1) ? each : most, null);
}

/** Returns whether a node and its descendants only read clauses of svc's statement, such as `svc:page`. */
export function readsOwnClauses(node: PlanNode): boolean {
  const all = nodesOf(node).map(({ json }) => json);
  const isScan = (json: PlanNode["json"]) =>
    json["Relation Name"] !== undefined || json["Function Name"] !== undefined;
  return all.some((json) => String(json["CTE Name"] ?? "").startsWith("svc:")) &&
    !all.some(isScan);
}

/** Returns a node and its descendants. */
function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...node.children.flatMap(nodesOf)];
}

/** Properties of a node that explain its time. */
const shownKeys = [
  ...["Index Cond", "Recheck Cond", "Filter", "Rows Removed by Filter", "Hash Cond", "Join Filter"],
  ...["Sort Key", "Sort Method", "Group Key", "Actual Loops", "Workers Launched", "Subplan Name"],
];

/** Returns properties and their texts. A single loop is not shown. */
export function planTexts({ json }: PlanNode): readonly (readonly [name: string, text: string])[] {
  return shownKeys.filter((name) => json[name] !== undefined)
    .filter((name) => name !== "Actual Loops" || json[name] !== 1)
    .map((name) => [name, [json[name]].flat().join(", ")] as const);
}
