import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { PGlite } from "@electric-sql/pglite";
import { createHandler } from "../../mod.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { isCitusFaked } from "../support/database/citus_fake.ts";
import { engines } from "../support/database/engines.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { testSecret } from "../support/handler/token.ts";
import { answers, type Row } from "../support/handler/rows.ts";

const config = { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: "commit" } as const;
const suite = serviceSuite("tools", config, { title: "shapes" });

/** What a comparison says in the URL and in SQL. */
const operators = { eq: "=", neq: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
const operator = fc.constantFrom(...Object.keys(operators) as (keyof typeof operators)[]);
const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 5 }).filter((text) => !text.includes("\0")),
  fc.constantFrom("saw", "null", "eq.saw", "(saw)", "{saw}", "*", "%", "'", '"', "a&b=c", "+", " "),
);
const comparison = fc.oneof(
  fc.record({ column: fc.constant("name"), operator, value: text }),
  fc.record({
    column: fc.constantFrom("id", "maker_id"),
    operator,
    value: fc.integer({ min: -1, max: 5 }).map(String),
  }),
);
const asked = fc.record({
  comparisons: fc.array(comparison, { maxLength: 2 }),
  offset: fc.option(fc.integer({ min: 0, max: 3 })),
  counted: fc.boolean(),
});

suite.test("values take their places, whatever they say", async (api) => {
  const database = await engines.pglite({ name: "tools", roles: ["anon", "writer"] });
  const plain = await PGlite.create(database.uri.slice("pglite://".length));
  try {
    await fc.assert(
      fc.asyncProperty(asked, async ({ comparisons, offset, counted }) => {
        const filters = comparisons.map(({ column, operator, value }) =>
          `&${column}=${operator}.${encodeURIComponent(value)}`
        );
        const window = offset === null ? "" : `&offset=${offset}`;
        const response = await api(`GET /tools?select=id&order=id${filters.join("")}${window}`, {
          headers: counted ? { Prefer: "count=exact" } : {},
        });
        const where = comparisons.map(({ column, operator }, index) =>
          `${column} ${operators[operator]} $${index + 1}`
        );
        const { rows } = await plain.query<{ id: number }>(
          `select id from api.tools where ${["true", ...where].join(" and ")} order by id`,
          comparisons.map(({ value }) => value),
        );
        const shown = rows.slice(offset ?? 0);
        const start = offset ?? 0;
        if (counted && start > rows.length) return strictEqual(response.status, 416);
        deepStrictEqual([response.status < 300, await response.json()], [true, shown]);
        const range = shown.length === 0 ? "*" : `${start}-${start + shown.length - 1}`;
        strictEqual(
          response.headers.get("Content-Range"),
          `${rows.length === 0 ? "*" : range}/${counted ? rows.length : "*"}`,
        );
      }),
      { numRuns: 400 },
    );
  } finally {
    await plain.close();
    await database.remove();
  }
});

/** Each request alone, so that the order in which they come does not matter. */
const mixed: readonly Row[] = [
  ...answers()`
    GET /tools?id=eq.1&select=name
      200 [{"name":"saw"}]
      Content-Location: /tools?id=eq.1&select=name
    GET /tools?id=eq.2&select=name
      200 [{"name":"drill"}]
      Content-Location: /tools?id=eq.2&select=name
    GET /tools?id=eq.x&select=name | 400 22P02 | invalid input syntax for type integer: "x"
    HEAD /tools?id=eq.2&select=name
      200
      Content-Range: 0-0/*
    GET /rpc/cheap_tools?below=40&select=id | 200 [{"id":1}]
    GET /rpc/cheap_tools?below=100&select=id | 200 [{"id":1},{"id":2},{"id":3}]
    GET /rpc/cheap_tools?below=100&select=id&id=eq.2 | 200 [{"id":2}]
    GET /tools?id=eq.1&select=name {Accept: text/csv} | 200 "name\nsaw"
    GET /tools?id=eq.2&select=name {Accept: application/vnd.svc.object+json} | 200 {"name":"drill"}
    GET /makers?select=name,tools(id)&id=eq.2&tools.id=gt.2
      200 [{"name":"Ryo","tools":[{"id":3}]}]
    GET /makers?select=name,tools(id)&id=eq.1&tools.id=gt.1
      200 [{"name":"Bosk","tools":[{"id":2}]}]
  `,
];
suite.rows("requests of one shape are answered by their own values", [...mixed, ...mixed]);

