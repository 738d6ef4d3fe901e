/**
 * What reading costs: pages at an offset with two levels of embeds, beside the plain SQL of the same
 * rows, and loading the schema cache of a big database. Run: `deno task bench:reading`.
 *
 * @module
 */
import { createHandler, type Handler, type Observation } from "../../mod.ts";
import { type PostgresClient, withClient } from "../../tests/support/postgres_client.ts";
import { startPostgres } from "../../tests/support/postgres_server.ts";
import { tablesSql } from "./fixture.ts";
import { markdownTable, shown } from "./table.ts";

const rows = `
  create role anon nologin;
  create role authenticator login noinherit password 'p';
  grant anon to authenticator;
  create schema api;
  create table api.makers (id int primary key, name text);
  create table api.suppliers (id int primary key, name text);
  create table api.tools (id int primary key, name text, maker_id int references api.makers);
  create table api.parts (
    id int primary key, name text, tool_id int references api.tools,
    supplier_id int references api.suppliers
  );
  insert into api.makers select n, 'maker ' || n from generate_series(1, 1000) n;
  insert into api.suppliers select n, 'supplier ' || n from generate_series(1, 1000) n;
  insert into api.tools select n, 'tool ' || n, n % 1000 + 1 from generate_series(1, 100000) n;
  insert into api.parts
    select n, 'part ' || n, n % 100000 + 1, n % 1000 + 1 from generate_series(1, 300000) n;
  create index on api.parts (tool_id);
  create index on api.tools (maker_id);
  grant usage on schema api to anon;
  grant select on all tables in schema api to anon;
  analyze;
`;

const embeds = "select=id,name,makers(name),parts(name,suppliers(name))&order=id&limit=10";

/** The rows of a page, as somebody who knows the tables would ask for them. */
const plainSql = `
  select json_agg(p) from (
    select t.id, t.name,
      (select to_jsonb(m) from (select m.name from api.makers m where m.id = t.maker_id) m) as makers,
      (select coalesce(jsonb_agg(p), '[]') from (
        select p.name, (
          select to_jsonb(s) from (select s.name from api.suppliers s where s.id = p.supplier_id) s
        ) as suppliers
        from api.parts p where p.tool_id = t.id
      ) p) as parts
    from (select * from api.tools order by id limit 10 offset $1) t
    order by t.id
  ) p`;

/** Milliseconds of one run, by the fastest of many: noise only ever adds. */
async function fastest(run: () => Promise<void>, times = 60): Promise<number> {
  let best = Infinity;
  for (let time = 0; time < times; time++) {
    const began = performance.now();
    await run();
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

async function page(handler: Handler, offset: number): Promise<void> {
  const response = await handler(new Request(`http://x/tools?${embeds}&offset=${offset}`));
  const body = await response.json();
  if (response.status !== 200 || body.length !== 10) throw new Error(JSON.stringify(body));
}

async function benchPages(uri: string, client: PostgresClient): Promise<void> {
  const handler = createHandler({ dbUri: uri, dbSchemas: ["api"], dbAnonRole: "anon" });
  await handler.ready();
  const first = await fastest(() => page(handler, 0));
  const lines: string[][] = [];
  for (const offset of [0, 100, 4000, 40_000]) {
    const service = await fastest(() => page(handler, offset));
    const plain = await fastest(() => client.query(plainSql, [offset]).then(() => {}));
    lines.push([`offset ${offset}`, ...[service, plain, service / first].map(shown)]);
  }
  const heads = ["page of 10 with two levels of embeds", "service ms", "plain SQL ms"];
  console.log(markdownTable([...heads, "service, by offset 0"], lines));
  await handler.close();
}

const bigFunctions = `
  do $$ begin
    for n in 1..2000 loop
      execute format('create function big.f%s(a int, b text default null) returns setof big.t%s
        language sql stable as ''select * from big.t%s''', n, n, n);
    end loop;
  end $$;
  grant usage on schema big to anon;
`;

async function benchSchema(uri: string): Promise<void> {
  const events: Observation[] = [];
  const before = Deno.memoryUsage().rss;
  const began = performance.now();
  const handler = createHandler({
    dbUri: uri,
    dbSchemas: ["big"],
    dbAnonRole: "anon",
    observe: (event) => events.push(event),
  });
  await handler.ready();
  const seconds = (performance.now() - began) / 1000;
  const megabytes = (Deno.memoryUsage().rss - before) / 1024 / 1024;
  const loaded = events.find((event) => event.kind === "schema-cache-loaded");
  console.log(`\nSchema cache of ${JSON.stringify(loaded?.counts)}:`);
  console.log(`loaded in ${seconds.toFixed(2)} s, ${megabytes.toFixed(0)} MB more of memory`);
  await handler.close();
}

if (import.meta.main) {
  console.error("Starting PostgreSQL...");
  await using server = await startPostgres();
  const uri = server.uri({ user: "authenticator", password: "p" });
  await withClient(server.uri(), async (client) => {
    console.error("Writing 100,000 rows and their parts...");
    await client.query(rows);
    await benchPages(uri, client);
    console.error("Making 5,000 tables and 2,000 functions...");
    await client.query("create schema big");
    await client.query(tablesSql("big", 5000));
    await client.query(bigFunctions);
  });
  await benchSchema(uri);
}
