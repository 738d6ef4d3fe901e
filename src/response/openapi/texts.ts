/** Turns comments of the database into texts of a document. @module */
import type { Relation } from "../../schema_cache/schema_cache.ts";

export interface CommentParts {
  readonly title: string;
  /** Further lines without leading line breaks; may be empty. */
  readonly rest: string;
}

/** Splits a comment into its first line and the rest. */
export function splitComment(comment: string): CommentParts {
  const end = comment.indexOf("\n");
  if (end === -1) return { title: comment, rest: "" };
  return { title: comment.slice(0, end), rest: comment.slice(end).replace(/^\n+/, "") };
}

/** Returns `summary` and `description` of an operation; neither without a comment. */
export function summaryOf(
  comment: string | null,
): { readonly summary?: string; readonly description?: string } {
  if (comment === null) return {};
  const { title, rest } = splitComment(comment);
  return rest === "" ? { summary: title } : { summary: title, description: rest };
}

/** Returns {@linkcode summaryOf}, and `deprecated` of a relation or function that is. */
export function aboutTarget({ comment, deprecation }: Pick<Relation, "comment" | "deprecation">) {
  return { ...summaryOf(comment), ...(deprecation === undefined ? {} : { deprecated: true }) };
}

/** Returns `description`, unless the text is null. */
export function described(text: string | null): { readonly description?: string } {
  return text === null ? {} : { description: text };
}

/** Returns `{ [name]: list }`, or `{}` if the list is empty. */
export function unlessEmpty<Name extends string, Item>(
  name: Name,
  list: readonly Item[],
): { readonly [key in Name]?: readonly Item[] } {
  return (list.length === 0 ? {} : { [name]: list }) as { [key in Name]?: readonly Item[] };
}
