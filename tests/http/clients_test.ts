/**
 * A client that was written for this interface, used as its users do, in both dialects.
 */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { PostgrestClient } from "@supabase/postgrest-js";
import { createClient } from "@supabase/supabase-js";
import { type Api, openHandler, serviceSuite, type SuiteOptions } from "../support/handler/api.ts";
import { answers, errorBody } from "../support/handler/rows.ts";
import { signToken } from "../support/handler/token.ts";
import { engines } from "../support/database/engines.ts";
import { recorderOf, recordingHandler } from "../support/handler/recording.ts";
import type { Handler } from "../../mod.ts";
import { eventually } from "../support/timing/eventually.ts";

type Client = Pick<PostgrestClient, "from" | "rpc" | "schema">;

/** What a test of the client may ask. */
interface Parts {
  readonly client: Client;
  /** Signs in as the role that may write. */
  readonly writer: Client;
  /** Prefix of the service's error codes. */
  readonly prefix: string;
}

interface ClientTest {
  readonly name: string;
  readonly run: (parts: Parts) => Promise<void>;
}

const tests: ClientTest[] = [];

function clientTest(name: string, run: ClientTest["run"]): void {
  tests.push({ name, run });
}

async function partsOf({ handler }: Api, prefix: string): Promise<Parts> {
  const fetch: typeof globalThis.fetch = (input, init) => handler(new Request(input, init));
  const url = "http://localhost:3000";
  const headers = { Authorization: `Bearer ${await signToken({ role: "writer" })}` };
  return {
    client: new PostgrestClient(url, { fetch }),
    writer: new PostgrestClient(url, { fetch, headers }),
    prefix,
  };
}

clientTest("select reads columns, aliases, casts and JSON paths", async ({ client }) => {
  const { data, error, status } = await client.from("books")
    .select("id, name:title, year::text, pages:info->pages").eq("id", 1);
  deepStrictEqual({ data, error, status }, {
    data: [{ id: 1, name: "Alpha", year: "1999", pages: 10 }],
    error: null,
    status: 200,
  });
});

const filters: readonly (readonly [
  name: string,
  filter: (query: ReturnType<typeof selectIds>) => PromiseLike<{ data: unknown; error: unknown }>,
  ids: readonly number[],
])[] = [
  ["eq", (query) => query.eq("title", 'Gamma, "quoted"'), [3]],
  ["neq", (query) => query.neq("id", 1), [2, 3, 4]],
  ["gt and lte", (query) => query.gt("year", 1999).lte("year", 2010), [2, 3]],
  ["like", (query) => query.like("title", "%eta"), [2]],
  ["ilike", (query) => query.ilike("title", "ALPHA"), [1]],
  ["is null", (query) => query.is("year", null), [4]],
  ["in", (query) => query.in("title", ["Alpha", "Delta, too"]), [1, 4]],
  ["contains", (query) => query.contains("tags", ["red"]), [1, 4]],
  ["contains of JSON", (query) => query.contains("info", { pages: 20 }), [2]],
  ["containedBy", (query) => query.containedBy("tags", ["red", "blue"]), [2, 3, 4]],
  ["overlaps", (query) => query.overlaps("tags", ["thin", "blue"]), [1, 2]],
  ["textSearch", (query) => query.textSearch("title", "beta", { type: "plain" }), [2]],
  ["match", (query) => query.match({ id: 2, title: "Beta" }), [2]],
  ["not", (query) => query.not("id", "in", "(1,2)"), [3, 4]],
  ["or", (query) => query.or("id.eq.1,and(year.gt.2000,year.lt.2006)"), [1, 2]],
  ["filter", (query) => query.filter("info->>pages", "eq", "5"), [4]],
  ["order, limit and range", (query) => query.order("id", { ascending: false }).range(1, 2), [
    3,
    2,
  ]],
  ["order with nulls", (query) => query.order("year", { nullsFirst: true }).limit(2), [4, 1]],
];

function selectIds(client: Client) {
  return client.from("books").select("id");
}

for (const [name, filter, ids] of filters) {
  clientTest(`filters by ${name}`, async ({ client }) => {
    const query = selectIds(client);
    const { data, error } = await filter(query);
    strictEqual(error, null);
    const found = (data as readonly { id: number }[]).map(({ id }) => id);
    deepStrictEqual(name.startsWith("order") ? found : found.toSorted(), ids);
  });
}

