/** Tells uses of a name from mere mentions. @module */

/**
 * Whether a name refers to a value or a namespace, and not to a key. A member of `globalThis` is
 * the global by another way.
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

/** Also seen through a cast: `(globalThis as { Deno?: unknown }).Deno`. */
function isGlobalThis(node: Deno.lint.Node): boolean {
  if (node.type === "TSAsExpression") return isGlobalThis(node.expression);
  return node.type === "Identifier" && node.name === "globalThis";
}
