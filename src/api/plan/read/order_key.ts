/** The key that makes the order of rows total. @module */
import type { Relation } from "../../../state/schema_cache/schema_cache.ts";

/** Returns a key that is contained in `columns`; otherwise the primary key, or the shortest unique
 * key without NULL. */
export function orderKey(
  relation: Relation,
  columns: ReadonlySet<string> = noColumns,
): readonly string[] | null {
  const { primaryKey } = relation;
  const unique = uniqueKeys(relation).toSorted((a, b) => a.length - b.length);
  const keys = primaryKey.length === 0 ? unique : [primaryKey, ...unique];
  return keys.find((key) => key.every((name) => columns.has(name))) ?? keys[0] ?? null;
}

const noColumns: ReadonlySet<string> = new Set();

function uniqueKeys({ uniqueIndexes = [], columns }: Relation): readonly (readonly string[])[] {
  const filled = new Set(columns.filter(({ nullable }) => !nullable).map(({ name }) => name));
  return uniqueIndexes.flatMap((index) => {
    const isKey = index.predicate === null && index.columns?.every((name) => filled.has(name));
    return isKey === true ? [index.columns!] : [];
  });
}
