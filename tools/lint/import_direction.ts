/** The rule that a file imports from its own rank or a lower one. @module */
import { visitImports } from "./imports.ts";
import { importedPath, projectPath } from "./project_path.ts";

/**
 * Files and folders of `src/`, and the two entry files, from the lowest rank to the highest. Those of one
 * line may import each other; a file belongs to the longest path that it begins with.
 */
const ranks: readonly (readonly string[])[] = [
  ["src/base/lib", "src/base/version.ts"],
  // Texts of examples, which the command line serves.
  ["examples/shop", "examples/todos"],
  ["src/base/errors", "src/base/sql", "src/base/observe", "src/base/dialect.ts"],
  ["src/base/http"],
  ["src/database"],
  ["src/database/protocol", "src/database/connect"],
  ["src/database/connection", "src/database/notifications"],
  ["src/database/pool"],
  ["src/database/replicas"],
  ["src/database/adapters"],
  ["src/database/open.ts"],
  ["src/state/config"],
  ["src/state/schema_cache"],
  ["src/api/request", "src/state/auth"],
  ["src/state/rate_limits"],
  ["src/api/plan"],
  ["src/api/query"],
  ["src/api/transaction"],
  ["src/api/handler/plan_cache", "src/api/response", "src/wings/types"],
  ["src/api/handler/batch", "src/wings/audit/diagnosis"],
  ["src/wings/audit/access"],
  ["src/wings/audit/contract"],
  ["src/state/app_state"],
  ["src/api/handler"],
  ["src/wings/mcp"],
  ["src/wings/live"],
  ["src/wings/audit/policy_test"],
  ["src/wings/audit/why"],
  ["src/wings/mcp"],
  ["src/wings/console/server"],
  ["src/wings/shadow"],
  ["src/wings/console/pages"],
  ["src/process/cli"],
  ["src/wings/tenants"],
  ["src/process/server"],
  ["mod.ts", "main.ts"],
];

const rankOf: ReadonlyMap<string, number> = new Map(
  ranks.flatMap((names, rank) => names.map((name) => [name, rank])),
);

/** Whose values a folder must not use although they stand lower; types alone are no secret. */
const hidden: readonly { readonly from: string; readonly to: string; readonly why: string }[] = [
  { from: "src/api/plan", to: "src/base/sql", why: "plans know nothing of SQL text" },
  {
    from: "src/api/query",
    to: "src/api/request/api_request.ts",
    why: "queries see the plan alone",
  },
];

/** `src/api/query/read.ts` → `src/api/query`; `src/database/pool/pool.ts` → `src/database/pool` */
function unit(path: string): string {
  for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1)) {
    if (rankOf.has(path.slice(0, end))) return path.slice(0, end);
  }
  return path;
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
        const message = `${unit(from)} has no rank: give it one in tools/lint/import_direction.ts`;
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
