/**
 * Builds `docs/` and `examples/` as a static site with search, and follows its links: `deno task docs`.
 * `--serve` then shows it on port 4173. `GITHUB_REPOSITORY` names the repository that pages link to.
 *
 * VitePress and its packages are installed into `.data/site`, where the site is written as well.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../../src/base/version.ts";
import { followLinks, readSite } from "./site_links.ts";
import {
  exampleOf,
  examplePage,
  folderPage,
  landingPage,
  pagePath,
  type SiteFacts,
  sitePage,
} from "./site_pages.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const source = fileURLToPath(new URL("site/", import.meta.url));
const folder = join(root, ".data/site");

/** Files that the generator needs, relative to this folder's `site/`. */
const files = [
  ["package.json", "package.json"],
  ["deno.json", "deno.json"],
  ["config.mjs", ".vitepress/config.mjs"],
] as const;

/** Returns the exit code: 1 if a link of the site leads nowhere. */
async function buildSite(isServed: boolean): Promise<number> {
  await Deno.mkdir(join(folder, ".vitepress"), { recursive: true });
  for (const [from, to] of files) await Deno.copyFile(join(source, from), join(folder, to));
  const facts = siteFacts();
  await Deno.writeTextFile(join(folder, "facts.json"), JSON.stringify(facts));
  await writePages(join(folder, "pages"), facts);
  const code = await vitepress("build");
  if (code !== 0) return code;
  const { count, broken } = followLinks(await readSite(join(folder, "dist")));
  for (const line of broken) console.error(`broken link: ${line}`);
  if (broken.length > 0) return 1;
  console.log(`The site is in ${join(folder, "dist")}: ${count} links lead to pages of it`);
  return isServed ? await vitepress("preview") : 0;
}

function siteFacts(): SiteFacts {
  const repository = Deno.env.get("GITHUB_REPOSITORY") ?? "svc/svc";
  return { version, repository: `https://github.com/${repository}` };
}

/** Writes the pages of `docs/` and `examples/`, and the landing page. */
export async function writePages(to: string, facts: SiteFacts): Promise<void> {
  await Deno.remove(to, { recursive: true }).catch(() => {});
  for (const path of await filesBelow("docs")) {
    if (path.endsWith(".md")) {
      const text = sitePage(path, await Deno.readTextFile(join(root, path)), facts);
      await write(pagePath(to, path), text);
    } else await copy(path, to);
  }
  const examples = await filesBelow("examples");
  for (const path of examples) {
    const text = await Deno.readTextFile(join(root, path));
    await write(pagePath(to, exampleOf(path)), examplePage(path, text, facts));
  }
  const folders = new Set(examples.flatMap((path) => {
    const parts = path.split("/").slice(0, -1);
    return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
  }));
  for (const path of folders) {
    const inner = examples.filter((file) => file.startsWith(`${path}/`));
    const names = inner.map((file) => file.slice(path.length + 1));
    await write(pagePath(to, exampleOf(path)), folderPage(path, names));
  }
  const template = await Deno.readTextFile(join(source, "index.md"));
  await write(join(to, "index.md"), landingPage(template, facts));
}

/** Copies a picture next to its page, and another file to `public`, from where VitePress serves it. */
async function copy(path: string, to: string): Promise<void> {
  const isPicture = /\.(?:png|svg)$/.test(path);
  const target = pagePath(isPicture ? to : join(to, "public"), path);
  await Deno.mkdir(dirname(target), { recursive: true });
  await Deno.copyFile(join(root, path), target);
}

async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, text);
}

/** Returns the paths of the files below a folder of the repository, in order. */
async function filesBelow(path: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(root, path))) {
    const inner = `${path}/${name}`;
    if (isDirectory) found.push(...await filesBelow(inner));
    else found.push(inner);
  }
  return found.sort();
}

async function vitepress(command: string): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "npm:vitepress", command],
    cwd: folder,
  }).spawn();
  return (await child.status).code;
}

if (import.meta.main) Deno.exit(await buildSite(Deno.args.includes("--serve")));
