/** Bundles `mod.ts` into one ES module for runtimes without TypeScript and npm: `deno task build` writes
 * `dist/svc.js`, and `dist/mcp.js` with the endpoint for agents. The bundle contains all packages
 * except PGlite, which needs additional files. Programs load PGlite when they open an embedded
 * database. @module */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = new URL("../../", import.meta.url);

/** Path of the bundle. */
const bundleFile: string = fileURLToPath(new URL("dist/svc.js", root));

/** The library of the endpoint for agents. */
const mcpServer = "@modelcontextprotocol/server";

/** Modules that the bundle does not contain. Only Cloudflare's runtime has the last one. */
const external = [
  "@electric-sql/pglite",
  mcpServer,
  "cloudflare:sockets",
];

/**
 * Text at the beginning of the bundle. Packages written for Node load its modules by this `require` at
 * first use, so that runtimes without these modules can load the bundle. The second line hides the
 * name of PGlite from bundlers of applications, which would fail if it is not installed.
 */
const prelude = `const require = (name) => globalThis.process.getBuiltinModule(name);
const embeddedPostgres = ["@electric-sql", "pglite"].join("/");
`;

/** A bundle's sizes in bytes. */
export interface BundleSize {
  readonly plain: number;
  readonly gzipped: number;
}

/** Packages outside of a bundle that contains the library of the endpoint for agents. */
export const externalWithMcp: readonly string[] = external.filter((name) => name !== mcpServer);

/** Bundles a module of the project into one ES module. Rejects with an `Error` of the bundler's text. */
export async function bundle(
  entry: string,
  file: string,
  outside: readonly string[] = external,
): Promise<BundleSize> {
  await Deno.mkdir(dirname(file), { recursive: true });
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--platform=browser", "--minify", `--output=${file}`],
      ...outside.map((name) => `--external=${name}`),
      entry,
    ],
    cwd: fileURLToPath(root),
    // Under this condition, the bundler includes the socket for Cloudflare's runtime.
    env: { DENO_CONDITIONS: "workerd" },
  });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`bundling failed: ${new TextDecoder().decode(stderr)}`);
  const bundled = await Deno.readTextFile(file);
  const text = prelude +
    bundled.replaceAll('import("@electric-sql/pglite")', "import(embeddedPostgres)")
      // The bundler does not change the path of the endpoint for agents.
      .replaceAll("./endpoint.ts", "./mcp.js");
  await Deno.writeTextFile(file, text);
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  const gzipped = (await new Response(stream).arrayBuffer()).byteLength;
  return { plain: new TextEncoder().encode(text).length, gzipped };
}

/** Bundles `mod.ts`, and marks it as an ES module for Node in a file next to it. */
export async function build(): Promise<BundleSize> {
  const size = await bundle("mod.ts", bundleFile);
  await bundle("src/wings/mcp/mcp.ts", join(dirname(bundleFile), "mcp.js"));
  const manifest = { type: "module", exports: "./svc.js" };
  await Deno.writeTextFile(join(dirname(bundleFile), "package.json"), JSON.stringify(manifest));
  return size;
}

if (import.meta.main) {
  const { plain, gzipped } = await build();
  const kilobytes = (bytes: number) => `${Math.ceil(bytes / 1000)} kB`;
  console.log(`dist/svc.js: ${kilobytes(plain)}, ${kilobytes(gzipped)} gzipped`);
}
