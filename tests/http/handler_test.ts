import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { createHandler, type HandlerOptions, type Observation } from "../../mod.ts";
import { dumpSchemaCache } from "../../src/state/schema_cache/dump.ts";
import { engines } from "../support/database/engines.ts";
import { prepared, serverVariable } from "../support/runner/environment.ts";
import { eventually } from "../support/timing/eventually.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { schemaCacheLoader } from "../support/database/schema_cache.ts";
import { errorBody } from "../support/handler/rows.ts";

const good: HandlerOptions = { dbUri: "postgres://localhost/none", dbSchemas: ["api"] };

/** Options as a program without types would give them, and the whole message. */
const refused: readonly (readonly [options: object, message: string])[] = [
  [{ dbUri: "" }, "dbUri: expected a connection string"],
  [{ dbUri: undefined }, "dbUri: expected a connection string"],
  [{ dbSchemas: [] }, "dbSchemas: expected at least one schema"],
  [{ dbSchemas: "api" }, "dbSchemas: expected at least one schema"],
  [{ dbAnonrole: "anon" }, "dbAnonrole: no such option; did you mean dbAnonRole?"],
  [
    { batchPreRequest: "once" },
    "batchPreRequest: no such option any more; remove it: each operation of a batch runs db-pre-request",
  ],
  [{ serverPorts: 1, xyzzy: 1 }, "serverPorts: no such option; did you mean serverPort?"],
  [{ dbPool: 0 }, 'dbPool: expected a whole number from 1 to 262143, got "0"'],
  [{ dbPool: "ten" }, 'dbPool: expected a whole number from 1 to 262143, got "ten"'],
  [{ dbPool: null }, "dbPool: expected a value, got null"],
  [{ dbPool: {} }, "dbPool: expected a value of the option's type, got an object"],
  [{ dialect: "sql" }, 'dialect: expected "svc" or "pgrst"'],
  [
    { appSettings: [["region", "north"]] },
    'appSettings: expected pairs such as ["app.settings.region", "north"]',
  ],
  [{ jwtSecret: new Uint8Array(8) }, "The JWT secret must be at least 32 characters long."],
  [
    { jwtSecret: new Uint8Array(32), jwtSecretIsBase64: true },
    "jwtSecretIsBase64: goes with a jwtSecret that is text, not bytes",
  ],
  [{ embeddedInit: "select 1" }, "embeddedInit: goes with a dbUri that begins with pglite://"],
  [{ embeddedExtensions: {} }, "embeddedExtensions: goes with a dbUri that begins with pglite://"],
  [{ connections: "few" }, 'connections: expected "pooled" or "per-request"'],
  [
    { dbUri: "pglite://memory", connections: "per-request" },
    'connections: "per-request" goes with a server, not with pglite://',
  ],
  [{ schemaCacheMaxAge: 0 }, "schemaCacheMaxAge: expected a number of seconds above 0"],
  [{ schemaCacheMaxAge: NaN }, "schemaCacheMaxAge: expected a number of seconds above 0"],
  ...[{}, { relations: [] }, { dbTables: [1] }, "text"].map((schemaCache) =>
    [
      { schemaCache },
      "schemaCache: expected the output of --dump-schema, parsed by JSON.parse",
    ] as const
  ),
];

for (const [options, message] of refused) {
  Deno.test(`createHandler refuses ${JSON.stringify(options)}`, () => {
    throws(() => createHandler({ ...good, ...options }), { message });
  });
}

Deno.test("createHandler refuses a short secret without repeating it", () => {
  throws(() => createHandler({ ...good, jwtSecret: "hunter2" }), (error: Error) => {
    ok(error.message.startsWith("jwtSecret: The JWT secret must be at least 32 characters long."));
    return !Deno.inspect(error).includes("hunter2");
  });
});

Deno.test("createHandler takes undefined for absent", async () => {
  const api = createHandler({ ...good, dbUri: "pglite://memory", dbPool: undefined });
  await api.close();
});

Deno.test("ready() waits for an embedded database that starts for longer than a request waits", async () => {
  const api = createHandler({
    dbUri: "pglite://memory",
    dbSchemas: ["public"],
    dbAnonRole: "postgres",
    dbPoolAcquisitionTimeout: 1,
    embeddedInit: "select pg_sleep(1.1)",
  });
  await api.ready();
  strictEqual((await api(new Request("http://localhost/"))).status, 200);
  await api.close();
});

