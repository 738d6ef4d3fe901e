/** Finds the operators and functions of extensions for distances and similarity. @module */
import { getOrMake } from "../../../base/lib/group_by.ts";
import type { DistanceOperator, SchemaCache } from "../../../state/schema_cache/schema_cache.ts";

/** Types whose values are texts to operators and functions. */
const textTypes: ReadonlySet<string> = new Set(["text", "character varying"]);

/** Returns true if pg_trgm takes values of a type. Operators of an unknown type are left to
 * PostgreSQL. */
export function isTextType(type: string | null): boolean {
  return type === null || textTypes.has(type);
}

/** Returns the operator of a name whose left operand is of a type; null if it does not exist. */
export function findDistance(
  name: string,
  type: string,
  cache: SchemaCache,
): DistanceOperator | null {
  const index = cache.derived(distancesByType);
  const base = index.domains.get(type) ?? (textTypes.has(type) ? "text" : type);
  return index.byType.get(base)?.find((each) => each.name === name) ?? null;
}

/** Returns the schema of a function or operator of pg_trgm; null without the extension. */
export function similaritySchema(name: string, { data }: SchemaCache): string | null {
  return data.searchOperators?.similarity.find((each) => each.name === name)?.schema ?? null;
}

/** The name of a type after its schema. */
const qualified = /^(?:"(?:[^"]|"")*"|[^".]+)\.(.+)$/;

interface DistanceIndex {
  /** By the left operand's type: with and without its schema, as casts have no schema. */
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
