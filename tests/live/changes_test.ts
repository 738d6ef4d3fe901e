/** Changes of live queries: which messages reach a client. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type LiveApi, openLiveApi } from "../support/handler/live_api.ts";
import { records } from "../support/handler/records.ts";

const a = { role: "writer", sub: "a" };
const b = { role: "writer", sub: "b" };

/** The query of `a`, SQL of others, and the messages that follow: operation, key and value. */
const rows = records`
  # an insert, and no hidden row
    query: /orders?select=id,total
    sql: insert into api.orders values (9, 'b'), (10, 'a')
    message: insert "10" {"id":10,"total":0}
  # an update
    query: /orders?select=id,total
    sql: update api.orders set total = 5 where id = 1
    message: update "1" {"id":1,"total":5}
  # a delete
    query: /orders?select=id,total
    sql: delete from api.orders where id = 1
    message: delete "1" {"id":1}
  # nothing of a rollback, of hidden rows and of columns that the query lacks
    query: /orders?select=id,total
    sql: do $$ begin update api.orders set total = 6; raise 'x'; exception when others then null;
      + end $$; update api.orders set total = 7 where owner = 'b'; update api.orders set hidden = 9;
      + update api.orders set total = 8 where id = 2
    message: update "2" {"id":2,"total":8}
  # a row that leaves the filter
    query: /orders?select=id&status=eq.open
    sql: update api.orders set status = 'done' where id = 1
    message: delete "1" {"id":1}
  # a row that enters the filter
    query: /orders?select=id&status=eq.open
    sql: update api.orders set status = 'open' where id = 2
    message: insert "2" {"id":2}
  # a changed key, as both
    query: /orders?select=id
    sql: update api.orders set id = 20 where id = 2
    message: delete "2" {"id":2}
    message: insert "20" {"id":20}
  # a table of the policy
    query: /docs?select=id,title
    sql: delete from api.members where doc = 1; insert into api.members values (2, 'a')
    message: delete "1" {"id":1}
    message: insert "2" {"id":2,"title":"two"}
  # an embedded row
    query: /orders?select=id,customer(name)&id=eq.1
    sql: update api.customers set name = 'Eve' where id = 1
    message: update "1" {"id":1,"customer":{"name":"Eve"}}
  # a condition on an embedded row
    query: /orders?select=id,customer!inner()&customer.name=eq.Ada
    sql: update api.customers set name = 'Eve' where id = 1
    message: delete "1" {"id":1}
    message: delete "2" {"id":2}
  # the table below a view
    query: /open_orders?select=id,total
    sql: update api.orders set total = 3 where id = 1
    message: update "1" {"id":1,"total":3}
  # groups, whose rows have no key
    query: /orders?select=status,id.count()&status=eq.open
    sql: update api.orders set status = 'open' where id = 2
    message: delete {"status":"open","count":1} {"status":"open","count":1}
    message: insert {"status":"open","count":2} {"status":"open","count":2}
  # rows that enter and leave the limit
    query: /orders?select=id&order=total.desc&limit=1
    sql: update api.orders set total = 99 where id = 1
    message: delete "2" {"id":2}
    message: insert "1" {"id":1}
  # a scope: other values make no run
    query: /orders?select=id,total&owner=eq.a
    sql: update api.orders set total = 1 where owner = 'b'; update api.orders set total = 5 where id
      + = 1
    message: update "1" {"id":1,"total":5}
  # a truncation
    query: /orders?select=id&owner=eq.a
    sql: truncate api.orders
    message: delete "1" {"id":1}
    message: delete "2" {"id":2}
`;

/** Undoes what rows write. */
const restore = `truncate api.orders, api.members;
  update api.customers set name = 'Ada' where id = 1;
  insert into api.orders values
    (1, 'a', 'open', 10, 1), (2, 'a', 'done', 20, 1), (3, 'b', 'open', 30, 2);
  insert into api.members values (1, 'a')`;

