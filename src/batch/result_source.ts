/**
 * The results that references name: which columns they have, and how they are kept.
 *
 * @module
 */
import type { ResultValue } from "../query/result_reference.ts";
import type { ReadNode } from "../plan/read_node.ts";
import { isSpread } from "../plan/read_node.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";
import type { DataPlan } from "../transaction/data_plan.ts";

/** Returns why the result of a plan has no such value; null if it may have it. */
export function refuseSource(
  plan: DataPlan,
  { part }: ResultValue,
  cache: SchemaCache,
): string | null {
  if (plan.kind === "mutate") {
    const { mutate: { relation, ...mutate } } = plan;
    if (part.kind === "scalar") return "The result of a write has columns";
    if (cache.column(relation, part.column) === undefined) {
      return `'${relation.name}' has no column '${part.column}'`;
    }
    const isUnread = mutate.kind === "insert" && mutate.nested !== null &&
      mutate.returning === "none";
    return isUnread ? "A nested insert returns its rows with Prefer: return=headers-only" : null;
  }
  const { format: { kind } } = plan.representation;
  const isVoid = plan.kind === "call" && plan.call.routine.returns.void;
  if (plan.headersOnly || isVoid) return "The result has no body";
  if (kind !== "array" && kind !== "object") return "The result is not JSON";
  const isScalar = plan.kind === "call" && plan.call.scalarColumn !== null;
  if (part.kind === "scalar") return isScalar ? null : "The result has columns";
  if (isScalar && part.kind !== "only" && !plan.call.routine.returns.set) {
    return "The result is one value";
  }
  const { root } = plan.kind === "read" ? plan.read : plan.call.read;
  const isUntyped = plan.kind === "call";
  if (isUntyped || keysOf(root, cache).has(part.column)) return null;
  return `The result has no member '${part.column}'`;
}

/** Returns the names of the members that objects of a node have. */
function keysOf({ items, embeds, relation }: ReadNode, cache: SchemaCache): ReadonlySet<string> {
  const cached = relation === null ? undefined : cache.relation(relation);
  const ofItems = items.flatMap((item) =>
    item.kind === "all" ? cached?.columns.map(({ name }) => name) ?? [] : [item.key]
  );
  const ofEmbeds = embeds.filter(({ hasOutput }) => hasOutput).flatMap((embed) =>
    isSpread(embed) ? [...keysOf(embed.node, cache)] : [embed.key]
  );
  return new Set([...ofItems, ...ofEmbeds]);
}

/** Returns a plan whose written rows have these columns in addition, as far as they exist. */
export function keptColumns(
  plan: DataPlan,
  columns: ReadonlySet<string>,
  cache: SchemaCache,
): DataPlan {
  if (plan.kind !== "mutate") return plan;
  const { mutate } = plan;
  const kept = [...columns].filter((name) => cache.column(mutate.relation, name) !== undefined);
  return { ...plan, mutate: { ...mutate, kept } };
}
