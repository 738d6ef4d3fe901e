/** The rule that only adapters know the runtime: everything else runs wherever `fetch` does.
 * @module */
import { visitImports } from "./imports.ts";
import { projectPath } from "./project_path.ts";
import { isReference } from "./references.ts";

/** Files of `src/` that may use the runtime's own interfaces. */
const adapters: ReadonlySet<string> = new Set([
  "src/base/lib/builtin_modules.ts",
  "src/database/adapters/files.ts",
  "src/database/adapters/init_script.ts",
  "src/database/adapters/pglite.ts",
  "src/database/adapters/start_engine.ts",
  "src/database/connect/pg_client.ts",
  "src/database/adapters/postgres.ts",
  "src/database/adapters/socket_transport.ts",
  "src/database/connect/reading_socket.ts",
  "src/wings/console/server/console_files.ts",
  "src/wings/tenants/tenants.ts",
  "src/wings/console/server/console_files.ts",
  "src/wings/console/server/recorder.ts",
  "src/process/server/bind.ts",
  "src/process/server/count_workers.ts",
  "src/process/server/main_thread.ts",
  "src/process/server/serve.ts",
  "src/process/server/serve_connections.ts",
  "src/process/server/serve_deno.ts",
  "src/process/server/serve_node.ts",
  "src/process/server/node_messages.ts",
  "src/process/server/admin_server.ts",
  "src/process/server/signals.ts",
  "src/process/server/tracing.ts",
  "src/process/server/worker_thread.ts",
]);

/** The folder of the command line: its commands are processes. */
const commandLine = "src/process/cli/";

/** Globals of one runtime. */
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
    if (!path.startsWith("src/") || adapters.has(path) || path.startsWith(commandLine)) return {};
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
