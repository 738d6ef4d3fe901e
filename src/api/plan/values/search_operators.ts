/** Finds the extension operators and functions for distances and similarity. @module */
import { getOrMake } from "../../../base/lib/group_by.ts";
import type { DistanceOperator, SchemaCache } from "../../../state/schema_cache/schema_cache.ts";

/** Types that operators and functions accept as texts. */
const textTypes: ReadonlySet<string> = new Set(["text", "character varying"]);

/** Returns whether pg_trgm accepts values of a type. For unknown types, PostgreSQL decides. */
export function isTextType(type: string | null): boolean {
  return type === null || textTypes.has(type);
}

/** Returns the operator with this name and type of the left operand; null if it does not exist. */
export function findDistance(
  name: string,
  type: string,
  cache: SchemaCache,
): DistanceOperator | null {
  const index = cache.derived(distancesByType);
  const base = index.domains.get(type) ?? (textTypes.has(type) ? "text" : type);
  return index.byType.get(base)?.find((each) => each.name === name) ?? null;
}

/** Returns the schema of a pg_trgm function or operator; null without the extension. */
export function similaritySchema(name: string, { data }: SchemaCache): string | null {
  return data.searchOperators?.similarity.find((each) => each.name === name)?.schema ?? null;
}

/** Matches a type name with a schema. The group is the name after the schema. */
const qualified = /^(?:"(?:[^"]|"")*"|[^".]+)\.(.+)$/;

interface DistanceIndex {
  /** Operators by type of the left operand, with the type's schema and, as in casts, without it. */
  readonly byType: ReadonlyMap<string, readonly DistanceOperator[]>;
  readonly domains: ReadonlyMap<string, string>;
}

function distancesByType({ data: { searchOperators } }: SchemaCache): DistanceIndex {
  const byType = new Map<string, DistanceOperator[]>();
  const add = (type: string, operator: DistanceOperator) =>
    getOrMake(byType, type, () => []).push(operator);
  for (const operator of searchOperators?.distances ?? []) {
    const { left } = operator;
    add(left, operator);
    const bare = qualified.exec(left)?.[1];
    if (bare !== undefined) add(bare, operator);
  }
  return { byType, domains: new Map(searchOperators?.domains) };
}
