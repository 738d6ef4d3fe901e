/**
 * The nearest 10 of 100,000 vectors by a URL, with and without an index, and the plans of both. The
 * vectors are in an embedded database, which has pgvector everywhere. Run: `deno task bench:nearest`.
 *
 * @module
 */
import { createHandler, type Handler } from "../../mod.ts";
import { pgliteVector } from "../../tests/support/extensions.ts";
import { markdownTable, shown } from "./table.ts";

const rows = `
  create role anon nologin;
  create schema api;
  create schema ext;
  create extension vector schema ext;
  create table api.docs (id int primary key, embedding ext.vector(16) not null);
  insert into api.docs
    select n, array(select sin(n * k)::real from generate_series(1, 16) k)::ext.vector
    from generate_series(1, 100000) n;
  create function api.set_index(used boolean) returns void security definer language plpgsql as $$
  begin
    drop index if exists api.docs_embedding;
    if used then
      set local maintenance_work_mem = '256MB';
      create index docs_embedding on api.docs using hnsw (embedding ext.vector_cosine_ops)
        with (m = 8, ef_construction = 32);
    end if;
  end $$;
  grant usage on schema api, ext to anon;
  grant select on all tables in schema api to anon;
  analyze;
`;

const line = "/docs?select=id,score:embedding.cosine_distance(@q)" +
  "&order=embedding.cosine_distance(@q)&limit=10&@q=";

/** Returns the line with another vector each time, so that nothing is read twice. */
function requestOf(number: number): Request {
  const vector = Array.from({ length: 16 }, (_, index) => Math.cos(number * (index + 1)));
  return new Request(`http://localhost${line}[${vector}]`);
}

/** Returns the median of the milliseconds of some requests. */
async function median(handler: Handler, times: number): Promise<number> {
  const durations: number[] = [];
  for (let time = 0; time < times; time++) {
    const began = performance.now();
    const response = await handler(requestOf(time));
    const found = await response.json();
    if (response.status !== 200 || found.length !== 10) throw new Error(JSON.stringify(found));
    durations.push(performance.now() - began);
  }
  return durations.sort((a, b) => a - b)[Math.floor(times / 2)]!;
}

async function scanOf(handler: Handler): Promise<string> {
  const request = requestOf(0);
  request.headers.set("Accept", "application/vnd.svc.plan+text");
  const plan = await (await handler(request)).text();
  return /(?:Index|Seq) Scan[^(]*/.exec(plan)?.[0].trim() ?? plan;
}

const handler = createHandler({
  dbUri: "pglite://memory",
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbPlanEnabled: true,
  embeddedExtensions: await pgliteVector(),
  embeddedInit: rows,
});
const measured: { readonly name: string; readonly ms: number; readonly scan: string }[] = [];
try {
  await handler.ready();
  for (const [name, used] of [["without index", false], ["HNSW", true]] as const) {
    const url = `http://localhost/rpc/set_index?`;
    const body = JSON.stringify({ used });
    const headers = { "Content-Type": "application/json" };
    const response = await handler(new Request(url, { method: "POST", body, headers }));
    if (!response.ok) throw new Error(await response.text());
    await median(handler, 10);
    measured.push({ name, ms: await median(handler, 60), scan: await scanOf(handler) });
  }
} finally {
  await handler.close();
}
console.log(
  markdownTable(
    ["nearest 10 of 100,000", "ms", "plan"],
    measured.map(({ name, ms, scan }) => [name, shown(ms), scan]),
  ),
);
const [without, indexed] = measured;
console.log(`\n${shown(without!.ms / indexed!.ms)} times faster with the index`);
