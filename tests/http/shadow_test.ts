/** Two servers behind a shadow: planted differences are found, and others are not. */
import { deepStrictEqual, match } from "node:assert/strict";
import { createHandler, type Handler } from "../../mod.ts";
import { proxyHandler } from "../../src/wings/shadow/proxy.ts";
import { Shadow } from "../../src/wings/shadow/shadow.ts";
import { Tally } from "../../src/wings/shadow/tally.ts";
import { copyPostgres, engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { eventually } from "../support/timing/eventually.ts";

/** Differences of the database behind svc, and the shape that shows each of them alone. */
const planted: readonly (readonly [sql: string, shape: string, difference: RegExp])[] = [
  [
    "revoke select on api.note from anon",
    "GET /note",
    /^status: upstream 200, svc \{"status":401/m,
  ],
  [
    "create or replace function api.cached() returns int language sql stable as $$ select set_config(" +
    `'response.headers', '[{"Cache-Control": "max-age=61"}]', true); select 1 $$`,
    "GET /rpc/cached",
    /^header Cache-Control: upstream "max-age=60", svc "max-age=61"$/m,
  ],
  [
    "update api.item set price = 3.5 where id = 3",
    "GET /item?id=lte&select",
    /^\[\]\.price: upstream 3, svc 3\.5$/m,
  ],
  [
    "update api.item set rank = 41 where id = 12",
    "GET /item?id=lt&order&select",
    /^order of \[\]: upstream \{"id":12\}, svc \{"id":13\}$/m,
  ],
  [
    "delete from api.item where id = 40",
    "GET /item?id=gt&select",
    /^\[\]: upstream \{"rows":10,"only":\{"id":40\}\}, svc \{"rows":9\}$/m,
  ],
];

/** Reads that show the planted differences, each once. */
const showing = [
  "/note",
  "/rpc/cached",
  "/item?id=lte.3&select=id,price",
  "/item?id=lt.30&order=rank&select=id",
  "/item?id=gt.30&select=id",
];

/** Reads without a difference, with volatile values among them. */
const others = [
  "/item?id=in.(4,5,6)",
  "/item?select=id,team(name)&id=lte.9&order=id.desc",
  "/team?select=name,item(id,rank)&item.id=lt.12",
  "/team?order=id&limit=2",
  "/seen?id=lt.9",
  "/seen?id=lt.9&order=id.desc",
  "/rpc/dice",
  "/missing",
];

/** A shadow between servers of one database, or of two with the planted differences. */
async function withShadow(
  svc: "equal" | "planted",
  run: (
    parts: { readonly origin: string; readonly tally: Tally; stop(): Promise<void> },
  ) => Promise<void>,
): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const database = await engines.pg({ name: "shadow", roles: ["anon"] });
  parts.defer(() => database.remove());
  const own = svc === "equal" ? database : await copyPostgres(database);
  if (own !== database) {
    parts.defer(() => own.remove());
    await withClient(
      own.superuserUri!,
      (client) => client.query(planted.map(([sql]) => sql).join(";")),
    );
  }
  const open = async (dbUri: string): Promise<Handler> => {
    const handler = createHandler({ dbUri, dbSchemas: ["api"], dbAnonRole: "anon" });
    parts.defer(() => handler.close());
    await handler.ready();
    return handler;
  };
  const upstream = parts.use(serve(await open(database.uri)));
  const handle = await open(own.uri);
  const tally = new Tally();
  const shadow = new Shadow({
    upstream: `http://127.0.0.1:${upstream.addr.port}`,
    fetch,
    handle,
    tally,
    now: () => performance.timeOrigin,
    isSampled: () => true,
    pause: () => Promise.resolve(),
  });
  const proxy = proxyHandler(shadow);
  const server = parts.use(serve((request) => proxy(request, {})));
  await run({ origin: `http://127.0.0.1:${server.addr.port}`, tally, stop: () => shadow.stop() });
}

function serve(handle: (request: Request) => Promise<Response>): Deno.HttpServer<Deno.NetAddr> {
  const address = { port: 0, hostname: "127.0.0.1", onListen() {} };
  return Deno.serve(address, (request) => handle(request));
}

/** Sends requests, 20 at a time, while few answers wait. Resolves when all of them are compared. */
async function load(
  { origin, tally }: { readonly origin: string; readonly tally: Tally },
  targets: readonly string[],
): Promise<void> {
  const left = targets.values();
  const waiting = () => tally.requests - tally.compared - tally.notCompared;
  const work = async () => {
    for (const target of left) {
      // A shadow keeps 64 answers. The others of the 20 may send a request each meanwhile.
      if (waiting() > 40) await eventually("few answers wait", () => waiting() <= 40);
      const response = await fetch(origin + target);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: 20 }, work));
  await eventually("all answers are compared", () => waiting() === 0);
}

/** Returns the shapes that differ, each with its lines. */
function foundIn(report: string): readonly (readonly [shape: string, lines: string])[] {
  return report.split("\n\n").slice(1).map((block) => {
    const [shape = "", ...lines] = block.split("\n");
    return [shape, lines.map((line) => line.trim()).join("\n")];
  });
}

Deno.test("Shadow finds each planted difference under load", async () => {
  await withShadow("planted", async (parts) => {
    await load(parts, Array.from({ length: 40 }, () => [...showing, ...others]).flat());
    await parts.stop();
    const found = new Map(foundIn(parts.tally.report()));
    deepStrictEqual([...found.keys()].sort(), planted.map(([, shape]) => shape).sort());
    for (const [, shape, difference] of planted) {
      match(found.get(shape)!, /^40 of 40 differ, such as$/m);
      match(found.get(shape)!, difference);
    }
  });
});

Deno.test("Shadow finds no difference between equal servers under load", async () => {
  await withShadow("equal", async (parts) => {
    const targets = [...showing, ...others];
    await load(parts, Array.from({ length: 2000 }, (_, at) => targets[at % targets.length]!));
    await parts.stop();
    match(
      parts.tally.report(),
      /^Your 2,000 requests: no shapes differ\n {2}2,000 reads compared, 0 not compared, 0 other/,
    );
  });
});
