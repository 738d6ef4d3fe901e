/** The protocol of live queries: forms of requests, offsets, limits, ends. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { citusFake } from "../support/database/citus_fake.ts";
import { type LiveApi, openLiveApi } from "../support/handler/live_api.ts";
import type { LiveMessageText } from "../support/clients/live_client.ts";
import { eventually } from "../support/timing/eventually.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";

const a = { role: "writer", sub: "a" };

interface Poll {
  readonly status: number;
  /** Parameters of the next request. */
  readonly next: string;
  readonly messages: readonly LiveMessageText[];
}

async function poll(api: LiveApi, path: string, parts: RequestParts = { as: a }): Promise<Poll> {
  const response = await api.send(`GET ${path}`, parts);
  const { headers, status } = response;
  const next = `offset=${headers.get("electric-offset")}&handle=${headers.get("electric-handle")}`;
  return { status, next, messages: await response.json() };
}

const operations = (messages: readonly LiveMessageText[]) =>
  messages.map(({ headers, key }) => headers.control ?? `${headers.operation} ${key}`);

Deno.test("without live-path the path is an ordinary one, and other answers are the same", async () => {
  await using api = await openLiveApi({ livePath: null });
  await using other = await api.open({ livePath: "/live" });
  const found = await api.send("GET /live/orders?offset=-1", { as: a });
  strictEqual(found.status, 404);
  await found.body?.cancel();
  for (const path of ["/orders", "/live", "/lives", "/"]) {
    const answers = await Promise.all([api, other].map(async ({ send }) => {
      const response = await send(`GET ${path}`, {
        as: a,
        headers: { Origin: "http://a.example" },
      });
      return [response.status, [...response.headers], await response.text()];
    }));
    deepStrictEqual(answers[0], answers[1]);
  }
});

Deno.test("offset=-1 is answered with the rows and five headers", async () => {
  await using api = await openLiveApi();
  const response = await api.send("GET /live/orders?select=id,total&offset=-1", {
    as: a,
    headers: { Origin: "http://a.example" },
  });
  const messages: readonly LiveMessageText[] = await response.json();
  strictEqual(response.headers.get("content-type"), "application/json");
  strictEqual(response.headers.get("cache-control"), "no-store, no-transform");
  const names = ["offset", "handle", "schema", "cursor", "up-to-date"].map((name) =>
    `electric-${name}`
  );
  const exposed = response.headers.get("access-control-expose-headers")!;
  for (const name of names) {
    ok(response.headers.has(name), name);
    ok(exposed.includes(name), name);
  }
  strictEqual(response.headers.get("electric-schema"), "{}");
  deepStrictEqual(messages.slice(0, 2), [
    { headers: { operation: "insert" }, key: '"1"', value: { id: 1, total: 10 } },
    { headers: { operation: "insert" }, key: '"2"', value: { id: 2, total: 20 } },
  ]);
  const [end, last] = messages.slice(2);
  deepStrictEqual(Object.keys(end!.headers), ["control", "xmin", "xmax", "xip_list"]);
  strictEqual(`${last!.headers.global_last_seen_lsn}_0`, response.headers.get("electric-offset"));
});

Deno.test("Electric's URL is answered with texts, and their types", async () => {
  await using api = await openLiveApi();
  const path = "/live/v1/shape?table=api.orders&columns=%22id%22,customer";
  const response = await api.send(`GET ${path}&where=total<15&offset=-1`, { as: a });
  const messages: readonly LiveMessageText[] = await response.json();
  strictEqual(
    response.headers.get("electric-schema"),
    '{"id":{"type":"int4","dims":0},"customer":{"type":"int4","dims":0}}',
  );
  deepStrictEqual(messages[0], {
    headers: { operation: "insert" },
    key: '"1"',
    value: { id: "1", customer: "1" },
  });
  const next = `live=true&offset=${response.headers.get("electric-offset")}`;
  await api.sql("update api.orders set customer = null where id = 1");
  const changed = await poll(api, `${path}&where=total<15&${next}`);
  deepStrictEqual(operations(changed.messages)[0], 'update "1"');
  await api.sql("update api.orders set total = 15 where id = 1");
  const removed = await poll(api, `${path}&where=total<15&live=true&${changed.next}`);
  deepStrictEqual(removed.messages[0]?.value, { id: "1" });
});

