import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { createHandler, type Handler, type Observation } from "../../mod.ts";
import { prepared, serverVariable } from "../support/runner/environment.ts";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { engines } from "../support/database/engines.ts";
import { buffered, buildRequest } from "../support/handler/request.ts";
import { testSecret } from "../support/handler/token.ts";
import { withClient } from "../support/database/postgres_client.ts";

type Options = Omit<Parameters<typeof createHandler>[0], "dbUri">;

/** A handler that logs in as a role with settings of its own. */
interface Opened {
  readonly handler: Handler;
  readonly events: readonly Observation[];
  /** The same database, as somebody who may change it. */
  readonly uri: string;
  readonly get: (target: string) => Promise<Response>;
}

function configTest(
  name: string,
  { login, ...options }: Partial<Options> & { readonly login: string },
  run: (opened: Opened) => Promise<void>,
): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const database = await engines.pg({ name: "config", roles: ["anon", "writer"] });
      try {
        const uri = new URL(database.uri);
        uri.username = uri.password = login;
        const events: Observation[] = [];
        const handler = createHandler({
          dbSchemas: ["api"],
          dbAnonRole: "anon",
          jwtSecret: testSecret,
          ...options,
          dbUri: uri.href,
          observe: (event) => void events.push(event),
        });
        const get = async (target: string) => {
          const request = await buildRequest({ line: `GET ${target}`, origin: "http://localhost" });
          return await buffered(await handler(request));
        };
        await handler.ready();
        await run({ handler, events, get, uri: database.uri });
        await handler.close();
      } finally {
        await database.remove();
      }
    },
  });
}

async function rowsOf(response: Response): Promise<number> {
  return (await response.json()).length;
}

configTest(
  "settings of the login role go before what the program says, those in this database first",
  {
    login: "config_login",
    dbMaxRows: 8,
    clientErrorVerbosity: "verbose",
    dbAnonRole: null,
    jwtAud: "somebody",
  },
  async ({ get }) => {
    strictEqual(await rowsOf(await get("/items")), 4);
    const missing = await get("/nothing");
    strictEqual(missing.status, 404);
    deepStrictEqual(Object.keys(await missing.json()), ["code", "message"]);
    // The setting of the database without a role has no effect.
    const aggregate = await get("/items?select=id.sum()");
    strictEqual((await aggregate.json()).code, "SVC123");
  },
);

configTest("an empty text hides what the program says", {
  login: "config_login",
  jwtAud: "somebody",
}, async ({ handler }) => {
  const claims = { role: "anon", aud: "somebody else" };
  const request = await buildRequest(
    { line: "GET /items?limit=1", origin: "http://localhost" },
    { as: claims },
  );
  strictEqual((await buffered(await handler(request))).status, 200);
});

configTest("db-config = false leaves the database out of it", {
  login: "config_login",
  dbMaxRows: 8,
  dbConfig: false,
}, async ({ get }) => {
  strictEqual(await rowsOf(await get("/items")), 8);
});

configTest("another dialect has another prefix", {
  login: "config_login",
  dialect: "pgrst",
}, async ({ get }) => {
  strictEqual(await rowsOf(await get("/items")), 7);
});

configTest("db-pre-config says what the role's settings leave open", {
  login: "config_pre",
  dbPreConfig: { schema: "conf", name: "pre_config" },
}, async ({ get, handler }) => {
  strictEqual((await get("/things")).status, 200);
  strictEqual((await get("/items")).status, 404);
  const request = await buildRequest(
    { line: "GET /things", origin: "http://localhost" },
    { headers: { "Accept-Profile": "nope" } },
  );
  const { hint } = await (await handler(request)).json();
  strictEqual(hint, "Only the following schemas are exposed: tenant_one, tenant_two");
});

configTest("db-pre-config of the database counts from the next reading on", {
  login: "config_pre",
}, async ({ get, handler }) => {
  strictEqual((await get("/items")).status, 200);
  await handler.reloadSchema();
  strictEqual((await get("/items")).status, 404);
  strictEqual((await get("/things")).status, 200);
});

