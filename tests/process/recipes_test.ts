/** The code of guides with packages of npm, which runs as it stands there. */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createClient } from "@supabase/supabase-js";
import { sendDue } from "../../examples/webhooks/worker.ts";
import { OpenExamples, type ServedShop, tokensOf } from "../support/docs/examples.ts";
import { codeBlocks, root } from "../support/docs/markdown.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { testSecret } from "../support/handler/token.ts";
import { freePort } from "../support/server/free_port.ts";
import { killFamily } from "../support/server/kill_family.ts";
import { configText, startCommand, startDeno, startService } from "../support/server/process.ts";
import { programFolder } from "../support/server/program.ts";
import { eventually } from "../support/timing/eventually.ts";

interface Recipe extends ServedShop {
  /** Path of the page. */
  readonly page: string;
  /** The exports of the page's first module in TypeScript. */
  // deno-lint-ignore no-explicit-any -- modules of pages have any exports
  readonly module: any;
  readonly token: string;
  readonly staff: string;
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Adds the test of a page, on a copy of the shop in which the page's SQL has run. */
function recipe(
  page: string,
  run: (recipe: Recipe) => Promise<void>,
  options: () => Parameters<OpenExamples["serveShop"]>[2] = () => ({}),
): void {
  const path = `docs/how-to/${page}.md`;
  Deno.test({
    name: `[pg] ${path}: its code runs`,
    // Clients keep connections and timers.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const text = await Deno.readTextFile(`${root}${path}`);
      ok(text.split("\n").length <= 61, "a recipe has at most 60 lines");
      const code = codeBlocks({ path, text }).find(({ language }) => language === "ts")?.text ?? "";
      const module = await import(`data:application/typescript,${encodeURIComponent(code)}`);
      await using stack = new AsyncDisposableStack();
      const open = stack.use(new OpenExamples());
      const shop = await open.serveShop(path, stack, options());
      const { TOKEN: token, STAFF: staff } = await tokensOf("shop");
      const sql: Recipe["sql"] = (text) =>
        withClient(shop.database.superuserUri!, async (client) => (await client.query(text)).rows);
      await run({ ...shop, page: `${root}${path}`, module, token: token!, staff: staff!, sql });
    },
  });
}

/** The arguments that run a script of `tests/recipes`, which has separate packages. */
function scriptArguments(name: string): readonly string[] {
  const folder = new URL("../recipes/", import.meta.url);
  const config = fileURLToPath(new URL("deno.json", folder));
  return [
    "run",
    "-A",
    "--sloppy-imports",
    "--config",
    config,
    fileURLToPath(new URL(name, folder)),
  ];
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

recipe("generate-clients", async ({ api, page }) => {
  const folder = await Deno.makeTempDir({ prefix: "svc_clients_" });
  try {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...scriptArguments("generate_clients.ts"), page, folder, api],
    }).output();
    ok(success, new TextDecoder().decode(stderr));
    const response = await fetch(`${api}/products?select=id,name&price=lt.5&order=id`);
    const rows: readonly { readonly id: number; readonly name: string }[] = await response.json();
    const items = rows.map(({ name }) => `<li>${name}</li>`).join("");
    const found = new TextDecoder().decode(stdout).trim().split("\n").at(-1)!;
    deepStrictEqual(JSON.parse(found), { fetched: rows, called: rows, html: `<ul>${items}</ul>` });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name: "[pg] generated clients of operations compile and run",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const operations = await Deno.readTextFile(`${root}examples/shop/api.operations`);
    await using stack = new AsyncDisposableStack();
    const open = stack.use(new OpenExamples());
    const page = "docs/how-to/permit-known-requests.md";
    const { api } = await open.serveShop(page, stack, { operations, openapiVersion: "3.1" });
    const { TOKEN: token } = await tokensOf("shop");
    const folder = await Deno.makeTempDir({ prefix: "svc_operations_" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...scriptArguments("generate_operations.ts"), folder, api, token!],
    }).output();
    ok(success, new TextDecoder().decode(stderr));
    const lines = new TextDecoder().decode(stdout).trim().split("\n");
    const [ids, changed, status, rows, changedAgain] = JSON.parse(lines.at(-1)!);
    deepStrictEqual([ids, changed, status, changedAgain], [[1, 2], 204, 200, 204]);
    deepStrictEqual(rows[0], {
      id: 1,
      name: "Small oak chair",
      price: 4.95,
      categories: { name: "Chairs" },
    });
  },
});

const authPort = freePort();
const authUrl = `http://127.0.0.1:${authPort}`;

