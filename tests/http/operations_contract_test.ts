/** Migrations of the example `shop`, and the operations whose answer each of them changes. */
import { deepStrictEqual, ok } from "node:assert/strict";
import { PGlite } from "@electric-sql/pglite";
import { DatabaseError } from "../../src/base/errors/service_error.ts";
import type { Database } from "../../src/database/database.ts";
import { wingOptions } from "../../src/process/wings.ts";
import type { Snapshot } from "../../src/state/app_state/snapshot.ts";
import { loadConfig } from "../../src/state/config/load.ts";
import { quoted } from "../../src/wings/audit/contract/contract.ts";
import { contractChanges } from "../../src/wings/audit/contract/diff.ts";
import { operationFacts } from "../../src/wings/audit/operations/operation_facts.ts";
import { operationFindings } from "../../src/wings/audit/operations/operation_findings.ts";
import { OperationGuard } from "../../src/wings/operations/guard.ts";
import { parseOperations } from "../../src/wings/operations/operation_file.ts";
import { load } from "../support/database/schema_cache.ts";

const folder = new URL("../../examples/shop/", import.meta.url);
const shopSql = await Deno.readTextFile(new URL("shop.sql", folder));
const operations = parseOperations(await Deno.readTextFile(new URL("api.operations", folder)));
const config = loadConfig({
  wingOptions,
  file: {
    path: "t",
    text: 'db-uri = "postgres://"\ndb-schemas = "api"\ndb-anon-role = "web_anon"',
  },
  environment: {},
  readFile: () => new Uint8Array(),
});

/** SQL, and the operations that it breaks, each with the roles in short if not all break. */
const migrations = `
select 1 |
create index on api.products (name) |
comment on table api.products is 'x' |
create table api.fresh (id int) |
alter table api.products add weight int | product
alter table api.orders add gift boolean | pay
alter table api.reviews add helpful int |
alter table api.products drop column price cascade | cheap_products list_products product search
alter table api.products rename price to cost | cheap_products list_products product search
alter table api.products drop column about cascade | product search
alter table api.products alter price type bigint | cheap_products list_products product search
alter table api.products alter price drop not null | cheap_products list_products product search
drop view api.bestsellers; alter table api.products alter id type bigint | list_products product cheap_products restock search
alter table api.products alter name drop not null | cheap_products list_products my_orders product search
alter table api.categories alter name drop not null | list_products
alter table api.categories rename to kinds | list_products
alter table api.products rename to goods | cheap_products list_products my_orders product restock search
alter table api.products drop constraint products_category_id_fkey | list_products
alter table api.products drop constraint products_supplier_id_fkey | product
alter table api.suppliers drop constraint suppliers_country_code_fkey | product
alter table api.countries add capital text | 
alter table api.suppliers rename name to title | product
alter table api.lines drop constraint lines_product_id_fkey | my_orders
alter table api.lines drop constraint lines_order_id_fkey | my_orders place_order
alter table api.lines rename quantity to pieces | my_orders place_order sales
alter table api.lines alter price type int | my_orders
alter table api.orders rename status to state | branch_orders my_orders pay place_order change_note send_order
alter table api.orders drop column note | change_note pay place_order
alter table api.orders drop column placed cascade | branch_orders my_orders pay sales
update api.orders set note = coalesce(note, ''); alter table api.orders alter note set not null | change_note pay place_order
alter type api.order_status add value 'lost' | branch_orders my_orders pay place_order
alter table api.orders drop constraint orders_customer_id_fkey | branch_orders
alter table api.customers rename to clients | branch_orders
alter table api.customers rename name to label | branch_orders
alter table api.reviews rename stars to points | add_review reviews
update api.reviews set text = coalesce(text, ''); alter table api.reviews alter text set not null | add_review reviews
alter table api.reviews rename to opinions | add_review remove_review reviews
alter table api.reviews drop column created | reviews
alter table api.products drop column stock | product restock
drop function api.search(text) | search
drop function api.pay(int) | pay
drop function api.sales(date) | sales
alter function api.search(text) rename to find | search
create or replace function api.search(words text) returns setof api.products language sql stable as 'select * from api.products' |
drop function api.pay(int); create function api.pay(order_id bigint) returns api.orders language sql as 'select * from api.orders' ; revoke execute on function api.pay from public; grant execute on function api.pay to shop_customer | pay
drop function api.pay(int); create function api.pay(order_id int) returns int language sql as 'select 1'; revoke execute on function api.pay from public; grant execute on function api.pay to shop_customer | pay
revoke select on api.products from web_anon | cheap_products:web_anon list_products:web_anon product:web_anon search:web_anon
revoke select on api.products from shop_customer; grant select (id, name) on api.products to shop_customer | cheap_products:shop_customer list_products:shop_customer product:shop_customer search:shop_customer
revoke select on api.categories from web_anon | list_products:web_anon
revoke update on api.orders from shop_staff | send_order
revoke update on api.orders from shop_customer; grant update (status) on api.orders to shop_customer | change_note
revoke insert on api.orders from shop_customer | place_order
revoke execute on function api.search from web_anon | search:web_anon
grant select on api.customers to web_anon |
`.trim().split("\n").map((line) =>
  line.split(" | ").map((part) => part.replace(/ ?\|$/, "").trim())
);

