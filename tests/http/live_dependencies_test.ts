/** Which tables a live query depends on. */
import { deepStrictEqual, rejects } from "node:assert/strict";
import { noValues } from "../../src/state/config/load.ts";
import { configSource } from "../../src/state/config/source.ts";
import type { Database } from "../../src/database/database.ts";
import type { ServiceError } from "../../src/base/errors/service_error.ts";
import { dependentTables } from "../../src/wings/live/dependencies.ts";
import { plan } from "../../src/api/plan/plan.ts";
import type { ReadPlan } from "../../src/api/plan/read/read_plan.ts";
import { parseHead } from "../../src/api/request/parse_request.ts";
import { readRawRequest } from "../../src/api/request/raw_request.ts";
import type { SchemaCache } from "../../src/state/schema_cache/schema_cache.ts";
import { type Engine, engines } from "../support/database/engines.ts";
import type { PostgresClient } from "../support/database/postgres_client.ts";
import { load } from "../support/database/schema_cache.ts";
import { withFixture } from "../support/database/sessions.ts";
import { buildRequest } from "../support/handler/request.ts";
import { wingOptions } from "../../src/process/wings.ts";

/** A request, and the tables that it depends on; behind a colon the column of a scope. */
const dependent: readonly (readonly [line: string, tables: string])[] = [
  ["/customers", "customers"],
  ["/orders", "orders:owner"],
  ["/orders?select=id&owner=eq.a&status=eq.open", "orders:owner"],
  ["/orders?select=id,customer:customers(name)", "customers orders:owner"],
  ["/orders?select=id,customers!inner()&customers.name=eq.Ada", "customers orders:owner"],
  ["/customers?select=name,orders(id)", "customers orders"],
  ["/customers?select=name,orders()&orders=not.is.null", "customers orders"],
  ["/open_orders?owner=eq.a", "orders"],
  ["/nodes?select=id", "nodes:owner"],
  ["/nodes?select=id,nodes(id)", "nodes"],
  ["/docs", "docs members"],
  ["/audited", "audited blocks"],
  ["/parts", "parts:owner parts_high:owner parts_low:owner"],
  ["/orders?select=id,lines", "audited blocks orders:owner"],
  ["/orders?lines=gt.0", "audited blocks orders:owner"],
  ["/customers?select=id,documents(id)", "customers docs members"],
  ["/totals", ""],
];

/** Requests that need the trigger of a table. */
const missing: readonly (readonly [line: string, table: string])[] = [
  ["/log", "api.log"],
  ["/log_lines", "api.log"],
];

const source = configSource({
  wingOptions,
  file: { path: "test.conf", text: 'db-uri = "postgres://"\ndb-schemas = "api"' },
  environment: {},
  readFile: () => new Uint8Array(),
});
const config = source.configure(noValues);

async function planOf(path: string, cache: SchemaCache): Promise<ReadPlan> {
  const line = `GET ${path}`;
  const request = await buildRequest({ line, origin: "http://localhost" }, {});
  const { request: head } = parseHead(readRawRequest(request), config);
  const planned = plan({ ...head, payload: null }, cache, config);
  if (planned.kind !== "read") throw new Error(planned.kind);
  return planned.read;
}

/** Runs the statements of a batch, as the pool does. */
function databaseOf(client: PostgresClient): Pick<Database, "transaction"> & { batches: number } {
  const database = {
    batches: 0,
    transaction: async ({ statements }: Parameters<Database["transaction"]>[0]) => {
      database.batches++;
      const results: (string | null)[][][] = [];
      for (const { text, params, use } of statements) {
        const { rows } = await client.query(text, params);
        if (use === "rows") results.push(rows.map((row) => Object.values(row).map(String)));
      }
      return { rows: results } as unknown as Awaited<ReturnType<Database["transaction"]>>;
    },
  };
  return database;
}

for (const engine of Object.keys(engines) as Engine[]) {
  Deno.test(`[${engine}] dependentTables() lists the tables below a query`, async (context) => {
    await withFixture(engine, { name: "live", roles: ["anon", "writer"] }, async (client) => {
      const { rows } = await client.query("select oid::int8::int4 as oid, relname from pg_class");
      const names = new Map(rows.map(({ oid, relname }) => [Number(oid), String(relname)]));
      const cache = await load(client, {});
      const database = databaseOf(client);
      const step = (name: string, fn: () => Promise<void>) =>
        context.step({ name, fn, sanitizeOps: false, sanitizeResources: false });
      for (const [line, expected] of dependent) {
        await step(line, async () => {
          const tables = await dependentTables(await planOf(line, cache), cache, database);
          const texts = Array.from(
            tables,
            ([oid, scope]) => names.get(oid) + (scope === null ? "" : `:${scope.column}`),
          );
          deepStrictEqual(texts.sort().join(" "), expected);
        });
      }
      for (const [line, table] of missing) {
        await step(line, async () => {
          const read = await planOf(line, cache);
          await rejects(dependentTables(read, cache, database), ({ fields }: ServiceError) => {
            deepStrictEqual([fields.code, fields.message], [
              "181",
              `Changes of '${table}' are not recorded`,
            ]);
            return true;
          });
        });
      }
    });
  });
}

Deno.test("dependentTables() reads once per cache, and again while something is missing", async () => {
  await withFixture("pg", { name: "live", roles: ["anon", "writer"] }, async (client) => {
    const cache = await load(client, {});
    const database = databaseOf(client);
    const [orders, log] = [await planOf("/orders?id=eq.1", cache), await planOf("/log", cache)];
    await dependentTables(orders, cache, database);
    await dependentTables(await planOf("/orders?id=eq.2", cache), cache, database);
    deepStrictEqual(database.batches, 1);
    let hint = "";
    await rejects(dependentTables(log, cache, database), ({ fields }: ServiceError) => {
      hint = fields.hint!;
      return true;
    });
    await client.query(hint);
    deepStrictEqual((await dependentTables(log, cache, database)).size, 1);
    await client.query("alter table api.log disable trigger svc_live");
    await rejects(dependentTables(log, await load(client, {}), database));
  });
});

/** What takes a scope away, and the scope of orders before and after. */
const scopes: readonly (readonly [label: string, sql: string])[] = [
  ["a column of another type", "alter table api.nodes alter owner type char(9)"],
  ["a column that is gone", "alter table api.nodes rename owner to holder"],
  [
    "a collation that takes texts for equal",
    "create collation api.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); " +
    "alter table api.nodes alter owner type text collate api.loose",
  ],
  [
    "triggers of two scopes",
    "create function svc_live.scope_id() returns trigger language plpgsql as 'begin end'; " +
    "create trigger svc_live_other after delete on api.nodes execute function svc_live.scope_id()",
  ],
];

for (const [label, sql] of scopes) {
  Deno.test(`dependentTables() has no scope with ${label}`, async () => {
    await withFixture("pg", { name: "live", roles: ["anon", "writer"] }, async (client) => {
      const scopeOf = async () => {
        const cache = await load(client, {});
        const read = await planOf("/nodes", cache);
        return [...(await dependentTables(read, cache, databaseOf(client))).values()];
      };
      deepStrictEqual(await scopeOf(), [{ column: "owner", type: "text" }]);
      await client.query(`set search_path = public; ${sql}`);
      deepStrictEqual(await scopeOf(), [null]);
    });
  });
}
