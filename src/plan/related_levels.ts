/**
 * Second pass: the tree of levels with the relation behind each, and how each is related to its
 * parent.
 *
 * @module
 */
import type {
  QualifiedName,
  Relation,
  Relationship,
  SchemaCache,
} from "../schema_cache/schema_cache.ts";
import type { EmbedItem, Level } from "./levels.ts";
import { findRelationship } from "./relationship.ts";

/** Where a level's rows come from. */
export interface Origin {
  /** The relation whose rows these are, if it is known. */
  readonly relation: Relation | null;
  /** Its name, or that of the function that gives the rows. */
  readonly origin: QualifiedName;
}

interface RelatedLevel extends Origin, Omit<Level, "item" | "children"> {
  readonly children: readonly EmbeddedLevel[];
}

/** The root of the tree. */
export interface RootLevel extends RelatedLevel {
  readonly item: null;
}

/** A level below the root. */
export interface EmbeddedLevel extends RelatedLevel {
  readonly item: EmbedItem;
  readonly relationship: Relationship;
}

export type AnyLevel = RootLevel | EmbeddedLevel;

/** Resolves every embed, parents first. Raises `200` and `201`. */
export function relateLevels(
  root: Level,
  origin: Origin,
  schema: string,
  cache: SchemaCache,
): RootLevel {
  const children = relateChildren(root.children, origin, schema, cache);
  return { ...root, ...origin, item: null, children };
}

function relateChildren(
  levels: readonly Level[],
  { origin, relation }: Origin,
  schema: string,
  cache: SchemaCache,
): readonly EmbeddedLevel[] {
  return levels.map((level) => {
    const item = level.item!;
    const { target, hint } = item;
    const relationship = findRelationship(
      { origin, originIsRelation: relation !== null, target, hint, schema },
      cache,
    );
    const { foreign } = relationship;
    const own: Origin = { relation: cache.relation(foreign) ?? null, origin: foreign };
    const children = relateChildren(level.children, own, schema, cache);
    return { ...level, ...own, item, relationship, children };
  });
}

/** All levels of a tree, parents before children. */
export function* allLevels(level: AnyLevel): Generator<AnyLevel> {
  const stack: AnyLevel[] = [level];
  while (stack.length > 0) {
    const next = stack.pop()!;
    yield next;
    for (let index = next.children.length - 1; index >= 0; index--) {
      stack.push(next.children[index]!);
    }
  }
}
