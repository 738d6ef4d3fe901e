import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { hasChromium, openConsole } from "../support/console_browser.ts";
import { engines } from "../support/engines.ts";
import { eventually } from "../support/eventually.ts";
import { type FileConfig, type ServiceProcess, startService } from "../support/process.ts";
import { signToken, testSecret } from "../support/token.ts";

const config = {
  "db-schemas": "api",
  "db-anon-role": "anon",
  "jwt-secret": testSecret,
  "db-plan-enabled": true,
  "db-tx-end": "commit-allow-override",
  "etag-mode": "on",
} as const;

/** Runs with a service over the tables of a shop. */
async function withService(
  run: (service: ServiceProcess) => Promise<void>,
  options: FileConfig = {},
): Promise<void> {
  const database = await engines.pg({ name: "console", roles: ["anon", "writer"] });
  {
    await using service = await startService({ ...config, ...options, "db-uri": database.uri });
    await service.listening();
    await run(service);
  }
  await database.remove();
}

Deno.test("the console's API answers as the API does, and sends no secret", async () => {
  await withService(async ({ origin, adminOrigin }) => {
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
    for (const path of ["state", "findings", "stats", "requests", "log", "config", "schema"]) {
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
    await withService(async ({ adminOrigin }) => {
      await using browser = await openConsole(adminOrigin);
      const { page, cell } = browser;
      const step = (name: string, run: () => Promise<void>) =>
        context.step({ name, fn: run, sanitizeOps: false, sanitizeResources: false });

      await step("browse", async () => {
        await browser.open("#/start");
        await page.getByRole("link", { name: "film Films of the shop" }).click();
        await page.getByRole("grid", { name: "film" }).waitFor();
        strictEqual(await page.getByRole("row").count(), 51);
        match(await page.getByRole("status").last().innerText(), /^Rows 1 to 50 of /);
        strictEqual(await page.getByRole("button", { name: "Insert" }).count(), 0);
        await page.getByRole("button", { name: "Next" }).click();
        await page.getByText("Rows 51 to 100").waitFor();
      });

      await step("filter and sort", async () => {
        await browser.open("#/table/api/film?limit=50");
        await page.getByRole("button", { name: "Filter" }).click();
        await page.getByLabel("Value", { exact: true }).waitFor();
        strictEqual(browser.lastApiTarget(), "/film?limit=50", "a filter waits for its value");
        await page.getByLabel("Column", { exact: true }).selectOption("rating");
        await page.getByLabel("Value", { exact: true }).selectOption("PG");
        await page.getByText("Rows 1 to 40 of 40").waitFor();
        await page.getByRole("button", { name: /^length/ }).click();
        await page.locator("th[aria-sort=ascending]").waitFor();
        strictEqual(
          await page.getByLabel("URL of the request").inputValue(),
          "/film?rating=eq.PG&order=length.asc&limit=50",
        );
        match(await page.getByLabel("Code").innerText(), /\/film\?rating=eq\.PG&order=length\.asc/);
        const shown = await page.evaluate("location.hash");
        strictEqual(shown, "#/table/api/film?rating=eq.PG&order=length.asc&limit=50");
        strictEqual(browser.lastApiTarget(), "/film?rating=eq.PG&order=length.asc&limit=50");
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
        // Two foreign keys lead to the table, so that the page lets the reader choose.
        await page.getByRole("button", { name: "language!film_language_id_fkey" }).click();
        await page.getByText("Rows 1 to 1 of 1").waitFor();
        strictEqual(await cell(0, 2).innerText(), '<img src=x onerror="document.title=1">');
        match(await cell(0, 3).innerText(), /"name": "Japanese"/);
      });

      await step("follow a relation", async () => {
        await browser.open("#/table/api/film?id=eq.1&limit=50");
        await page.getByRole("link", { name: "Open language 2" }).click();
        await page.getByRole("grid", { name: "language" }).waitFor();
        strictEqual(await page.evaluate("location.hash"), "#/table/api/language?id=eq.2");
        strictEqual(await cell(0, 1).innerText(), "Italian");
        await page.getByRole("button", { name: "Open row 1" }).click();
        await page.getByRole("tab", { name: "film by language_id" }).click();
        deepStrictEqual(await browser.violations(), []);
        await page.getByRole("link", { name: /^Open in film/ }).click();
        await page.getByRole("grid", { name: "film" }).waitFor();
        strictEqual(await page.evaluate("location.hash"), "#/table/api/film?language_id=eq.2");
      });

      await step("refuse edits without a token", async () => {
        await browser.open("#/table/api/film?id=eq.1&limit=50");
        await cell(0, 1).dblclick();
        await page.getByRole("dialog", { name: "film 1" }).waitFor();
        strictEqual(await page.getByRole("button", { name: "Delete…" }).count(), 0);
        await page.keyboard.press("Escape");
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
        match(
          await dialog.getByLabel("Request").innerText(),
          /^PATCH \/film\?id=eq\.1\nContent-Type: .*\nPrefer: return=representation, handling=strict, max-affected=1/,
        );
        await page.keyboard.press("Enter");
        await dialog.waitFor({ state: "detached" });
        await page.getByRole("gridcell", { name: "The Long Way" }).waitFor();
      });

      await step("show an error of the API beside the value", async () => {
        await cell(0, 3).dblclick();
        const dialog = page.getByRole("dialog", { name: "Change length" });
        deepStrictEqual(await browser.violations(), []);
        await dialog.getByRole("textbox", { name: "length" }).fill("-1");
        await dialog.getByRole("button", { name: "Save" }).click();
        match(await dialog.getByRole("alert").innerText(), /film_length_check[\s\S]*23514/);
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
        match(await dialog.getByRole("alert").innerText(), /412 · SVC151/);
        await page.keyboard.press("Escape");
      });

      await step("insert, try and delete", async () => {
        await browser.open("#/table/api/film?title=eq.New&limit=50");
        await page.getByText("No rows", { exact: true }).first().waitFor();
        await page.getByRole("button", { name: "Insert" }).click();
        const form = page.getByRole("dialog", { name: "Insert into film" });
        deepStrictEqual(await browser.violations(), []);
        await form.getByLabel(/^title/).fill("New");
        await form.getByLabel(/^language_id/).fill("1");
        await form.getByRole("button", { name: "Try" }).click();
        await form.getByText("rolled back").waitFor();
        await form.getByRole("button", { name: "Insert" }).click();
        await page.getByText("Rows 1 to 1 of 1").waitFor();
        await page.getByRole("button", { name: "Open row 1" }).click();
        await page.getByRole("button", { name: "Delete…" }).click();
        await page.getByRole("button", { name: "Delete", exact: true }).click();
        await page.getByText("No rows", { exact: true }).first().waitFor();
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
        strictEqual(browser.lastApiTarget(), "/rpc/add?a=20&b=22");
      });

      await step("read a plan", async () => {
        await browser.open("#/table/api/film/plan?id=eq.1&limit=50");
        const frame = page.frameLocator("iframe[title=Plan]");
        // The scan depends on when the server analyzes the table.
        await frame.getByText(/(Index|Seq) Scan/).first().waitFor();
        await page.getByLabel("Show as text").check();
        match(await page.getByLabel("Plan", { exact: true }).innerText(), /"Plan": \{/);
      });

      await step("draw a chart", async () => {
        await browser.open("#/table/api/film/chart?limit=50");
        await page.getByRole("img", { name: "Dots of length by released, 50 rows" }).waitFor();
        await page.getByLabel("Draw").selectOption("bar");
        await page.getByLabel("Across").selectOption("rating");
        await page.locator(".drawn rect").first().waitFor();
      });

      await step("find the way in the diagram", async () => {
        await browser.open("#/diagram/api");
        await page.getByRole("link", { name: /^film_actor film_id/ }).waitFor();
        await page.getByRole("button", { name: "List" }).click();
        await page.getByText("language_id refers to language (id)").first().waitFor();
        await page.getByRole("button", { name: "List" }).click();
        await page.getByLabel("Around").selectOption("actor");
        await page.getByRole("link", { name: /^film_actor film_id/ }).focus();
        strictEqual(await page.getByRole("link", { name: /^note text/ }).count(), 0);
        await page.keyboard.press("Enter");
        await page.getByRole("grid", { name: "film_actor" }).waitFor();
      });

      await step("watch requests and figures", async () => {
        await browser.open("#/requests");
        await page.getByText("GET /rpc/add?a=20&b=22").waitFor();
        const requests = page.getByRole("table", { name: "Figures by minute" })
          .locator("td:nth-child(2)");
        const count = async () =>
          (await requests.allInnerTexts()).reduce((total, text) => total + Number(text), 0);
        await page.getByRole("button", { name: "Show as table" }).click();
        await eventually("the page counts requests", async () => await count() > 0);
        const before = await count();
        await fetch(`${adminOrigin}/console/api/film?limit=1`, { headers: { Console: "1" } });
        await eventually("the page counts one more", async () => await count() > before);
      });

      await step("open a million rows", async () => {
        await browser.open("#/table/api/many");
        await page.getByRole("grid", { name: "many" }).waitFor();
        strictEqual(await page.getByRole("row").count(), 51);
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
    await withService(async ({ adminOrigin }) => {
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
  "#/health",
];

/** Widths in px with a theme. */
const looks = [[1280, "light"], [390, "dark"], [320, "light"]] as const;

Deno.test({
  name: "the console's pages conform to WCAG 2.2 AA, and fit narrow windows",
  ignore: !hasChromium(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withService(async ({ adminOrigin }) => {
      await using browser = await openConsole(adminOrigin, {
        token: await signToken({ role: "writer" }),
      });
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
