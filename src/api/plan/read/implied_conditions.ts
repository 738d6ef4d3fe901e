/** Conditions on an embed that follow from conditions on its parent's rows. @module */
import type { ColumnPair, Relation } from "../../../state/schema_cache/schema_cache.ts";
import type { Condition } from "../read_node.ts";
import { isEqual } from "./max_rows.ts";
import type { SelectEmbed, SelectNode } from "./resolved_tree.ts";

/** Types whose equality is unambiguous. Equality of other types depends on collations, scales or modifiers. */
const exactTypes: ReadonlySet<string> = new Set(["smallint", "integer", "bigint", "uuid"]);

/**
 * Returns the conditions on an embed that follow from equality conditions on its parent by the key
 * that joins both. For example, `tasks.tenant_id = 3` follows from `projects.tenant_id = 3`.
 * PostgreSQL then omits partitions when it plans, and Citus queries one shard. PostgreSQL derives
 * such conditions for joins, but not for the subquery of an embed.
 *
 * With a key of one column, the key already finds the rows, so that only Citus needs the condition.
 */
export function impliedConditions(
  conditions: readonly Condition[],
  { relation, cache }: SelectNode,
  embed: SelectEmbed,
): readonly Condition[] {
  if (conditions.length === 0) return conditions;
  const pairs = pairsOf(embed);
  const isOfOne = embed.relationship.kind !== "many-to-many" && pairs.length < 2;
  if (isOfOne && cache.data.isDistributed !== true) return [];
  return pairs.flatMap(([outer, column]) => {
    const type = typeOf(relation, outer);
    if (!exactTypes.has(type) || type !== typeOf(embed.relation, column)) return [];
    const field = { column, path: [], toJsonb: false, computedOn: null };
    return conditions.filter((condition) => isEqual(condition, outer))
      .map((condition) => ({ ...condition, field: { kind: "column", field } }) as Condition);
  });
}

/** Returns pairs of a parent column and an embed column that are equal in joined rows. */
function pairsOf({ relationship, cache }: SelectEmbed): readonly ColumnPair[] {
  if (relationship.kind === "computed") return [];
  if (relationship.kind !== "many-to-many") return relationship.pairs;
  const { originPairs, foreignPairs } = relationship;
  const junction = cache.relation(relationship.junction) ?? null;
  return originPairs.filter(([, column]) => exactTypes.has(typeOf(junction, column)))
    .flatMap(([outer, column]) =>
      foreignPairs.filter(([first]) => first === column).map(([, last]) => [outer, last] as const)
    );
}

function typeOf(relation: Relation | null, name: string): string {
  return relation?.columns.find((column) => column.name === name)?.declaredType ?? "";
}
