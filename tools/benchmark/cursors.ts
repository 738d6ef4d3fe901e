/**
 * The cost of pages by cursors, beside pages by offset, and the rows that PostgreSQL reads for a page
 * across NULL. Run: `deno task bench:cursors`.
 *
 * @module
 */
import { createHandler, type Handler } from "../../mod.ts";
import { withClient } from "../../tests/support/postgres_client.ts";
import { startPostgres } from "../../tests/support/postgres_server.ts";
import { markdownTable, shown } from "./table.ts";

const rows = `
  create role anon nologin;
  create role authenticator login noinherit password 'p';
  grant anon to authenticator;
  create schema api;
  create table api.items (id int primary key, name text not null, price int);
  insert into api.items
    select n, 'item ' || n, case when n % 10 > 0 then n % 20000 end
    from generate_series(1, 200000) n;
  create index on api.items (price, id);
  create index on api.items (name, id);
  grant usage on schema api to anon;
  grant select on all tables in schema api to anon;
  analyze;
`;

const pageLength = 100;
const farPage = 1000;

/** The answer to a page. */
interface Page {
  readonly milliseconds: number;
  /** Query of the next page; null on the last one. */
  readonly next: string | null;
}

async function read(handler: Handler, query: string): Promise<Page> {
  const began = performance.now();
  const response = await handler(new Request(`http://x/items?${query}`));
  const body = await response.json();
  const milliseconds = performance.now() - began;
  if (response.status !== 200 || body.length !== pageLength) throw new Error(JSON.stringify(body));
  const next = /<\?([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "");
  return { milliseconds, next: next?.[1] ?? null };
}

/** Milliseconds of each query by the fastest of its runs, in turns of 20: noise only ever adds. */
async function fastest(handler: Handler, queries: readonly string[]): Promise<readonly number[]> {
  const best = queries.map(() => Infinity);
  for (let turn = 0; turn < 15; turn++) {
    for (const [index, query] of queries.entries()) {
      for (let time = 0; time < 20; time++) {
        best[index] = Math.min(best[index]!, (await read(handler, query)).milliseconds);
      }
    }
  }
  return best;
}

async function farCursor(handler: Handler, query: string): Promise<string> {
  let next = `${query}&after=`;
  for (let page = 1; page < farPage; page++) next = (await read(handler, next)).next!;
  return next;
}

/** Measures pages in one order. */
async function benchOrder(handler: Handler, order: string): Promise<readonly string[]> {
  const query = `order=${order}&limit=${pageLength}`;
  const far = await farCursor(handler, query);
  const [plain, first, behind, offset] = await fastest(handler, [
    query,
    `${query}&after=`,
    far,
    `${query}&offset=${(farPage - 1) * pageLength}`,
  ]) as [number, number, number, number];
  const ratios = [first / plain, behind / first, offset / behind];
  return [order, ...[plain, first, behind, offset, ...ratios].map(shown)];
}

if (import.meta.main) {
  console.error("Starting PostgreSQL...");
  await using server = await startPostgres();
  await withClient(server.uri(), async (client) => {
    await client.query(rows);
  });
  const dbUri = server.uri({ user: "authenticator", password: "p" });
  const handler = createHandler({ dbUri, dbSchemas: ["api"], dbAnonRole: "anon" });
  await handler.ready();
  const lines: (readonly string[])[] = [];
  for (const order of ["id", "price", "name"]) {
    console.error(`Reading pages in the order ${order}...`);
    lines.push(await benchOrder(handler, order));
  }
  console.log(markdownTable([
    "order of 200,000 rows",
    "page 1 ms",
    "`after=` ms",
    "page 1,000 ms",
    "by offset ms",
    "`after=` : page 1",
    "page 1,000 : `after=`",
    "offset : cursor",
  ], lines));
  await handler.close();
}
