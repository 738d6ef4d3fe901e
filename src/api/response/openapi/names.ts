/** Converts names and comments of the database to names, references, keys and texts of a document. @module */
import type { Relation, Routine } from "../../../state/schema_cache/schema_cache.ts";

/** Returns a reference within the document: a JSON pointer (RFC 6901) as a URI fragment. */
export function reference(...path: readonly string[]): { readonly $ref: string } {
  return { $ref: `#/${path.map(pointerToken).join("/")}` };
}

function pointerToken(token: string): string {
  if (plain.test(token)) return token;
  return encodeURIComponent(token.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1"));
}

/** Matches names without characters to escape, which is the fast path for most. */
const plain = /^[A-Za-z0-9_.-]*$/;
const plainKey = /^[A-Za-z0-9_-]*$/;

/** Returns the key of a relation's filter on a column. Different pairs of names have different keys. */
export function rowFilterKey(relation: string, column: string): string {
  if (plainKey.test(relation)) return `rowFilter.${relation}.${column}`;
  const first = relation.replaceAll("%", "%25").replaceAll(".", "%2E");
  return `rowFilter.${first}.${column}`;
}

/** Returns a component key. Characters other than `[A-Za-z0-9_-]` become `.<hexadecimal code point>.` */
export function componentKey(name: string): string {
  if (plainKey.test(name)) return name;
  return name.toWellFormed().replace(
    /[^A-Za-z0-9_-]/gu,
    (character) => `.${character.codePointAt(0)!.toString(16)}.`,
  );
}

/** Splits a comment into its first line and the rest, without the line breaks between them. */
export function splitComment(comment: string): { readonly title: string; readonly rest: string } {
  const end = comment.indexOf("\n");
  if (end === -1) return { title: comment, rest: "" };
  return { title: comment.slice(0, end), rest: comment.slice(end).replace(/^\n+/, "") };
}

/** Returns `summary` and `description` of an operation; both are absent without a comment. */
export function summaryOf(
  comment: string | null,
): { readonly summary?: string; readonly description?: string } {
  if (comment === null) return {};
  const { title, rest } = splitComment(comment);
  return rest === "" ? { summary: title } : { summary: title, description: rest };
}

/** Returns {@linkcode summaryOf}, and `deprecated` if the relation or function is. */
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

/** Returns the schema of an object. `required` are the names of the members that are always present. */
export function objectSchema(
  comment: string | null,
  properties: readonly (readonly [name: string, schema: unknown])[],
  required: readonly string[],
) {
  return {
    type: "object",
    ...described(comment),
    ...(properties.length === 0 ? {} : { properties: Object.fromEntries(properties) }),
    ...unlessEmpty("required", required),
  };
}

/** Returns the schema of an object with a function's arguments. */
export function argumentsSchema(
  { comment, parameters }: Pick<Routine, "comment" | "parameters">,
  schemaOf: (type: string) => unknown,
) {
  return objectSchema(
    comment,
    parameters.map(({ name, type }) => [name, schemaOf(type)]),
    parameters.flatMap(({ name, required }) => required ? [name] : []),
  );
}