/** Conditions on which SQL and filters agree, also where values are null. */
const conditions = [
  "customer = 1 OR total BETWEEN 15 AND 60",
  "NOT (customer = 1)",
  "customer NOT IN (2, 3)",
  "(customer IS NULL AND total > 1) OR status LIKE 'd_n%'",
  "NOT (status ILIKE 'OPEN' AND customer IS NOT NULL)",
  "status <> 'it''s' AND NOT NOT total != 20",
  `"status" NOT LIKE '%e%' OR status IN ('', 'a,"b')`,
] as const;

Deno.test("Electric's URL selects the rows that its condition selects in SQL", async () => {
  await using api = await openLiveApi();
  await api.sql(`insert into api.orders values (50, 'a', '', 50, null), (51, 'a', 'a,"b', 60, 2)`);
  for (const where of conditions) {
    const query = `table=orders&columns=id&where=${encodeURIComponent(where)}`;
    const response = await api.send(`GET /live/v1/shape?${query}`, { as: a });
    const messages: readonly LiveMessageText[] = await response.json();
    const rows = await api.sql(`select id from api.orders where owner = 'a' and (${where})`);
    const ids = messages.flatMap(({ value }) => value === undefined ? [] : value.id);
    deepStrictEqual(ids.map(Number).toSorted(), rows.map(({ id }) => id).toSorted(), where);
  }
});

Deno.test("a poll waits for a change, and others read it from the log", async () => {
  await using api = await openLiveApi();
  const path = "/live/orders?select=id,total";
  const first = await poll(api, `${path}&offset=-1`);
  const waiting = poll(api, `${path}&${first.next}&live=true&cursor=1`);
  await api.sql("update api.orders set total = 12 where id = 1");
  const changed = await waiting;
  deepStrictEqual(operations(changed.messages), ['update "1"', "snapshot-end", "up-to-date"]);
  const late = await poll(api, `${path}&${first.next}`);
  deepStrictEqual(late.messages, changed.messages);
  const none = await poll(api, `${path}&${changed.next}`);
  deepStrictEqual(operations(none.messages), ["up-to-date"]);
});

Deno.test("the end of the service ends a poll", async () => {
  await using api = await openLiveApi();
  const path = "/live/orders?select=id,total";
  // It keeps the result current, so that polls need no run.
  await using stream = await api.stream(path, { as: a });
  await stream.next();
  const line = `GET ${path}&offset=${stream.lastId}&live=true`;
  const waiting = api.handler(await buildRequest({ line, origin: "http://localhost" }, { as: a }));
  // This one passes the same stages behind it.
  strictEqual((await poll(api, `${path}&offset=${stream.lastId}`)).status, 200);
  await api.handler.close();
  deepStrictEqual(operations(await (await waiting).json()), ["up-to-date"]);
});

Deno.test("Electric's stream begins at an offset", async () => {
  await using api = await openLiveApi();
  const path = "/live/orders?select=id,total";
  const { next } = await poll(api, `${path}&offset=-1`);
  await using stream = await api.stream(`${path}&${next}&live=true&live_sse=true`, {
    as: a,
    headers: { Accept: "text/event-stream" },
  });
  deepStrictEqual(await stream.next(), []);
  await api.sql("update api.orders set total = 12 where id = 1");
  strictEqual((await stream.next())[0]?.value.total, 12);
  match(stream.lastId!, /^\d+_0$/);
});