recipe("sign-up-with-better-auth", async ({ api, page, database, sql }) => {
  // Roles are common to all databases of the server.
  const role = `auth_server_${authPort}`;
  const [block] = codeBlocks({ path: page, text: await Deno.readTextFile(page) })
    .filter(({ flags }) => flags.includes("ignore"));
  await sql(block!.text.replaceAll("auth_server", role));
  const uri = new URL(database.uri);
  Object.assign(uri, { username: role, password: "choose-one" });
  const env = { AUTH_URL: authUrl, AUTH_SECRET: "a".repeat(32), AUTH_DB_URI: uri.href };
  {
    const script = [...scriptArguments("serve_auth.js"), page, String(authPort)];
    await using server = startDeno(script, { env });
    await server.stderr.waitFor(/Listening on/);
    const tokenOf = async (email: string) => {
      const signedUp = await fetch(`${authUrl}/api/auth/sign-up/email`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Origin: authUrl },
        body: JSON.stringify({ email, password: "a long password", name: email }),
      });
      strictEqual(signedUp.status, 200, await signedUp.clone().text());
      const cookie = signedUp.headers.getSetCookie().map((each) => each.split(";")[0]).join("; ");
      const response = await fetch(`${authUrl}/api/auth/token`, { headers: { cookie } });
      return (await response.json()).token as string;
    };
    const [ada, bob] = [await tokenOf("ada@example.com"), await tokenOf("bob@example.com")];
    const notes = async (token: string, init: RequestInit = {}) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      const response = await fetch(`${api}/notes?select=text`, { ...init, headers });
      return [response.status, await response.text()];
    };
    // The service fetched the keys before their server was there, and tries again.
    await eventually("the keys are known", async () => (await notes(ada))[0] !== 503);
    deepStrictEqual(await notes(ada, { method: "POST", body: `{"text":"hers"}` }), [201, ""]);
    deepStrictEqual(await notes(ada), [200, `[{"text":"hers"}]`]);
    deepStrictEqual(await notes(bob), [200, "[]"]);
    const [status] = await notes(ada.slice(0, -4));
    strictEqual(status, 401);
    await server.stop();
  }
  await sql(`drop owned by ${role} cascade; drop role ${role}`);
}, () => ({
  jwtIssuers: [{
    issuer: authUrl,
    audience: "shop",
    jwks_url: `${authUrl}/api/auth/jwks`,
    allowed_roles: ["shop_customer"],
  }],
}));

Deno.test("docs/how-to/migrate-without-downtime.md: no request of two versions fails", async () => {
  const path = "docs/how-to/migrate-without-downtime.md";
  const text = await Deno.readTextFile(`${root}${path}`);
  ok(text.split("\n").length <= 61, "a recipe has at most 60 lines");
  await using stack = new AsyncDisposableStack();
  const database = await stack.use(new OpenExamples()).copyShop(stack);
  const runBlock = (flag: string) =>
    withClient(database.superuserUri!, async (client) => {
      await client.query(
        codeBlocks({ path, text }).find(({ flags }) => flags.includes(flag))!.text,
      );
    });
  const folder = stack.use(await programFolder());
  const config = {
    "db-uri": database.uri,
    "db-schemas": "api",
    "db-anon-role": "web_anon",
    "jwt-secret": testSecret,
  };
  await folder.write("svc.conf", configText(config));
  const contract = (await folder.run(["contract", "svc.conf"], {})).stdout;
  await folder.write("api.contract", contract);
  const diff = () => folder.run(["diff", "api.contract", "svc.conf"], {});
  const service = stack.use(await startService(config));
  await service.listening();
  const as = { role: "shop_customer", sub: "1" };
  let isRunning = true;
  const answers = { api: 0, v2: 0 };
  /** Writes and reads until the end, as a client of one version. */
  const client = async (schema: "api" | "v2", column: string) => {
    const headers = { "Content-Profile": schema, "Accept-Profile": schema };
    for (; isRunning; answers[schema]++) {
      const body = { [column]: `${schema} ${answers[schema]}` };
      const line = `/reviews?id=eq.1&select=${column}`;
      const written = await service.fetch(`PATCH ${line}`, { as, headers, body });
      strictEqual(written.status, 204, await written.text());
      const read = await service.fetch(`GET ${line}`, { as, headers });
      strictEqual(read.status, 200);
      strictEqual(typeof (await read.json())[0][column], "string");
    }
  };
  const clients = [client("api", "text")];
  const stop = async () => {
    isRunning = false;
    await Promise.all(clients);
  };
  stack.defer(stop);
  const more = async () => {
    const before = answers.api;
    await eventually("the old client continues", () => answers.api > before + 5);
  };
  await more();
  await runBlock("expand");
  const expanded = await diff();
  deepStrictEqual(
    expanded.stdout.split("\n").filter((line) => line.startsWith("breaking")),
    ["breaking  grant web_anon api.reviews select: wider: body"],
  );
  const after = service.stderr.all.length;
  const current = await Deno.readTextFile(service.configPath);
  const both = current.replace(/^db-schemas.*$/m, 'db-schemas = "v2 < api"');
  await Deno.writeTextFile(service.configPath, both);
  service.signal("SIGUSR2");
  await service.stderr.waitFor(/Config reloaded$/, { after });
  clients.push(client("v2", "body"));
  await more();
  await eventually("the new client continues", () => answers.v2 > 5);
  await stop();
  const { text: old, body } = (await withClient(
    database.superuserUri!,
    async (client) => (await client.query("select text, body from api.reviews where id = 1")).rows,
  ))[0]!;
  strictEqual(old, body);
  await runBlock("contract");
  const read = await service.fetch("GET /reviews?id=eq.1&select=body");
  deepStrictEqual([read.status, await read.json()], [200, [{ body }]]);
  const { code, stdout } = await diff();
  strictEqual(code, 1);
  ok(/breaking +column api\.reviews\.text: lost/.test(stdout), stdout);
});

