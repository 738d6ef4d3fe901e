/** The rule that SQL names built-in types and functions with their schema. A type of another role in the search
 * path, or a function whose parameters fit better, would run as each later role. @module */
import { projectPath } from "./project_path.ts";

/** Words before a parenthesis that are no names of functions. */
const keywords = wordsOf(
  `all and any array as between by case cast coalesce conflict constraint exists explain extract filter from
  greatest grouping having immediate in insert intersect into is join key lateral least like limit materialized
  not nullif on operator or over partition position primary references returning row rows select set sets some
  then trim union unique update using values when where with check`,
);

/** Types that the grammar itself takes from `pg_catalog`. */
const grammarTypes = wordsOf(
  `bigint bit boolean char character decimal double float int integer interval numeric real smallint time
  timestamp varchar`,
);

/** Modules of functions that set a search path. */
const ownPath = wordsOf("src/wings/live/live_schema.ts src/state/schema_cache/reload_trigger.ts");

/** Functions of extensions, and those that a user-defined type may have for itself. */
const foreign = wordsOf("st_asgeojson to_tsvector");

const castType = /::\s*([a-z_]\w*)(?![\w.])|\bcast\b[^;]*?\bas\s+([a-z_]\w*)(?:\[\])?\s*\)/gi;
/** Names after a parenthesis, a hole, `as` or `into` are aliases or tables. */
const call = /(?<![\w."$}\0]|\) |\0 |\bas |\binto )\b([a-z_]\w*)\(/gi;

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Returns the names in an SQL text that need a schema; `\0` marks a hole. */
export function unqualifiedNames(text: string): readonly string[] {
  const bare = text.replace(/'(?:[^']|'')*'/g, "''").replace(/--[^\n]*/g, "").toLowerCase()
    // The grammar itself takes this form from `pg_catalog`.
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
