/** The warning for requests that address an aliased embed by its target's name. @module */

/** An aliased embed that a filter, an order or a limit addressed by its target's name. */
export type TargetNameUse = readonly [target: string, alias: string];

/** Text of the `Warning` header and of the log line. */
export const targetNameWarning =
  "Embedded resource was referenced by relation name even though it has an alias. " +
  "This is deprecated and will stop working in a future release.";

/** Lists the replacements: `` `films` to `all_films`, `awards` to `best` ``. */
export function replacementsText(uses: readonly TargetNameUse[]): string {
  return uses.map(([target, alias]) => `\`${target}\` to \`${alias}\``).join(", ");
}