Deno.test("a new token and a restart keep an offset, other content does not", async () => {
  await using api = await openLiveApi();
  const path = "/live/orders?select=id,total&order=id";
  const { next } = await poll(api, `${path}&offset=-1`);
  const [, id] = /^offset=(\d+_0)/.exec(next)!;
  const again = await poll(api, `${path}&${next}`, { as: { ...a, jti: "2" } });
  deepStrictEqual([again.status, operations(again.messages)], [200, ["up-to-date"]]);
  await api.handler.close();
  await using other = await api.open();
  const restarted = await poll(other, `${path}&${next}`);
  deepStrictEqual([restarted.status, operations(restarted.messages)], [200, ["up-to-date"]]);
  await other.sql("update api.orders set total = 12 where id = 1");
  await other.handler.close();
  await using third = await api.open();
  const changed = await poll(third, `${path}&${next}`);
  deepStrictEqual([changed.status, operations(changed.messages)], [409, ["must-refetch"]]);
  const [, handle] = /handle=(.*)$/.exec(changed.next)!;
  strictEqual(BigInt(handle!.split("-")[0]!), BigInt(id!.split("_")[0]!) >> 112n);
  const refetched = await poll(third, `${path}&offset=-1&handle=${handle}`);
  deepStrictEqual(operations(refetched.messages).slice(0, 2), ['insert "1"', 'insert "2"']);
  strictEqual(refetched.next.endsWith(handle!), true);
  await using stream = await third.stream(path, { as: a, headers: { "Last-Event-ID": id! } });
  await stream.next();
  await using resumed = await third.stream(path, {
    as: a,
    headers: { "Last-Event-ID": stream.lastId! },
  });
  const isRefetch = ({ headers }: LiveMessageText) => headers.control === "must-refetch";
  deepStrictEqual([...stream.rows.keys()], ['"1"', '"2"']);
  deepStrictEqual([await resumed.next(), resumed.messages.some(isRefetch)], [[], false]);
});

/** Request, status, code. */
const refusals = [
  ["GET /live/orders?where=id=1", 400, "SVC180"],
  ["GET /live/orders?table=x", 400, "SVC180"],
  ["GET /live/orders?columns=id", 400, "SVC180"],
  ["GET /live/orders?params[1]=x", 400, "SVC180"],
  ["GET /live/orders?subset__limit=1", 400, "SVC180"],
  ["GET /live/orders?log=changes_only", 400, "SVC180"],
  ["GET /live/orders?offset=now", 400, "SVC180"],
  ["GET /live/rpc/run?text=select", 400, "SVC180"],
  ["GET /live/", 400, "SVC180"],
  ["GET /live/v1/shape", 400, "SVC186"],
  ["GET /live/v1/shape?table=orders&where=lower(status)='x'", 400, "SVC186"],
  ["GET /live/v1/shape?table=orders&subset__limit=1", 400, "SVC186"],
  ["GET /live/v1/shape?table=orders&log=changes_only", 400, "SVC180"],
  ["GET /live/v1/shape?table=orders&where=nothing=1", 400, "42703"],
  ["GET /live/v1/shape?table=orders&where=total='x'", 400, "22P02"],
  ["GET /live/v1/shape?table=nowhere", 404, "SVC205"],
  ["GET /live/v1/shape?table=private.blocks", 406, "SVC106"],
  ["GET /live/v1/other?table=orders", 400, "SVC180"],
  ["POST /live/v1/shape?table=orders", 405, "SVC117"],
  ["POST /live/orders", 405, "SVC117"],
  ["HEAD /live/orders", 405, undefined],
  ["GET /live/log", 406, "SVC181"],
  ["GET /live/log_lines", 406, "SVC181"],
  ["GET /live/nowhere", 404, "SVC205"],
  ["GET /live/orders?nothing=eq.1", 400, "42703"],
  ["GET /live/orders?total=gt.20", 413, "SVC182"],
] as const;

Deno.test("live queries are refused", async (context) => {
  await using api = await openLiveApi({ liveMaxRows: 1 });
  await api.sql("insert into api.orders values (50, 'a', 'open', 50), (51, 'a', 'open', 50)");
  for (const [line, status, code] of refusals) {
    await context.step(line, async () => {
      const response = await api.send(line, { as: a });
      const text = await response.text();
      const body = text === "" ? {} : JSON.parse(text);
      deepStrictEqual([response.status, body.code], [status, code]);
      if (code === "SVC181") match(body.hint, /create or replace trigger svc_live[^]*api.*log/);
    });
  }
  const response = await api.send("OPTIONS /live/orders");
  deepStrictEqual([response.status, response.headers.get("allow")], [200, "OPTIONS,GET"]);
});

