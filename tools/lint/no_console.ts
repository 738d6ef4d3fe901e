/** The rule that stages return what they found and only the edges print. @module */
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
