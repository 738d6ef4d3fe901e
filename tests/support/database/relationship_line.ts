/** Relationships as lines, so that expected ones can be listed. @module */
import type { ColumnPair, Relationship } from "../../../src/state/schema_cache/schema_cache.ts";

/**
 * One line per relationship: origin, kind, foreign relation (views in brackets), and by which
 * constraint and columns, junction or function.
 */
export function relationshipLine(relationship: Relationship): string {
  const { origin, foreign, kind, self } = relationship;
  if (kind === "computed") {
    const end = relationship.toOne ? "to-one" : "to-many";
    return `${origin.name} ${end} ${foreign.name} by ${relationship.function.name}()`;
  }
  const from = relationship.originIsView ? `[${origin.name}]` : origin.name;
  const to = relationship.foreignIsView ? `[${foreign.name}]` : foreign.name;
  const parent = kind === "one-to-one" && relationship.originIsParent ? " parent" : "";
  return `${from} ${kind} ${to} by ${way(relationship)}${parent}${self ? " self" : ""}`;
}

function way(relationship: Exclude<Relationship, { kind: "computed" }>): string {
  if (relationship.kind !== "many-to-many") {
    return `${relationship.constraint} ${pairsText(relationship.pairs)}`;
  }
  const { junction, originConstraint, originPairs, foreignConstraint, foreignPairs } = relationship;
  const source = `${originConstraint} ${pairsText(originPairs)}`;
  const target = `${foreignConstraint} ${pairsText(foreignPairs)}`;
  return `${junction.name}(${source}; ${target})`;
}

function pairsText(pairs: readonly ColumnPair[]): string {
  return pairs.map(([origin, foreign]) => `${origin}=${foreign}`).join(",");
}
