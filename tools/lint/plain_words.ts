/** The rule that comments of `src/` and names of tests are plain sentences. They have a subject, a verb
 * and an object, and name the actor. @module */
import { projectPath } from "./project_path.ts";

/** A phrase to avoid, and advice what to write in its place. */
interface Phrase {
  readonly pattern: RegExp;
  readonly advice: string;
}

const phrases: readonly Phrase[] = [
  { pattern: /(?:^|[.:;] )What(?:ever)?\b(?=[^?]*(?:[.;]|$))/, advice: "name the subject" },
  { pattern: /\b(?:nobody|somebody|whoever|who)\b/i, advice: "name the actor" },
  { pattern: /\b(?:is|are|was|were) none\b/i, advice: "say what it is not" },
  { pattern: /(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b)\w+/i, advice: 'write "is not a"' },
  { pattern: /\bso (?:many|long)\b/i, advice: "name the number or the time" },
  { pattern: /\ball the same\b/i, advice: 'write "still" or "anyway"' },
  { pattern: /\bafter all\b(?! )/i, advice: "leave it out" },
  { pattern: /\b(?:told|said|asked)\b/i, advice: 'write "sent", "set" or "requested"' },
  { pattern: /\bof (?:the|a) database's own\b/i, advice: 'write "user-defined"' },
  { pattern: /\bg(?:ives?|iving|ave|iven) up\b/i, advice: 'write "cancels"' },
  { pattern: /\b(?:go|goes|going|went|gone) on\b/i, advice: 'write "continues"' },
  { pattern: /\bt(?:akes?|aking|ook|aken) back\b/i, advice: 'write "rolls back"' },
];

export const plainWords: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    const check = (text: string, range: Deno.lint.Range) => {
      for (const { pattern, advice } of phrases) {
        const found = pattern.exec(text)?.[0];
        if (found === undefined) continue;
        context.report({ range, message: `"${found.replace(/^\W+/, "")}": ${advice}` });
      }
    };
    if (path.startsWith("src/")) {
      return {
        Program() {
          for (const { value, range } of context.sourceCode.getAllComments()) {
            check(proseOf(value), range);
          }
        },
      };
    }
    if (!/_test\.ts$/.test(path)) return {};
    return {
      CallExpression(node) {
        const name = testName(node);
        if (name !== null) check(name.text, name.range);
      },
    };
  },
};

/** Returns a comment's words on one line, without asterisks and text in backquotes. */
function proseOf(comment: string): string {
  return comment
    .replace(/^\s*\*+ ?/gm, "")
    .replace(/```.*?```/gs, "")
    .replace(/`[^`]*`/g, "``")
    .replace(/\s+/g, " ")
    .trim();
}

/** Returns the literal name that a call of `Deno.test` gives, or `null`. */
function testName(
  { callee, arguments: [first] }: Deno.lint.CallExpression,
): { readonly text: string; readonly range: Deno.lint.Range } | null {
  if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return null;
  if (callee.object.name !== "Deno" || first === undefined) return null;
  if (first.type === "ObjectExpression") {
    for (const property of first.properties) {
      if (property.type !== "Property" || property.key.type !== "Identifier") continue;
      if (property.key.name === "name") return textOf(property.value);
    }
    return null;
  }
  return textOf(first);
}

function textOf(
  node: Deno.lint.Node,
): { readonly text: string; readonly range: Deno.lint.Range } | null {
  const { range } = node;
  if (node.type === "Literal") return { text: String(node.value), range };
  if (node.type !== "TemplateLiteral") return null;
  return { text: node.quasis.map(({ cooked }) => cooked).join("``"), range };
}
