/** The plan of reading a node: the root or one embed. @module */
import type { FullTextOperator } from "../request/url/operators.ts";
import type {
  EmbedQuantifier,
  Operation,
  OrderTerm,
  PageDirection,
} from "../request/url/query_types.ts";
import type { ColumnPair, QualifiedName, Relation } from "../../state/schema_cache/schema_cache.ts";
import type { PathStep } from "../request/url/value_types.ts";

export interface RowType {
  readonly type: QualifiedName;
  /** Columns from which the row is built; null if the node's row has the row type. */
  readonly columns: readonly string[] | null;
}

export interface PlannedField {
  readonly column: string;
  readonly path: readonly PathStep[];
  /** Whether the path needs a cast to `jsonb`, because the column has another type. */
  readonly toJsonb: boolean;
  /** Row type to which the row is cast, if the name may be a row function; otherwise null. */
  readonly computedOn: RowType | null;
}

export type PlannedValue =
  | { readonly kind: "column"; readonly field: PlannedField }
  | { readonly kind: "cast"; readonly value: PlannedValue; readonly type: string }
  | {
    readonly kind: "call";
    readonly function: string;
    readonly value: PlannedValue;
    readonly arguments: readonly PlannedArgument[];
    /** The operator or function of an extension. Default: it belongs to `pg_catalog`. */
    readonly extension?: ExtensionObject;
  }
  /** The `tsvector` of a value. */
  | {
    readonly kind: "document";
    readonly value: PlannedValue;
    readonly language: string | null;
  }
  | {
    readonly kind: "aggregate";
    readonly function: string;
    /** Null to count rows. */
    readonly argument: PlannedValue | null;
    readonly arguments: readonly PlannedArgument[];
    readonly distinct: boolean;
    /** Conditions on the rows that the aggregate reads (FILTER); empty for all rows. */
    readonly filter: readonly Condition[];
  }
  /** The value of an embed's row, or the aggregate over its rows. */
  | {
    readonly kind: "related";
    /** Position among the node's embeds. */
    readonly embed: number;
    readonly value: PlannedValue;
  }
  /** A value of the parent node, in a condition on the rows of an embed. */
  | { readonly kind: "outer"; readonly value: PlannedValue };

export interface ExtensionObject {
  readonly schema: string;
  /** Type of the operator's right operand, as in the catalogue; null for a function. */
  readonly rightType: string | null;
}

export type PlannedArgument =
  | { readonly kind: "value"; readonly value: PlannedValue }
  | {
    readonly kind: "constant";
    readonly text: string;
    /** Null if PostgreSQL chooses the type. */
    readonly type: "numeric" | "integer" | "interval" | "text" | null;
  }
  /** The query of a full-text search. */
  | {
    readonly kind: "textQuery";
    readonly operator: FullTextOperator;
    readonly text: string;
    readonly language: string | null;
  }
  /** A word from a table, such as a time unit. */
  | { readonly kind: "word"; readonly text: string }
  /** The name of a collation. */
  | { readonly kind: "name"; readonly text: string }
  | { readonly kind: "distinct" };

/** One entry of a node's select list, except embeds. */
export type ReadItem =
  /** All columns of the source. */
  | { readonly kind: "all" }
  | SingleItem;

/** An entry of a select list that is a single output column. */
type SingleItem =
  | {
    readonly kind: "column";
    readonly field: PlannedField;
    /** Function that converts the column's domain to JSON; null if no function exists. */
    readonly convert: QualifiedName | null;
    readonly cast: string | null;
    readonly key: string;
    /** Whether a node with aggregates groups by the plain column in place of the item's value. */
    readonly groupedByColumn: boolean;
  }
  | { readonly kind: "value"; readonly value: PlannedValue; readonly key: string };

type OperationOf<Kind extends Operation["kind"]> = Extract<Operation, { readonly kind: Kind }>;

export type FieldCondition =
  & { readonly field: PlannedValue; readonly negated: boolean }
  & (
    /** `convert`: the function from text to the column's domain; null if no function exists. */
    | OperationOf<"compare"> & { readonly convert: QualifiedName | null }
    | OperationOf<"in"> & { readonly convert: QualifiedName | null }
    | OperationOf<"is">
    | OperationOf<"isdistinct">
    | OperationOf<"similar"> & { readonly schema: string }
    | Omit<OperationOf<"column">, "operand"> & { readonly other: PlannedValue }
    /** `toTsvector`: whether the searched value needs a conversion to `tsvector`. */
    | OperationOf<"fullText"> & { readonly toTsvector: boolean }
  );

