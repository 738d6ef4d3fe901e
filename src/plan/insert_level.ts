/**
 * The plan of a nested insert: the levels of its body, and the inserts that write them.
 *
 * @module
 */
import type { QualifiedName, Relation } from "../schema_cache/schema_cache.ts";
import type { Conflict } from "./conflict.ts";
import type { WrittenColumn } from "./written_column.ts";

/** A column of a level's rows. */
export interface LevelColumn {
  /** Number of the level. */
  readonly level: number;
  readonly name: string;
}

/** A column of a foreign key, whose value comes from rows of other levels. */
export interface FilledColumn {
  readonly name: string;
  /** The value is that of the first row which exists. */
  readonly sources: readonly (LevelColumn & {
    /** Whether the row is that around the level's row, or the one inside of it. */
    readonly row: "around" | "inside";
  })[];
}

/** A column whose values are kept for other statements. */
export interface KeyColumn {
  readonly name: string;
  readonly type: string;
}

/** One level of the body: the root, or a nested item. */
export interface InsertLevel {
  /** Keys of the items from the root on; the relation's name for the root. */
  readonly path: readonly string[];
  /** Key of the level in the objects around it; null for the root. */
  readonly key: string | null;
  /** Number of the level around; null for the root. */
  readonly around: number | null;
  readonly shape: "object" | "array";
  readonly relation: Relation;
  readonly columns: readonly WrittenColumn[];
  readonly filled: readonly FilledColumn[];
  readonly keys: readonly KeyColumn[];
  readonly conflict: Conflict | null;
  /** Whether other levels need the keys of its rows. */
  readonly isReferred: boolean;
}

/** An insert of a nested insert. */
export type InsertStep =
  | { readonly kind: "level"; readonly level: number }
  /** Links rows of two levels by rows of a junction. */
  | {
    readonly kind: "links";
    readonly junction: QualifiedName;
    /** Number of the level whose objects contain the rows of `target`. */
    readonly around: number;
    readonly target: number;
    /** Columns of the junction, and the columns that they refer to. */
    readonly columns: readonly (LevelColumn & { readonly column: string })[];
    /** Whether a link may exist before. */
    readonly mayExist: boolean;
  };

/** A nested insert. Level 0 is the root. */
export interface NestedInsert {
  readonly levels: readonly InsertLevel[];
  /** In the order of execution. */
  readonly steps: readonly InsertStep[];
  /** True if missing keys of objects get the column's default. */
  readonly defaults: boolean;
}
