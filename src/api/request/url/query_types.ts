/** The parsed query string, before anything is looked up in the schema cache. @module */
import type { ServiceError } from "../../../base/errors/service_error.ts";
import type { FullTextOperator, SimilarityOperator, SimpleOperator } from "./operators.ts";
import type { Field, Operand, Value } from "./value_types.ts";

export type JoinType = "left" | "inner";

/** `alias:column->path::cast` */
export interface SelectField {
  readonly kind: "field";
  readonly field: Field;
  readonly alias: string | null;
  readonly cast: string | null;
}

/** `alias:column.call(…)`, or `alias:count()` */
export interface SelectValue {
  readonly kind: "value";
  readonly value: Value;
  readonly alias: string | null;
}

/** `*`, or `**`. */
export interface SelectAll {
  readonly kind: "all";
  /** `**`: the columns that the role may select. Default: all columns. */
  readonly only?: "selectable";
}

/** `-column`: removes a column from `*` and `**` before it. */
export interface SelectLeftOut {
  readonly kind: "leftOut";
  readonly column: string;
}

/** `alias:schema/target!hint!inner(…)` */
export interface SelectRelation {
  readonly kind: "relation";
  /** Schema of the target. Default: the schema of the request. */
  readonly schema?: string;
  readonly target: string;
  readonly alias: string | null;
  readonly hint: string | null;
  readonly join: JoinType | null;
  readonly select: readonly SelectItem[];
  /** Type of `merge_action()::type`, which is parsed as an embed without columns. */
  readonly cast?: string;
}

/** `...schema/target!hint!inner(…)` */
export interface SelectSpread extends Omit<SelectRelation, "kind" | "alias" | "cast"> {
  readonly kind: "spread";
}

export type SelectItem = FieldItem | SelectLeftOut | EmbedItem;

/** An entry of a select list that is not an embed. */
export type FieldItem = KeyedItem | SelectAll;

export type EmbedItem = SelectRelation | SelectSpread;

export type KeyedItem = SelectField | SelectValue;

export type IsWord = "null" | "not_null" | "true" | "false" | "unknown";

/** A comparison, after the optional `not.`. */
export type Operation =
  | {
    readonly kind: "compare";
    readonly operator: SimpleOperator;
    readonly quantifier: "any" | "all" | null;
    readonly value: string;
  }
  | { readonly kind: "in"; readonly values: readonly string[] }
  | { readonly kind: "is"; readonly word: IsWord }
  | { readonly kind: "isdistinct"; readonly value: string }
  | { readonly kind: "similar"; readonly operator: SimilarityOperator; readonly value: string }
  /** A comparison with a second value of the row: `price=gt(col).cost`. */
  | {
    readonly kind: "column";
    readonly operator: SimpleOperator | "isdistinct";
    readonly operand: Operand;
    /** `n.lt(excluded).n`: the second value is in the row that an upsert proposes. */
    readonly isExcluded: boolean;
  }
  | {
    readonly kind: "fullText";
    readonly operator: FullTextOperator;
    readonly language: string | null;
    readonly value: string;
  };

export interface Filter {
  readonly kind: "filter";
  readonly field: Field;
  /** The compared value, if it is more than a field. `field` is then the first name in the value. */
  readonly operand?: Operand;
  /** Set if `operand` was read from the name of a parameter. A column with the name `field` then
   * takes precedence over `operand`. */
  readonly prefersColumn?: true;
  readonly negated: boolean;
  readonly operation: Operation;
}

/** A filter, a group of conditions, or a test of an embed's rows. */
export type LogicTree = Filter | LogicGroup | EmbedTest;

/** A test of how many rows of an embed satisfy conditions: `tools.any(price.gt.1,name.eq.saw)`. */
export interface EmbedTest {
  readonly kind: "embedTest";
  /** Name or alias of the embed. */
  readonly embed: string;
  readonly quantifier: EmbedQuantifier;
  /** Conditions on one row of the embed, which must all hold. */
  readonly children: readonly LogicTree[];
}

export type EmbedQuantifier = "any" | "all" | "none";

export interface LogicGroup {
  readonly kind: "group";
  readonly negated: boolean;
  readonly operator: "and" | "or";
  readonly children: readonly LogicTree[];
}

export interface OrderTerm {
  /** Name or alias of a to-one embed of the same level, for `order=rel(col)`. */
  readonly relation: string | null;
  readonly field: Field;
  /** The value to sort by, if it is more than a field. */
  readonly operand?: Operand;
  readonly direction: "asc" | "desc" | null;
  readonly nulls: "first" | "last" | null;
}

/** A value at a level. The level is `[]` for the root, else names or aliases of embeds. */
export interface AtLevel<T> {
  readonly path: readonly string[];
  readonly value: T;
}

