/**
 * The functions that values in the query string call: signature and SQL, one row each.
 *
 * In a signature, brackets hold optional arguments and `…` repeats the last one. Kinds of arguments:
 *
 * - `n` a number, `f` a fraction from 0 to 1, `text` a text; each also as `@name`.
 * - `v` any of these, or a value; `s` the same, where constants become `text`.
 * - `unit` and `part` a word of {@linkcode timeUnits} or {@linkcode timeParts}.
 * - `zone` a word or a text; `name` the same as an identifier.
 * - `distinct` the word itself.
 * - `kind` an operator of full-text search and `q` the text of its query: one argument of the SQL;
 *   `lang` a word or a text. Elsewhere `q` is a number or a text.
 *
 * In the SQL, `$0` is the value before the call, `$1` to `$3` are the arguments, `$*` are all of them,
 * and `$d` is `distinct` where it is given. `[a|b]` is `a` if its argument is given, else `b`. `$s` is
 * the schema of an extension, and `$t` the type of an operator's right operand.
 *
 * @module
 */

export interface ValueFunction {
  readonly name: string;
  /** `round([n])` */
  readonly signature: string;
  readonly kinds: readonly ArgumentKind[];
  readonly required: number;
  readonly repeats: boolean;
  readonly sql: string;
  readonly isAggregate: boolean;
  /** The operator or function that must be in the schema cache; null if it is in `pg_catalog`. */
  readonly needs:
    | { readonly kind: "distance"; readonly operator: string }
    | { readonly kind: "similarity" }
    | null;
}

export type ArgumentKind =
  | "n"
  | "f"
  | "text"
  | "v"
  | "s"
  | "unit"
  | "part"
  | "zone"
  | "lang"
  | "name"
  | "kind"
  | "q"
  | "distinct";

type FunctionRow = readonly [signature: string, sql: string];

const rowFunctions: readonly FunctionRow[] = [
  ["lower()", "pg_catalog.lower($0)"],
  ["upper()", "pg_catalog.upper($0)"],
  ["trim()", "pg_catalog.btrim($0)"],
  ["length()", "pg_catalog.length($0)"],
  ["left(n)", "pg_catalog.left($0, $1)"],
  ["right(n)", "pg_catalog.right($0, $1)"],
  ["concat(s,…)", "pg_catalog.concat($0, $*)"],
  ["collate(name)", "($0 collate $1)"],
  ["add(v)", "($0 operator(pg_catalog.+) $1)"],
  ["sub(v)", "($0 operator(pg_catalog.-) $1)"],
  ["mul(v)", "($0 operator(pg_catalog.*) $1)"],
  ["div(v)", "($0 operator(pg_catalog./) $1)"],
  ["mod(v)", "($0 operator(pg_catalog.%) $1)"],
  ["neg()", "(operator(pg_catalog.-) $0)"],
  ["abs()", "pg_catalog.abs($0)"],
  ["ceil()", "pg_catalog.ceil($0)"],
  ["floor()", "pg_catalog.floor($0)"],
  ["round([n])", "pg_catalog.round($0[, $1|])"],
  ["trunc([n])", "pg_catalog.trunc($0[, $1|])"],
  ["width_bucket(v,v,n)", "pg_catalog.width_bucket($0, $1, $2, $3)"],
  ["coalesce(v,…)", "coalesce($0, $*)"],
  ["nullif(v)", "nullif($0, $1)"],
  ["greatest(v,…)", "greatest($0, $*)"],
  ["least(v,…)", "least($0, $*)"],
  ["date_trunc(unit[,zone])", "pg_catalog.date_trunc($1, $0[, cast($2 as text)|])"],
  ["date_bin(text[,text])", "pg_catalog.date_bin(cast($1 as interval), $0, [$2|'2001-01-01'])"],
  ["extract(part)", "extract($1 from $0)"],
  ["to_char(text)", "pg_catalog.to_char($0, $1)"],
  ["at_time_zone(zone)", "pg_catalog.timezone(cast($1 as text), $0)"],
  ["ts_rank(kind,q[,lang])", "pg_catalog.ts_rank($0, $1)"],
  ["ts_rank_cd(kind,q[,lang])", "pg_catalog.ts_rank_cd($0, $1)"],
  [
    "ts_headline(kind,q[,lang[,text]])",
    "pg_catalog.ts_headline([cast($2 as pg_catalog.regconfig), |]$0, $1[, $3|])",
  ],
  ["cardinality()", "pg_catalog.cardinality($0)"],
  ["jsonb_array_length()", "pg_catalog.jsonb_array_length($0)"],
];

