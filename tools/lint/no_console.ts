/** The rule that only the output modules use `console`. Other modules return data or report events.
 * @module */
import { projectPath } from "./project_path.ts";
import { isReference } from "./references.ts";

function isSilent(path: string): boolean {
  return path === "mod.ts" || (path.startsWith("src/") && !path.startsWith("src/base/observe/"));
}

export const noConsole: Deno.lint.Rule = {
  create(context) {
    if (!isSilent(projectPath(context.filename))) return {};
    return {
      Identifier(node) {
        if (node.name !== "console" || !isReference(node)) return;
        context.report({ node, message: "only src/base/observe and main.ts may print" });
      },
    };
  },
};
