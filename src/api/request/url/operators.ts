/** The operators of filters. @module */
import type { FullTextOperator, SimilarityOperator, SimpleOperator } from "./query_types.ts";

export type OperatorKind =
  | { readonly kind: "simple" | "quantified"; readonly operator: SimpleOperator }
  | { readonly kind: "fullText"; readonly operator: FullTextOperator }
  | { readonly kind: "similar"; readonly operator: SimilarityOperator }
  | { readonly kind: "in" | "is" | "isdistinct" };

export const operators: ReadonlyMap<string, OperatorKind> = new Map<string, OperatorKind>([
  ...(["eq", "gt", "gte", "lt", "lte", "like", "ilike", "match", "imatch"] as const).map(
    (operator) => [operator, { kind: "quantified", operator }] as const,
  ),
  ...(["neq", "cs", "cd", "ov", "sl", "sr", "nxr", "nxl", "adj"] as const).map(
    (operator) => [operator, { kind: "simple", operator }] as const,
  ),
  ...(["fts", "plfts", "phfts", "wfts"] as const).map(
    (operator) => [operator, { kind: "fullText", operator }] as const,
  ),
  ...(["sim", "wsim", "swsim"] as const).map(
    (operator) => [operator, { kind: "similar", operator }] as const,
  ),
  ["in", { kind: "in" }],
  ["is", { kind: "is" }],
  ["isdistinct", { kind: "isdistinct" }],
]);

export const operatorWords: readonly string[] = [...operators.keys()];