clientTest("embeds to-one, to-many and inner", async ({ client }) => {
  const toOne = await client.from("books").select("id, authors(name)").in("id", [1, 4]).order("id");
  deepStrictEqual(toOne.data as unknown, [
    { id: 1, authors: { name: "Ada" } },
    { id: 4, authors: null },
  ]);
  const toMany = await client.from("authors").select("name, books(title)").order("name")
    .order("title", { referencedTable: "books", ascending: false })
    .limit(1, { referencedTable: "books" });
  deepStrictEqual(toMany.data as unknown, [
    { name: "Ada", books: [{ title: "Beta" }] },
    { name: "Ben", books: [{ title: 'Gamma, "quoted"' }] },
    { name: "Cy", books: [] },
  ]);
  const inner = await client.from("books").select("id, authors!inner(name)")
    .eq("authors.name", "Ben");
  deepStrictEqual(inner.data as unknown, [{ id: 3, authors: { name: "Ben" } }]);
});

clientTest("single and maybeSingle", async ({ client, prefix }) => {
  const found = await client.from("books").select("id").eq("id", 1).single();
  deepStrictEqual(found.data, { id: 1 });
  const none = await client.from("books").select("id").eq("id", 99).single();
  strictEqual(none.status, 406);
  deepStrictEqual(none.error?.code, `${prefix}116`);
  strictEqual(none.error?.details, "The result contains 0 rows");
  const maybe = await client.from("books").select("id").eq("id", 99).maybeSingle();
  deepStrictEqual([maybe.data, maybe.error], [null, null]);
  const many = await client.from("books").select("id").maybeSingle();
  strictEqual(many.error?.code, "PGRST116");
});

clientTest("insert, upsert, update and delete", async ({ writer }) => {
  const inserted = await writer.from("books").insert({ title: "New", year: 2020 })
    .select("title, year").single();
  deepStrictEqual([inserted.status, inserted.data], [201, { title: "New", year: 2020 }]);
  const silent = await writer.from("books").insert([{ title: "a" }, { title: "b" }]);
  deepStrictEqual([silent.status, silent.data, silent.error], [201, null, null]);
  const mixed = await writer.from("books").insert([{ title: "a", year: 1 }, { title: "b" }])
    .select("title, year");
  deepStrictEqual(mixed.data, [{ title: "a", year: 1 }, { title: "b", year: null }]);
  const merged = await writer.from("authors")
    .upsert([{ id: 1, name: "Adam" }, { id: 9, name: "Neu" }]).select("id, name").order("id");
  deepStrictEqual(merged.data, [{ id: 1, name: "Adam" }, { id: 9, name: "Neu" }]);
  const ignored = await writer.from("authors")
    .upsert({ name: "Ada" }, { onConflict: "name", ignoreDuplicates: true }).select();
  deepStrictEqual(ignored.data, []);
  const updated = await writer.from("books").update({ year: 1 }, { count: "exact" }).lt("id", 3)
    .select("id, year").order("id");
  deepStrictEqual(updated.data, [{ id: 1, year: 1 }, { id: 2, year: 1 }]);
  strictEqual(updated.count, 2);
  const deleted = await writer.from("books").delete().eq("id", 4);
  deepStrictEqual([deleted.status, deleted.data, deleted.error], [204, null, null]);
});

clientTest("rpc by POST, GET and HEAD", async ({ client }) => {
  strictEqual((await client.rpc("add", { a: 1, b: 2 })).data, 3);
  strictEqual((await client.rpc("add", { a: 1, b: 2 }, { get: true })).data, 3);
  const rows = await client.rpc("books_since", { since: 2005 }, { count: "exact" })
    .select("id").order("id");
  deepStrictEqual([rows.data, rows.count], [[{ id: 2 }, { id: 3 }], 2]);
  const head = await client.rpc("books_since", { since: 2005 }, { head: true, count: "exact" });
  deepStrictEqual([head.data, head.count], [null, 2]);
});

clientTest("count with and without rows", async ({ client }) => {
  const page = await client.from("books").select("id", { count: "exact" }).range(0, 1);
  deepStrictEqual([page.status, page.count, page.data?.length], [206, 4, 2]);
  const head = await client.from("books").select("*", { count: "exact", head: true });
  deepStrictEqual([head.status, head.count, head.data], [200, 4, null]);
});

clientTest("csv", async ({ client }) => {
  const { data } = await client.from("books").select("id,title").eq("id", 3).csv();
  strictEqual(data, 'id,title\n3,"Gamma, ""quoted"""');
});

clientTest("explain", async ({ client }) => {
  const { data, error } = await client.from("books").select("id").explain();
  strictEqual(error, null);
  match(String(data), /Aggregate|Seq Scan|Result/);
});

clientTest("another schema", async ({ client, prefix }) => {
  const old = await client.schema("archive").from("books").select();
  deepStrictEqual(old.data, [{ id: 1, title: "Old" }]);
  const none = await client.schema("secret").from("books").select();
  deepStrictEqual([none.status, none.error?.code], [406, `${prefix}106`]);
});

