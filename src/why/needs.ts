/** The privileges that the plan of a request needs. @module */
import type { MutatePlan } from "../plan/mutate_plan.ts";
import { fieldsOfCondition } from "../plan/planned_values.ts";
import type { Condition, ReadNode } from "../plan/read_node.ts";
import { neededColumns } from "../plan/read_plan.ts";
import type { QualifiedName, Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import type { DataPlan } from "../transaction/data_plan.ts";

/** A privilege on a relation. */
export interface Need {
  readonly relation: QualifiedName;
  readonly action: "select" | "insert" | "update" | "delete";
  /** Empty for DELETE. */
  readonly columns: readonly string[];
  /** A phrase: `the answer reads`. */
  readonly use: string;
}

/** Returns the needs of the caller, those of the requested relation first. */
export function needsOf(plan: DataPlan, cache: SchemaCache): readonly Need[] {
  if (plan.kind === "call") return embedNeeds(plan.call.read.root, cache);
  if (plan.kind === "read") return readNeeds(plan.read.root, plan.relation, cache);
  const { mutate } = plan;
  const embeds = mutate.read === null ? [] : embedNeeds(mutate.read.root, cache);
  return [...writeNeeds(mutate), ...embeds];
}

function readNeeds(root: ReadNode, relation: Relation, cache: SchemaCache): readonly Need[] {
  const needed = neededColumns({ root, relation });
  const columns = columnsAmong(relation, needed);
  const own: Need = { relation, action: "select", columns, use: "the answer reads" };
  return [own, ...embedNeeds(root, cache)];
}

function embedNeeds({ embeds }: ReadNode, cache: SchemaCache): readonly Need[] {
  return embeds.flatMap(({ node }) => {
    const relation = node.relation === null ? undefined : cache.relation(node.relation);
    return relation === undefined ? [] : readNeeds(node, relation, cache);
  });
}

function writeNeeds(plan: MutatePlan): readonly Need[] {
  const { kind, relation, returning } = plan;
  const written = kind === "insert" || kind === "update"
    ? plan.rows.columns.map(({ name }) => name)
    : [];
  const conflict = kind === "insert" ? plan.conflict : null;
  const merged = conflict?.resolution === "merge" ? conflict.columns : [];
  const filtered = whereOf(plan).flatMap(fieldsOfCondition).map(({ column }) => column);
  const returned = returning === "none" ? [] : columnsAmong(relation, returning);
  const all: readonly Omit<Need, "relation">[] = [
    { action: kind === "patch" ? "update" : kind, columns: written, use: "the body sets" },
    { action: "update", columns: merged, use: "the upsert sets" },
    { action: "select", columns: conflict?.target.columns ?? [], use: "the upsert compares" },
    { action: "select", columns: filtered, use: "the filter reads" },
    { action: "select", columns: returned, use: "the representation reads" },
  ];
  return all.filter(({ action, columns }) => action === "delete" || columns.length > 0)
    .map((need) => ({ ...need, relation }));
}

/** Returns the conditions on the existing rows that a write changes. */
export function whereOf(plan: MutatePlan): readonly Condition[] {
  return plan.kind === "insert" ? [] : plan.where;
}

function columnsAmong({ columns }: Relation, needed: readonly string[] | "all"): readonly string[] {
  const names = columns.map(({ name }) => name);
  return needed === "all" ? names : names.filter((name) => needed.includes(name));
}
