/** Sorts relationships, so that lists of ambiguous ones are the same after every load. @module */
import type { SlicedWork } from "../lib/slices.ts";
import type { ColumnPair, Relationship } from "./schema_cache.ts";

/** The schema of the foreign relation, or of the function of a computed relationship. */
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
  // Names contain no NUL, so the joined names sort as the pairs do.
  const byOrigin = new Map<string, { relationship: Relationship; key: SortKey }[]>();
  for (const relationship of relationships) {
    const origin = `${relationship.origin.schema}\0${relationship.origin.name}`;
    const keyed = { relationship, key: sortKey(relationship) };
    const list = byOrigin.get(origin);
    if (list === undefined) byOrigin.set(origin, [keyed]);
    else list.push(keyed);
    yield;
  }
  const sorted: Relationship[] = [];
  for (const origin of [...byOrigin.keys()].sort()) {
    const list = byOrigin.get(origin)!.sort((a, b) => compareKeys(a.key, b.key));
    for (const { relationship } of list) sorted.push(relationship);
    yield;
  }
  return sorted;
}

type SortKey = readonly (string | number)[];

/** Keys of one kind have the same elements up to the columns; the kind sorts before them. */
function sortKey(relationship: Relationship): SortKey {
  const { foreign, self, kind } = relationship;
  const head = [
    foreignSchemaOf(relationship),
    foreign.name,
    Number(self),
    kindOrder[kind],
  ];
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
        columnsKey(relationship.originPairs),
        columnsKey(relationship.foreignPairs),
        Number(relationship.originIsView),
        Number(relationship.foreignIsView),
      ];
    case "one-to-many":
    case "many-to-one":
    case "one-to-one":
      return [
        ...head,
        relationship.constraint,
        columnsKey(relationship.pairs),
        Number(relationship.originIsParent),
        Number(relationship.originIsView),
        Number(relationship.foreignIsView),
      ];
    default:
      return relationship satisfies never;
  }
}

const kindOrder: Readonly<Record<Relationship["kind"], number>> = {
  "one-to-many": 0,
  "many-to-one": 1,
  "one-to-one": 2,
  "many-to-many": 3,
  "computed": 4,
};

/** Returns the columns as one text that sorts like the list of pairs. */
function columnsKey(pairs: readonly ColumnPair[]): string {
  return pairs.flat().join("\0");
}

function compareKeys(a: SortKey, b: SortKey): number {
  for (let index = 0; index < a.length && index < b.length; index++) {
    const [left, right] = [a[index]!, b[index]!];
    if (left !== right) return left < right ? -1 : 1;
  }
  return a.length - b.length;
}
