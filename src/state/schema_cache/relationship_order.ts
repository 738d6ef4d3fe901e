/** Sorts relationships, so that ambiguity errors list them in the same order after every load. @module */
import { groupBy } from "../../base/lib/group_by.ts";
import type { SlicedWork } from "../../base/lib/slices.ts";
import type { Relationship } from "./schema_cache.ts";

/** Returns the schema of the foreign relation; for a computed relationship, of the function. */
export function foreignSchemaOf(relationship: Relationship): string {
  return relationship.kind === "computed"
    ? relationship.function.schema
    : relationship.foreign.schema;
}

/**
 * Sorts by origin, foreign schema and name (self-references last), kind, constraint or junction,
 * columns, and views last.
 */
export function* sortRelationships(
  relationships: readonly Relationship[],
): SlicedWork<readonly Relationship[]> {
  const byOrigin = groupBy(relationships, ({ origin }) => `${origin.schema}\0${origin.name}`);
  yield;
  const sorted: Relationship[] = [];
  for (const origin of [...byOrigin.keys()].sort()) {
    const keyed = byOrigin.get(origin)!.map((relationship) => ({
      relationship,
      key: sortKey(relationship).join("\0"),
    }));
    keyed.sort((a, b) => a.key < b.key ? -1 : Number(a.key > b.key));
    for (const { relationship } of keyed) sorted.push(relationship);
    yield;
  }
  return sorted;
}

/** Returns a text whose order is the order of its parts. Names contain no NUL, and numbers have one
 * digit. Keys of one kind have the same parts; the kind is compared first. */
function sortKey(relationship: Relationship): readonly (string | number)[] {
  const { foreign, self, kind } = relationship;
  const head = [foreignSchemaOf(relationship), foreign.name, Number(self), kinds.indexOf(kind)];
  switch (kind) {
    case "computed":
      return [...head, relationship.function.name];
    case "many-to-many":
      return [
        ...head,
        relationship.junction.schema,
        relationship.junction.name,
        relationship.originConstraint,
        relationship.foreignConstraint,
        ...relationship.originPairs.flat(),
        ...relationship.foreignPairs.flat(),
        Number(relationship.originIsView),
        Number(relationship.foreignIsView),
      ];
    case "one-to-many":
    case "many-to-one":
    case "one-to-one":
      return [
        ...head,
        relationship.constraint,
        ...relationship.pairs.flat(),
        Number(relationship.originIsParent),
        Number(relationship.originIsView),
        Number(relationship.foreignIsView),
      ];
    default:
      return relationship satisfies never;
  }
}

const kinds: readonly Relationship["kind"][] = [
  ...["one-to-many", "many-to-one", "one-to-one", "many-to-many", "computed"] as const,
];
