/** Makes the folder of the npm package: `deno task build:npm` writes `dist/npm`, and `npm pack
 * ./dist/npm` makes the archive of it. @module */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../../src/base/version.ts";
import { bundle } from "./build.ts";
import { writeConsole } from "./console.ts";
import { writeDeclarations } from "./declarations.ts";
import { handlerConfig } from "./handler_config.ts";
import { thirdPartyLicences } from "./licences.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const sources = fileURLToPath(new URL("npm/", import.meta.url));
const defaultFolder = join(root, "dist", "npm");

/** Modules and the bundles that they become. */
const bundles: ReadonlyMap<string, string> = new Map([
  ["mod.ts", "svc.js"],
  ["src/process/server/create_admin.ts", "admin.js"],
  ["src/wings/mcp/mcp.ts", "mcp.js"],
  ["src/process/cli/program.ts", "program.js"],
  ["src/process/server/main_thread.ts", "main_thread.js"],
  ["src/process/server/worker_thread.ts", "worker_thread.js"],
  ["src/process/server/workers/worker_entry.ts", "worker_entry.js"],
]);

/** Modules whose types the package exports. */
const typedModules: readonly string[] = [
  "mod.ts",
  "src/process/server/create_admin.ts",
  "src/wings/mcp/mcp.ts",
];

/** Files that are not bundled, and their paths in the package. */
const copies: ReadonlyMap<string, string> = new Map([
  [join(sources, "svc.mjs"), "bin/svc.mjs"],
  [join(sources, "main.node.js"), "dist/main.node.js"],
  [join(sources, "main.deno.js"), "dist/main.deno.js"],
  [join(sources, "README.md"), "README.md"],
  [join(root, "LICENSE"), "LICENSE"],
]);

/** Returns the manifest of the package. */
export function manifest(pgliteVersion: string): Readonly<Record<string, unknown>> {
  const types = "./dist/types/mod.d.ts";
  return {
    name: "svc-api",
    version,
    description: "A REST API over a PostgreSQL database, compatible with PostgREST",
    keywords: ["postgresql", "postgrest", "rest", "api", "openapi"],
    license: "MIT",
    type: "module",
    engines: { node: ">=20.16" },
    bin: { "svc-api": "bin/svc.mjs", svc: "bin/svc.mjs" },
    exports: {
      ".": { types, deno: "./dist/svc.js", default: "./dist/svc.js" },
      "./admin": {
        types: "./dist/types/src/process/server/create_admin.d.ts",
        default: "./dist/admin.js",
      },
      "./mcp": { types: "./dist/types/src/wings/mcp/mcp.d.ts", default: "./dist/mcp.js" },
      "./run_in_worker": { deno: "./dist/main_thread.js" },
      "./package.json": "./package.json",
    },
    types,
    peerDependencies: { [pglite]: pgliteVersion, [mcpServer]: "^2.4.0" },
    peerDependenciesMeta: Object.fromEntries(
      [pglite, mcpServer].map((name) => [name, { optional: true }]),
    ),
  };
}

const pglite = "@electric-sql/pglite";
/** The library of the endpoint for agents. */
const mcpServer = "@modelcontextprotocol/server";

/** Replaces the folder by a new one with the files of the package. */
export async function buildNpmPackage(folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await Deno.mkdir(join(folder, "bin"), { recursive: true });
  for (const [entry, name] of bundles) await bundle(entry, join(folder, "dist", name));
  await nameBundledWorker(join(folder, "dist", "main_thread.js"), "worker_thread");
  await nameBundledWorker(join(folder, "dist", "program.js"), "worker_entry");
  for (const [from, to] of copies) await Deno.copyFile(from, join(folder, to));
  await writeConsole(join(folder, "dist", "console"));
  await writeDeclarations(typedModules, {
    root,
    folder: join(folder, "dist", "types"),
    generated: new Map([["src/process/handler_config.ts", handlerConfig()]]),
  });
  await Deno.writeTextFile(
    join(folder, "THIRD_PARTY.md"),
    await thirdPartyLicences([...bundles.keys(), "src/wings/console/pages/main.ts"]),
  );
  const text = JSON.stringify(manifest(await pgliteVersion()), null, 2);
  await Deno.writeTextFile(join(folder, "package.json"), `${text}\n`);
  await Deno.chmod(join(folder, "bin", "svc.mjs"), 0o755);
}

/** Replaces the path of a worker, which the bundler copies from the source, by its path in the package. */
async function nameBundledWorker(file: string, name: string): Promise<void> {
  const text = await Deno.readTextFile(file);
  const [source, bundled] = [`./${name}.ts`, `./${name}.js`];
  if (text.split(source).length !== 2) throw new Error(`${file}: names ${source} not once`);
  await Deno.writeTextFile(file, text.replace(source, bundled));
}

async function pgliteVersion(): Promise<string> {
  const { imports } = JSON.parse(await Deno.readTextFile(join(root, "deno.json")));
  return `^${imports[pglite].split("@").at(-1)}`;
}

if (import.meta.main) {
  await buildNpmPackage(defaultFolder);
  console.log("dist/npm: npm pack ./dist/npm makes the archive");
}
