import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { followLinks } from "../../tools/docs/site_links.ts";
import { exampleOf, examplePage, folderPage, sitePage } from "../../tools/docs/site_pages.ts";

const facts = { version: "1.0.0", repository: "https://example.com/svc" };

const links: readonly (readonly [page: string, link: string, expected: string])[] = [
  ["docs/how-to/live.md", "monitor.md", "./monitor.md"],
  ["docs/how-to/live.md", "../reference/options.md#db-pool", "../reference/options.md#db-pool"],
  ["docs/how-to/live.md", "../../examples/shop/shop.sql", "../examples/shop/shop.sql.md"],
  ["docs/how-to/deploy.md", "../../examples/deploy", "../examples/deploy/index.md"],
  ["docs/how-to/deploy.md", "../../examples/deploy/Caddyfile", "../examples/deploy/Caddyfile.md"],
  [
    "docs/how-to/upgrade.md",
    "../../CHANGELOG.md",
    "https://example.com/svc/blob/main/CHANGELOG.md",
  ],
  ["docs/README.md", "decisions/README.md", "./decisions/index.md"],
  ["docs/README.md", "images/a.png", "./images/a.png"],
  ["docs/decisions/pipelining.md", "../README.md", "../overview.md"],
  ["docs/how-to/live.md", "#read-from-a-page", "#read-from-a-page"],
  ["docs/how-to/live.md", "https://electric-sql.com", "https://electric-sql.com"],
];

for (const [page, link, expected] of links) {
  Deno.test(`sitePage() links ${link} of ${page} to ${expected}`, () => {
    strictEqual(sitePage(page, `See [a page](${link}).`, facts), `See [a page](${expected}).`);
    strictEqual(sitePage(page, `\n[a]: ${link}\n`, facts), `\n[a]: ${expected}\n`);
  });
}

Deno.test("examplePage() shows a file, also one with a fence", () => {
  const page = examplePage("examples/a/b.sql", "select 1;\n", facts);
  strictEqual(page.split("\n\n").at(-1), "```sql\nselect 1;\n```\n");
  strictEqual(
    examplePage("examples/a/b", "```\n", facts).split("\n\n").at(-1),
    "````text\n```\n````\n",
  );
  strictEqual(exampleOf("examples/a/b.sql"), "examples/a/b.sql.md");
});

Deno.test("folderPage() links the files of a folder", () => {
  strictEqual(
    folderPage("examples/a", ["b.sql", "c/d.ts"]).split("\n\n").at(-1),
    "- [b.sql](./b.sql.md)\n- [c/d.ts](./c/d.ts.md)\n",
  );
});

Deno.test("followLinks() finds links to missing pages and headings", () => {
  const page =
    `<a class="x" href="/b.html#two">a</a> <a href="./b.html#gone">b</a> <a href="c/">c</a>
    <a href="no.html">d</a> <img src="/p.png"> <a href="https://example.com/no">e</a> <a href="#one">f</a>
    <h2 id="one"></h2>`;
  const files = new Map([
    ["/index.html", page],
    ["/b.html", '<h2 id="two">'],
    ["/c/index.html", ""],
    ["/p.png", null],
  ]);
  deepStrictEqual(followLinks(files), {
    count: 6,
    broken: ["/index.html: ./b.html#gone", "/index.html: no.html"],
  });
});
