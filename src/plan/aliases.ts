/**
 * Names for the relations of one statement.
 *
 * @module
 */

/** Returns the next alias for a relation: the beginning of its name and a number. */
export type Aliases = (relation: string) => string;

/** Maximum characters of a relation's name in an alias. With a number they fit into 63 bytes. */
const keptCharacters = 12;

/**
 * Returns a source of aliases, unique in the statement and different from the root's alias. Equal
 * requests get equal aliases, so their statements are the same text.
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
