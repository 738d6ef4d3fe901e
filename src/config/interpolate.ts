/** References to other values in the texts of the configuration file. @module */

/** The resulting text, or the undefined reference. */
export type Interpolation =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "problem"; readonly problem: string };

/**
 * Replaces `$(NAME)` by the result of `lookUp`, and `$$` by one dollar sign. Any other dollar sign is
 * unchanged.
 */
export function interpolate(
  source: string,
  lookUp: (name: string) => string | undefined,
): Interpolation {
  let missing: string | null = null;
  const text = source.replace(/\$(?:\$|\(([^()]*)\))/g, (found, name: string | undefined) => {
    if (name === undefined) return "$";
    const value = lookUp(name);
    if (value === undefined) missing ??= name;
    return value ?? found;
  });
  return missing === null
    ? { kind: "text", text }
    : { kind: "problem", problem: `no such variable: '${missing}'` };
}