clientTest("errors of the service and of the database", async ({ client, writer, prefix }) => {
  const missing = await client.from("book").select();
  deepStrictEqual([missing.status, missing.error?.code], [404, `${prefix}205`]);
  strictEqual(missing.error?.hint, "Perhaps you meant the table 'api.books'");
  const denied = await client.from("books").insert({ title: "x" });
  deepStrictEqual([denied.status, denied.error?.code], [401, "42501"]);
  const twice = await writer.from("authors").insert({ name: "Ada" });
  deepStrictEqual([twice.status, twice.error?.code], [409, "23505"]);
  const refused = await client.rpc("refuse");
  deepStrictEqual([refused.status, refused.error?.message], [402, "Payment required"]);
  deepStrictEqual([refused.error?.details, refused.error?.hint], ["no money", "earn some"]);
  let thrown: unknown;
  await client.from("book").select().throwOnError().then(() => {}, (error) => thrown = error);
  strictEqual((thrown as { code?: string }).code, `${prefix}205`);
});

clientTest("rollback is asked for by a preference", async ({ writer }) => {
  const { data } = await writer.from("books").delete().eq("id", 1).select("id").rollback();
  deepStrictEqual(data, [{ id: 1 }]);
  strictEqual((await writer.from("books").select("id").eq("id", 1)).data?.length, 1);
});

const notFound = errorBody("SVC125 | Invalid path specified in request URL");

const base = {
  dbSchemas: ["api", "archive"],
  dbAnonRole: "anon",
  dbPlanEnabled: true,
  dbTxEnd: "rollback-allow-override",
} as const;

for (const [dialect, prefix] of [["svc", "SVC"], ["pgrst", "PGRST"]] as const) {
  const options: SuiteOptions = { title: `postgrest-js on dialect ${dialect}` };
  const suite = serviceSuite("clients", { ...base, dialect }, options);
  for (const { name, run } of tests) {
    suite.test(name, async (api) => await run(await partsOf(api, prefix)));
  }
}

const prefixed = serviceSuite("clients", {
  ...base,
  serverPathPrefix: "/rest/v1",
  jwtApikeyHeader: true,
}, { title: "supabase-js below a prefix" });

/** A client as its guide makes it, without the session that a browser would store. */
async function supabase({ handler }: Api, role: string): Promise<Client> {
  return createClient("http://localhost:3000", await signToken({ role }), {
    auth: { persistSession: false, autoRefreshToken: false },
    db: { schema: "api" },
    global: { fetch: (input, init) => handler(new Request(input, init)) },
  }) as unknown as Client;
}

for (const { name, run } of tests) {
  prefixed.test(name, async (api) =>
    await run({
      client: await supabase(api, "anon"),
      writer: await supabase(api, "writer"),
      prefix: "SVC",
    }));
}

prefixed.rows("server-path-prefix", [
  ["GET /rest/v1/books?id=eq.1&select=id", {}, 200, [{ id: 1 }], {
    "Content-Location": "/rest/v1/books?id=eq.1&select=id",
  }],
  ["GET /books", {}, 404, notFound],
  ["GET /", {}, 404, notFound],
  ["GET /rest/v1x/books", {}, 404, notFound],
  ["GET /rest/v1/rest/v1/books", {}, 404, notFound],
  [
    "POST /rest/v1/authors",
    { as: "writer", body: { id: 9, name: "Dee" }, headers: { Prefer: "return=headers-only" } },
    201,
    undefined,
    { Location: "/rest/v1/authors?id=eq.9" },
  ],
]);

prefixed.test("the description has the prefix", async (api) => {
  strictEqual((await (await api("GET /rest/v1/")).json()).basePath, "/rest/v1");
});

const proxied = serviceSuite("clients", {
  ...base,
  serverPathPrefix: "/rest/v1",
  openapiServerProxyUri: "https://api.example.com/shop",
  serverHealthPath: "/health/api",
  mcpPath: "/mcp",
  mcpAuthorizationServers: ["https://id.example.com"],
}, { title: "a prefix behind a proxy" });

proxied.test("the description has the proxy's URL alone", async (api) => {
  const { host, basePath } = await (await api("GET /rest/v1/")).json();
  deepStrictEqual([host, basePath], ["api.example.com:443", "/shop"]);
  const accept = { Accept: "application/openapi+json;version=3.1" };
  const { servers } = await (await api("GET /rest/v1/", { headers: accept })).json();
  deepStrictEqual(servers, [{ url: "https://api.example.com:443/shop" }]);
});

