/** References to other values in the texts of the configuration file. @module */

/**
 * Replaces `$(NAME)` by the result of `lookUp`, which throws for an undefined name, and `$$` by one dollar
 * sign. Any other dollar sign is unchanged.
 */
export function interpolate(source: string, lookUp: (name: string) => string): string {
  return source.replace(
    /\$(?:\$|\(([^()]*)\))/g,
    (_, name: string | undefined) => name === undefined ? "$" : lookUp(name),
  );
}
