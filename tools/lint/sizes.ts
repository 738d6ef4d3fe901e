/** The rule that limits the lines of files and functions in `src/`. @module */
import { projectPath } from "./project_path.ts";

const maxFileLines = 450;
const maxFunctionLines = 60;

export const sizes: Deno.lint.Rule = {
  create(context) {
    if (!projectPath(context.filename).startsWith("src/")) return {};
    const { text } = context.sourceCode;
    const check = (what: string, most: number) => (node: Deno.lint.Node) => {
      const lines = text.slice(...node.range).trimEnd().split("\n").length;
      if (lines > most) {
        context.report({ node, message: `${what} of ${lines} lines: at most ${most}` });
      }
    };
    const ofFunction = check("a function", maxFunctionLines);
    return {
      Program: check("a file", maxFileLines),
      FunctionDeclaration: ofFunction,
      FunctionExpression: ofFunction,
      ArrowFunctionExpression: ofFunction,
    };
  },
};
