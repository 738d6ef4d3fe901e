/** Errors of names that the schema cache does not have. @module */
import { defineError } from "./definition.ts";
import { quotable } from "./quoting.ts";
import type { ErrorTexts } from "./service_error.ts";

/** One possible relationship of an ambiguous embed. */
export interface EmbeddingCandidate {
  readonly cardinality: string;
  readonly embedding: string;
  readonly relationship: string;
  /** Text of the hint: `places!orders_from_fkey`. */
  readonly suggestion: string;
}

export const schemaCacheErrors = {
  noRelationship: defineError("200", 400, (problem: {
    readonly parent: string;
    readonly child: string;
    readonly schema: string;
    /** The `!hint` of the request. */
    readonly requestHint: string | null;
    readonly suggestion: string | null;
  }) => ({
    message: `Could not find a relationship between '${problem.parent}' and ` +
      `'${quotable(problem.child)}' in the schema cache`,
    details: `Searched for a foreign key relationship between '${problem.parent}' and ` +
      `'${quotable(problem.child)}'` +
      (problem.requestHint === null ? "" : ` using the hint '${quotable(problem.requestHint)}'`) +
      ` in the schema '${problem.schema}', but no matches were found.`,
    hint: problem.suggestion,
    subject: { relation: problem.parent, embed: problem.child },
  })).when("the schema cache has no relationship for an embed"),
  ambiguousRelationship: defineError("201", 300, (problem: {
    readonly parent: string;
    readonly child: string;
    readonly candidates: readonly EmbeddingCandidate[];
  }) => ({
    message: "Could not embed because more than one relationship was found for " +
      `'${problem.parent}' and '${problem.child}'`,
    details: problem.candidates.map(({ cardinality, embedding, relationship }) => ({
      cardinality,
      embedding,
      relationship,
    })),
    hint: `Try changing '${problem.child}' to one of the following: ` +
      problem.candidates.map(({ suggestion }) => `'${suggestion}'`).join(", ") +
      ". Find the desired relationship in the 'details' key.",
  })).when("the schema cache has several relationships for an embed"),
  noFunction: defineError(
    "202",
    404,
    ({ name }: Qualified, texts: ErrorTexts, names: readonly string[] = []) => ({
      ...texts,
      subject: { function: name, names },
    }),
  ).when("no function matches the name and the arguments"),
  ambiguousFunction: defineError("203", 300, (candidates: readonly string[]) => ({
    message: "Could not choose the best candidate function between: " + candidates.join(", "),
    hint: "Try renaming the parameters or the function itself in the database so function " +
      "overloading can be resolved",
  })).when("several functions match the name and the arguments"),
  noColumn: defineError("204", 400, (column: string, relation: string) => ({
    message: `Could not find the '${quotable(column)}' column of '${relation}' in the schema cache`,
    subject: { relation, column },
  })).when("a column of the body or of `columns` does not exist"),
  noRelation: defineError("205", 404, (relation: Qualified, suggestion: Qualified | null) => ({
    message: `Could not find the table '${qualified(relation)}' in the schema cache`,
    hint: suggestion === null ? null : `Perhaps you meant the table '${qualified(suggestion)}'`,
    subject: { schema: relation.schema, relation: relation.name },
  })).when("the relation does not exist in the exposed schema"),
} as const;

/** A relation or a function by schema and name. */
export interface Qualified {
  readonly schema: string;
  readonly name: string;
}

/** Returns `schema.name`, shortened if it is long. */
const qualified = ({ schema, name }: Qualified) => quotable(`${schema}.${name}`);