suite.test("many at once get each its own answer", async (api) => {
  for (let round = 0; round < 5; round++) {
    const answers = Array.from({ length: 60 }, async (_, index) => {
      const id = index % 4 + 1;
      const response = await api(`GET /tools?select=id,name&id=eq.${id}`);
      deepStrictEqual((await response.json() as { id: number }[]).map(({ id }) => id), [id]);
    });
    await Promise.all(answers);
  }
});

suite.test("one that fails among many leaves the others alone", async (api) => {
  for (let round = 0; round < 5; round++) {
    const answers = Array.from({ length: 40 }, async (_, index) => {
      const value = index % 5 === 0 ? "no number" : String(index % 4 + 1);
      const response = await api(`GET /tools?select=id&id=eq.${encodeURIComponent(value)}`);
      await response.body?.cancel();
      strictEqual(response.status, index % 5 === 0 ? 400 : 200);
    });
    await Promise.all(answers);
  }
});

interface AskParts extends RequestParts {
  readonly method?: string;
}

/** A handler over a database of its own that the test may change. */
async function withOwn(
  run: (own: {
    readonly ask: (target: string, parts?: AskParts) => Promise<unknown>;
    readonly sql: (text: string) => Promise<unknown>;
    readonly reload: () => Promise<void>;
  }) => Promise<void>,
  { before = "", ...more }: Partial<Parameters<typeof createHandler>[0]> & { before?: string } = {},
): Promise<void> {
  const database = await engines.pg({ name: "tools", roles: ["anon", "writer"] });
  const sql = (text: string) => withClient(database.superuserUri!, (client) => client.query(text));
  await sql(before);
  const handler = createHandler({
    ...config,
    dbUri: database.uri,
    jwtSecret: testSecret,
    dbPool: 1,
    ...more,
  });
  try {
    await handler.ready();
    await run({
      ask: async (target, { method = "GET", ...parts } = {}) => {
        const request = { line: `${method} ${target}`, origin: "http://localhost:3000" };
        const response = await handler(await buildRequest(request, parts));
        return [response.status, await response.json()];
      },
      sql,
      reload: () => handler.reloadSchema(),
    });
  } finally {
    await handler.close();
    await database.remove();
  }
}

const one = "/tools?select=name&id=eq.1";

async function often(ask: (target: string) => Promise<unknown>, target: string): Promise<unknown> {
  for (let time = 0; time < 4; time++) await ask(target);
  return await ask(target);
}

Deno.test("cached plans are dropped when the schema is reloaded", () =>
  withOwn(async ({ ask, sql, reload }) => {
    deepStrictEqual(await often(ask, one), [200, [{ name: "saw" }]]);
    await sql("alter table api.tools rename column name to title");
    await reload();
    deepStrictEqual((await ask(one) as [number])[0], 400);
    deepStrictEqual(await often(ask, "/tools?select=title&id=eq.1"), [200, [{ title: "saw" }]]);
  }));

Deno.test("a column whose type changes under a prepared statement is shown in its new type", () =>
  withOwn(async ({ ask, sql }) => {
    const target = "/tools?select=*&id=eq.4";
    await often(ask, target);
    await sql("alter table api.tools alter column price type text using 'none'");
    const [status, rows] = await ask(target) as [number, { price: unknown }[]];
    deepStrictEqual([status, rows[0]?.price], [200, "none"]);
  }));

Deno.test("statements that the server has forgotten are prepared anew", () =>
  withOwn(async ({ ask, sql, reload }) => {
    await sql(
      "create function api.forget() returns int language plpgsql as " +
        "$$ begin execute 'discard plans'; execute 'deallocate all'; return 1; end $$",
    );
    await reload();
    for (let round = 0; round < 3; round++) {
      deepStrictEqual(await often(ask, one), [200, [{ name: "saw" }]]);
      // COMMIT of a block was prepared by the requests before, and nothing behind a function is sent again.
      const [status, answer] = await ask("/rpc/forget", { method: "POST" }) as [number, unknown];
      if (isCitusFaked()) {
        deepStrictEqual([status, (answer as { code: string }).code], [400, "26000"]);
      } else deepStrictEqual([status, answer], [200, 1]);
      deepStrictEqual(await ask(one), [200, [{ name: "saw" }]]);
    }
  }));

