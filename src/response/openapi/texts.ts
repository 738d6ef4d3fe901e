/**
 * Comments of the database as texts of a document.
 *
 * @module
 */

/** A first line and what follows it. */
export interface Titled {
  readonly title: string;
  /** Without leading line breaks; may be empty. */
  readonly rest: string;
}

/** Divides a comment into its first line and the rest. */
export function splitComment(comment: string): Titled {
  const end = comment.indexOf("\n");
  if (end === -1) return { title: comment, rest: "" };
  return { title: comment.slice(0, end), rest: comment.slice(end).replace(/^\n+/, "") };
}

/** `summary` and `description` of an operation; both are absent without a comment. */
export function summaryOf(
  comment: string | null,
): { readonly summary?: string; readonly description?: string } {
  if (comment === null) return {};
  const { title, rest } = splitComment(comment);
  return rest === "" ? { summary: title } : { summary: title, description: rest };
}

/** `description`, if there is one. */
export function described(text: string | null): { readonly description?: string } {
  return text === null ? {} : { description: text };
}

/** `{ [name]: list }`, or nothing when the list is empty. */
export function unlessEmpty<Name extends string, Item>(
  name: Name,
  list: readonly Item[],
): { readonly [key in Name]?: readonly Item[] } {
  return (list.length === 0 ? {} : { [name]: list }) as { [key in Name]?: readonly Item[] };
}
