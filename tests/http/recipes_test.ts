/** The code of guides with packages of npm, which runs as it stands there. */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { createClient } from "@supabase/supabase-js";
import { sendDue } from "../../examples/webhooks/worker.ts";
import { OpenExamples, type ServedShop, tokensOf } from "../support/docs/examples.ts";
import { codeBlocks, root } from "../support/docs/markdown.ts";
import { withClient } from "../support/database/postgres_client.ts";

interface Recipe extends ServedShop {
  /** The exports of the page's first module. */
  // deno-lint-ignore no-explicit-any -- modules of pages have any exports
  readonly module: any;
  readonly token: string;
  readonly staff: string;
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Adds the test of a page, on a copy of the shop in which the page's SQL has run. */
function recipe(page: string, run: (recipe: Recipe) => Promise<void>): void {
  const path = `docs/how-to/${page}.md`;
  Deno.test({
    name: `[pg] ${path}: its code runs`,
    // Clients keep connections and timers.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const text = await Deno.readTextFile(`${root}${path}`);
      ok(text.split("\n").length <= 61, "a recipe has at most 60 lines");
      const code = codeBlocks({ path, text }).find(({ language }) => language === "ts")!;
      const module = await import(
        `data:application/typescript,${encodeURIComponent(code.text)}`
      );
      await using owner = new AsyncDisposableStack();
      const open = owner.use(new OpenExamples());
      const shop = await open.serveShop(path, owner);
      const { TOKEN: token, STAFF: staff } = await tokensOf("shop");
      const sql: Recipe["sql"] = (text) =>
        withClient(shop.database.superuserUri!, async (client) => (await client.query(text)).rows);
      await run({ ...shop, module, token: token!, staff: staff!, sql });
    },
  });
}

recipe("send-long-queries-from-supabase-js", async ({ api, module, token }) => {
  const methods: string[] = [];
  const fetchLong: typeof fetch = async (input, init) => {
    const { fetch: original } = globalThis;
    globalThis.fetch = (target, options) => {
      methods.push(target instanceof Request ? target.method : options!.method!);
      return original(target, options);
    };
    try {
      return await module.fetchLong(String(input).replace("/rest/v1", ""), init);
    } finally {
      globalThis.fetch = original;
    }
  };
  const client = createClient(api, token, { db: { schema: "api" }, global: { fetch: fetchLong } });
  const ids = Array.from({ length: 2000 }, (_, index) => index + 1);
  for (const count of [2, 2000]) {
    const query = client.from("products").select("id", { count: "exact" }).order("id");
    const { data, count: total, error } = await query.in("id", ids.slice(0, count));
    strictEqual(error, null);
    const rows = Math.min(count, total!);
    deepStrictEqual(data.map(({ id }) => id), ids.slice(0, rows));
  }
  const { error } = await client.from("products").select("nothing").in("id", ids);
  strictEqual(error!.code, "42703");
  deepStrictEqual(methods, ["GET", "QUERY", "QUERY"]);
});

recipe("send-webhooks", async ({ api, module, token, staff, sql }) => {
  const secret = `whsec_${btoa("a secret of 24 bytes or more")}`;
  const received: { readonly id: string; readonly event: unknown }[] = [];
  await using receiver = Deno.serve({ port: 0, onListen() {} }, async (request) => {
    const id = request.headers.get("webhook-id")!;
    received.push({ id, event: await module.receive(request, secret) });
    return new Response(null, { status: received.length === 1 ? 500 : 204 });
  });
  await sql(`create or replace function app.send_order() returns trigger
    language plpgsql security definer as $$ begin
      insert into api.webhooks (url, event) values ('http://127.0.0.1:${receiver.addr.port}/',
        jsonb_build_object('type', 'order.created', 'data', to_jsonb(new)));
      return null; end $$`);
  const created = await fetch(`${api}/orders?select=id`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${token}`,
      "Content-Type": "application/json",
      Prefer: "return=representation",
    },
    body: "{}",
  });
  const [{ id }] = await created.json();
  strictEqual(await sendDue(api, staff, secret), 0);
  strictEqual(await sendDue(api, staff, secret), 0);
  deepStrictEqual(received.map(({ event }) => (event as { data: { id: number } }).data.id), [id]);
  await sql("update api.webhooks set due = now()");
  strictEqual(await sendDue(api, staff, secret), 1);
  deepStrictEqual(received[0], received[1]);
  deepStrictEqual(await sql("select id from api.webhooks"), []);
  const forged = new Request(api, { method: "POST", body: "{}", headers: { "webhook-id": "1" } });
  await rejects(module.receive(forged, secret), /header/);
});
