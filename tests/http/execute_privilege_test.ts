import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { buildRequest } from "../support/handler/request.ts";
import { signToken, testSecret } from "../support/handler/token.ts";

/**
 * Functions that only `writer` may execute. PostgreSQL inlines each of them into the statement that calls
 * it, and checks EXECUTE only when it plans that statement.
 */
const schema = `
  create table api.goods (id int primary key, price int);
  insert into api.goods values (1, 10);
  create table api.owners (id int primary key);
  insert into api.owners values (1);
  grant select on api.goods, api.owners to anon, writer;

  create function api.plus(a int) returns int immutable language sql as 'select a + 40';
  create function api.answer() returns int immutable language sql as 'select 42';
  create function api.list(most int) returns table (id int, price int) stable language sql
    as 'select id, price from api.goods limit most';
  create function api.all_goods() returns setof api.goods stable language sql
    as 'select * from api.goods';
  create function api.gross(api.goods) returns int immutable language sql as 'select $1.price * 2';
  create function api.owner(api.goods) returns setof api.owners rows 1 stable language sql
    as 'select * from api.owners where id = $1.id';

  create function public.margin(a int) returns int immutable language sql as 'select a - 1';
  create view api.margins with (security_invoker) as select id, public.margin(price) from api.goods;
  grant select on api.margins to anon, writer;

  create function public.may_see(a int) returns boolean immutable language sql as 'select a > 0';
  create table api.guarded (id int primary key);
  insert into api.guarded values (1);
  alter table api.guarded enable row level security;
  create policy seen on api.guarded using (public.may_see(id));
  grant select on api.guarded to anon, writer;

  revoke execute on function api.plus(int), api.answer(), api.list(int), api.all_goods(),
    api.gross(api.goods), api.owner(api.goods), public.margin(int), public.may_see(int) from public;
  grant execute on function api.plus(int), api.answer(), api.list(int), api.all_goods(),
    api.gross(api.goods), api.owner(api.goods), public.margin(int), public.may_see(int) to writer;
`;

const requests: readonly (readonly [line: string, body: unknown, answer: unknown])[] = [
  ["GET /rpc/plus?a=2", undefined, 42],
  ["POST /rpc/plus", { a: 2 }, 42],
  ["GET /rpc/answer", undefined, 42],
  ["POST /rpc/answer", {}, 42],
  ["GET /rpc/list?most=5", undefined, [{ id: 1, price: 10 }]],
  ["GET /rpc/all_goods?id=eq.1", undefined, [{ id: 1, price: 10 }]],
  ["GET /goods?select=id,gross", undefined, [{ id: 1, gross: 20 }]],
  ["GET /goods?select=id&gross=eq.20", undefined, [{ id: 1 }]],
  ["GET /goods?select=id&order=gross", undefined, [{ id: 1 }]],
  ["GET /goods?select=id,owner(id)", undefined, [{ id: 1, owner: { id: 1 } }]],
  ["GET /margins", undefined, [{ id: 1, margin: 9 }]],
  ["GET /guarded", undefined, [{ id: 1 }]],
];

/** Calls of each role in turn: more than PostgreSQL plans anew before it keeps a plan. */
const calls = 12;

const orders = [["writer", "anon"], ["anon", "writer"]] as const;

for (const order of orders) {
  Deno.test(`EXECUTE is checked for each role, ${order[0]} first, on one connection`, async (t) => {
    const config = { dbSchemas: ["api"], dbPool: 1, jwtSecret: testSecret };
    await withAdministeredHandler(schema, config, async ({ handler }) => {
      const token = await signToken({ role: "writer" });
      const headersOf = { anon: {}, writer: { Authorization: `Bearer ${token}` } } as const;
      const ask = async (role: keyof typeof headersOf, [line, body]: typeof requests[number]) => {
        const parts = { headers: headersOf[role], ...(body === undefined ? {} : { body }) };
        return await handler(await buildRequest({ line, origin: "http://localhost" }, parts));
      };
      for (const row of requests) {
        await t.step(row[0], async () => {
          for (const role of [...order, ...order]) {
            for (let call = 0; call < calls; call++) {
              const response = await ask(role, row);
              const answer = await response.json();
              if (role === "writer") deepStrictEqual(answer, row[2]);
              else deepStrictEqual([response.status, answer.code], [401, "42501"]);
            }
          }
        });
      }
    });
  });
}

Deno.test("prepared statements stay bounded however many roles use them", async () => {
  const roles = Array.from({ length: 600 }, (_, number) => `many_${number}`);
  const sql = `${
    roles.map((role) =>
      `do $$ begin create role ${role}; exception when others then null; end $$;
      grant ${role} to authenticator; grant usage on schema api to ${role};`
    ).join("\n")
  }
  create function api.prepared() returns bigint stable language sql security definer
    as 'select count(*) from pg_catalog.pg_prepared_statements';`;
  const config = { dbSchemas: ["api"], dbPool: 1, jwtSecret: testSecret };
  await withAdministeredHandler(sql, config, async ({ handler }) => {
    const counts: number[] = [];
    for (const role of roles) {
      const headers = { Authorization: `Bearer ${await signToken({ role })}` };
      const line = "GET /rpc/prepared";
      const response = await handler(await buildRequest({ line, origin: "http://a" }, { headers }));
      strictEqual(response.status, 200);
      counts.push(await response.json());
    }
    // A reload in between replaces the connection once, so that one of two has at least half of them.
    const most = Math.max(...counts);
    strictEqual(most <= 501 && most >= 300, true, `${most} prepared statements`);
  });
});
