/** The rule that SQL qualifies built-in types and functions by their schema. Otherwise another role could
 * create a type or a better matching function in the search path, which requests would run. @module */
import { projectPath } from "./project_path.ts";

/** Words that can precede a parenthesis and are not names of functions. */
const keywords = wordsOf(
  `all and any array as between by case cast coalesce conflict constraint exists explain extract filter from
  greatest grouping having immediate in insert intersect into is join key lateral least like limit materialized
  not nullif on operator or over partition position primary references returning row rows select set sets some
  then trim union unique update using values when where with check`,
);

/** Types that PostgreSQL's grammar resolves to `pg_catalog`. */
const grammarTypes = wordsOf(
  `bigint bit boolean char character decimal double float int integer interval numeric real smallint time
  timestamp varchar`,
);

/** Modules whose SQL creates functions that set a search path. */
const ownPath = wordsOf("src/wings/live/live_schema.ts src/state/schema_cache/reload_trigger.ts");

/** Functions of extensions, and functions that users may define for their types. */
const foreign = wordsOf("st_asgeojson to_tsvector");

const castType = /::\s*([a-z_]\w*)(?![\w.])|\bcast\b[^;]*?\bas\s+([a-z_]\w*)(?:\[\])?\s*\)/gi;
/** Matches calls of functions. A name after a parenthesis, a hole, `as` or `into` is not a function. */
const call = /(?<![\w."$}\0]|\) |\0 |\bas |\binto )\b([a-z_]\w*)\(/gi;

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Returns the names in an SQL text that need a schema; `\0` marks a hole. */
export function unqualifiedNames(text: string): readonly string[] {
  const bare = text.replace(/'(?:[^']|'')*'/g, "''").replace(/--[^\n]*/g, "").toLowerCase()
    // PostgreSQL's grammar resolves this form to `pg_catalog`.
    .replace(/\bsubstring\(([^()]|\([^()]*\))* from /g, "");
  const types = [...bare.matchAll(castType)].map((found) => found[1] ?? found[2]!);
  const calls = [...bare.matchAll(call)].map(([, name]) => name!);
  return [
    ...types.filter((name) => !grammarTypes.has(name)),
    ...calls.filter((name) => !keywords.has(name) && !foreign.has(name)),
  ];
}

export const qualifiedNames: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    if (!path.startsWith("src/") || ownPath.has(path)) return {};
    return {
      TaggedTemplateExpression(node) {
        if (node.tag.type !== "Identifier" || node.tag.name !== "sql") return;
        const text = node.quasi.quasis.map(({ cooked }) => cooked).join("\0");
        for (const name of unqualifiedNames(text)) {
          context.report({ node, message: `write pg_catalog.${name}, not ${name}` });
        }
      },
    };
  },
};
