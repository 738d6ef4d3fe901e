/** The columns that a write sets. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type {
  Parameter,
  QualifiedName,
  Relation,
  SchemaCache,
} from "../../../state/schema_cache/schema_cache.ts";

/** The rows of a body. PostgreSQL expands them from JSON. */
export interface WrittenRows {
  readonly json: string | Uint8Array;
  readonly shape: "object" | "array";
  readonly columns: readonly WrittenColumn[];
  /** Whether missing keys of a row get the default of the column. */
  readonly defaults: boolean;
}

export interface WrittenColumn {
  readonly name: string;
  /** Type with modifier, as the catalogue prints it. */
  readonly type: string;
  /**
   * Function from json to the column's domain; `hstore` or `hstore[]` for these types and their
   * domains; `text` for a type that is read from the text of a JSON string. Null if PostgreSQL
   * converts the type.
   */
  readonly fromJson: QualifiedName | HstoreType | "text" | null;
  /** SQL text of the default for rows without the key; null to write NULL. */
  readonly default: string | null;
}

/** A type for which PostgreSQL cannot convert a JSON object. */
export type HstoreType = "hstore" | "hstore[]";

/** Returns the name of a base type without its schema, if the type is hstore; otherwise null. */
export function hstoreType(baseType: string): HstoreType | null {
  return (/(?:^|\.)(hstore(?:\[\])?)$/.exec(baseType)?.[1] ?? null) as HstoreType | null;
}

/** Returns the column of a relation. Throws `204` if it does not exist. */
export function writtenColumn(name: string, relation: Relation, cache: SchemaCache): WrittenColumn {
  const column = cache.column(relation, name);
  if (column === undefined) throw errors.noColumn(name, relation.name);
  return {
    name,
    type: column.declaredType,
    fromJson: cache.representation("json", column.declaredType) ??
      hstoreType(column.baseType),
    default: column.default,
  };
}

/** Returns the column for values in CSV and forms. Their text is parsed as JSON, not taken for a JSON string. */
export function textColumn(name: string, relation: Relation, cache: SchemaCache): WrittenColumn {
  const column = writtenColumn(name, relation, cache);
  const { baseType } = cache.column(relation, name)!;
  return isJson(baseType) && column.fromJson === null ? { ...column, fromJson: "text" } : column;
}

/** Returns how a function's parameter is read from a member of the body. `isText` is whether members
 * are texts that are parsed as by {@linkcode textColumn}. */
export function argumentFromJson(
  { baseType }: Pick<Parameter, "baseType">,
  { isText }: { readonly isText: boolean },
): WrittenColumn["fromJson"] {
  return isText && isJson(baseType) ? "text" : hstoreType(baseType);
}

function isJson(baseType: string): boolean {
  return /^jsonb?$/.test(baseType);
}
