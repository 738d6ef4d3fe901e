/** Conditions on an embed that follow from conditions on the rows around it. @module */
import type {
  ColumnPair,
  Relation,
  SchemaCache,
} from "../../../state/schema_cache/schema_cache.ts";
import type { Condition } from "./read_node.ts";
import { isEqual } from "./max_rows.ts";
import type { ResolvedEmbed } from "./resolved_tree.ts";

/** Types with one notion of equality. Collations, scales and modifiers make others differ. */
const exactTypes: ReadonlySet<string> = new Set(["smallint", "integer", "bigint", "uuid"]);

/**
 * Returns the conditions on an embed that follow from the equality conditions on the rows around it, by the key
 * that joins both: `tasks.tenant_id = 3` follows from `projects.tenant_id = 3`. PostgreSQL omits partitions by
 * them when it plans, and Citus asks one shard. It derives them for joins, but not for the subquery of an embed.
 *
 * A key of one column already finds the rows, so only Citus needs its condition.
 */
export function impliedConditions(
  conditions: readonly Condition[],
  around: Relation | null,
  embed: Pick<ResolvedEmbed, "relation" | "relationship">,
  cache: SchemaCache,
): readonly Condition[] {
  if (conditions.length === 0) return conditions;
  const pairs = pairsOf(embed, cache);
  const isOfOne = embed.relationship.kind !== "many-to-many" && pairs.length < 2;
  if (isOfOne && cache.data.isDistributed !== true) return [];
  return pairs.flatMap(([outer, column]) => {
    const type = typeOf(around, outer);
    if (!exactTypes.has(type) || type !== typeOf(embed.relation, column)) return [];
    const field = { column, path: [], toJsonb: false, computedOn: null };
    return conditions.filter((condition) => isEqual(condition, outer))
      .map((condition) => ({ ...condition, field: { kind: "column", field } }) as Condition);
  });
}

/** Returns the columns around the embed and those of the embed that are equal in joined rows. */
function pairsOf(
  { relationship }: Pick<ResolvedEmbed, "relationship">,
  cache: SchemaCache,
): readonly ColumnPair[] {
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
