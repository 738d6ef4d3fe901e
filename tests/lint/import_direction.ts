/**
 * The rule that a file imports from its own rank or a lower one.
 *
 * @module
 */
import { visitImports } from "./imports.ts";
import { importedPath, projectPath } from "./project_path.ts";

/** Folders of `src/`, its files, and the two entry files; those of one line may import each other. */
const ranks: readonly (readonly string[])[] = [
  [
    "src/errors",
    "src/sql",
    "src/observe",
    "src/clock.ts",
    "src/dialect.ts",
    "src/group_by.ts",
    "src/one_shot_timer.ts",
    "src/timers.ts",
    "src/version.ts",
  ],
  ["src/http"],
  ["src/config", "src/database"],
  ["src/schema_cache"],
  ["src/request", "src/auth"],
  ["src/plan"],
  ["src/query"],
  ["src/transaction"],
  ["src/response", "src/types_output"],
  [
    "src/pipeline.ts",
    "src/plan_cache",
    "src/snapshot.ts",
    "src/stopwatch.ts",
  ],
  [
    "src/service.ts",
    "src/failures.ts",
    "src/freshness.ts",
    "src/handler.ts",
    "src/reload.ts",
    "src/admin.ts",
    "src/admin_access.ts",
    "src/api_page.ts",
    "src/cli.ts",
    "src/lazy_handler.ts",
    "src/page_assets.ts",
    "src/questions.ts",
  ],
  ["src/serving"],
  ["mod.ts", "main.ts"],
];

const rankOf: ReadonlyMap<string, number> = new Map(
  ranks.flatMap((names, rank) => names.map((name) => [name, rank])),
);

/** Whose values a folder must not use although they stand lower; types alone are no secret. */
const hidden: readonly { readonly from: string; readonly to: string; readonly why: string }[] = [
  { from: "src/plan", to: "src/sql", why: "plans know nothing of SQL text" },
  { from: "src/query", to: "src/request/api_request.ts", why: "queries see the plan alone" },
];

/** `src/query/read.ts` → `src/query`; `mod.ts` → `mod.ts` */
function unit(path: string): string {
  return path.split("/").slice(0, 2).join("/");
}

/** One file's use of another; paths are from the project's root. */
interface Use {
  readonly from: string;
  readonly to: string;
  readonly isTypeOnly: boolean;
}

function problemOf({ from, to, isTypeOnly }: Use): string | null {
  const [own, other] = [rankOf.get(unit(from)), rankOf.get(unit(to))];
  if (own === undefined) return null;
  if (other === undefined) return `${unit(from)} must not import ${to}, which has no rank`;
  if (other > own) return `${unit(from)} must not import ${unit(to)}, which stands above it`;
  const secret = hidden.find((pair) => from.startsWith(pair.from) && to.startsWith(pair.to));
  if (secret === undefined || isTypeOnly) return null;
  return `${unit(from)} must not import ${secret.to}: ${secret.why}`;
}

export const importDirection: Deno.lint.Rule = {
  create(context) {
    const from = projectPath(context.filename);
    if (!from.startsWith("src/") && !rankOf.has(from)) return {};
    return {
      Program(node) {
        const message = `${unit(from)} has no rank: give it one in tests/lint/import_direction.ts`;
        if (!rankOf.has(unit(from))) context.report({ node, message });
      },
      ...visitImports(({ node, specifier, isTypeOnly }) => {
        const to = importedPath(from, specifier);
        const message = to === null ? null : problemOf({ from, to, isTypeOnly });
        if (message !== null) context.report({ node, message });
      }),
    };
  },
};
