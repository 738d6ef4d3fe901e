/** The rule that only adapters use interfaces of one runtime. All other modules run on every runtime
 * with `fetch`. @module */
import { visitImports } from "./imports.ts";
import { projectPath } from "./project_path.ts";
import { isReference } from "./references.ts";

/** Folders and files of `src/` that may use interfaces of the runtime. */
const adapters: readonly string[] = [
  "src/process/",
  "src/database/adapters/",
  "src/database/connect/pg_client.ts",
  "src/database/connect/reading_socket.ts",
  "src/base/lib/builtin_modules.ts",
  "src/base/lib/files.ts",
  "src/base/lib/free_ports.ts",
  "src/base/lib/program_call.ts",
  "src/base/observe/standard_streams.ts",
  "src/state/config/config_files.ts",
  "src/wings/audit/commands/",
  "src/wings/audit/init/",
  "src/wings/audit/policy_test/read_cases.ts",
  "src/wings/console/server/console.ts",
  "src/wings/console/server/console_files.ts",
  "src/wings/operations/record_command.ts",
  "src/wings/shadow/command.ts",
  "src/wings/tenants/tenants.ts",
];

/** Globals that only one runtime has. */
const foreign: ReadonlySet<string> = new Set([
  "Buffer",
  "Bun",
  "Deno",
  "__dirname",
  "__filename",
  "process",
  "require",
  "setImmediate",
]);

/** Packages that open files or sockets. */
const platformPackages: ReadonlySet<string> = new Set(["@electric-sql/pglite", "pg"]);

export const portable: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    if (!path.startsWith("src/") || adapters.some((each) => path.startsWith(each))) return {};
    const report = (node: Deno.lint.Node, what: string) =>
      context.report({ node, message: `${what} does not exist in every runtime` });
    return {
      ...visitImports(({ node, specifier }) => {
        if (specifier.startsWith("node:") || platformPackages.has(specifier)) {
          report(node, specifier);
        }
      }),
      Identifier(node) {
        if (foreign.has(node.name) && isReference(node)) report(node, node.name);
      },
    };
  },
};