export type Condition =
  | FieldCondition
  | {
    readonly kind: "group";
    readonly negated: boolean;
    readonly operator: "and" | "or";
    readonly children: readonly Condition[];
  }
  /** Tests how many rows of the embed at this position satisfy conditions of the embed. */
  | {
    readonly kind: "related";
    readonly embed: number;
    readonly quantifier: EmbedQuantifier;
    readonly conditions: readonly Condition[];
  }
  /** Tests whether the embed at this position has a row (`present`) or none (`absent`). */
  | { readonly kind: "embedded"; readonly embed: number; readonly present: boolean };

export type PlannedOrder =
  & Pick<OrderTerm, "direction" | "nulls">
  & (
    | { readonly kind: "value"; readonly value: PlannedValue }
    | {
      readonly kind: "related";
      /** Position among the node's embeds. */
      readonly embed: number;
      /** Output key of the embed's column. */
      readonly key: string;
      readonly path: readonly PathStep[];
    }
  );

/** How an order term becomes a key of a cursor. */
export interface CursorTerm {
  /** Whether the value may be NULL. */
  readonly nullable: boolean;
  readonly text: "cast" | "json" | "by-type";
}

export interface NodeCursor {
  /** Identifies the order and the sorted rows. */
  readonly fingerprint: string;
  readonly terms: readonly CursorTerm[];
  readonly page: CursorPage;
}

export interface CursorPage {
  readonly direction: PageDirection;
  /** The keys of the cursor; a key is null for NULL. The list is null for the first or last page. */
  readonly keys: readonly (string | null)[] | null;
}

/** The row range of a node, as texts of integers; null means no clause. */
export interface RowRange {
  readonly limit: string | null;
  readonly offset: string | null;
  /** Whether the request sets the range; false if only `db-max-rows` does. */
  readonly isRequested: boolean;
}

export type EmbedJoin =
  | { readonly kind: "columns"; readonly pairs: readonly ColumnPair[] }
  | {
    readonly kind: "junction";
    readonly junction: QualifiedName;
    readonly alias: string;
    readonly parentPairs: readonly ColumnPair[];
    readonly embedPairs: readonly ColumnPair[];
  }
  /** A function returns the rows for the parent's row. */
  | { readonly kind: "function"; readonly function: QualifiedName; readonly parentRow: RowType };

/**
 * The output of an embed in its parent: an `object` or `array` under its key, or columns of the
 * parent. A to-one `spread` adds the embed's columns; `arrays` adds an array of each column's
 * values.
 */
export type EmbedShape = "object" | "array" | "spread" | "arrays";

export function isSpread({ shape }: Embed): boolean {
  return shape === "spread" || shape === "arrays";
}

export interface Embed {
  readonly node: ReadNode;
  /** Output key; unused for spreads. */
  readonly key: string;
  readonly shape: EmbedShape;
  /** Whether parents without a row of the embed are dropped (INNER JOIN). */
  readonly inner: boolean;
  readonly join: EmbedJoin;
  /** Whether a parent may repeat, because no unique key enforces the to-one relationship. */
  readonly mayRepeat: boolean;
  readonly hasOutput: boolean;
  /** Alias of an EXISTS test that several conditions share, so that the statement does not grow;
   * otherwise null. */
  readonly existsAlias: string | null;
}

export interface OrderSource {
  readonly embed: number;
  readonly alias: string;
  readonly node: ReadNode;
}

export interface ReadRoot {
  readonly root: ReadNode;
  /** The relation of the root's rows; null if unknown. */
  readonly relation: Relation | null;
}

/** Values by which rows are distinct; null means no condition. */
type DistinctValues = readonly PlannedValue[] | null;

/** How a node gets its rows. `all` means that whole rows are distinct. */
export type NodeKind =
  | { readonly kind: "plain"; readonly distinct: DistinctValues | "all" }
  /** A subquery picks the rows before embeds are joined to them. */
  | { readonly kind: "paged"; readonly distinct: DistinctValues }
  /** The node has aggregates. All other columns form the groups. */
  | { readonly kind: "grouped"; readonly distinct: "all" | null }
  /** A page of the root at a cursor, which a subquery picks, too. */
  | { readonly kind: "cursor"; readonly distinct: null; readonly cursor: NodeCursor };

export type ReadNode = NodeParts & NodeKind;

/** A node whose rows a subquery picks. */
export type PagedNode = Extract<ReadNode, { readonly kind: "paged" | "cursor" }>;

interface NodeParts {
  /** Unique in the statement. The root's alias is the name of its relation, which error messages contain. */
  readonly alias: string;
  /** The relation that supplies the rows; null if the caller or a function supplies them. */
  readonly relation: QualifiedName | null;
  readonly items: readonly ReadItem[];
  readonly conditions: readonly Condition[];
  readonly having: readonly Condition[];
  readonly order: readonly PlannedOrder[];
  readonly orderSources: readonly OrderSource[];
  readonly range: RowRange;
  readonly embeds: readonly Embed[];
  /** Whether the node is joined because it is deep: EXISTS tests would render all nodes below it twice. */
  readonly joined: boolean;
}