Deno.test("a live query of a distributed table is refused without advice of a trigger", async () => {
  await using api = await openLiveApi();
  await api.sql(`${citusFake} insert into pg_dist_partition values ('api.log', 'h')`);
  await using other = await api.open();
  const response = await other.send("GET /live/log", { as: a });
  const { code, hint } = await response.json();
  deepStrictEqual([response.status, code], [406, "SVC181"]);
  strictEqual(hint, "Citus has no triggers on distributed tables, so they have no live queries");
});

/** SQL that ends a stream at the next recheck, and the status of the next request. */
const losses = [
  ["a lost privilege", "revoke select on api.docs from writer", 403],
  ["a function before requests", "insert into private.blocks values ('a')", 403],
] as const;

for (const [label, sql, status] of losses) {
  Deno.test(`${label} ends a stream within live-recheck`, async () => {
    await using api = await openLiveApi({
      liveRecheck: 3,
      dbPreRequest: { schema: "private", name: "refuse" },
    });
    await api.sql(`create function private.refuse() returns void language plpgsql as $$ begin
      if exists (select from private.blocks where sub = current_setting('request.jwt.claims')::json->>'sub')
      then raise sqlstate 'PT403' using message = 'blocked'; end if; end $$`);
    await using stream = await api.stream("/live/docs?select=id", { as: a });
    await stream.next();
    await api.sql(sql);
    await stream.ended();
    await eventually("the next request is refused", async () => {
      const response = await api.send("GET /live/docs?select=id&offset=-1", { as: a });
      await response.body?.cancel();
      return response.status === status;
    });
  });
}

Deno.test("a changed policy takes effect within live-recheck", async () => {
  await using api = await openLiveApi({ liveRecheck: 2 });
  await using stream = await api.stream("/live/docs?select=id", { as: a });
  await stream.next();
  await api.sql("drop policy members on api.docs; create policy none on api.docs using (false)");
  // The stream may end before the recheck: an EventSource connects again.
  await eventually("no row is left", async () => {
    const { messages } = await poll(api, "/live/docs?select=id&offset=-1");
    return messages.every(({ key }) => key === undefined);
  });
});

Deno.test("a stream and a poll end when their token does", async () => {
  await using api = await openLiveApi();
  const [{ exp } = {}] = await api.sql("select extract(epoch from now())::int + 4 as exp");
  const as = { ...a, exp };
  const { next } = await poll(api, "/live/orders?select=id&offset=-1", { as });
  const waiting = poll(api, `/live/orders?select=id&${next}&live=true`, { as });
  await using stream = await api.stream("/live/orders?select=id", { as });
  await stream.next();
  await stream.ended();
  await api.sql("insert into api.orders values (61, 'a')");
  deepStrictEqual(operations((await waiting).messages), ["up-to-date"]);
  const response = await api.send("GET /live/orders?select=id", {
    as: { ...a, exp: Number(exp) - 60 },
  });
  strictEqual(response.status, 401);
  await response.body?.cancel();
});

Deno.test("a result that grows too large ends its streams", async () => {
  await using api = await openLiveApi({ liveMaxRows: 2 });
  await using stream = await api.stream("/live/orders?select=id", { as: a });
  await stream.next();
  await api.sql("insert into api.orders values (60, 'a')");
  await stream.ended();
  strictEqual((await api.stream("/live/orders?select=id", { as: a })).response.status, 413);
});

