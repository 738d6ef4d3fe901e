/**
 * Configuration of VitePress. The sidebar has the headings of `docs/README.md` and the pages below them.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const pages = fileURLToPath(new URL("../pages", import.meta.url));

const { version, repository } = JSON.parse(
  readFileSync(fileURLToPath(new URL("../facts.json", import.meta.url)), "utf8"),
);

/** Returns the anchor of a heading as GitHub writes it, because links of pages have this form. */
function slugify(heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "").replaceAll(" ", "-");
}

/** Groups of links under the headings of `docs/README.md`. */
function sidebar() {
  const index = readFileSync(join(pages, "overview.md"), "utf8");
  return index.split(/^## /m).slice(1).map((section) => ({
    text: section.split("\n")[0],
    items: Array.from(
      section.matchAll(/^- \[([^\]]+)\]\(([^)]+)\)/gm),
      ([, text, link]) => ({
        text,
        link: `/${link.replace(/^\.\//, "").replace(/index\.md$/, "").replace(/\.md$/, "")}`,
      }),
    ),
  }));
}

/** Icon of the pages. Without an icon, browsers would request `/favicon.ico`. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<rect width="16" height="16" rx="3" fill="#336791"/>
<path d="M4 5h8M4 8h8M4 11h5" stroke="#fff" stroke-width="1.5" stroke-linecap="round"/></svg>`;

export default {
  title: "svc",
  description: "A PostgreSQL database as a REST API",
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  srcDir: "pages",
  outDir: "./dist",
  cacheDir: "./cache",
  // Tutorials link to servers that the reader starts.
  ignoreDeadLinks: "localhostLinks",
  markdown: { anchor: { slugify } },
  themeConfig: {
    search: { provider: "local" },
    sidebar: sidebar(),
    outline: [2, 3],
    nav: [
      { text: "Guides", link: "/overview" },
      { text: "Options", link: "/reference/options" },
      { text: "Examples", link: "/examples/" },
      { text: version, link: `${repository}/blob/main/CHANGELOG.md` },
    ],
    socialLinks: [{ icon: "github", link: repository }],
  },
};
