/** The tree of a plan by `EXPLAIN (FORMAT JSON)`. @module */
import { isJsonObject } from "../../../base/lib/json_object.ts";

/** A node of a plan. Numbers of rows are totals over all loops. */
export interface PlanNode {
  readonly facts: Readonly<Record<string, unknown>>;
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

function nodeOf(facts: PlanNode["facts"], { isCutShort, processes }: PlanPlace): PlanNode {
  const below: PlanPlace = {
    isCutShort: facts["Node Type"] === "Limit" || isCutShort,
    processes: processes + (numberOf(facts["Workers Launched"]) ?? 0),
  };
  const children = (Array.isArray(facts.Plans) ? facts.Plans : []).filter(isJsonObject)
    .map((each) => nodeOf(each, below));
  const loops = numberOf(facts["Actual Loops"]) ?? 1;
  const time = numberOf(facts["Actual Total Time"]);
  const rows = numberOf(facts["Actual Rows"]);
  const ms = time === null ? null : time * Math.max(1, loops / processes);
  const childMs = children.reduce((sum, child) => sum + (child.ms ?? 0), 0);
  return {
    facts,
    children,
    ms,
    isCutShort,
    planRows: Math.round((numberOf(facts["Plan Rows"]) ?? 0) * Math.max(1, loops)),
    actualRows: rows === null ? null : Math.round(rows * loops),
    ownMs: ms === null ? null : Math.max(0, ms - childMs),
    cost: numberOf(facts["Total Cost"]) ?? 0,
    buffers: buffersOf(facts),
  };
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function buffersOf(facts: PlanNode["facts"]): string | null {
  const [hit, read] = [numberOf(facts["Shared Hit Blocks"]), numberOf(facts["Shared Read Blocks"])];
  return hit === null || read === null ? null : `${hit} hit, ${read} read`;
}

/** Returns the title of a node: `Index Scan on film using film_pkey`. */
export function nodeTitle({ facts }: PlanNode): string {
  const part = (word: string, name: string) =>
    typeof facts[name] === "string" ? ` ${word} ${facts[name]}` : "";
  const on = part("on", "Relation Name") || part("on", "Function Name") || part("on", "CTE Name");
  return `${facts["Node Type"]}${on}${part("using", "Index Name")}`;
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
  const all = nodesOf(node).map(({ facts }) => facts);
  const isScan = (facts: PlanNode["facts"]) =>
    facts["Relation Name"] !== undefined || facts["Function Name"] !== undefined;
  return all.some((facts) => String(facts["CTE Name"] ?? "").startsWith("svc:")) &&
    !all.some(isScan);
}

/** Returns a node and its descendants. */
function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...node.children.flatMap(nodesOf)];
}

/** Properties of a node that explain its time. */
const shownFacts = [
  ...["Index Cond", "Recheck Cond", "Filter", "Rows Removed by Filter", "Hash Cond", "Join Filter"],
  ...["Sort Key", "Sort Method", "Group Key", "Actual Loops", "Workers Launched", "Subplan Name"],
];

/** Returns properties and their texts. A single loop is not shown. */
export function planFacts({ facts }: PlanNode): readonly (readonly [name: string, text: string])[] {
  return shownFacts.filter((name) => facts[name] !== undefined)
    .filter((name) => name !== "Actual Loops" || facts[name] !== 1)
    .map((name) => [name, [facts[name]].flat().join(", ")] as const);
}