const failing = [
  ["a missing function", { schema: "conf", name: "nothing" }, "42883"],
  ["a function that writes", { schema: "conf", name: "pre_config_writes" }, "25006"],
  [
    "a function with a name that is SQL",
    { schema: "conf", name: 'x"(); drop table api.items; --' },
    "42883",
  ],
] as const;

for (const [title, dbPreConfig, code] of failing) {
  configTest(`${title} as db-pre-config is reported, and the program's configuration used`, {
    login: "config_broken",
    dbPreConfig,
    dbMaxRows: 6,
  }, async ({ get, events }) => {
    strictEqual(await rowsOf(await get("/items")), 6);
    const reported = events.filter((event) => event.kind === "database-config-failed");
    deepStrictEqual(reported.map(({ what, error }) => [what, error.code]), [[
      "configuration",
      code,
    ]]);
  });
}

for (const dialect of ["svc", "pgrst"] as const) {
  configTest(`an impossible value in the database leaves the old configuration, in ${dialect}`, {
    login: "config_bad",
    dialect,
    dbMaxRows: 6,
  }, async ({ get, events }) => {
    strictEqual(await rowsOf(await get("/items")), 6);
    const [failed] = events.filter((event) => event.kind === "config-reload-failed");
    match(
      failed?.message ?? "",
      new RegExp(
        `^${dialect}\\.db_tx_end \\(database\\): Invalid transaction termination\\. Check your ` +
          "configuration\\.",
      ),
    );
  });
}

configTest(
  "a reload takes what the database says then, and leaves schemas to the next schema cache",
  { login: "config_login" },
  async ({ get, handler, uri, events }) => {
    strictEqual(await rowsOf(await get("/items")), 4);
    const set = async (value: string) => {
      const database = new URL(uri).pathname.slice(1);
      const server = new URL(prepared(serverVariable));
      server.pathname = `/${database}`;
      await withClient(server.href, (client) =>
        client.query(
          `alter role config_login in database "${database}" set svc.db_max_rows = '${value}'`,
        ));
    };
    await set("1");
    strictEqual(await rowsOf(await get("/items")), 4);
    await handler.reloadConfig();
    strictEqual(await rowsOf(await get("/items")), 1);
    await set("many");
    await handler.reloadConfig();
    strictEqual(await rowsOf(await get("/items")), 1);
    const kinds = events.map(({ kind }) => kind).filter((kind) => kind.startsWith("config-reload"));
    deepStrictEqual(kinds, ["config-reloaded", "config-reloaded", "config-reload-failed"]);
    await set("2");
    await handler.reloadSchema();
    strictEqual(await rowsOf(await get("/items")), 2);
  },
);

Deno.test("roles keep their settings when a reload cannot read them", async () => {
  const events: Observation[] = [];
  const role = `clerk_${crypto.randomUUID().slice(0, 8)}`;
  const sql =
    `create role ${role}; grant ${role} to authenticator; grant usage on schema api to ${role};
    alter role ${role} set statement_timeout = '1234ms';
    create function api.timeout() returns text stable language sql
      as $$ select current_setting('statement_timeout') $$`;
  const config = {
    dbSchemas: ["api"],
    jwtSecret: testSecret,
    observe: (event: Observation) => void events.push(event),
  };
  await withAdministeredHandler(sql, config, async ({ handler, admin }) => {
    const timeout = async () => {
      const line = "GET /rpc/timeout";
      const response = await handler(
        await buildRequest({ line, origin: "http://h" }, { as: role }),
      );
      return await response.json();
    };
    try {
      strictEqual(await timeout(), "1234ms");
      await admin.query("revoke select on pg_catalog.pg_roles from public");
      await handler.reloadConfig();
      const failed = events.filter((event) => event.kind === "database-config-failed")
        .filter(({ what }) => what === "roles");
      deepStrictEqual(failed.map(({ error }) => error.code), ["42501"]);
      strictEqual(await timeout(), "1234ms");
    } finally {
      await admin.query(`drop owned by ${role}; drop role ${role}`);
    }
  });
});
