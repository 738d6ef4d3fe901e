/**
 * VitePress: one sidebar group per folder of `docs/`, whose pages are those that `docs/README.md` links.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const pages = fileURLToPath(new URL("../pages", import.meta.url));

/** Groups of links under the headings of `docs/README.md`. */
function sidebar() {
  const index = readFileSync(join(pages, "README.md"), "utf8");
  return index.split(/^## /m).slice(1).map((section) => ({
    text: section.split("\n")[0],
    items: Array.from(
      section.matchAll(/^- \[([^\]]+)\]\(([^)]+)\)/gm),
      ([, text, link]) => ({
        text,
        link: `/${link.replace(/README\.md$/, "").replace(/\.md$/, "")}`,
      }),
    ),
  }));
}

export default {
  title: "svc",
  description: "A PostgreSQL database as a REST API",
  srcDir: "pages",
  outDir: "./dist",
  cacheDir: "./cache",
  rewrites: { "README.md": "index.md", ":folder/README.md": ":folder/index.md" },
  themeConfig: { search: { provider: "local" }, sidebar: sidebar(), outline: [2, 3] },
};
