/** The operators of filters in one table, which grammar, SQL, plan cache and hints use. @module */

interface OperatorRow {
  /** `quantified` takes `(any)` and `(all)`. So does `pattern`, whose operand is a pattern in place
   * of a value. `fullText` takes a language. */
  readonly kind:
    | "simple"
    | "quantified"
    | "pattern"
    | "fullText"
    | "similar"
    | "in"
    | "is"
    | "isdistinct";
  /** The operator in PostgreSQL. For `fullText`: the function that creates the query. */
  readonly sql: string;
  /** Whether the operand becomes a parameter unchanged, so that one cached plan serves all operands. */
  readonly isParam?: true;
}

const table = {
  eq: { kind: "quantified", sql: "=", isParam: true },
  neq: { kind: "simple", sql: "<>", isParam: true },
  gt: { kind: "quantified", sql: ">", isParam: true },
  gte: { kind: "quantified", sql: ">=", isParam: true },
  lt: { kind: "quantified", sql: "<", isParam: true },
  lte: { kind: "quantified", sql: "<=", isParam: true },
  like: { kind: "pattern", sql: "like" },
  ilike: { kind: "pattern", sql: "ilike" },
  match: { kind: "quantified", sql: "~" },
  imatch: { kind: "quantified", sql: "~*" },
  in: { kind: "in", sql: "= any" },
  is: { kind: "is", sql: "is" },
  isdistinct: { kind: "isdistinct", sql: "is distinct from" },
  fts: { kind: "fullText", sql: "to_tsquery" },
  plfts: { kind: "fullText", sql: "plainto_tsquery" },
  phfts: { kind: "fullText", sql: "phraseto_tsquery" },
  wfts: { kind: "fullText", sql: "websearch_to_tsquery" },
  cs: { kind: "simple", sql: "@>" },
  cd: { kind: "simple", sql: "<@" },
  ov: { kind: "simple", sql: "&&" },
  sl: { kind: "simple", sql: "<<" },
  sr: { kind: "simple", sql: ">>" },
  nxr: { kind: "simple", sql: "&<" },
  nxl: { kind: "simple", sql: "&>" },
  adj: { kind: "simple", sql: "-|-" },
  sim: { kind: "similar", sql: "%", isParam: true },
  wsim: { kind: "similar", sql: "%>", isParam: true },
  swsim: { kind: "similar", sql: "%>>", isParam: true },
} as const satisfies Readonly<Record<string, OperatorRow>>;

type Table = typeof table;

type WordsOf<Kind extends OperatorRow["kind"]> = {
  [Word in keyof Table]: Table[Word]["kind"] extends Kind ? Word : never;
}[keyof Table];

export type SimpleOperator = WordsOf<"simple" | "quantified" | "pattern">;
/** Operators that compare texts by their trigrams. */
export type SimilarityOperator = WordsOf<"similar">;
export type FullTextOperator = WordsOf<"fullText">;
export type OperatorWord = keyof Table;

/** A word and its row of the table. */
export type Operator =
  & {
    [Word in keyof Table]: Table[Word] & { readonly word: Word };
  }[keyof Table]
  & Pick<OperatorRow, "isParam">;

export const operators: ReadonlyMap<string, Operator> = new Map(
  Object.entries(table).map(([word, row]) => [word, { ...row, word } as Operator]),
);

export const operatorWords: readonly string[] = [...operators.keys()];

/** Returns the operator in PostgreSQL, or the name of the function that creates a text query. */
export function operatorSql(word: OperatorWord): string {
  return table[word].sql;
}

export function isPattern(word: SimpleOperator): boolean {
  return table[word].kind === "pattern";
}

export function isFullText(word: string): boolean {
  return operators.get(word)?.kind === "fullText";
}
