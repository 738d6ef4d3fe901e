import { Buffer } from "node:buffer";
import { deepStrictEqual, match, notStrictEqual, ok, strictEqual } from "node:assert/strict";
import { hasChromium, hasCount, openConsole } from "../support/clients/console_browser.ts";
import { eventually } from "../support/timing/eventually.ts";
import { withConsole } from "../support/server/console_service.ts";
import { signToken, testSecret } from "../support/handler/token.ts";

Deno.test("the console's API answers as the API does, and sends no secret", async () => {
  await withConsole(async ({ origin, adminOrigin }) => {
    const tokens = [null, await signToken({ role: "writer" }), "nonsense"];
    const requests = [
      ["GET", "/film?select=id,title&limit=2&order=id", null],
      ["GET", "/secret", null],
      ["GET", "/nowhere", null],
      ["POST", "/note", '{"text":"x"}'],
      ["GET", "/rpc/add?a=1&b=2", null],
      ["HEAD", "/film", null],
    ] as const;
    for (const token of tokens) {
      for (const [method, target, body] of requests) {
        const answerOf = async (url: string) => {
          const headers = new Headers({ Console: "1", Prefer: "tx=rollback" });
          if (token !== null) headers.set("Authorization", `Bearer ${token}`);
          if (body !== null) headers.set("Content-Type", "application/json");
          const response = await fetch(url, { method, headers, body });
          const kept = Array.from(response.headers).filter(([name]) => name !== "date");
          return { status: response.status, headers: kept, text: await response.text() };
        };
        const [own, api] = [
          await answerOf(`${adminOrigin}/console/api${target}`),
          await answerOf(origin + target),
        ];
        deepStrictEqual(own, api, `${method} ${target}`);
      }
    }
    for (
      const path of [
        "state",
        "findings",
        "stats",
        "requests",
        "log",
        "config",
        "schema",
        "access?schema=api",
      ]
    ) {
      const response = await fetch(`${adminOrigin}/console/${path}`, { headers: { Console: "1" } });
      const text = await response.text();
      strictEqual(response.status, 200, text);
      ok(!text.includes(testSecret) && !text.includes(tokens[1]!), path);
      ok(!/:[^/@:\s"*]+@/.test(text), `${path} has a password`);
    }
  });
});

Deno.test({
  name: "a person browses, filters, follows, edits, calls and watches in the console",
  ignore: !hasChromium(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(context) {
    await withConsole(async ({ origin, adminOrigin, stdout }) => {
      await using browser = await openConsole(adminOrigin);
      const { page, cell } = browser;
      const hasHash = (hash: string) =>
        eventually(hash, async () => await page.evaluate("location.hash") === hash);
      const step = (name: string, run: () => Promise<void>) =>
        context.step({ name, fn: run, sanitizeOps: false, sanitizeResources: false });

      await step("browse", async () => {
        await browser.open("#/start");
        // The page learns of the access of the role after it is drawn.
        const cards = page.getByRole("main").getByRole("link");
        await cards.filter({ hasText: /^secret\s*no access/ }).waitFor();
        const [dim, plain] = await page.evaluate(`(() => {
          const links = [...document.querySelectorAll(".nav-link")];
          return [true, false].map((isDim) => [...new Set(links
            .filter((link) => link.textContent.includes("(no access)") === isDim)
            .map((link) => getComputedStyle(link).color))]);
        })()`) as readonly (readonly string[])[];
        deepStrictEqual([dim!.length, plain!.length], [1, 1]);
        notStrictEqual(dim![0], plain![0], "links without access have another colour");
        await page.getByRole("link", { name: "film Films of the shop" }).click();
        await page.getByRole("grid", { name: "film" }).waitFor();
        await hasCount(page.getByRole("row"), 51);
        await page.getByText(/^Rows 1 to 50 of /).waitFor();
        strictEqual(await page.getByRole("button", { name: "Insert" }).count(), 0);
        await page.getByRole("button", { name: "Next" }).click();
        await page.getByText("Rows 51 to 100").waitFor();
      });

      await step("filter and sort", async () => {
        await browser.open("#/table/api/film?limit=50");
        await page.getByRole("button", { name: "Filter" }).click();
        await page.getByLabel("Value", { exact: true }).waitFor();
        const first = "/film?order=id.asc&limit=50&after=";
        strictEqual(browser.lastApiTarget("/film"), first, "a filter waits for its value");
        await page.getByLabel("Column", { exact: true }).selectOption("rating");
        await page.getByLabel("Value", { exact: true }).selectOption("PG");
        await page.getByText("Rows 1 to 40 of 40").waitFor();
        await page.getByRole("button", { name: /^length/ }).click();
        await page.locator("th[aria-sort=ascending]").waitFor();
        await page.getByRole("button", { name: "Code", exact: true }).click();
        const target = "/film?rating=eq.PG&order=length.asc&limit=50&after=";
        strictEqual(await page.getByLabel("URL of the request").inputValue(), target);
        const code = page.getByRole("region", { name: "Request" }).getByLabel("Code");
        await code.filter({ hasText: "/film?rating=eq.PG&order=length.asc" }).waitFor();
        await hasHash(`#/table/api${target}`);
        strictEqual(browser.lastApiTarget("/film"), target);
      });

      await step("move in the grid by keys", async () => {
        await cell(0, 1).click();
        const placeAfter = async (...keys: readonly string[]) => {
          for (const key of keys) await page.keyboard.press(key);
          return await page.evaluate(
            `document.activeElement.closest("[data-place]").dataset.place`,
          );
        };
        strictEqual(await placeAfter("ArrowDown", "ArrowRight"), "1,2");
        strictEqual(await placeAfter("End"), "1,11");
        strictEqual(await placeAfter("Home"), "1,-1");
        strictEqual(await placeAfter("Control+Home", "ArrowRight"), "-1,1");
        strictEqual(await placeAfter("Control+End"), "39,11");
      });

      await step("edit the URL", async () => {
        const url = page.getByLabel("URL of the request");
        await url.fill("/film?id=eq.2&select=id,title,description,language(name)");
        await url.press("Enter");
        // Two foreign keys lead to the table, so that the API names both.
        await page.getByRole("alert").getByText("'language!film_language_id_fkey'").waitFor();
        await url.fill(
          "/film?id=eq.2&select=id,title,description,language!film_language_id_fkey(name)",
        );
        await url.press("Enter");
        await page.getByText("Rows 1 to 1 of 1").waitFor();
        await cell(0, 2).getByText('<img src=x onerror="document.title=1">').waitFor();
        await cell(0, 3).getByText(/"name": "Japanese"/).waitFor();
      });

      await step("follow a relation", async () => {
        await browser.open("#/table/api/film?id=eq.1&limit=50");
        await page.getByRole("link", { name: "Open language 2: Italian" }).click();
        await page.getByRole("grid", { name: "language" }).waitFor();
        const order = "&order=id.asc&limit=50&after=";
        await hasHash(`#/table/api/language?id=eq.2${order}`);
        await cell(0, 1).getByText("Italian", { exact: true }).waitFor();
        await page.getByRole("button", { name: "Open row 1" }).click();
        await page.getByRole("link", { name: /^\d+ film by language_id/ }).waitFor();
        deepStrictEqual(await browser.violations(), []);
        await page.getByRole("link", { name: /film by language_id/ }).click();
        await page.getByRole("grid", { name: "film" }).waitFor();
        const hash = `#/table/api/film?language_id=eq.2${order}`;
        await hasHash(hash);
      });

      await step("refuse edits without a token", async () => {
        await browser.open("#/table/api/film?id=eq.1&limit=50");
        await cell(0, 1).dblclick();
        await page.getByRole("dialog", { name: "film 1" }).waitFor();
        strictEqual(await page.getByRole("button", { name: "Delete…" }).count(), 0);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
        await eventually(
          "the focus returns to the cell",
          async () => await page.evaluate("document.activeElement.dataset.place") === "0,1",
        );
      });

      await step("sign in and edit by keyboard", async () => {
        await page.getByRole("button", { name: "anonymous: anon" }).click();
        deepStrictEqual(await browser.violations(), []);
        await page.getByLabel("Token (JWT)").fill(await signToken({ role: "writer" }));
        await page.getByRole("button", { name: "Use the token" }).click();
        await page.getByRole("button", { name: "Insert" }).waitFor();
        await cell(0, 1).focus();
        await page.keyboard.press("Enter");
        const dialog = page.getByRole("dialog", { name: "Change title" });
        await dialog.getByRole("textbox", { name: "title" }).fill("The Long Way");
        const shown = dialog.getByLabel("Request").filter({
          hasText:
            /PATCH \/film\?id=eq\.1\s+Content-Type: .*\s+Prefer: return=representation, handling=strict, max-affected=1\s+If-Match: /,
        });
        await shown.waitFor();
        await page.keyboard.press("Enter");
        await dialog.waitFor({ state: "detached" });
        await page.getByRole("gridcell", { name: "The Long Way" }).waitFor();
      });

      await step("show an error of the API beside the value", async () => {
        await cell(0, 3).dblclick();
        const dialog = page.getByRole("dialog", { name: "Change length" });
        deepStrictEqual(await browser.violations(), []);
        const save = dialog.getByRole("button", { name: "Save" });
        await dialog.getByRole("textbox", { name: "length" }).fill("many");
        await save.click();
        await dialog.getByRole("alert").getByText(/^length: Expected a whole number$/).waitFor();
        await dialog.getByRole("textbox", { name: "length" }).fill("-1");
        await save.click();
        await dialog.getByRole("alert").filter({ hasText: /film_length_check.*23514/s }).waitFor();
        await page.keyboard.press("Escape");
        await browser.open("#/table/api/language?limit=50");
        await cell(0, 1).dblclick();
        await page.getByRole("textbox", { name: "name" }).fill("Latin");
        await page.getByRole("button", { name: "Save" }).click();
        await page.getByText("412 · SVC151").waitFor();
        await page.keyboard.press("Escape");
      });

      await step("refuse to overwrite a newer row", async () => {
        await browser.open("#/table/api/film?id=eq.3&limit=50");
        await cell(0, 1).dblclick();
        const dialog = page.getByRole("dialog", { name: "Change title" });
        await dialog.getByLabel("Request").getByText("If-Match: ").waitFor();
        await fetch(`${adminOrigin}/console/api/film?id=eq.3`, {
          method: "PATCH",
          headers: {
            "Console": "1",
            "Content-Type": "application/json",
            "Authorization": `Bearer ${await signToken({ role: "writer" })}`,
          },
          body: '{"length":61}',
        });
        await dialog.getByRole("textbox", { name: "title" }).fill("Lost");
        await dialog.getByRole("button", { name: "Save" }).click();
        await dialog.getByRole("alert").filter({ hasText: "412 · SVC151" }).waitFor();
        await page.keyboard.press("Escape");
      });

      await step("insert and delete", async () => {
        await browser.open("#/table/api/film?title=eq.New&limit=50");
        await page.getByText("No rows", { exact: true }).first().waitFor();
        await page.getByRole("button", { name: "Insert" }).click();
        const form = page.getByRole("dialog", { name: "Insert into film" });
        deepStrictEqual(await browser.violations(), []);
        await form.getByLabel(/^title/).fill("New");
        await form.getByRole("combobox", { name: /^language_id/ }).fill("engl");
        await form.getByRole("option", { name: "English 1" }).click();
        await form.getByRole("button", { name: "Insert" }).click();
        await page.getByText("Rows 1 to 1 of 1").waitFor();
        const inserted = page.getByRole("status").filter({ hasText: /^Inserted row \d+ · Show$/ });
        const key = /\d+/.exec(await inserted.innerText())![0];
        strictEqual(
          await inserted.getByRole("link").getAttribute("href"),
          `#/table/api/film?id=eq.${key}`,
        );
        await page.getByRole("button", { name: "Open row 1" }).click();
        await page.getByRole("button", { name: "Delete…" }).click();
        await page.getByRole("button", { name: "Delete", exact: true }).click();
        await page.getByText("No rows", { exact: true }).first().waitFor();
      });

      await step("insert the rows of a file", async () => {
        await browser.open("#/table/api/film?title=like.CSV*&limit=50");
        await page.getByText("No rows", { exact: true }).first().waitFor();
        await page.getByRole("button", { name: "Insert" }).click();
        const file = page.getByLabel(/^Rows of a CSV file/);
        const form = page.getByRole("dialog", { name: "Insert into film" });
        const send = async (text: string) => {
          await file.setInputFiles({
            name: "f.csv",
            mimeType: "text/csv",
            buffer: Buffer.from(text),
          });
          await form.getByLabel("Request").filter({ hasText: text.trimEnd() }).waitFor();
          strictEqual(await form.getByRole("textbox").count(), 0);
          await form.getByRole("button", { name: "Insert" }).click();
        };
        await send("title,language_id\nCSV 1,1\nCSV 2\n");
        await page.getByRole("alert").filter({ hasText: "SVC102" }).filter({ hasText: /line 3/i })
          .waitFor();
        await send("title,language_id\nCSV 1,1\nCSV 2,2\n");
        await page.getByRole("status").filter({ hasText: /^Inserted 2 rows · Show$/ }).waitFor();
        await page.getByText("Rows 1 to 2 of 2").waitFor();
        await browser.open("#/table/api/film?limit=50");
        await page.keyboard.press("Control+k");
        await page.getByRole("combobox", { name: "Table, function or page" }).fill("csv 2");
        await page.getByRole("option", { name: "title contains “csv 2”" }).click();
        await page.getByText("Rows 1 to 1 of 1").waitFor();
      });

      await step("filter by a frequent value", async () => {
        await browser.open("#/table/api/film?limit=50");
        await page.locator("summary", { hasText: "Values" }).click();
        const values = page.getByRole("group", { name: "Values of a column" });
        strictEqual(await values.getByLabel("Column").inputValue(), "rating");
        deepStrictEqual(await browser.violations(), []);
        await values.getByRole("button", { name: /^PG\b/ }).click();
        await hasHash("#/table/api/film?rating=eq.PG&order=id.asc&limit=50&after=");
        await page.getByText("Rows 1 to 40 of 40").waitFor();
        await values.waitFor({ state: "detached" });
      });

      await step("find a request again, and keep it", async () => {
        await browser.open("#/start/api");
        const recent = page.getByRole("region", { name: "Recent requests" });
        const link = recent.getByRole("link", { name: "/film?rating=eq.PG&order=id.asc&limit=50" });
        await recent.getByRole("button", { name: /^Keep \/film\?rating=eq.PG&order=id/ }).click();
        deepStrictEqual(await browser.violations(), []);
        await link.first().click();
        await page.getByText("Rows 1 to 40 of 40").waitFor();
      });

      await step("run SQL", async () => {
        await browser.open("#/sql/api");
        const text = page.getByRole("textbox", { name: "SQL" });
        await text.fill("select current_user as role, count(*) from film");
        await page.keyboard.press("Control+Enter");
        await page.getByRole("gridcell", { name: "writer" }).waitFor();
        await page.getByText(/^1 row · /).waitFor();
        deepStrictEqual(await browser.violations(), []);
        await page.getByRole("button", { name: "Explain" }).click();
        await page.locator("summary", { hasText: /Scan.* on film/ }).waitFor();
        await page.getByText("slowest", { exact: true }).waitFor();
        await text.fill("delete from film");
        await page.getByRole("button", { name: "Run" }).click();
        await page.getByRole("alert").filter({ hasText: "instead of DELETE" }).waitFor();
      });

      await step("leave tables without a key alone", async () => {
        await browser.open("#/table/api/note");
        await page.getByText("no primary key").waitFor();
      });

      await step("run a function", async () => {
        await browser.open("#/function/api/add");
        await page.getByLabel(/^a\b/).fill("20");
        await page.getByLabel(/^b\b/).fill("22");
        await page.getByRole("button", { name: "Run" }).click();
        await page.getByRole("region", { name: "Result" }).getByText("42").waitFor();
        strictEqual(browser.lastApiTarget("/rpc/add"), "/rpc/add?a=20&b=22");
      });

      await step("read a plan", async () => {
        await browser.open("#/table/api/film/plan?id=eq.1&limit=50");
        // The scan depends on when the server analyzes the table.
        const scan = page.locator("summary", { hasText: /(Index|Seq) Scan/ }).first();
        match(await scan.innerText(), /ms.*own.*1 row.*hit/s);
        await page.getByLabel("Show as text").check();
        match(await page.getByLabel("Plan", { exact: true }).innerText(), /Scan.*actual time=/);
      });

      await step("draw a chart", async () => {
        await browser.open("#/table/api/film/chart");
        await page.getByRole("img", { name: "count by rating, 3 groups" }).waitFor();
        await hasCount(page.locator(".drawn rect"), 3);
        const measured = await page.getByLabel("Show", { exact: true }).locator("option")
          .allInnerTexts();
        ok(measured.includes("sum of price") && !measured.some((text) => text.endsWith("id")));
        await page.getByLabel("Show", { exact: true }).selectOption("sum price");
        await page.getByLabel("by", { exact: true }).selectOption("released");
        await page.getByLabel("per", { exact: true }).selectOption("year");
        await page.getByRole("img", { name: /^sum of price by year of released, 1\d groups/ })
          .waitFor();
        strictEqual(
          browser.lastApiTarget("/film"),
          "/film?select=year:released.date_trunc(year)::date,price.sum()&order=year.asc&limit=1000",
        );
        await page.getByText("As a table").click();
        await page.getByRole("row", { name: /^1990-01-01\s+[\d.]+/ }).waitFor();
      });

      await step("find the way in the diagram", async () => {
        await browser.open("#/diagram/api");
        await page.getByRole("link", { name: /^film_actor film_id/ }).waitFor();
        strictEqual(await page.getByRole("link", { name: /^long_film id/ }).count(), 0);
        await page.getByLabel("Views").check();
        await page.getByRole("link", { name: /^long_film id/ }).waitFor();
        await page.getByRole("combobox", { name: "Find a table" }).fill("act");
        await page.getByRole("option", { name: "film_actor" }).click();
        await page.locator(".is-center", { hasText: "film_actor" }).waitFor();
        await browser.open("#/diagram/api/actor");
        await page.getByText("Around actor").waitFor();
        await page.getByRole("link", { name: /^film_actor film_id/ }).focus();
        strictEqual(await page.getByRole("link", { name: /^note text/ }).count(), 0);
        await page.keyboard.press("Enter");
        await page.getByRole("grid", { name: "film_actor" }).waitFor();
      });

      await step("watch requests and figures", async () => {
        await fetch(`${origin}/rpc/add?a=20&b=22`);
        await browser.open("#/requests");
        const list = page.getByRole("region", { name: "List of requests" });
        await list.getByText("GET /rpc/add?a=20&b=22").waitFor();
        strictEqual(await list.getByText("GET /film?").count(), 0, "the console's own requests");
        strictEqual(stdout.all.filter((line) => line.includes("GET /film")).length, 0);
        const requests = page.getByRole("table", { name: "Figures by minute" })
          .locator("td:nth-child(2)");
        const count = async () =>
          (await requests.allInnerTexts()).reduce((total, text) => total + Number(text), 0);
        await page.getByRole("button", { name: "Show as table" }).click();
        await eventually("the page counts requests", async () => await count() > 0);
        const before = await count();
        await fetch(`${origin}/film?limit=1`);
        await eventually("the page counts one more", async () => await count() > before);
      });

      await step("see the access of roles", async () => {
        await browser.open("#/access");
        const row = page.getByRole("row", { name: /^language / });
        const names = await page.getByRole("columnheader").allTextContents();
        await row.getByRole("button").nth(names.indexOf("anon") - 1).click();
        const dialog = page.getByRole("dialog", { name: /^anon: language$/ });
        await dialog.getByText("grant insert on api.language to anon;", { exact: true }).waitFor();
        deepStrictEqual(await browser.violations(), []);
        await page.keyboard.press("Escape");
      });

      await step(
        "see hostile names, and that the access of further relations is left out",
        async () => {
          const name = '"<img src=x onerror=alert(1)>|\u001b[31m\n"';
          const cell = {
            role: name,
            action: "select",
            may: "no",
            columns: null,
            policies: [],
            past: [],
          };
          const reason = "SELECT is not granted";
          const cells = Array.from({ length: 500 }, (_, index) => {
            const relation = index === 0 ? `api.${name}` : `api.t${index}`;
            return { ...cell, relation, reason, sql: `grant select on ${relation} to ${name};` };
          });
          const matrices = [cells, cells.slice(1)];
          await page.route(
            "**/console/access?*",
            (route) => route.fulfill({ json: { roles: [[name, name]], cells: matrices.shift() } }),
          );
          await browser.open("#/start");
          await browser.open("#/access");
          const notice = page.getByText(/^Shown are the first 500 relations and functions each/);
          await notice.waitFor();
          const shown = name.replace("\u001b", "\\x1b").replace("\n", "\\n");
          await page.getByRole("columnheader", { name: shown, exact: true }).waitFor();
          await page.getByRole("row").nth(1).getByRole("button").click();
          const dialog = page.getByRole("dialog", { name: `${shown}: ${shown}`, exact: true });
          await dialog.getByText("SELECT is not granted").waitFor();
          strictEqual(await page.locator("img[src=x]").count(), 0);
          await page.keyboard.press("Escape");
          await browser.open("#/start");
          await browser.open("#/access");
          await page.getByRole("row", { name: /^t499 / }).waitFor();
          strictEqual(await notice.count(), 0);
          await page.unroute("**/console/access?*");
        },
      );

      await step("open a million rows", async () => {
        await browser.open("#/table/api/many");
        await page.getByRole("grid", { name: "many" }).waitFor();
        await hasCount(page.getByRole("row"), 51);
        await page.getByRole("button", { name: "Count exactly" }).click();
        await page.getByText("Rows 1 to 50 of 1,000,000").waitFor();
      });

      await step("find by keyboard", async () => {
        await page.keyboard.press("Control+k");
        await page.getByRole("combobox", { name: "Table, function or page" }).waitFor();
        deepStrictEqual(await browser.violations(), []);
        await page.keyboard.type("long");
        await page.keyboard.press("Enter");
        await page.getByRole("grid", { name: "long_film" }).waitFor();
      });

      strictEqual(await page.title(), "long_film – SVC console");
      deepStrictEqual(browser.problems, []);
      deepStrictEqual(browser.foreignRequests(), []);
    });
  },
});

Deno.test({
  name: "the console asks for admin-token, and keeps it for the tab",
  ignore: !hasChromium(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const adminToken = "an-admin-token-of-at-least-32-characters";
    await withConsole(async ({ adminOrigin }) => {
      await using browser = await openConsole(adminOrigin);
      const { page } = browser;
      const field = page.getByLabel("Admin token");
      await field.fill("wrong");
      await page.getByRole("button", { name: "Open" }).click();
      await page.getByText("The token is wrong").waitFor();
      deepStrictEqual(await browser.violations(), []);
      await field.fill(adminToken);
      await page.getByRole("button", { name: "Open" }).click();
      await page.getByRole("link", { name: "film Films of the shop" }).click();
      await page.getByRole("grid", { name: "film" }).waitFor();
      ok(!(await page.content()).includes(adminToken));
      await page.reload();
      await page.getByRole("grid", { name: "film" }).waitFor();
      await page.getByRole("button", { name: "anonymous: anon" }).click();
      await page.getByRole("button", { name: "Sign out" }).click();
      await field.waitFor();
      deepStrictEqual(browser.problems, []);
    }, { "admin-token": adminToken });
  },
});

/** Pages of the console. */
const pages = [
  "#/start",
  "#/table/api/film?length=gt.100&limit=20",
  "#/table/api/film/chart?limit=20",
  "#/table/api/film/plan?limit=20",
  "#/diagram/api",
  "#/function/api/films_of?rating=PG",
  "#/reference/api/film",
  "#/requests",
  "#/access",
  "#/health",
];

/** Widths in px with a theme. */
const looks = [[1280, "light"], [320, "dark"]] as const;

Deno.test({
  name: "the console's pages conform to WCAG 2.2 AA, and fit narrow windows",
  ignore: !hasChromium(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withConsole(async ({ adminOrigin }) => {
      // The button of the role names the end of the token, too.
      const token = await signToken({ role: "writer", exp: 4_102_444_800 });
      await using browser = await openConsole(adminOrigin, { token });
      for (const [width, theme] of looks) {
        await browser.look({ width, theme });
        for (const hash of pages) {
          await browser.open(hash);
          const label = `${hash} at ${width} px, ${theme}`;
          deepStrictEqual(await browser.violations(), [], label);
          ok(await browser.scrollWidth() <= width, `${label} scrolls sideways`);
        }
      }
      deepStrictEqual(browser.problems, []);
    });
  },
});

if (!hasChromium()) {
  console.log("the console's pages are not tested: there is no /usr/bin/chromium");
}

Deno.test({
  name: "the console offers no changes with db-read-only, and opens each schema",
  ignore: !hasChromium(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withConsole(async ({ adminOrigin }) => {
      const token = await signToken({ role: "writer" });
      await using browser = await openConsole(adminOrigin, { token });
      await browser.open("#/table/api/film?limit=20");
      await browser.page.getByRole("button", { name: "Open row 1", exact: true }).click();
      await browser.page.getByRole("dialog", { name: "film 1" }).waitFor();
      for (const name of ["Insert", "Edit", "Delete…"]) {
        strictEqual(await browser.page.getByRole("button", { name }).count(), 0, name);
      }
      await browser.page.getByLabel("Schema").selectOption("warehouse");
      await browser.page.getByRole("main").getByRole("link", { name: /^shelf/ }).click();
      const grid = browser.page.getByRole("grid", { name: "shelf" });
      // The type is in the schema `public`, which is left out.
      await grid.getByRole("columnheader", { name: /size shelf_size$/ }).waitFor();
    }, { "db-read-only": true, "db-schemas": "api,warehouse" });
  },
});