Deno.test("many at once are answered although the server has forgotten their statements", () =>
  withOwn(async ({ ask, sql, reload }) => {
    await sql(
      "create function api.forget() returns int language plpgsql as " +
        "$$ begin execute 'deallocate all'; return 1; end $$",
    );
    await reload();
    await often(ask, one);
    for (let round = 0; round < 3; round++) {
      await ask("/rpc/forget", { method: "POST" });
      const answers = await Promise.all(Array.from({ length: 30 }, () => ask(one)));
      for (const answer of answers) deepStrictEqual(answer, [200, [{ name: "saw" }]]);
    }
  }));

Deno.test("a plan cached for one role runs as the role of each request", () =>
  withOwn(async ({ ask, sql }) => {
    await sql(
      "alter table api.tools enable row level security; " +
        "create policy own on api.tools using (current_user = 'writer' and " +
        "current_setting('request.jwt.claims')::json->>'shop' = name)",
    );
    const target = "/tools?select=name&id=gt.0";
    const as = (shop: string) => ask(target, { as: { role: "writer", shop } });
    for (let round = 0; round < 4; round++) {
      deepStrictEqual(await ask(target), [200, []]);
      const answers = await Promise.all(["saw", "drill", "plane", "none"].map(as));
      deepStrictEqual(answers, [
        [200, [{ name: "saw" }]],
        [200, [{ name: "drill" }]],
        [200, [{ name: "plane" }]],
        [200, []],
      ]);
    }
    await sql("revoke select on api.tools from writer");
    deepStrictEqual((await as("saw") as [number])[0], 403);
  }));

Deno.test("what was learnt in one schema is found by the search path of each request", () =>
  withOwn(async ({ ask }) => {
    for (let round = 0; round < 4; round++) {
      for (const [schema, name] of [["api", "saw"], ["other", "axe"]] as const) {
        const headers = { "Accept-Profile": schema };
        deepStrictEqual(await ask(one, { headers }), [200, [{ name }]]);
        deepStrictEqual(await ask("/rpc/here", { headers }), [200, schema]);
      }
    }
  }, {
    dbSchemas: ["api", "other"],
    before: "create schema other; grant usage on schema other to anon; " +
      "create table other.tools (id int, name text); insert into other.tools values (1, 'axe'); " +
      "grant select on other.tools to anon; " +
      "create function other.here() returns text stable language sql as 'select current_schema()'; " +
      "create function api.here() returns text stable language sql as 'select current_schema()'",
  }));

Deno.test("a function that changes what a connection's transactions begin as changes its own alone", () =>
  withOwn(async ({ ask }) => {
    const modes = (access: string) => [200, { access, isolation: "read committed" }];
    for (let round = 0; round < 3; round++) {
      deepStrictEqual(await ask("/rpc/spoil", { method: "POST" }), [200, "spoilt"]);
      deepStrictEqual(await ask("/rpc/modes", { method: "POST" }), modes("read write"));
      deepStrictEqual(await ask("/rpc/spoil", { method: "POST" }), [200, "spoilt"]);
      deepStrictEqual(await ask("/rpc/modes"), modes("read only"));
      deepStrictEqual(await ask("/rpc/modes", { method: "POST" }), modes("read write"));
      deepStrictEqual(await ask("/rpc/spoil"), [200, "spoilt"]);
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask("/rpc/modes")));
      for (const answer of answers) deepStrictEqual(answer, modes("read only"));
    }
  }, {
    before:
      "create function api.spoil() returns text stable language sql as $$ select 'spoilt' from " +
      "set_config('default_transaction_isolation', 'serializable', false) isolation, " +
      "set_config('default_transaction_read_only', 'on', false) access $$; " +
      "create function api.modes() returns json language sql volatile as $$ " +
      "select json_build_object('access', case current_setting('transaction_read_only') " +
      "when 'on' then 'read only' else 'read write' end, " +
      "'isolation', current_setting('transaction_isolation')) $$",
  }));