/** A parameter that only reads accept. */
export type Clause =
  | { readonly kind: "having"; readonly group: LogicGroup }
  /** A condition on the level that contains the tested embed. */
  | { readonly kind: "embedTest"; readonly test: EmbedTest }
  /** Fields or keys by which rows are distinct; `all` means whole rows. */
  | { readonly kind: "distinct"; readonly fields: readonly Field[] | "all" }
  /** The rows after a cursor, or before it. */
  | { readonly kind: "page"; readonly direction: PageDirection; readonly cursor: string };

/** The rows of a page: after or before a position in the order. */
export type PageDirection = "after" | "before";

/** A clause, and the parameter that contains it. */
export interface NamedClause extends AtLevel<Clause> {
  /** Last segment of the parameter's name. */
  readonly name: string;
}

export type ColumnItem =
  /** `*`: the keys of the level's objects. */
  | { readonly kind: "all" }
  | { readonly kind: "column"; readonly name: string }
  | NestedItem;

/** `alias:target!hint(…)`: rows of a related relation, nested in the objects of the level. */
export interface NestedItem {
  readonly kind: "nested";
  readonly target: string;
  readonly alias: string | null;
  readonly hint: string | null;
  readonly items: readonly ColumnItem[];
}

/** `columns` of an insert that is more than a list of names. */
export interface ColumnTree {
  /** An error if the text cannot be parsed as a tree. */
  readonly items: readonly ColumnItem[] | ServiceError;
  /** The last name, if the text is a list of names followed by text that is ignored; otherwise null. */
  readonly listEnd: string | null;
}

/** `<path>.on_conflict` and `<path>.resolution`; null when absent. */
export interface LevelConflict {
  readonly onConflict: readonly string[] | null;
  readonly resolution: "merge-duplicates" | "ignore-duplicates" | "return-existing" | null;
}

/** How a limited write treats rows that other transactions have locked: it skips them, or fails. */
export type RowLock = "skip" | "nowait";

/** Positions of the first and last row, from 0. The last row is included; null means no limit. */
export interface RowBounds {
  readonly first: bigint;
  readonly last: bigint | null;
}

/** A parameter without effect. */
export interface UnusedParam {
  readonly name: string;
  readonly why: "has no value" | "is a filter" | "occurs twice" | "is no integer" | "has no effect";
}

export interface QueryParams {
  /** Empty if `select` is absent or empty, which means all columns. */
  readonly select: readonly SelectItem[];
  /** Whether `select` is absent or exactly `*`. An empty `select` is not the default. */
  readonly defaultSelect: boolean;
  /** Filters in query order. Filters of the root have an empty path. */
  readonly filters: readonly AtLevel<Filter>[];
  /** Raw names of filters, in query order. PUT compares them with the primary key. */
  readonly filterNames: readonly string[];
  readonly logic: readonly AtLevel<LogicGroup>[];
  /** The first order of each level. */
  readonly order: readonly AtLevel<readonly OrderTerm[]>[];
  /** `limit`/`offset` of embeds, as integers that PostgreSQL checks. */
  readonly limits: readonly AtLevel<
    { readonly limit: bigint | null; readonly offset: bigint | null }
  >[];
  /** `lock` of a limited write; null when absent. */
  readonly lock: RowLock | null;
  /** Values of the root's `limit` and `offset`; null if absent or invalid. */
  readonly limit: bigint | null;
  readonly offset: bigint | null;
  /** Whether there is a `limit`/`offset` parameter at any level. */
  readonly hasLimits: boolean;
  /** Sorted, without duplicates; null when absent. */
  readonly columns: readonly string[] | null;
  /** POST: `columns` as a tree; null when it is absent or a list of names. */
  readonly columnTree: ColumnTree | null;
  /** POST: how nested items resolve conflicts. */
  readonly levelConflicts: readonly AtLevel<LevelConflict>[];
  readonly onConflict: readonly string[] | null;
  /** POST: the unique index by which duplicates are found; null if absent. */
  readonly conflictIndex: string | null;
  /** POST: the columns to update in existing rows; null if absent. */
  readonly conflictColumns: readonly string[] | null;
  /** POST: the condition for updates of existing rows; null if absent. */
  readonly conflictWhere: LogicGroup | null;
  /** PATCH: the columns by which rows of the body match rows of the relation; null if absent. */
  readonly on: readonly string[] | null;
  /** Clauses such as `having`. In GET and HEAD of a function, an argument may have the same name. */
  readonly clauses: readonly NamedClause[];
  /** Texts of `@name` parameters. */
  readonly texts: ReadonlyMap<string, string>;
  /** GET/HEAD on functions: arguments in query order. */
  readonly callArguments: readonly (readonly [name: string, value: string])[];
  /** Parameters without effect, unordered. */
  readonly unused: readonly UnusedParam[];
  /** Canonical form for `Content-Location`, without the question mark; empty if there are no parameters. */
  readonly canonical: string;
}
