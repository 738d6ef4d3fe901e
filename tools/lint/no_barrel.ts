/** The rule that inside `src/` a name is imported from the file that declares it. @module */
import { projectPath } from "./project_path.ts";

const message = "no barrels inside src/: import from the file that declares it";

export const noBarrel: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    if (!path.startsWith("src/")) return {};
    return {
      ExportAllDeclaration: (node) => context.report({ node, message }),
      ExportNamedDeclaration(node) {
        if (node.source !== null) context.report({ node, message });
      },
      Program(node) {
        if (/\/(index|mod)\.ts$/.test(path)) context.report({ node, message });
      },
    };
  },
};