Deno.test("a handler without its database answers 503 at once, and ready() rejects", async () => {
  const api = createHandler({
    ...good,
    dbUri: "postgres://nobody@127.0.0.1:1/none",
    dbAnonRole: "anon",
  });
  try {
    await rejects(
      api.ready(),
      /^Error: Database connection error\. \(.* failed: Connection refused/,
    );
    const response = await api(new Request("http://localhost/items"));
    strictEqual(response.status, 503);
    strictEqual((await response.json()).code, "SVC000");
    ok(Number(response.headers.get("Retry-After")) >= 1);
  } finally {
    await api.close();
  }
});

Deno.test("a closed handler answers every request with 503, and rejects the rest", async () => {
  const api = createHandler({ ...good, dbUri: "pglite://memory" });
  await api.close();
  for (const method of ["GET", "OPTIONS", "HEAD"]) {
    const response = await api(new Request("http://localhost/items", { method }));
    strictEqual(response.status, 503);
    if (method !== "HEAD") {
      deepStrictEqual(
        await response.json(),
        errorBody("SVC000 | Database connection error. | the handler was closed"),
      );
    }
  }
  await rejects(api.ready(), { message: "the handler was closed" });
  await rejects(api.reloadSchema(), { message: "the handler was closed" });
  await rejects(api.reloadConfig(), { message: "the handler was closed" });
  await api.close();
});

/** A database, the cache of its schema as JSON, and what the handler under test reports. */
async function openCached(options: Partial<HandlerOptions>) {
  const database = await engines.pg({ name: "tests/runtimes/shop.sql", roles: ["anon", "writer"] });
  const kinds: Observation["kind"][] = [];
  const base = { dbUri: database.uri, dbSchemas: ["api"], dbAnonRole: "anon" };
  const api = createHandler({ ...base, ...options, observe: ({ kind }) => kinds.push(kind) });
  const ask = async (path: string) => {
    const response = await api(new Request(`http://localhost${path}`));
    return { status: response.status, body: await response.json() };
  };
  return {
    ask,
    api,
    uri: database.uri,
    loads: () => kinds.filter((kind) => kind === "schema-cache-queried").length,
    close: () => api.close().then(() => database.remove()),
  };
}

const loadCache = schemaCacheLoader();

/** The cache of an older schema, which had but one table, as it was written to a file. */
async function oldCache(): Promise<HandlerOptions["schemaCache"]> {
  const { data } = await loadCache(`
    create schema api;
    create table api.orders (id int primary key);
  `);
  return JSON.parse(dumpSchemaCache(data));
}

for (const connections of ["pooled", "per-request"] as const) {
  Deno.test(`a given schema cache is enough to answer (${connections})`, async () => {
    const { ask, api, loads, close } = await openCached({
      schemaCache: await oldCache(),
      connections,
    });
    try {
      await api.ready();
      deepStrictEqual(await ask("/orders?select=id&id=eq.1"), { status: 200, body: [{ id: 1 }] });
      strictEqual(loads(), 0);
      // Something unknown makes it be read, once; the next request sees what was read.
      strictEqual((await ask("/customers?select=id&id=eq.1")).status, 404);
      await eventually("a load", () => loads() === 1);
      deepStrictEqual(await ask("/customers?select=id&id=eq.1"), {
        status: 200,
        body: [{ id: 1 }],
      });
      const before = loads();
      strictEqual((await ask("/nowhere")).status, 404);
      strictEqual(loads(), before);
    } finally {
      await close();
    }
  });
}

Deno.test("a schema cache that is old is read again in the background", async () => {
  let now = Date.UTC(2026, 0, 1);
  const { ask, loads, close } = await openCached({
    schemaCache: await oldCache(),
    schemaCacheMaxAge: 60,
    connections: "per-request",
    now: () => now,
  });
  try {
    strictEqual((await ask("/orders?select=id&id=eq.1")).status, 200);
    strictEqual(loads(), 0);
    now += 61_000;
    strictEqual((await ask("/orders?select=id&id=eq.1")).status, 200);
    strictEqual(loads(), 1);
    strictEqual((await ask("/orders?select=id&id=eq.1")).status, 200);
    strictEqual(loads(), 1);
  } finally {
    await close();
  }
});

for (const [connections, kept] of [["pooled", true], ["per-request", false]] as const) {
  Deno.test(`${connections} connections are ${kept ? "kept" : "gone"} after the answers`, async () => {
    const { ask, uri, close } = await openCached({ connections });
    try {
      const answers = await Promise.all([1, 2, 3].map((n) => ask(`/rpc/add?a=${n}&b=1`)));
      deepStrictEqual(answers.map(({ body }) => body), [2, 3, 4]);
      if (kept) ok(await connectionsTo(uri) > 0);
      else await eventually("no connections", async () => await connectionsTo(uri) === 0);
    } finally {
      await close();
    }
  });
}

/** How many connections a service has to its database. */
async function connectionsTo(uri: string): Promise<number> {
  const name = new URL(uri).pathname.slice(1);
  return await withClient(prepared(serverVariable), async (client) => {
    const { rows } = await client.query(
      "select count(*)::int as n from pg_stat_activity where datname = $1",
      [name],
    );
    return rows[0]?.n as number;
  });
}