proxied.rows("health paths are not below the prefix", [
  ["GET /health/api", {}, 200, undefined],
  ["GET /health/api/live", {}, 200, undefined],
  ["GET /rest/v1/health/api", {}, 200, undefined],
  ["GET /health/apis", {}, 404, notFound],
]);

const metadata = "/.well-known/oauth-protected-resource";
const agents = serviceSuite("clients", {
  ...base,
  serverPathPrefix: "/rest/v1",
  mcpPath: "/mcp",
  mcpAuthorizationServers: ["https://id.example.com"],
}, { title: "agents below a prefix" });
const described = {
  resource: "http://0.0.0.0:3000/rest/v1/mcp",
  authorization_servers: ["https://id.example.com"],
  bearer_methods_supported: ["header"],
  resource_name: "svc",
};

agents.rows("addresses of the endpoint for agents have the prefix", [
  [`GET ${metadata}/rest/v1/mcp`, {}, 200, described],
  [`GET /rest/v1${metadata}/mcp`, {}, 200, described],
  [`GET ${metadata}/mcp`, {}, 404, notFound],
  ["GET /.well-known/other/rest/v1/books", {}, 404, notFound],
  ["GET /.well-known/rest/v1/books", {}, 404, notFound],
]);

const writerKey = await signToken({ role: "writer" });

prefixed.rows("jwt-apikey-header", [
  ["DELETE /rest/v1/books?id=eq.99", { headers: { apikey: writerKey } }, 204, undefined],
  ...answers({ as: "anon", headers: { apikey: writerKey } })`
    // The header Authorization precedes.
    DELETE /rest/v1/books?id=eq.99 | 401 42501 | permission denied for table books
  `,
]);

prefixed.test("answers vary by apikey, and those to a key are private", async (api) => {
  const heads = async (headers: Record<string, string>) => {
    const response = await api("GET /rest/v1/books?limit=0", { headers });
    await response.body?.cancel();
    const names = (response.headers.get("Vary") ?? "").split(", ");
    return [names.includes("apikey"), response.headers.get("Cache-Control")];
  };
  deepStrictEqual(await heads({}), [true, null]);
  deepStrictEqual(await heads({ apikey: writerKey }), [true, "private"]);
  const both = { apikey: writerKey, Authorization: `Bearer ${writerKey}` };
  deepStrictEqual(await heads(both), [true, "private"]);
});

// PGlite cannot be interrupted.
const real = serviceSuite("clients", base, { title: "postgrest-js aborts" });

real.test("abort ends the request", async (api) => {
  const { client } = await partsOf(api, "SVC");
  const leaver = new AbortController();
  const call = client.rpc("slow", {}, { get: true }).abortSignal(leaver.signal).then();
  await eventually(
    "the call runs",
    async () => (await client.rpc("slow_calls", {}, { get: true })).data === 1,
  );
  leaver.abort();
  const { data, error } = await call;
  deepStrictEqual([data, error?.code], [null, "57014"]);
});

Deno.test("recorded requests of clients are permitted, and a second recording adds nothing", async () => {
  const database = await engines.pg({ name: "clients", roles: ["anon", "writer"] });
  const config = { ...base, dbUri: database.uri };
  /** Returns the status of each request by its test. A test that expects another error ends early. */
  const statusesOf = async (inner: Handler) => {
    const all: (readonly [name: string, statuses: readonly number[]])[] = [];
    for (const { name, run } of tests) {
      const statuses: number[] = [];
      const handle = async (request: Request) => {
        const url = request.url.replace("/rest/v1", "");
        const response = await inner(new Request(url, request));
        statuses.push(response.status);
        return response;
      };
      const api = { handler: handle } as unknown as Api;
      const role = { client: await supabase(api, "anon"), writer: await supabase(api, "writer") };
      await run(await partsOf(api, "SVC")).catch(() => {});
      await run({ ...role, prefix: "SVC" }).catch(() => {});
      all.push([name, statuses]);
    }
    await inner.close();
    return all;
  };
  const recorder = recorderOf("# Recorded.\n");
  const before = await statusesOf(recordingHandler(config, recorder));
  match(recorder.text, /^books\S* {2}anon/m);
  const again = recorderOf(recorder.text);
  await statusesOf(recordingHandler(config, again));
  strictEqual(again.text, recorder.text);
  const { handler } = openHandler({ ...config, operations: recorder.text });
  const after = await statusesOf(handler);
  await database.remove();
  let permitted = 0;
  for (const [at, [name, statuses]] of before.entries()) {
    for (const [position, status] of after[at]![1].entries()) {
      if (statuses[position]! >= 400) break;
      strictEqual(status, statuses[position], name);
      permitted++;
    }
  }
  strictEqual(permitted > 50, true, `${permitted} requests were permitted`);
});
