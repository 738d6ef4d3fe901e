/** The methods that a role may use on a relation. @module */
import type { RelationPrivileges } from "../../query/schema_metadata.ts";
import type { Relation } from "../../schema_cache/schema_cache.ts";

/** A method on a relation, as OpenAPI writes it. */
export type RelationMethod = "get" | "post" | "put" | "patch" | "delete";

/**
 * Returns the methods that a relation allows and the role has the privileges for. Undefined
 * privileges restrict nothing.
 */
export function relationMethods(
  { insertable, updatable, deletable, primaryKey }: Relation,
  privileges: RelationPrivileges | undefined,
): readonly RelationMethod[] {
  const [, selects, inserts, updates, deletes] = privileges ?? allPrivileges;
  const allowed: Readonly<Record<RelationMethod, boolean>> = {
    get: selects,
    post: insertable && inserts,
    put: insertable && updatable && inserts && updates && primaryKey.length > 0,
    patch: updatable && updates,
    delete: deletable && deletes,
  };
  return methods.filter((method) => allowed[method]);
}

const methods = ["get", "post", "put", "patch", "delete"] as const;

const allPrivileges: RelationPrivileges = ["", true, true, true, true];
