/** The plan of a nested insert: the levels of its body, and the inserts that write them. @module */
import type { QualifiedName, Relation } from "../../../state/schema_cache/schema_cache.ts";
import type { Conflict } from "./conflict.ts";
import type { WrittenColumn } from "./written_column.ts";
import { errors } from "../../../base/errors/catalogue.ts";
import type { ColumnItem } from "../../request/url/query_types.ts";
import type { Payload } from "../../request/body/body_decoder.ts";

export interface LevelColumn {
  readonly level: number;
  readonly name: string;
}

/** A column of a foreign key. Its value comes from rows of other levels. */
export interface FilledColumn {
  readonly name: string;
  readonly sources: readonly (LevelColumn & { readonly row: "around" | "inside" })[];
}

export interface KeyColumn {
  readonly name: string;
  readonly type: string;
}

export interface InsertLevel {
  /** Keys of the items from the root on; for the root, the name of its relation. */
  readonly path: readonly string[];
  /** Key of the level in the objects of its parent; null for the root. */
  readonly key: string | null;
  /** Number of the parent level; null for the root. */
  readonly around: number | null;
  readonly shape: "object" | "array";
  readonly relation: Relation;
  readonly columns: readonly WrittenColumn[];
  readonly filled: readonly FilledColumn[];
  readonly keys: readonly KeyColumn[];
  readonly conflict: Conflict | null;
  /** Whether rows of other levels refer to rows of this level. */
  readonly isReferred: boolean;
}

export type InsertStep =
  | { readonly kind: "level"; readonly level: number }
  /** Links rows of two levels by a junction. */
  | {
    readonly kind: "links";
    readonly junction: QualifiedName;
    /** Number of the level whose objects contain the objects of `target`. */
    readonly around: number;
    readonly target: number;
    /** Columns of the junction, and the referenced columns. */
    readonly columns: readonly (LevelColumn & { readonly column: string })[];
    /** Whether a link may exist already. */
    readonly mayExist: boolean;
  };

/** A nested insert. Level 0 is the root. */
export interface NestedInsert {
  readonly levels: readonly InsertLevel[];
  /** The steps in the order of execution. */
  readonly steps: readonly InsertStep[];
  /** Columns that identify rows of the root. */
  readonly key: readonly string[];
  /** Whether missing keys of objects get the default of the column. */
  readonly defaults: boolean;
}

/** Maximum bytes of a body whose keys are read, because other requests wait during that time. */
export const maxBodyLength = 4 * 1024 * 1024;

/** Returns the values of a body: the object, or the elements of the array. */
export function valuesOfBody(payload: Payload | null): readonly unknown[] {
  if (payload?.kind !== "json" || payload.text.length === 0) return [];
  try {
    const body: unknown = JSON.parse(
      new TextDecoder("utf-8", { ignoreBOM: true }).decode(payload.text),
    );
    return Array.isArray(body) ? body : [body];
  } catch {
    // PostgreSQL will report that the text is malformed.
    return [];
  }
}

/** Returns the values under a key of objects: single values, or the elements of arrays. */
export function valuesUnder(key: string, values: readonly unknown[]): readonly unknown[] {
  return values.flatMap((value) => {
    const member = isObject(value) && Object.hasOwn(value, key) ? value[key] : [];
    return member === null ? [] : member;
  });
}

export function columnNames(
  items: readonly ColumnItem[],
  values: readonly unknown[] | null,
  nested: ReadonlySet<string>,
): readonly string[] {
  const names = new Set(items.flatMap((item) => item.kind === "column" ? [item.name] : []));
  if (items.some(({ kind }) => kind === "all")) {
    keysOf(values ?? [], nested).forEach((key) => names.add(key));
  }
  return [...names].sort();
}

/** Returns the keys that all objects have, except `others`. Throws `102` if objects have different keys. */
function keysOf(values: readonly unknown[], others: ReadonlySet<string>): readonly string[] {
  let keys: ReadonlySet<string> | null = null;
  // Only objects have keys. PostgreSQL refuses other values.
  for (const value of values) {
    if (!isObject(value)) continue;
    const names = Object.keys(value).filter((key) => !others.has(key));
    if (keys === null) keys = new Set(names);
    else if (names.length !== keys.size || !isSubset(names, keys)) {
      throw errors.invalidBody("All object keys must match");
    }
  }
  return [...keys ?? []].sort();
}

function isSubset(names: readonly string[], all: ReadonlySet<string>): boolean {
  return names.every((name) => all.has(name));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
