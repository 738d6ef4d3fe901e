/** Values in the query string: columns followed by casts and calls, such as
 * `bought.date_trunc(month)::date` and `price.sum().round(2)`. @module */

/** One step of a JSON path. `->` returns JSON, `->>` text. */
export interface PathStep {
  readonly arrow: "->" | "->>";
  readonly operand:
    | { readonly kind: "key"; readonly key: string }
    /** Decimal digits with an optional minus sign, as received. */
    | { readonly kind: "index"; readonly index: string };
}

/** A column, or a place inside it. */
export interface Field {
  readonly name: string;
  readonly path: readonly PathStep[];
}

/** `field::cast.call(…)::cast…` */
export interface Value {
  /** Null for `count()`, the number of rows. */
  readonly field: Field | null;
  /** Casts and calls. Each applies to the value before it. */
  readonly steps: readonly ValueStep[];
}

export type ValueStep =
  | { readonly kind: "cast"; readonly type: string }
  | ValueCall;

/** `.name(argument,…)` */
export interface ValueCall {
  readonly kind: "call";
  readonly name: string;
  readonly arguments: readonly ValueArgument[];
}

/** An argument of a call. A word, such as `month`, is a value without steps. */
export type ValueArgument =
  /** Digits with an optional minus sign and fraction, as received. */
  | { readonly kind: "number"; readonly text: string }
  /** The text between the quotes. */
  | { readonly kind: "text"; readonly text: string }
  /** `@name`, whose value is in the parameter of that name. */
  | { readonly kind: "parameter"; readonly name: string }
  | { readonly kind: "value"; readonly value: Value };

/** A value of a level, or of an embed: `tools(price.sum())`. */
export type Operand =
  | { readonly kind: "value"; readonly value: Value }
  | RelatedOperand;

/** `embed(operand)` */
export interface RelatedOperand {
  readonly kind: "related";
  /** Name or alias of the embed. */
  readonly embed: string;
  readonly operand: Operand;
}
