/** Collects the licences of the npm packages that bundles contain. The licences require that their text
 * is distributed with copies of the packages. @module */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The part of `deno info --json` that names packages. */
interface ModuleGraph {
  readonly modules: readonly { readonly npmPackage?: string }[];
  readonly npmPackages: Readonly<
    Record<
      string,
      {
        readonly name: string;
        readonly version: string;
        readonly dependencies: readonly string[];
      }
    >
  >;
}

/** Packages that the graph names and no bundle contains. */
const unbundled: ReadonlySet<string> = new Set([
  "@electric-sql/pglite",
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/core",
  "zod",
]);

/** Returns a Markdown text with the licence of each package. */
export async function thirdPartyLicences(entries: Iterable<string>): Promise<string> {
  const cache = (await denoInfo([])).npmCache as string;
  const packages = new Map<string, string>();
  for (const entry of entries) {
    const graph = await denoInfo([`--config=${configOf(entry)}`, entry]) as unknown as ModuleGraph;
    for (const id of bundledPackages(graph)) {
      const { name, version } = graph.npmPackages[id]!;
      if (unbundled.has(name)) continue;
      const folder = join(cache, "registry.npmjs.org", name, version);
      packages.set(`${name} ${version}`, await licenceIn(folder));
    }
  }
  for (const { name, version } of await stylesheets()) {
    const folder = join(cache, "registry.npmjs.org", name, version);
    packages.set(`${name} ${version}`, await licenceIn(folder));
  }
  const sections = Array.from(packages).sort().map(([title, text]) => `## ${title}\n\n${text}\n`);
  return ["# Licences of the packages in dist/\n", ...sections].join("\n");
}

/** Returns the packages of the console's style sheets, which the module graph does not contain. */
async function stylesheets(): Promise<
  readonly { readonly name: string; readonly version: string }[]
> {
  const { imports } = JSON.parse(
    await Deno.readTextFile(join(root, "src/wings/console/pages/deno.json")),
  );
  return Object.values<string>(imports).flatMap((specifier) => {
    const [, name, version] = /^npm:\/(.+)@([^@]+)\/$/.exec(specifier) ?? [];
    return name === undefined || version === undefined ? [] : [{ name, version }];
  });
}

/** Returns the configuration of an entry. The console has a separate import map. */
function configOf(entry: string): string {
  return entry.startsWith("src/wings/console/pages/")
    ? "src/wings/console/pages/deno.json"
    : "deno.json";
}

async function denoInfo(args: readonly string[]): Promise<Record<string, unknown>> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", ...args],
    cwd: root,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Returns the packages that modules import, and the dependencies of these packages. */
function bundledPackages({ modules, npmPackages }: ModuleGraph): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (id: string) => {
    if (found.has(id)) return;
    found.add(id);
    npmPackages[id]!.dependencies.forEach(add);
  };
  for (const { npmPackage } of modules) if (npmPackage !== undefined) add(npmPackage);
  return found;
}

/** Returns the text of a package's licence, or the licence in its manifest. */
async function licenceIn(folder: string): Promise<string> {
  for await (const { name } of Deno.readDir(folder)) {
    if (/^licen[cs]e/i.test(name)) return (await Deno.readTextFile(join(folder, name))).trim();
  }
  const { license, author } = JSON.parse(await Deno.readTextFile(join(folder, "package.json")));
  return `${license}, ${JSON.stringify(author ?? "no author named")}`;
}
