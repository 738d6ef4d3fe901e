/**
 * How much of what a client sent stands in an error: answers stay short, whatever a request holds.
 *
 * @module
 */

/** Characters of one text, in UTF-16 units. PostgreSQL's names have 63 bytes at most. */
const maxTextLength = 1000;

/** Names of a list; the others are counted. */
const maxListedNames = 10;

/** Gives a text as errors quote it: a longer one ends in an ellipsis. */
export function quotable(text: string): string {
  return truncated(text, maxTextLength);
}

/** Gives the beginning of a text, with an ellipsis when that is not the whole. */
export function truncated(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return `${text.slice(0, isHalf ? length - 1 : length)}…`;
}

/** Lists names as errors quote them: `a, b`, or ten of them `… and 5 more`. `uncounted` adds to that. */
export function quotableList(names: readonly string[], uncounted = 0): string {
  const listed = names.slice(0, maxListedNames).map(quotable).join(", ");
  const more = names.length - Math.min(names.length, maxListedNames) + uncounted;
  return more === 0 ? listed : `${listed} and ${more} more`;
}
