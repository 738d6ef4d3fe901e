/**
 * What reading a level of a request means: plain data, every name resolved, every decision about
 * types made. A level is the root or one embedded relation.
 *
 * @module
 */
import type {
  AggregateFunction,
  FullTextOperator,
  IsWord,
  OrderTerm,
  PathStep,
  SimpleOperator,
} from "../request/query_types.ts";
import type { ColumnPair, QualifiedName } from "../schema_cache/schema_cache.ts";

/** A row type, and how to make a row of it. */
export interface RowType {
  readonly type: QualifiedName;
  /** The columns that a row is put together from; null when the level's own row has the type. */
  readonly columns: readonly string[] | null;
}

/** A column of a level, or a place inside it. */
export interface PlannedField {
  readonly column: string;
  readonly path: readonly PathStep[];
  /** The path needs JSON, and the column is something else. */
  readonly toJsonb: boolean;
  /** Not a column but perhaps a function of the row, which has to be given its type first. */
  readonly computedOn: RowType | null;
}

/** One entry of a level's select list; never an embed. */
export type ReadItem =
  /** Whatever columns the source has. */
  | { readonly kind: "all" }
  | {
    readonly kind: "column";
    readonly field: PlannedField;
    /** Function that shows the column's domain as JSON. */
    readonly convert: QualifiedName | null;
    readonly cast: string | null;
    readonly key: string;
    /** With aggregates, rows are grouped by the plain column, not by the item's value. */
    readonly groupedByColumn: boolean;
  }
  | {
    readonly kind: "aggregate";
    readonly function: AggregateFunction;
    /** Null counts rows. */
    readonly argument: { readonly field: PlannedField; readonly cast: string | null } | null;
    readonly cast: string | null;
    readonly key: string;
  };

/** A condition on a column. */
export type FieldCondition =
  & { readonly field: PlannedField; readonly negated: boolean }
  & (
    | {
      readonly kind: "compare";
      readonly operator: SimpleOperator;
      readonly quantifier: "any" | "all" | null;
      readonly value: string;
      /** Function from text to the column's domain. */
      readonly convert: QualifiedName | null;
    }
    | {
      readonly kind: "in";
      readonly values: readonly string[];
      readonly convert: QualifiedName | null;
    }
    | { readonly kind: "is"; readonly word: IsWord }
    | { readonly kind: "isdistinct"; readonly value: string }
    | {
      readonly kind: "fullText";
      readonly operator: FullTextOperator;
      readonly language: string | null;
      readonly value: string;
      /** What is searched is a document yet to be made a `tsvector`. */
      readonly toTsvector: boolean;
    }
  );

/** What rows have to fulfil. */
export type Condition =
  | FieldCondition
  | {
    readonly kind: "group";
    readonly negated: boolean;
    readonly operator: "and" | "or";
    readonly children: readonly Condition[];
  }
  /** The embed at this position of the level has a row, or has none. */
  | { readonly kind: "embedded"; readonly embed: number; readonly present: boolean };

/** One term of a level's order. */
export type PlannedOrder =
  & Pick<OrderTerm, "direction" | "nulls">
  & (
    | { readonly kind: "field"; readonly field: PlannedField }
    | {
      readonly kind: "related";
      /** Position among the level's embeds. */
      readonly embed: number;
      /** Output key of the embed. */
      readonly key: string;
      readonly path: readonly PathStep[];
    }
  );

/** Which rows of a level's result are wanted; null is no clause. Texts of integers. */
export interface RowRange {
  readonly limit: string | null;
  readonly offset: string | null;
  /** The request set it, not only the configured maximum. */
  readonly isRequested: boolean;
}

/** How an embed's rows belong to a row of its parent. */
export type EmbedJoin =
  | { readonly kind: "columns"; readonly pairs: readonly ColumnPair[] }
  | {
    readonly kind: "junction";
    readonly junction: QualifiedName;
    readonly alias: string;
    /** [parent column, junction column] */
    readonly parentPairs: readonly ColumnPair[];
    /** [junction column, embed column] */
    readonly embedPairs: readonly ColumnPair[];
  }
  /** A function of the parent's row gives the rows. */
  | { readonly kind: "function"; readonly function: QualifiedName; readonly parentRow: RowType };

/**
 * What an embed's rows are in its parent: one value under its key, or its columns beside the
 * parent's (`spread`), each as an array over all its rows (`arrays`).
 */
export type EmbedShape = "object" | "array" | "spread" | "arrays";

/** Whether an embed's columns become columns of its parent. */
export function isSpread({ shape }: Embed): boolean {
  return shape === "spread" || shape === "arrays";
}

/** An embedded level. */
export interface Embed {
  readonly node: ReadNode;
  /** Output key, unless it is spread. */
  readonly key: string;
  readonly shape: EmbedShape;
  /** Parents without a row of it are dropped. */
  readonly inner: boolean;
  readonly join: EmbedJoin;
  /** One row is promised and nothing enforces it: a parent may be repeated. */
  readonly mayRepeat: boolean;
  /** It adds something to the output. */
  readonly hasOutput: boolean;
  /**
   * Alias of the test for its rows, where conditions ask several times: asking in place each time
   * would double the statement with every level.
   */
  readonly existsAlias: string | null;
}

/** The rows of a to-one embed that a level is ordered by. */
export interface OrderSource {
  readonly embed: number;
  readonly alias: string;
  /** The embed with only what the order needs. */
  readonly node: ReadNode;
}

/** One level. */
export interface ReadNode {
  /** Unique in the statement; the root's is its relation's name, which messages then show. */
  readonly alias: string;
  /** Where rows come from: null for what the caller, or a function, gives. */
  readonly relation: QualifiedName | null;
  readonly items: readonly ReadItem[];
  readonly conditions: readonly Condition[];
  readonly order: readonly PlannedOrder[];
  readonly orderSources: readonly OrderSource[];
  readonly range: RowRange;
  readonly embeds: readonly Embed[];
  /** There are aggregates: rows are grouped by everything else. */
  readonly grouped: boolean;
  /** Rows are picked before anything is embedded into them. */
  readonly paged: boolean;
  /**
   * Embeds are joined to all rows, and tested there. Testing them beforehand says everything below
   * twice, which deep down would make statements grow with the square of the depth.
   */
  readonly joined: boolean;
}
