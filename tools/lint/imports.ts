/** Finds all imports of a module, for rules about imports. @module */

/** A place in the source that names a module. */
export interface Import {
  readonly node: Deno.lint.Node;
  /** As written: `../sql/fragment.ts`, `node:fs`. */
  readonly specifier: string;
  /** Whether the import has types only, so that it does not exist at run time. */
  readonly isTypeOnly: boolean;
}

/** Returns a visitor. It calls `found` for imports, re-exports, `import()` and `import("…")` types. */
export function visitImports(found: (found: Import) => void): Deno.lint.LintVisitor {
  const report = (node: Deno.lint.Node, source: Deno.lint.Node | null, isTypeOnly: boolean) => {
    if (source?.type === "Literal" && typeof source.value === "string") {
      found({ node, specifier: source.value, isTypeOnly });
    }
  };
  return {
    ImportDeclaration: (node) => report(node, node.source, importsTypes(node)),
    ExportNamedDeclaration: (node) => report(node, node.source, node.exportKind === "type"),
    ExportAllDeclaration: (node) => report(node, node.source, node.exportKind === "type"),
    ImportExpression: (node) => report(node, node.source, false),
    TSImportType({ argument }) {
      if (argument.type === "TSLiteralType") report(argument, argument.literal, true);
    },
  };
}

function importsTypes({ importKind, specifiers }: Deno.lint.ImportDeclaration): boolean {
  if (importKind === "type") return true;
  return specifiers.length > 0 &&
    specifiers.every((each) => each.type === "ImportSpecifier" && each.importKind === "type");
}
