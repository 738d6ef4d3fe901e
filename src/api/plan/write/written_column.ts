/** The columns that a write sets. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type {
  Parameter,
  QualifiedName,
  Relation,
  SchemaCache,
} from "../../../state/schema_cache/schema_cache.ts";

/** The rows of a body. PostgreSQL expands the JSON. */
export interface WrittenRows {
  readonly json: string | Uint8Array;
  readonly shape: "object" | "array";
  readonly columns: readonly WrittenColumn[];
  /** True if missing keys of a row get the column's default. */
  readonly defaults: boolean;
}

export interface WrittenColumn {
  readonly name: string;
  /** Type with modifier, as the catalogue prints it. */
  readonly type: string;
  /**
   * Function from json to the column's domain, `hstore` or `hstore[]` for these types and their domains, or
   * `text` for a type that reads the text of a JSON string; null for types that PostgreSQL converts.
   */
  readonly fromJson: QualifiedName | HstoreType | "text" | null;
  /** SQL text of the default for rows without the key; null to write NULL. */
  readonly default: string | null;
}

/** PostgreSQL reads no JSON object as hstore. */
export type HstoreType = "hstore" | "hstore[]";

/** Returns the name of a type below all domains without its schema, which varies; null for others than hstore. */
export function hstoreType(baseType: string): HstoreType | null {
  return (/(?:^|\.)(hstore(?:\[\])?)$/.exec(baseType)?.[1] ?? null) as HstoreType | null;
}

/** Returns the column of a relation. Throws `204` if the relation has no such column. */
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

/** Returns the column as CSV and forms write it: its text is JSON itself, and not the value of a JSON string. */
export function textColumn(name: string, relation: Relation, cache: SchemaCache): WrittenColumn {
  const column = writtenColumn(name, relation, cache);
  const { baseType } = cache.column(relation, name)!;
  return isJson(baseType) && column.fromJson === null ? { ...column, fromJson: "text" } : column;
}

/** Returns how a parameter of a function reads a member of the body; `isText` as in {@linkcode textColumn}. */
export function argumentFromJson(
  { baseType }: Pick<Parameter, "baseType">,
  { isText }: { readonly isText: boolean },
): WrittenColumn["fromJson"] {
  return isText && isJson(baseType) ? "text" : hstoreType(baseType);
}

function isJson(baseType: string): boolean {
  return /^jsonb?$/.test(baseType);
}