Deno.test("a stream that is not read ends at the end of a batch, others continue", async () => {
  await using api = await openLiveApi();
  const path = "/live/docs?select=id,title&id=eq.1";
  const unread = await api.send(`GET ${path}`, { as: a, headers: { Accept: "text/event-stream" } });
  await using stream = await api.stream(path, { as: a });
  for (const letter of "abcdefgh") {
    await api.sql(`update api.docs set title = repeat('${letter}', 300000) where id = 1`);
    await stream.until(({ rows }) => JSON.stringify([...rows.values()]).includes(letter.repeat(9)));
  }
  const text = await unread.text();
  const titles = [...text.matchAll(/"title":"(.)/g)].map(([, first]) => first);
  deepStrictEqual(titles, ["o", "a", "b", "c", "d"]);
  match(text, /"up-to-date"[^\n]*\n\n$/);
});

Deno.test("a client has a tenth of the streams, and all together have no more", async () => {
  await using api = await openLiveApi({ liveMaxStreams: 20 });
  const open = (sub: string) => api.stream("/live/orders?select=id", { as: { ...a, sub } });
  await using cleanup = new AsyncDisposableStack();
  for (let index = 0; index < 20; index++) cleanup.use(await open(String(Math.floor(index / 2))));
  strictEqual((await open("0")).response.status, 429);
  const { next } = await poll(api, "/live/orders?offset=-1");
  const refused = await poll(api, `/live/orders?${next}&live=true`);
  deepStrictEqual([refused.status, (refused.messages as unknown as { code: string }).code], [
    503,
    "SVC183",
  ]);
  const refusedStream = cleanup.use(await open("x"));
  await refusedStream.ended();
  strictEqual(refusedStream.response.status, 200);
  await cleanup.disposeAsync();
});

Deno.test("an EventSource connects again until there is capacity", async () => {
  await using api = await openLiveApi({ liveMaxStreams: 1 });
  const first = await api.stream("/live/orders?select=id", { as: { ...a, sub: "b" } });
  await first.next();
  const headers = { Accept: "text/event-stream" };
  const refused = await api.send("GET /live/orders?select=id", { as: a, headers });
  deepStrictEqual([refused.status, await refused.text()], [200, "retry: 1000\n\n"]);
  await first[Symbol.asyncDispose]();
  await using second = await api.stream("/live/orders?select=id", { as: a });
  await second.until(({ rows }) => rows.size === 2);
  await second[Symbol.asyncDispose]();
  await using other = await api.stream("/live/orders?select=id", { as: { ...a, sub: "b" } });
  await api.handler.close();
  await other.ended();
});

Deno.test("live queries need connections that outlive a request", async () => {
  await using api = await openLiveApi({ connections: "per-request" });
  const response = await api.send("GET /live/orders?offset=-1", { as: a });
  deepStrictEqual([response.status, (await response.json()).code], [501, "SVC185"]);
});

Deno.test("a limit of a relation counts Electric's URL", async () => {
  await using api = await openLiveApi({ rateLimits: "reads: 1/1h by ip on GET /orders" });
  const statuses = [];
  for (const path of ["v1/shape?table=docs", "v1/shape?table=orders", "orders?offset=-1"]) {
    statuses.push((await poll(api, `/live/${path}`)).status);
  }
  deepStrictEqual(statuses, [200, 200, 429]);
});

Deno.test("polls of ever other results count for rate-limits", async () => {
  await using api = await openLiveApi({ rateLimits: "starts: 2/1h by ip" });
  const statuses = [];
  for (const total of [11, 12, 13]) {
    const path = `/live/orders?select=id&total=lt.${total}&offset=0_0`;
    for (const live of ["", "&live=true"]) statuses.push((await poll(api, path + live)).status);
  }
  deepStrictEqual(statuses, [409, 409, 409, 409, 429, 429]);
});

Deno.test("starts of streams count for rate-limits, polls do not", async () => {
  await using api = await openLiveApi({ rateLimits: "starts: 2/1h by ip" });
  const path = "/live/orders?select=id";
  const { next } = await poll(api, `${path}&offset=-1`);
  for (let time = 0; time < 3; time++) {
    strictEqual((await poll(api, `${path}&${next}`)).status, 200);
  }
  await using stream = await api.stream(path, { as: a });
  await stream.next();
  strictEqual((await poll(api, `${path}&offset=-1`)).status, 429);
});
