import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { hasChromium, openPage } from "../support/chromium.ts";
import { engines } from "../support/engines.ts";
import { startService } from "../support/process.ts";
import { signToken, testSecret } from "../support/token.ts";

const config = {
  "db-schemas": "api",
  "db-anon-role": "anon",
  "jwt-secret": testSecret,
} as const;

Deno.test("the admin server shows a page that loads nothing from elsewhere", async () => {
  const database = await engines.pg({ name: "openapi", roles: ["anon", "writer"] });
  {
    await using service = await startService({ ...config, "db-uri": database.uri });
    await service.listening();
    const page = await service.fetchAdmin("GET /");
    strictEqual(page.status, 200);
    strictEqual(page.headers.get("Content-Type"), "text/html; charset=utf-8");
    match(
      page.headers.get("Content-Security-Policy") ?? "",
      /^default-src 'none'; script-src 'self'/,
    );
    const html = await page.text();
    const links = Array.from(html.matchAll(/(?:src|href)="([^"]*)"/g), ([, link]) => link!);
    deepStrictEqual(links, [
      "data:,",
      "swagger-ui.css",
      "page.css",
      "swagger-ui-bundle.js",
      "page.js",
    ]);
    for (const link of links.slice(1)) {
      const file = await service.fetchAdmin(`GET /${link}`);
      strictEqual(file.status, 200, link);
      match(file.headers.get("Content-Type") ?? "", /^text\/(css|javascript); charset=utf-8$/);
    }
    strictEqual((await service.fetchAdmin("GET /package.json")).status, 404);
  }
  await database.remove();
});

/**
 * Opens an operation of the page, runs it and gives the status that was answered. The page takes no
 * click while it still resolves references, and does not say so: the click is repeated.
 */
const execute = `(async () => {
  const operation = document.querySelector("#operations-secret-read_secret");
  operation.querySelector(".opblock-summary-control").click();
  for (const end = Date.now() + 120_000; Date.now() < end;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const status = operation.querySelector(".live-responses-table tr.response td.response-col_status");
    if (status !== null) return status.innerText.trim();
    operation.querySelector("button.execute")?.click();
  }
  return operation.innerText;
})()`;

Deno.test({
  name: "the page shows the API, takes a token and tries requests",
  ignore: !hasChromium(),
  async fn() {
    const database = await engines.pg({ name: "openapi", roles: ["anon", "writer"] });
    {
      await using service = await startService({ ...config, "db-uri": database.uri });
      await service.listening();
      await using page = await openPage(`${service.adminOrigin}/`);
      await page.until(`document.querySelector("#operations-task-read_task") !== null`);
      strictEqual(
        await page.evaluate(`document.querySelector(".info .title").firstChild.data`),
        "Tasks of a team",
      );
      strictEqual(
        await page.evaluate(`document.querySelector("#operations-secret-read_secret")`),
        null,
      );
      const token = await signToken({ role: "writer" });
      await page.evaluate(`(() => {
        document.getElementById("token").value = ${JSON.stringify(token)};
        document.getElementById("form").requestSubmit();
      })()`);
      await page.until(`document.querySelector("#operations-secret-read_secret") !== null`);
      strictEqual(await page.evaluate(execute), "200");
      deepStrictEqual(page.problems, []);
      // A token that is refused is said to be.
      await page.evaluate(`(() => {
        document.getElementById("token").value = "nonsense";
        document.getElementById("form").requestSubmit();
      })()`);
      await page.until(`document.getElementById("status").value.startsWith("401: ")`);
    }
    await database.remove();
  },
});
