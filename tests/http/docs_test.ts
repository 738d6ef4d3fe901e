import { ok } from "node:assert/strict";
import denoConfig from "../../deno.json" with { type: "json" };
import { join } from "../support/docs/files.ts";
import { engines } from "../support/database/engines.ts";
import { checkExchanges, exchangesOf, OpenExamples } from "../support/docs/examples.ts";
import { codeBlocks, readPages, root } from "../support/docs/markdown.ts";
import { withClient } from "../support/database/postgres_client.ts";

const pages = await readPages();

Deno.test("[pg] documentation shows the answers of its requests", async (t) => {
  await using open = new OpenExamples();
  for (const page of pages) {
    const exchanges = exchangesOf(codeBlocks(page));
    if (exchanges.length === 0) continue;
    await t.step(page.path, () => checkExchanges(exchanges, open));
  }
});

Deno.test("documentation has requests with answers", () => {
  const count = pages.flatMap((page) => exchangesOf(codeBlocks(page))).length;
  ok(count >= 15, String(count));
});

Deno.test("documentation has SQL that runs in the shop's database", async () => {
  const database = await engines.pg({ name: "examples/shop/shop.sql", roles: [] });
  try {
    await withClient(database.superuserUri!, async (client) => {
      const { rows } = await client.query("select current_database() as name");
      for (const page of pages) {
        const sql = codeBlocks(page).filter(({ language, flags }) =>
          language === "sql" && !flags.includes("ignore")
        );
        if (sql.length === 0) continue;
        await client.query("begin");
        for (const { place, text } of sql) {
          const here = text.replaceAll("in database shop", `in database ${rows[0]!.name}`);
          await client.query(here).catch((cause) => Promise.reject(new Error(place, { cause })));
        }
        await client.query("rollback");
      }
    });
  } finally {
    await database.remove();
  }
});

/** Replaces the project's own modules, by path or by name, with their files. */
function withLocalImports(text: string): string {
  const modules: Readonly<Record<string, string>> = denoConfig.exports;
  return text.replace(/"(?:[./]*mod\.ts|(?:@svc\/svc|svc-api)(\/\w+)?)"/, (_, name = "") => {
    return JSON.stringify(join(root, modules[`.${name}`] ?? `no module ${name}`));
  });
}

Deno.test("documentation has TypeScript that passes the type checker", async () => {
  const folder = await Deno.makeTempDir({ prefix: "svc_docs_" });
  try {
    const typed = pages.flatMap(codeBlocks).filter(({ language }) => language === "ts");
    ok(typed.length > 0);
    const files = await Promise.all(typed.map(async ({ text }, index) => {
      const file = join(folder, `block_${index}.ts`);
      await Deno.writeTextFile(file, withLocalImports(text));
      return file;
    }));
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--config", join(root, "tests/deno.json"), ...files],
    }).output();
    ok(success, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
