/**
 * Builds `docs/` as a static site with search: `deno task docs`. `--serve` then shows it on port 4173.
 *
 * VitePress and its packages are installed into `.data/site`, where the site is written as well.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const source = fileURLToPath(new URL("site/", import.meta.url));
const folder = join(root, ".data/site");

/** Files that the generator needs, relative to this folder's `site/`. */
const files = [
  ["package.json", "package.json"],
  ["deno.json", "deno.json"],
  ["config.mjs", ".vitepress/config.mjs"],
] as const;

/** Returns the exit code. */
async function buildSite(isServed: boolean): Promise<number> {
  await Deno.mkdir(join(folder, ".vitepress"), { recursive: true });
  for (const [from, to] of files) await Deno.copyFile(join(source, from), join(folder, to));
  const pages = join(folder, "pages");
  await Deno.remove(pages, { recursive: true }).catch(() => {});
  await copyPages(join(root, "docs"), pages);
  const code = await vitepress("build");
  if (code !== 0) return code;
  console.log(`The site is in ${join(folder, "dist")}`);
  return isServed ? await vitepress("preview") : 0;
}

/** Copies pages and pictures; links to files outside of `docs/` become plain text. */
async function copyPages(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    const [source, target] = [join(from, name), join(to, name)];
    if (isDirectory) await copyPages(source, target);
    else if (!name.endsWith(".md")) await Deno.copyFile(source, target);
    else await Deno.writeTextFile(target, withoutOuterLinks(await Deno.readTextFile(source)));
  }
}

function withoutOuterLinks(page: string): string {
  return page.replace(/\[([^\]]+)\]\(\.\.\/\.\.\/[^)]*\)/g, "$1");
}

async function vitepress(command: string): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "npm:vitepress", command],
    cwd: folder,
  }).spawn();
  return (await child.status).code;
}

if (import.meta.main) Deno.exit(await buildSite(Deno.args.includes("--serve")));
