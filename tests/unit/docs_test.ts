import { deepStrictEqual, ok } from "node:assert/strict";
import denoConfig from "../../deno.json" with { type: "json" };
import { loadConfig } from "../../src/state/config/load.ts";
import { generatedPages, readPage, withSections } from "../../tools/docs/generate.ts";
import { exists, join } from "../support/docs/files.ts";
import {
  anchors,
  type CodeBlock,
  codeBlocks,
  links,
  readPages,
  resolveLink,
  root,
  sentences,
} from "../support/docs/markdown.ts";
import { wingOptions } from "../../src/process/wings.ts";

const pages = await readPages();
const blocks = pages.flatMap(codeBlocks);

/** Tables compare by their cells: the formatter decides about white space. */
function cells(text: string): string {
  return text.replace(/ *\| */g, "|").replace(/-{2,}/g, "--").replace(/\s*\n\s*/g, " ");
}

for (const path of generatedPages) {
  Deno.test(`docs/${path} has generated sections that are up to date`, async () => {
    const text = await readPage(path);
    ok(cells(await withSections(text)) === cells(text), "run `deno task generate`");
  });
}

Deno.test("README.md has at most 150 lines", () => {
  const readme = pages.find(({ path }) => path === "README.md")!;
  ok(readme.text.split("\n").length <= 150);
});

Deno.test("docs/reference/glossary.md has at most ten entries", () => {
  const glossary = pages.find(({ path }) => path === "docs/reference/glossary.md")!;
  ok((glossary.text.match(/^- \*\*/gm) ?? []).length <= 10);
});

Deno.test("documentation links to files and headings that exist", async () => {
  const broken: string[] = [];
  for (const page of pages) {
    for (const { place, target } of links(page)) {
      if (/^https?:/.test(target)) continue;
      const { path, anchor } = resolveLink(page, target);
      const linked = pages.find((other) => other.path === path);
      const isBroken = !await exists(join(root, path)) ||
        (anchor !== null && linked !== undefined && !anchors(linked).has(anchor));
      if (isBroken) broken.push(`${place}: ${target}`);
    }
  }
  deepStrictEqual(broken, []);
});

Deno.test("documentation links every page from docs/README.md", () => {
  const index = pages.filter(({ path }) => /^docs\/(decisions\/)?README\.md$/.test(path));
  const linked = new Set(
    index.flatMap((page) => links(page).map(({ target }) => resolveLink(page, target).path)),
  );
  const others = pages.map(({ path }) => path)
    .filter((path) => path.startsWith("docs/") && path !== "docs/README.md" && !linked.has(path));
  deepStrictEqual(others, []);
});

Deno.test("documentation has tables and diagrams of at most 100 columns", () => {
  const wide = pages.flatMap(({ path, text }) =>
    text.split("\n")
      .filter((line) => line.startsWith("|") && line.length > 100)
      .map((line) => `${path}: ${line.slice(0, 60)}`)
  );
  deepStrictEqual(wide, []);
});

Deno.test("documentation has sentences of at most 25 words", () => {
  const long = pages.flatMap(sentences)
    .filter(({ words }) => words.length > 25)
    .map(({ place, words }) => `${place}: ${words.length} words: ${words.join(" ")}`);
  deepStrictEqual(long, []);
});

/** Phrases that hide the actor of a sentence, or are not the field's words. */
const phrases =
  /\b(nobody|somebody|whoever|is none|so many|so long|all the same|after all|of the database's own|gives up|goes on|takes back)\b|(^|[.!?] )What [^?]*\./i;

Deno.test("documentation names actors and uses the field's words", () => {
  const found = pages.flatMap(sentences)
    .filter(({ words }) => phrases.test(words.join(" ")))
    .map(({ place, words }) => `${place}: ${words.join(" ")}`);
  deepStrictEqual(found, []);
});

/** Folders whose files move at times are checked only where the layout of the code map exists. */
const hasLayout = await exists(join(root, "src/api/handler")) &&
  await exists(join(root, "src/base/lib"));

Deno.test("documentation names paths that exist", async () => {
  const missing: string[] = [];
  for (const { path, text } of pages) {
    if (path === "CHANGELOG.md") continue;
    for (
      const [, name = ""] of text.matchAll(/`((?:src|tests|tools|examples|docs|\.ci)\/[\w./-]*)`/g)
    ) {
      if (name.startsWith("src/") && !hasLayout) continue;
      if (!await exists(join(root, name))) missing.push(`${path}: ${name}`);
    }
  }
  deepStrictEqual(missing, []);
});

const tasks: ReadonlySet<string> = new Set(Object.keys(denoConfig.tasks));

/** Returns what a line of a shell block names that does not exist. */
async function missingIn(line: string): Promise<string | null> {
  const task = /\bdeno(?:@[\d.]+)? task ([\w:]+)/.exec(line)?.[1];
  if (task !== undefined && !tasks.has(task)) return `task ${task}`;
  const files = line.split("#")[0]!.matchAll(
    /(?<![\w/])((?:examples|tests|tools|main\.ts)[\w./-]*)/g,
  );
  for (const [, file = ""] of files) {
    if (!await exists(join(root, file))) return file;
  }
  return null;
}

Deno.test("documentation has commands whose tasks and files exist", async () => {
  const texts = pages.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/`(deno [^`]+)`/g), ([, command = ""]) => [path, command] as const)
  );
  const lines = blocks.filter(({ language }) => language === "sh")
    .flatMap(({ place, text }) => text.split("\n").map((line) => [place, line] as const));
  const missing: string[] = [];
  for (const [place, line] of [...texts, ...lines]) {
    const name = await missingIn(line);
    if (name !== null) missing.push(`${place}: ${name}`);
  }
  deepStrictEqual(missing, []);
});

/** Texts of configuration files, in blocks of their own and behind `cat > svc.conf`. */
const configurations: readonly CodeBlock[] = blocks.flatMap((block) => {
  if (block.language === "toml") return [block];
  const text = /cat > svc\.conf <<'EOF'\n([^]*?)\nEOF/.exec(block.text)?.[1];
  return text === undefined ? [] : [{ ...block, text }];
});

Deno.test("documentation has configuration files that can be loaded", () => {
  ok(configurations.length > 0);
  for (const { place, text } of configurations) {
    const required = ['db-uri = "postgres://localhost/shop"', 'db-schemas = "api"']
      .filter((line) => !text.includes(line.split(" ")[0]!));
    const file = { path: place, text: [text, ...required].join("\n") };
    loadConfig({ wingOptions, file, environment: {}, readFile: Deno.readFileSync });
  }
});