/** Functions of pg_trgm. If a function is not symmetric, its first argument is the text to search for. */
const similarities: readonly FunctionRow[] = [
  ["similarity(q)", "$s.similarity($0, cast($1 as pg_catalog.text))"],
  ["word_similarity(q)", "$s.word_similarity(cast($1 as pg_catalog.text), $0)"],
  ["strict_word_similarity(q)", "$s.strict_word_similarity(cast($1 as pg_catalog.text), $0)"],
];

/** Operators that indexes order by. */
const distances: readonly (readonly [name: string, operator: string])[] = [
  ["distance", "<->"],
  ["l2_distance", "<->"],
  ["max_inner_product", "<#>"],
  ["cosine_distance", "<=>"],
  ["l1_distance", "<+>"],
  ["hamming_distance", "<~>"],
  ["jaccard_distance", "<%>"],
  ["box_distance", "<#>"],
  ["similarity_distance", "<->"],
  ["word_distance", "<->>"],
  ["strict_word_distance", "<->>>"],
];

/** Aggregates. The first five are unqualified: extensions may define them for further types. */
const aggregates: readonly FunctionRow[] = [
  ["count([distinct])", "count($d$0)"],
  ["sum([distinct])", "sum($d$0)"],
  ["avg([distinct])", "avg($d$0)"],
  ["max()", "max($0)"],
  ["min()", "min($0)"],
  ["array_agg([distinct])", "pg_catalog.array_agg($d$0)"],
  ["string_agg(text[,distinct])", "pg_catalog.string_agg($d$0, $1)"],
  ["bool_and()", "pg_catalog.bool_and($0)"],
  ["bool_or()", "pg_catalog.bool_or($0)"],
  ["stddev()", "pg_catalog.stddev($0)"],
  ["stddev_pop()", "pg_catalog.stddev_pop($0)"],
  ["variance()", "pg_catalog.variance($0)"],
  ["var_pop()", "pg_catalog.var_pop($0)"],
  [
    "percentile_cont(f)",
    "pg_catalog.percentile_cont(cast($1 as double precision)) within group (order by $0)",
  ],
  [
    "percentile_disc(f)",
    "pg_catalog.percentile_disc(cast($1 as double precision)) within group (order by $0)",
  ],
  ["mode()", "pg_catalog.mode() within group (order by $0)"],
];

export const timeUnits: ReadonlySet<string> = new Set(
  ("microseconds milliseconds second minute hour day week month quarter year decade century " +
    "millennium").split(" "),
);

export const timeParts: ReadonlySet<string> = new Set([
  ...timeUnits,
  "epoch",
  "dow",
  "isodow",
  "doy",
]);

export const valueFunctions: ReadonlyMap<string, ValueFunction> = new Map(
  [
    ...rowFunctions.map((row) => functionOf(row)),
    ...similarities.map((row) => functionOf(row, { needs: { kind: "similarity" } })),
    ...distances.map(([name, operator]) =>
      functionOf([`${name}(q)`, `($0 operator($s.${operator}) cast($1 as $t))`], {
        needs: { kind: "distance", operator },
      })
    ),
    ...aggregates.map((row) => functionOf(row, { isAggregate: true })),
  ].map((each) => [each.name, each]),
);

function functionOf(
  [signature, sql]: FunctionRow,
  { isAggregate = false, needs = null }: Partial<Pick<ValueFunction, "isAggregate" | "needs">> = {},
): ValueFunction {
  const [name = "", rest = ""] = signature.slice(0, -1).split("(");
  const kinds = rest.split(/[[\],]+/).filter((kind) => kind !== "" && kind !== "…");
  const required = rest.split("[")[0]!.split(",").filter((kind) => kind !== "" && kind !== "…");
  return {
    name,
    signature,
    kinds: kinds as ArgumentKind[],
    required: required.length,
    repeats: rest.includes("…"),
    sql,
    isAggregate,
    needs,
  };
}

export function isAggregateName(name: string): boolean {
  return valueFunctions.get(name)?.isAggregate ?? false;
}
