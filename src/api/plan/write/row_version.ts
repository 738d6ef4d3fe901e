/** Row versions: values that change with every update of a row. The first half of an entity tag is
 * a row version. @module */
import type { Config } from "../../../state/config/options.ts";
import type { EntityTag } from "../../../base/http/etag.ts";
import type { Relation } from "../../../state/schema_cache/schema_cache.ts";

export type RowVersion =
  /** By `tableoid`, `xmin` and `ctid`. They require the privilege to select the whole table. */
  | { readonly kind: "system" }
  /** By the primary key and a column that changes with every update. */
  | { readonly kind: "columns"; readonly columns: readonly string[] };

/** Returns how versions of a relation's rows are computed; null if rows have no version. */
export function rowVersionOf(
  { columns, primaryKey, systemColumns }: Relation,
  { etagVersionColumns }: Config,
): RowVersion | null {
  const names = new Set(columns.map(({ name }) => name));
  const column = etagVersionColumns.find((name) => names.has(name));
  if (column !== undefined && primaryKey.length > 0) {
    return { kind: "columns", columns: [...primaryKey, column] };
  }
  return systemColumns === undefined ? null : { kind: "system" };
}

/**
 * Returns {@linkcode rowVersionOf} for rows of an INSERT; null if RETURNING cannot have versions.
 */
export function insertedVersionOf(relation: Relation, config: Config): RowVersion | null {
  const version = rowVersionOf(relation, config);
  const isReturned = version?.kind === "columns" || relation.systemColumns === "always";
  return isReturned ? version : null;
}

/** Matches the tag of a row: the row's version, and a hash of its content. */
const rowTag = /^([0-9a-f]{16})-[0-9a-f]{32}$/;

export function versionsIn(tags: readonly EntityTag[]): readonly string[] {
  return tags.flatMap(({ isWeak, opaque }) => {
    const version = isWeak ? undefined : rowTag.exec(opaque)?.[1];
    return version === undefined ? [] : [version];
  });
}
