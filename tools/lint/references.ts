/** Distinguishes references to a value from other occurrences of its name. @module */

/**
 * Returns whether an identifier refers to a value or a namespace, and is not a key. A member of
 * `globalThis` is a reference to the global.
 */
export function isReference(node: Deno.lint.Identifier): boolean {
  const parent: Deno.lint.Node = node.parent;
  if (parent.type === "MemberExpression" && parent.property === node && !parent.computed) {
    return isGlobalThis(parent.object);
  }
  const isKey = "key" in parent && (parent.key as Deno.lint.Node) === node;
  const isImportedName = parent.type === "ImportSpecifier" && parent.imported === node;
  return !isKey && !isImportedName;
}

/** Returns whether an expression is `globalThis`, also in a cast: `globalThis as { Deno?: unknown }`. */
function isGlobalThis(node: Deno.lint.Node): boolean {
  if (node.type === "TSAsExpression") return isGlobalThis(node.expression);
  return node.type === "Identifier" && node.name === "globalThis";
}
