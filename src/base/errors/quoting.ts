/** Limits the length of client text that an error quotes. @module */

/** Maximum length of a quoted text in UTF-16 units. PostgreSQL's names have at most 63 bytes. */
const maxTextLength = 1000;

/** Maximum number of names in an error, which also contains the number of remaining names. */
const maxListedNames = 10;

/** Returns a text for an error, cut to 1000 characters with an ellipsis. */
export function quotable(text: string): string {
  return truncated(text, maxTextLength);
}

/** Returns the first `length` characters of a text, with an ellipsis if it is longer. */
export function truncated(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return `${text.slice(0, isHalf ? length - 1 : length)}…`;
}

/** Lists up to ten names for an error: `a, b … and 5 more`. `uncounted` is the number of further
 * names that are not in the list. */
export function quotableList(names: readonly string[], uncounted = 0): string {
  const listed = names.slice(0, maxListedNames).map(quotable).join(", ");
  const more = names.length - Math.min(names.length, maxListedNames) + uncounted;
  return more === 0 ? listed : `${listed} and ${more} more`;
}
