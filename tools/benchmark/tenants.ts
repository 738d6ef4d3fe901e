/**
 * Measures tenants: memory of a loaded tenant, the first answer of one that is not loaded, and the answers
 * of a tenant while another one exceeds its limit. Run: `deno task bench:tenants`.
 *
 * @module
 */
import { withClient } from "../../tests/support/postgres_client.ts";
import { startPostgres } from "../../tests/support/postgres_server.ts";
import { openTenants } from "../../tests/support/tenants.ts";
import { tablesSql } from "./fixture.ts";
import { markdownTable, shown } from "./table.ts";

const sql = `
  create schema api;
  create table api.items (id int primary key, name text);
  insert into api.items select n, 'item ' || n from generate_series(1, 100) n;
  create function api.nap() returns text language sql stable as
    $$ select 'awake' from (select pg_sleep(0.025)) nap $$;
  grant usage on schema api to anon;
  grant select on all tables in schema api to anon;
`;

/** Number of small tenants. */
const tenantCount = 60;
/** Tables of the tenants whose first answer is measured. */
const tablesOfCold = 300;
const options = { "db-schemas": "api", "db-anon-role": "anon", "db-config": false };

await using server = await startPostgres({ settings: { max_connections: "400" } });
const names = Array.from({ length: tenantCount }, (_, number) => `t${number}`);
const coldNames = Array.from({ length: 7 }, (_, number) => `cold${number}`);
await makeDatabases();

/** Makes one database and copies it, once for each size of schema. */
async function makeDatabases(): Promise<void> {
  await withClient(server.uri(), async (client) => {
    await client.query("create role anon nologin");
    await client.query("create role authenticator login noinherit password 'p'");
    await client.query("grant anon to authenticator");
    await client.query("create database small");
    await client.query("create database large");
  });
  await withClient(uriOf("small", "postgres"), (client) => client.query(sql));
  await withClient(uriOf("large", "postgres"), async (client) => {
    await client.query(sql);
    await client.query(tablesSql("api", tablesOfCold));
  });
  await withClient(server.uri(), async (client) => {
    for (const name of names) await client.query(`create database ${name} template small`);
    for (const name of coldNames) await client.query(`create database ${name} template large`);
  });
}

function uriOf(database: string, user: "postgres" | "authenticator" = "authenticator"): string {
  const uri = new URL(user === "postgres" ? server.uri() : server.uri({ user, password: "p" }));
  uri.pathname = `/${database}`;
  return uri.href;
}

function filesOf(list: readonly string[]) {
  return Object.fromEntries(list.map((name) => [name, { "db-uri": uriOf(name) }]));
}

function heapBytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

/** Returns the bytes that one loaded tenant adds, with one open connection. */
async function memoryOfTenant(): Promise<number> {
  await using opened = await openTenants({ ...options, "tenant-by": "path" }, filesOf(names));
  const load = async (list: readonly string[]) => {
    for (const name of list) await read(opened.send(`GET http://h/${name}/items?limit=1`));
  };
  const [first, others] = [names.slice(0, 10), names.slice(10)];
  await load(first);
  const before = heapBytes();
  await load(others);
  return (heapBytes() - before) / others.length;
}

async function read(answer: Promise<Response>): Promise<void> {
  const response = await answer;
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
}

/** Returns times in ms of first answers, and of the queries of the catalog in them. */
async function firstAnswers() {
  await using opened = await openTenants({ ...options, "tenant-by": "path" }, filesOf(coldNames));
  const times = [];
  for (const name of coldNames) {
    const began = performance.now();
    await read(opened.send(`GET http://h/${name}/items?limit=1`));
    const first = performance.now() - began;
    const queried = opened.events.findLast(({ kind }) => kind === "schema-cache-queried");
    times.push({ first, catalog: queried?.kind === "schema-cache-queried" ? queried.ms : 0 });
  }
  return times;
}

/** Returns the 99th percentiles in ms of one tenant's answers, alone and beside another one over its limit. */
async function neighbour() {
  await using opened = await openTenants({
    ...options,
    "tenant-by": "path",
  }, filesOf(["t0", "t1"]));
  const http = Deno.serve(
    { port: 0, onListen: () => {} },
    (request) => opened.tenants.handle(request),
  );
  const origin = `http://127.0.0.1:${http.addr.port}`;
  const rounds = [];
  for (let round = 0; round < 8; round++) {
    const [alone] = await clients(origin, [measured]);
    const [beside, load] = await clients(origin, [measured, overload]);
    rounds.push({ alone: alone!.p99, beside: beside!.p99, refused: load!.refused });
  }
  await http.shutdown();
  return rounds;
}

/** Requests of several clients. */
interface ClientLoad {
  readonly path: string;
  readonly clients: number;
  /** Milliseconds between an answer and the next request. */
  readonly pauseMs: number;
}

const measured: ClientLoad = { path: "/t1/items?limit=10", clients: 4, pauseMs: 5 };
/** More clients than the tenant may have requests in progress. */
const overload: ClientLoad = { path: "/t0/rpc/nap", clients: 80, pauseMs: 50 };

/** The 99th percentile of the answers in ms, and the number of refused requests. */
interface ClientResult {
  readonly p99: number;
  readonly refused: number;
}

/** Runs each load in a process of its own. */
async function clients(
  origin: string,
  loads: readonly ClientLoad[],
): Promise<readonly ClientResult[]> {
  return await Promise.all(loads.map(async (load) => {
    const code = `(${client})(${JSON.stringify({ origin, ...load })})`;
    const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", code] }).output();
    return JSON.parse(new TextDecoder().decode(stdout));
  }));
}

/** Sends requests for three seconds. Those of the first second, in which connections open, do not count. */
async function client(
  { origin, path, clients, pauseMs }: ClientLoad & { readonly origin: string },
): Promise<void> {
  const from = performance.now() + 1000;
  const end = from + 2000;
  let refused = 0;
  const times: number[] = [];
  const send = async () => {
    while (performance.now() < end) {
      const began = performance.now();
      const response = await fetch(origin + path);
      await response.text();
      if (began > from) times.push(performance.now() - began);
      if (response.status === 503) refused++;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  await Promise.all(Array.from({ length: clients }, send));
  const p99 = times.sort((one, other) => one - other)[Math.floor(times.length * 0.99)];
  console.log(JSON.stringify({ p99, refused }));
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;
}

const bytes = await memoryOfTenant();
const cold = await firstAnswers();
const beside = await neighbour();
// Other work on the machine only adds to a round's times.
const alone = Math.min(...beside.map((round) => round.alone));
const loaded = Math.min(...beside.map((round) => round.beside));
console.log(markdownTable(["measure", "value"], [
  ["memory of a loaded tenant with two objects, kB", (bytes / 1000).toFixed(0)],
  [
    `first answer of a tenant with ${tablesOfCold} tables, ms`,
    shown(median(cold.map(({ first }) => first))),
  ],
  ["queries of the catalog in it, ms", shown(median(cold.map(({ catalog }) => catalog)))],
  ["first answer / catalog", shown(median(cold.map(({ first, catalog }) => first / catalog)))],
  ["p99 alone, best round, ms", shown(alone)],
  ["p99 beside a tenant over its limit, best round, ms", shown(loaded)],
  ["ratio of the two", shown(loaded / alone)],
  ["requests refused in each round", shown(median(beside.map(({ refused }) => refused)))],
]));