/** Returns a database whose transactions roll back, within the transaction of the client. */
function databaseOf(client: PGlite): Database {
  const transaction = async ({ statements }: Parameters<Database["transaction"]>[0]) => {
    const rows: (string | null)[][][] = [];
    await client.exec("savepoint own");
    try {
      for (const { text, params, use } of statements) {
        const result = await client.query<Record<string, string>>(text, params.map(paramOf));
        if (use === "rows") rows.push(result.rows.map((row) => Object.values(row).map(textOf)));
      }
      return { rows };
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      throw new DatabaseError({ sqlstate: code, message } as never, -1 as never);
    } finally {
      await client.exec("rollback to own");
    }
  };
  return { transaction } as unknown as Database;
}

/** PGlite writes bytes as `bytea`. */
function paramOf(value: unknown): unknown {
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : value;
}

/** PGlite parses JSON. */
function textOf(value: unknown): string | null {
  return value === null || typeof value === "string" ? value : JSON.stringify(value);
}

async function factsOf(client: PGlite): Promise<ReadonlyMap<string, string>> {
  const query = async (text: string, params?: readonly unknown[]) => ({
    rows: (await client.query<Record<string, unknown>>(text, [...params ?? []])).rows,
  });
  const cache = await load({ query }, { tags: true });
  const guard = new OperationGuard({ config, cache } as Snapshot, operations);
  const described = guard.operations();
  return new Map(await operationFacts(described, databaseOf(client), quoted));
}

Deno.test("a contract names the operations that a migration breaks, and their roles", async (t) => {
  const client = await PGlite.create();
  await client.exec(shopSql);
  ok(migrations.length >= 50);
  const migrated = async (sql: string) => {
    await client.exec("begin");
    try {
      await client.exec(sql);
      return await factsOf(client);
    } finally {
      await client.exec("rollback");
    }
  };
  const old = { major: "18", schemas: "api", facts: await migrated("select 1") };
  ok(![...old.facts.values()].some((fact) => /fails|broken/.test(fact)));
  for (const [sql = "", expected = ""] of migrations) {
    await t.step({
      name: sql,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => {
        const now = { ...old, facts: await migrated(sql) };
        const broken = contractChanges({ old, now, anonymous: "web_anon" })
          .filter(({ level }) => level === "breaking")
          .map(({ text }) => /^operation (\S+) (\S+):/.exec(text)!.slice(1, 3));
        const whole = new Map(operations.map(({ name, roles }) => [name, roles.length]));
        const names = [...new Set(broken.map(([name]) => name!))].flatMap((name) => {
          const own = broken.filter(([each]) => each === name).map(([, role]) => role);
          return own.length === whole.get(name) ? [name] : own.map((role) => `${name}:${role}`);
        });
        deepStrictEqual(names.sort(), expected.split(" ").filter((name) => name !== "").sort());
      },
    });
  }
  await client.close();
});

Deno.test("operationFindings() finds operations that fail, and expensive ones", async () => {
  const client = await PGlite.create();
  await client.exec(shopSql);
  await client.exec(`create table api.big (id int primary key, kind int, note text);
    insert into api.big select n, n % 1000, 'x' from generate_series(1, 20000) n; analyze api.big;
    grant select on api.big to web_anon;`);
  const query = async (text: string, params?: readonly unknown[]) => ({
    rows: (await client.query<Record<string, unknown>>(text, [...params ?? []])).rows,
  });
  const cache = await load({ query }, { tags: true });
  const file = parseOperations(`ok web_anon GET /big?select=id&id=eq.*
scan web_anon GET /big?select=id&kind=eq.*&note=eq.*
gone web_anon GET /nix
lost web_anon GET /big?select=nix
shut web_anon GET /customers?select=id
call web_anon GET /rpc/search?words=*
list web_anon GET /products?select=id&id=in.(*..5)&released=gt.*&limit=..9&offset=..9
`);
  const guard = new OperationGuard({ config, cache } as Snapshot, file);
  const database = databaseOf(client);
  await client.exec("begin");
  const findings = await operationFindings(guard.operations(), database, { dbMaxCost: 100 });
  await client.close();
  deepStrictEqual(
    findings.map(({ level, name, message, sql }) =>
      `${level} ${name}: ${message.replace(/costs \d+/, "costs N")}${sql ?? ""}`
    ),
    [
      "warn operation-cost: operation scan of web_anon costs N, db-max-cost is 100",
      "warn operation-scan: operation scan of web_anon reads all rows of big",
      "error operation-broken: operation gone, line 3: Could not find the table 'api.nix' in the schema cache",
      "error operation-broken: operation lost, line 4, fails for web_anon: 42703 column big.nix does not exist",
      "error operation-broken: operation shut, line 5, fails for web_anon: " +
      "42501 permission denied for table customers",
    ],
  );
});