const kinds = { embeddedOn: "pglite", on: "pg" } as const;
for (const engine of Object.values(kinds)) {
  Deno.test({
    name: `[${engine}] a live query sends`,
    sanitizeResources: engine === "pg",
    async fn(context) {
      await using api = await openLiveApi({ engine });
      for (const [index, { label, all, one }] of rows.entries()) {
        await context.step(label, async () => {
          await api.sql(restore);
          // Another query has a result of its own.
          const path = `${one("query")}&or=(id.gt.-${index},id.is.null)`;
          await using stream = await api.stream(`/live${path}`, { as: a });
          await stream.next();
          const messages: string[] = [];
          await api.sql(one("sql")!);
          while (messages.length < all("message").length) {
            for (const { headers, key, value } of await stream.next()) {
              messages.push(`${headers.operation} ${key} ${JSON.stringify(value)}`);
            }
          }
          deepStrictEqual(messages, all("message"));
          await checkRows(api, path, [...stream.rows.values()]);
        });
      }
    },
  });
}

/** Compares rows with those of the GET. */
async function checkRows(api: LiveApi, path: string, found: readonly unknown[]): Promise<void> {
  const response = await api.send(`GET ${path}`, { as: a });
  const sorted = (all: readonly unknown[]) => all.map((row) => JSON.stringify(row)).toSorted();
  deepStrictEqual(sorted(found), sorted(await response.json()));
}

Deno.test("a row whose owner changes leaves one client, and reaches another", async () => {
  await using api = await openLiveApi();
  await using mine = await api.stream("/live/orders?select=id", { as: a });
  await using theirs = await api.stream("/live/orders?select=id", { as: b });
  await mine.next();
  await theirs.next();
  await api.sql("update api.orders set owner = 'b' where id = 1");
  const operations = async (stream: typeof mine) =>
    (await stream.next()).map(({ headers, key }) => [headers.operation, key]);
  deepStrictEqual(await operations(mine), [["delete", '"1"']]);
  deepStrictEqual(await operations(theirs), [["insert", '"1"']]);
});

Deno.test("a scope that gets another name fails no write, and its streams end", async () => {
  await using api = await openLiveApi();
  await using stream = await api.stream("/live/orders?select=id&owner=eq.a", { as: a });
  await stream.next();
  await api.sql("alter table api.orders rename owner to keeper");
  await api.sql("insert into api.orders (id, keeper) values (31, 'a')");
  await stream.ended();
  await using other = await api.stream("/live/orders?select=id&keeper=eq.a", { as: a });
  await other.until(({ rows }) => rows.has('"31"'));
});

Deno.test("a transaction that was open when the first reader began arrives", async () => {
  await using api = await openLiveApi();
  await using writer = await api.connect();
  await writer.query("begin; insert into api.orders values (30, 'a')");
  await using stream = await api.stream("/live/orders?select=id", { as: a });
  await stream.next();
  await writer.query("commit");
  await stream.until(({ rows }) => rows.has('"30"'));
});

Deno.test("transactions that overlap arrive, whichever ends first", async () => {
  await using api = await openLiveApi();
  await using stream = await api.stream("/live/orders?select=id", { as: a });
  const writers = [await api.connect(), await api.connect()] as const;
  for (let id = 100; id < 300; id += 2) {
    const [one, other] = id % 4 === 0 ? writers : writers.toReversed();
    await one!.query(`begin; insert into api.orders values (${id}, 'a')`);
    await other!.query(`begin; insert into api.orders values (${id + 1}, 'a')`);
    await other!.query("commit");
    if (id % 3 === 0) await stream.until(({ rows }) => rows.has(`"${id + 1}"`));
    await one!.query("commit");
    await stream.until(({ rows }) => rows.has(`"${id}"`) && rows.has(`"${id + 1}"`));
  }
  for (const writer of writers) await writer[Symbol.asyncDispose]();
});

Deno.test("triggers record nothing once the reader has been away for 20 s", async () => {
  await using api = await openLiveApi();
  await using stream = await api.stream("/live/orders?select=id", { as: a });
  await stream.next();
  await stream[Symbol.asyncDispose]();
  await api.handler.close();
  await api.sql("select setval('svc_live.reader_until', extract(epoch from now())::bigint - 1)");
  await api.sql("select svc_live.renew(null); delete from svc_live.change");
  await api.sql("select setval('svc_live.reader_until', extract(epoch from now())::bigint - 1)");
  await api.sql("insert into api.customers select 100 + i, 'x' from generate_series(1, 1000) i");
  const [{ rows: count } = {}] = await api.sql("select count(*)::int as rows from svc_live.change");
  strictEqual(count, 0);
});
