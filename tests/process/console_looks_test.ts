import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { Buffer } from "node:buffer";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";
import {
  type ConsoleBrowser,
  hasChromium,
  openConsole,
} from "../support/clients/console_browser.ts";
import { signToken } from "../support/handler/token.ts";
import { findProgram } from "../support/server/find_program.ts";
import { withConsole } from "../support/server/console_service.ts";
import { eventually } from "../support/timing/eventually.ts";

/** What a reader does on each width and in each theme, after the steps of `console_test.ts`. */
const points:
  readonly (readonly [name: string, run: (browser: ConsoleBrowser) => Promise<void>])[] = [
    ["pages follow the key by cursors", async ({ open, page, lastApiTarget }) => {
      await open("#/table/api/film?limit=20");
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("Rows 21 to 40 of").waitFor();
      match(lastApiTarget("/film")!, /^\/film\?order=id\.asc&limit=20&after=W[A-Za-z0-9_-]+$/);
      await page.getByRole("button", { name: "Previous" }).click();
      await page.getByText("Rows 1 to 20 of").waitFor();
    }],
    ["a foreign key has a label, and is searched by it", async ({ open, page }) => {
      await open("#/table/api/film?id=eq.1&limit=20");
      const link = page.getByRole("link", { name: "Open language 2: Italian" });
      // The rows of the table without a filter have more.
      await eventually("the row is shown alone", async () => await link.count() === 1);
      await page.getByRole("button", { name: "Filter", exact: true }).click();
      await page.getByLabel("Column", { exact: true }).last().selectOption("language_id");
      await page.getByRole("combobox", { name: "Value" }).fill("jap");
      await page.getByRole("option", { name: "Japanese 3" }).click();
      await page.getByText("No rows", { exact: true }).first().waitFor();
    }],
    ["an empty answer is explained", async ({ open, page, violations }) => {
      await open("#/table/api/film?id=eq.0&limit=20");
      await page.getByRole("button", { name: "Why?" }).click();
      await page.getByLabel("Explanation").filter({ hasText: "to see hidden rows" })
        .waitFor();
      deepStrictEqual(await violations(), []);
    }],
    ["related rows are chips", async ({ open, page, violations }) => {
      await open("#/table/api/film?id=eq.2&limit=20");
      await page.getByRole("button", { name: "Open row 1" }).click();
      await page.getByRole("link", { name: "3 film_actor by film_id" }).waitFor();
      deepStrictEqual(await violations(), []);
    }],
    ["the panel of a row edits it, and shows the request", async ({ page, violations }) => {
      await page.getByRole("button", { name: "Edit" }).click();
      const form = page.getByRole("dialog", { name: "Change film" });
      await form.getByRole("textbox", { name: /^length/ }).fill("long");
      await form.getByText("length: Expected a whole number").waitFor();
      await form.getByRole("textbox", { name: /^length/ }).fill("75");
      await form.getByLabel("Request").filter({ hasText: /If-Match: .*"length": 75\s/s }).waitFor();
      deepStrictEqual(await violations(), []);
      await form.getByRole("button", { name: "Save" }).click();
      await page.getByRole("gridcell", { name: "75" }).waitFor();
    }],
    ["a pencil changes a cell, whose row stays where it is", async ({ open, page, cell }) => {
      await open("#/table/api/film?limit=20");
      const shown = cell(4, 1);
      const title = `${await shown.locator(".cell-text").innerText()}, again`;
      await shown.hover();
      await shown.getByRole("button", { name: "Change title" }).click();
      const form = page.getByRole("dialog", { name: "Change title" });
      await form.getByRole("textbox", { name: "title" }).fill(title);
      await form.getByRole("button", { name: "Save" }).click();
      await shown.getByText(title, { exact: true }).waitFor();
      const saved = page.getByRole("status").filter({ hasText: /^Saved row \d+ · Show$/ });
      const { y } = (await saved.boundingBox())!;
      ok(y >= 0 && y < page.viewportSize()!.height, `the message is at ${y} px`);
    }],
    ["a text replaces null", async ({ page, cell }) => {
      await cell(4, 2).filter({ hasText: "null" }).hover();
      await cell(4, 2).getByRole("button", { name: "Change description" }).click();
      const form = page.getByRole("dialog", { name: "Change description" });
      await form.getByRole("textbox", { name: "description" }).fill("Long");
      await form.getByLabel("Request").filter({ hasText: '"description": "Long"' }).waitFor();
      strictEqual(await form.getByLabel("null").isChecked(), false);
      await page.keyboard.press("Escape");
    }],
    ["the code is closed at first, and stays as it was left", async ({ page }) => {
      strictEqual(await page.getByLabel("URL of the request").count(), 0);
      const { height } = (await page.locator(".pager").boundingBox())!;
      ok(height <= 60 || page.viewportSize()!.width < 600, `the pager is ${height} px high`);
      await page.getByRole("button", { name: "Code", exact: true }).click();
      await page.reload();
      const top = (await page.getByLabel("URL of the request").boundingBox())!.y;
      ok(top < page.viewportSize()!.height, `the code begins at ${top} px`);
      await page.getByRole("button", { name: "Code", exact: true }).click();
    }],
    ["a shell runs the copied curl, which returns the rows of the page", async (browser) => {
      if (findProgram("curl") === null) return;
      const { open, page, cell } = browser;
      await page.evaluate(`void (navigator.clipboard.writeText = (text) =>
        Promise.resolve(globalThis.copied = text))`);
      await open("#/table/api/film?rating=eq.PG&title=neq.It's%20$HOME&order=length.desc&limit=3");
      await page.getByText("Rows 1 to 3 of").waitFor();
      const shown = await Promise.all([0, 1, 2].map((row) => cell(row, 0).innerText()));
      await page.getByRole("button", { name: "Code", exact: true }).click();
      const env = { TOKEN: await page.evaluate(`sessionStorage.getItem("svc-token")`) as string };
      for (const name of ["Copy code", "Copy with token"]) {
        await page.getByRole("button", { name }).click();
        const command = await page.evaluate("copied") as string;
        strictEqual(command.includes(env.TOKEN), name === "Copy with token");
        const { stdout, stderr } = await new Deno.Command("sh", { args: ["-c", command], env })
          .output();
        const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
        const rows = JSON.parse(decode(stdout) || decode(stderr)) as { readonly id: number }[];
        deepStrictEqual(rows.map(({ id }) => String(id)), shown, command);
      }
      await page.getByRole("button", { name: "Code", exact: true }).click();
    }],
    ["a chart counts all rows", async ({ open, page, violations }) => {
      await open("#/table/api/film/chart");
      await page.getByRole("img", { name: "count by rating, 3 groups" }).waitFor();
      deepStrictEqual(await violations(), []);
      strictEqual(await page.getByText(/^These are the/).count(), 0);
      await page.getByLabel("by", { exact: true }).selectOption("title");
      await page.getByText("These are the greatest 40 groups.").waitFor();
    }],
    ["the diagram finds a table", async ({ open, page, violations }) => {
      await open("#/diagram/api");
      await page.getByRole("combobox", { name: "Find a table" }).fill("lang");
      await page.getByRole("option", { name: "language" }).click();
      await page.locator(".is-center", { hasText: "language" }).waitFor();
      deepStrictEqual(await violations(), []);
    }],
    ["the diagram of many tables begins with neighbours", async ({ open, page, violations }) => {
      const path = "**/console/schema";
      await page.route(path, async (route) => {
        const { relations, ...others } = await (await route.fetch()).json();
        const more = Array.from(
          { length: 200 },
          (_, index) => ({ ...relations[0], name: `t${index}` }),
        );
        await route.fulfill({ json: { ...others, relations: [...relations, ...more] } });
      });
      await page.reload();
      await open("#/diagram/api");
      await page.getByText("Around film").waitFor();
      strictEqual(await page.locator(".node", { hasText: "t199" }).count(), 0);
      await page.getByRole("button", { name: /^All 20\d tables$/ }).click();
      await page.locator(".node", { hasText: "t199" }).waitFor({ state: "attached" });
      deepStrictEqual(await violations(), []);
      await page.unroute(path);
      await page.reload();
    }],
    ["a plan is a tree", async ({ open, page, violations }) => {
      await open("#/table/api/film/plan?id=gt.5&limit=20");
      await page.locator("summary", { hasText: "Limit" }).first().waitFor();
      deepStrictEqual(await violations(), []);
    }],
    ["numbers of a query are on the right, and other values on the left", async (browser) => {
      const { open, page, cell, violations } = browser;
      await open("#/sql/api");
      await page.getByLabel("SQL", { exact: true })
        .fill("select 1.50 as price, '007' as code, null::int as stock, 2 as id");
      await page.getByRole("button", { name: "Run" }).click();
      await cell(0, 3).filter({ hasText: "2" }).waitFor();
      const isWide = page.viewportSize()!.width > 560;
      const align = (column: number) =>
        page.evaluate(
          `getComputedStyle(document.querySelector('[data-place="0,${column}"]')).textAlign`,
        );
      const right = isWide ? "right" : "start";
      deepStrictEqual(await Promise.all([0, 1, 3].map(align)), [right, "start", right]);
      deepStrictEqual(await violations(), []);
    }],
    ["the slowest request comes first, once", async ({ open, page, violations }) => {
      const path = "**/console/requests?*";
      await page.route(path, async (route) => {
        const request = (id: number, time: number, total: number) => ({
          ...{ id, time, method: "GET", target: `/film?id=eq.${total}`, client: null, role: null },
          ...{ status: 200, ms: { total, queue: 0, database: 0 }, bytes: 2, code: null, sql: null },
        });
        const newest = [request(2, 20, 1500), request(3, 30, 5)];
        const slow = [request(1, 10, 9000), request(2, 20, 1500)];
        await route.fulfill({ json: { newest, slow } });
      });
      await open("#/requests");
      await page.getByRole("button", { name: "Slowest" }).click();
      await page.getByText("id=eq.9000").waitFor();
      const targets = await page.locator("summary code").allInnerTexts();
      deepStrictEqual(targets, [9000, 1500, 5].map((ms) => `GET /film?id=eq.${ms}`));
      // Times of another day have their date.
      const row = page.locator("tr", { hasText: "id=eq.9000" });
      match(await row.locator("th").innerText(), /1970/);
      deepStrictEqual(await violations(), []);
      await page.unroute(path);
    }],
    ["the access of roles fits the window", async ({ open, page, violations }) => {
      await open("#/access/api");
      const row = page.getByRole("row", { name: /^language / });
      await row.waitFor();
      const widths = `(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(
        document.querySelector(".table-wrap"))`;
      const [scrolled, shown] = await page.evaluate(widths) as readonly number[];
      strictEqual(scrolled, shown);
      deepStrictEqual(await violations(), []);
    }],
    ["a text is copied without the clipboard of pages with TLS", async ({ open, page }) => {
      await page.evaluate(
        `Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true })`,
      );
      await open("#/access/api");
      await page.getByRole("row", { name: /^language / }).getByRole("button").first().click();
      // Elements outside of the dialog cannot be selected.
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Copy SQL" }).first().click();
      await dialog.getByRole("button", { name: "Copied" }).waitFor();
      strictEqual(await dialog.getByLabel("Text to copy").count(), 0);
      await page.keyboard.press("Escape");
      await open("#/sql/api");
      const text = page.getByRole("textbox", { name: "SQL" });
      await text.fill("");
      await text.press("ControlOrMeta+v");
      strictEqual(await text.inputValue(), "grant insert on api.language to anon;");
    }],
    ["a text that cannot be copied is selected", async ({ open, page }) => {
      await page.evaluate("void (document.execCommand = () => false)");
      await open("#/start");
      await page.getByRole("button", { name: "Copy URL" }).click();
      const area = page.getByLabel("Text to copy");
      strictEqual(await page.evaluate("String(getSelection())"), await area.inputValue());
      match(await area.inputValue(), /^http:/);
      await page.keyboard.press("Tab");
      await area.waitFor({ state: "detached" });
      await page.reload();
    }],
    ["a copied text is announced", async ({ open, page, violations }) => {
      await open("#/start");
      await page.evaluate("void (navigator.clipboard.writeText = () => Promise.resolve())");
      await page.getByRole("button", { name: "Copy URL" }).click();
      await page.getByRole("status").filter({ hasText: /^Copied$/ }).waitFor({ state: "attached" });
      deepStrictEqual(await violations(), []);
      await page.getByRole("button", { name: "Copy URL" }).waitFor();
    }],
    ["a table is viewed as another role", async ({ open, page }) => {
      await open("#/table/api/film?limit=20");
      match(await page.locator("main header label").innerText(), /^View as/);
      await page.getByLabel("View as").selectOption("anon");
      await page.getByRole("button", { name: /^anon, ends in/ }).waitFor();
      await page.getByRole("button", { name: "Insert" }).waitFor({ state: "detached" });
      await page.getByLabel("View as").selectOption("writer");
      await page.getByRole("button", { name: "Insert" }).waitFor();
      await page.getByRole("button", { name: /^writer, ends in/ }).click();
      await page.getByLabel("Claims").fill('{"sub":"7"}');
      await page.getByRole("button", { name: "Act as the role" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      const claims = await page.evaluate(
        `JSON.parse(atob(sessionStorage.getItem("svc-token").split(".")[1]))`,
      ) as Record<string, unknown>;
      deepStrictEqual([claims.role, claims.sub], ["writer", "7"]);
    }],
  ];

for (const [width, theme] of [[1280, "dark"], [390, "light"]] as const) {
  Deno.test({
    name: `the console does all that it offers at ${width} px in the ${theme}`,
    ignore: !hasChromium(),
    sanitizeOps: false,
    sanitizeResources: false,
    async fn(context) {
      await withConsole(async ({ adminOrigin }) => {
        await using browser = await openConsole(adminOrigin, {
          token: await signToken({ role: "writer" }),
        });
        await browser.look({ width, theme });
        for (const [name, run] of points) {
          const fn = () => run(browser);
          await context.step({ name, fn, sanitizeOps: false, sanitizeResources: false });
        }
        deepStrictEqual(browser.problems, []);
      });
    },
  });
}

/** Largest gzipped size in bytes of the files that the first page loads. */
const maxFirstViewBytes = 45_000;

Deno.test({
  name: "the first page of the console loads at most 45 kB, compressed",
  ignore: !hasChromium(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withConsole(async ({ adminOrigin }) => {
      await using browser = await openConsole(adminOrigin);
      await browser.open("#/table/api/film");
      const urls = await browser.page.evaluate(
        `performance.getEntriesByType("resource").map(({ name }) => name)`,
      ) as string[];
      let sum = 0;
      for (const url of new Set(urls.filter((each) => /\.(?:js|css)$/.test(each)))) {
        const { body } = await fetch(url);
        sum +=
          (await new Response(body!.pipeThrough(new CompressionStream("gzip"))).bytes()).length;
      }
      ok(sum > 20_000 && sum <= maxFirstViewBytes, `${sum} bytes`);
    });
  },
});

const folder = new URL("../fixtures/console/", import.meta.url);

/** Writes the images instead of comparing them. */
const isUpdate = Deno.env.get("SVC_TEST_UPDATE") === "1";

/** Share of pixels that may differ: fonts are smoothed differently from machine to machine. */
const maxDifferingShare = 0.01;

const pictures: readonly (readonly [
  name: string,
  look: Parameters<ConsoleBrowser["look"]>[0],
  hash: string,
  act?: (browser: ConsoleBrowser) => Promise<void>,
])[] = [
  ["start", { width: 1280, theme: "light" }, "#/start"],
  ["table", { width: 1280, theme: "light" }, "#/table/api/film?limit=20"],
  ["table-phone", { width: 390, theme: "dark" }, "#/table/api/film?id=lt.3&limit=20"],
  ["access-phone", { width: 390, theme: "dark" }, "#/access/api"],
  ["chart", { width: 1280, theme: "dark" }, "#/table/api/film/chart"],
  ["diagram", { width: 1280, theme: "light" }, "#/diagram/api"],
  ["diagram-phone", { width: 390, theme: "light" }, "#/diagram/api/actor"],
  ["function", { width: 1280, theme: "dark" }, "#/function/api/films_of?rating=PG"],
  ["reference-phone", { width: 390, theme: "light" }, "#/reference/api/film"],
  [
    "row",
    { width: 1280, theme: "light" },
    "#/table/api/film?id=eq.3&limit=20",
    async ({ page }) => {
      await page.getByRole("button", { name: "Open row 1" }).click();
      await page.getByRole("link", { name: "3 film_actor by film_id" }).waitFor();
    },
  ],
  [
    "form",
    { width: 1280, theme: "dark" },
    "#/table/api/film?id=eq.3&limit=20",
    async ({ page }) => {
      await page.getByRole("button", { name: "Insert" }).click();
      await page.getByRole("dialog").getByRole("textbox", { name: /^title/ }).fill("The Long Way");
    },
  ],
];

Deno.test({
  name: "the console's pages look as they are stored",
  ignore: !hasChromium(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withConsole(async ({ adminOrigin }) => {
      for (const [name, look, hash, act] of pictures) {
        await using browser = await openConsole(adminOrigin, {
          token: await signToken({ role: "writer" }),
        });
        const { page } = browser;
        await browser.look(look);
        await browser.open(hash);
        await act?.(browser);
        await page.mouse.move(0, 0);
        await page.waitForLoadState("networkidle");
        // Addresses, versions, times and estimates differ from run to run.
        const mask = [".page > header", ".brand small", ".pager p", ".code-panel"]
          .map((selector) => page.locator(selector));
        const shown = await page.screenshot({ mask, animations: "disabled", caret: "hide" });
        const file = new URL(`${name}.png`, folder);
        if (isUpdate) await Deno.writeFile(file, shown);
        const [actual, expected] = [
          PNG.sync.read(shown),
          PNG.sync.read(Buffer.from(await Deno.readFile(file))),
        ];
        deepStrictEqual([actual.width, actual.height], [expected.width, expected.height], name);
        const { width, height } = actual;
        const options = { threshold: 0.2 };
        const count = pixelmatch(actual.data, expected.data, undefined, width, height, options);
        ok(count / (width * height) <= maxDifferingShare, `${name}: ${count} pixels differ`);
      }
    });
  },
});