/** Installs Next.js in a folder, with the files of the page. */
async function nextApplication(page: string, folder: string): Promise<void> {
  const dependencies = { next: "16.4.6", react: "19.3.1", "react-dom": "19.3.1" };
  await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify({ dependencies }));
  await Deno.mkdir(`${folder}/app`);
  const layout = "export default ({ children }) => <html><body>{children}</body></html>;";
  await Deno.writeTextFile(`${folder}/app/layout.jsx`, layout);
  for (const { language, flags, text } of codeBlocks({ path: page, text: page })) {
    if (language === "jsx") await Deno.writeTextFile(`${folder}/${flags[0]}`, text);
  }
  const args = ["install", "--quiet", "--node-modules-dir=auto"];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: folder })
    .output();
  ok(success, new TextDecoder().decode(stderr));
}

// Its packages have 450 MB: the nightly run sets the variable.
if (Deno.env.get("SVC_TEST_NEXT") === "1") {
  recipe("use-with-nextjs", async ({ api, page, token }) => {
    const folder = await Deno.makeTempDir({ prefix: "svc_next_" });
    try {
      await nextApplication(await Deno.readTextFile(page), folder);
      const port = freePort();
      const origin = `http://localhost:${port}`;
      const program = `${folder}/node_modules/next/dist/bin/next`;
      const env = { API: api, NEXT_TELEMETRY_DISABLED: "1" };
      await using server = startCommand(
        ["node", program, "dev", "-p", String(port)],
        { env, cwd: folder },
      );
      // Its child has the same pipes.
      await using _family = { [Symbol.asyncDispose]: () => killFamily(server.pid) };
      await server.stdout.waitFor(/Ready in/);
      const cookie = { Cookie: `token=${token}` };
      const fieldsOf = async (headers: Readonly<Record<string, string>>) => {
        const html = await (await fetch(origin, { headers })).text();
        const inputs = html.matchAll(/<input[^>]* name="([^"]+)"(?: value="([^"]*)")?/g);
        return new Map(Array.from(inputs, ([, name, value = ""]) => [
          name!,
          value.replaceAll("&quot;", '"'),
        ]));
      };
      const save = async (fields: ReadonlyMap<string, string>, text: string) => {
        const body = new FormData();
        for (const [name, value] of fields) body.set(name, name === "text" ? text : value);
        const response = await fetch(origin, {
          method: "POST",
          headers: { ...cookie, Origin: origin },
          body,
        });
        await response.body?.cancel();
        strictEqual(response.status, 200);
      };
      const stored = async () =>
        (await (await fetch(`${api}/reviews?id=eq.1&select=text`)).json())[0].text;
      const cached = await fieldsOf({});
      const fields = await fieldsOf(cookie);
      strictEqual(fields.get("text"), await stored());
      await save(fields, "first");
      strictEqual(await stored(), "first");
      await save(fields, "second, with the old entity tag");
      strictEqual(await stored(), "first");
      strictEqual(cached.get("text"), fields.get("text"));
      strictEqual((await fieldsOf({})).get("text"), "first");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
