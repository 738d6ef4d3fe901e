/**
 * Names for the relations of one statement.
 *
 * @module
 */

/** Gives the next alias for a relation: the beginning of its name and a number. */
export type Aliases = (relation: string) => string;

/** Whole characters that fit with a number into an identifier of 63 bytes. */
const keptCharacters = 12;

/**
 * Makes a source of aliases that differ from each other and from the root's. The same request gets
 * the same ones every time, so that its statement is the same text.
 */
export function makeAliases(root: string): Aliases {
  let count = 0;
  return (relation) => {
    const start = Array.from(relation.slice(0, 2 * keptCharacters)).slice(0, keptCharacters).join(
      "",
    );
    let alias = `${start}_${++count}`;
    if (alias === root) alias = `${start}_${++count}`;
    return alias;
  };
}
