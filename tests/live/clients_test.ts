/** Clients of Electric's protocol, which live queries serve without changes. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Shape, ShapeStream } from "@electric-sql/client";
import { createCollection } from "@tanstack/db";
import { electricCollectionOptions } from "@tanstack/electric-db-collection";
import { deferred } from "../../src/base/lib/deferred.ts";
import { Outbox } from "../../examples/offline/outbox.ts";
import { type LiveApi, openLiveApi } from "../support/handler/live_api.ts";
import { eventually } from "../support/timing/eventually.ts";
import { type Random, seededRandom } from "../support/timing/random.ts";
import { signToken } from "../support/handler/token.ts";

const a = { role: "writer", sub: "a" };
const origin = "http://localhost:3000";
const url = `${origin}/live/orders?select=id,status,total&status=eq.open`;

/** The same rows, as Electric names them. */
const electric = {
  url: `${origin}/live/v1/shape`,
  params: {
    table: "orders",
    columns: ["id", "status", "total"],
    where: "status = $1",
    params: ["open"],
  },
};

/** Options of a client that reads from a service in this process. */
async function shapeOptions(api: { handler(request: Request): Promise<Response> }) {
  const Authorization = `Bearer ${await signToken(a)}`;
  const fetchClient: typeof fetch = async (input, init) =>
    await api.handler(new Request(input, init));
  return { headers: { Authorization }, fetchClient };
}

/** Returns the rows of the GET, by id. */
async function rowsOf(api: LiveApi): Promise<readonly unknown[]> {
  const response = await api.send(
    `GET ${url.slice(`${origin}/live`.length)}&order=id`,
    { as: a },
  );
  return await response.json();
}

const forms = {
  polls: { url },
  "a stream": { url, liveSse: true },
  "polls of Electric's URL": electric,
  "a stream of Electric's URL": { ...electric, liveSse: true },
};

for (const [label, form] of Object.entries(forms)) {
  Deno.test({
    name: `@electric-sql/client follows ${label}`,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using api = await openLiveApi();
      const aborting = new AbortController();
      const options = { ...await shapeOptions(api), ...form, signal: aborting.signal };
      const shape = new Shape<{ id: number }>(new ShapeStream<{ id: number }>(options));
      const sorted = () => shape.currentRows.toSorted((one, other) => one.id - other.id);
      const reaches = async () => {
        const expected = JSON.stringify(await rowsOf(api));
        const done = deferred<void>();
        const check = () => JSON.stringify(sorted()) === expected && done.resolve();
        const unsubscribe = shape.subscribe(check);
        check();
        await done.promise;
        unsubscribe();
      };
      await shape.rows;
      await reaches();
      for (
        const sql of [
          "insert into api.orders values (70, 'a', 'open', 7), (71, 'a', 'open', 8)",
          "update api.orders set total = total + 1",
          "update api.orders set status = 'done' where id = 1",
          "delete from api.orders where id = 70",
          "truncate api.orders",
          "insert into api.orders values (72, 'a', 'open', 7)",
        ]
      ) {
        await api.sql(sql);
        await reaches();
      }
      deepStrictEqual(sorted(), await rowsOf(api));
      aborting.abort();
    },
  });
}

Deno.test({
  name:
    "@electric-sql/client refetches behind a restart with other content, and keeps the same content",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using api = await openLiveApi();
    let current = api;
    const aborting = new AbortController();
    const stream = new ShapeStream<{ id: number }>({
      ...await shapeOptions(api),
      ...electric,
      signal: aborting.signal,
      fetchClient: async (input, init) => await current.handler(new Request(input, init)),
    });
    const shape = new Shape<{ id: number }>(stream);
    strictEqual((await shape.rows).length, 1);
    // The rows may have arrived before the subscription.
    const hasRows = (count: number) => {
      const done = deferred<void>();
      const check = () => shape.currentRows.length === count && done.resolve();
      shape.subscribe(check);
      check();
      return done.promise;
    };
    await using other = await api.open();
    current = other;
    await api.handler.close();
    await other.sql("insert into api.orders values (70, 'a')");
    await hasRows(2);
    await using third = await other.open();
    const writer = await third.connect();
    await other.handler.close();
    await writer.query("insert into api.orders values (71, 'a')");
    current = third;
    await hasRows(3);
    await writer[Symbol.asyncDispose]();
    aborting.abort();
  },
});

const nameWrite = `create function private.name_write() returns void language plpgsql as $$ begin
  if current_setting('request.method') <> 'GET' then
    perform set_config('response.headers',
      json_build_array(json_build_object('electric-txid', pg_current_xact_id()::text))::text, true);
  end if; end $$`;

Deno.test({
  name: "TanStack DB confirms optimistic writes by their transactions",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using api = await openLiveApi({
      dbPreRequest: { schema: "private", name: "name_write" },
    });
    await api.sql(nameWrite);
    let current = api;
    let starts = 0;
    const resumed = deferred<string>();
    const write = async (line: string, body: unknown) => {
      const response = await current.send(line, { as: a, body });
      const txid = Number(response.headers.get("electric-txid"));
      strictEqual(response.ok, true, await response.text());
      return { txid };
    };
    type Order = { id: number; status: string; total: number };
    const collection = createCollection(electricCollectionOptions<Order>({
      id: "orders",
      syncMode: "eager",
      shapeOptions: {
        ...await shapeOptions({
          handler: (request) => {
            starts += Number(request.url.includes("offset=-1"));
            if (current !== api) resumed.resolve(request.url.replace("&live=true", ""));
            return current.handler(request);
          },
        }),
        ...electric,
      },
      getKey: ({ id }) => id,
      onInsert: ({ transaction: { mutations: [{ modified }] } }) =>
        write("POST /orders", { ...modified, owner: "a" }),
      onUpdate: ({ transaction: { mutations: [{ key, changes }] } }) =>
        write(`PATCH /orders?id=eq.${key}`, changes),
    }));
    await collection.stateWhenReady();
    deepStrictEqual([...collection.toArray].map(({ id }) => id), [1]);
    const insert = collection.insert({ id: 80, status: "open", total: 8 });
    strictEqual(collection.has(80), true);
    await insert.isPersisted.promise;
    // The next service answers from the offset of the first.
    await using next = await api.open();
    current = next;
    await api.handler.close();
    // Its poll waits, and this one is answered once the result has been read.
    const resuming = await next.send(`GET ${(await resumed.promise).slice(origin.length)}`, {
      as: a,
    });
    strictEqual((await resuming.json()).length, 1);
    const update = collection.update(80, (draft) => void (draft.total = 9));
    await update.isPersisted.promise;
    strictEqual(collection.get(80)?.total, 9);
    deepStrictEqual(
      collection.toArray.map(({ id, total }) => [id, total]).toSorted(),
      (await rowsOf(next) as readonly Order[]).map(({ id, total }) => [id, total]),
    );
    strictEqual(starts, 1);
    await collection.cleanup();
  },
});

type Tally = { readonly id: number; total: number };

/** A device: its collection, its outbox, and a network that loses requests and responses. */
async function openDevice(api: LiveApi, random: Random) {
  const { headers: { Authorization } } = await shapeOptions(api);
  const network = { isOnline: true, losesResponses: false };
  const send = async (request: Request) => {
    if (!network.isOnline) throw new TypeError("the network is away");
    const losesResponse = network.losesResponses && request.method !== "GET";
    request.headers.set("Authorization", Authorization);
    const response = await api.handler(request);
    if (!losesResponse || random.below(2) === 0) return response;
    await response.body?.cancel();
    throw new TypeError("the response was lost");
  };
  const items = new Map<string, string>();
  const storage = {
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, text: string) => void items.set(name, text),
  };
  const outbox = new Outbox({
    origin,
    fetch: send,
    storage,
    merge: (changes, original, current) => ({
      ...changes,
      total: Number(current.total) + Number(changes.total) - Number(original.total),
    }),
  });
  const collection = createCollection(electricCollectionOptions<Tally>({
    syncMode: "eager",
    shapeOptions: {
      url: electric.url,
      params: { table: "orders", columns: ["id", "total"] },
      fetchClient: (input, init) => send(new Request(input, init)),
      backoffOptions: { initialDelay: 1, maxDelay: 10, multiplier: 2 },
    },
    getKey: ({ id }) => id,
    ...outbox.handlers("orders"),
  }));
  await collection.stateWhenReady();
  return { network, outbox, collection };
}

Deno.test({
  name: "examples/offline loses and doubles no write of two devices in 1,000 flips",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using database = await openLiveApi();
    const keys = new URL("../fixtures/parts/idempotency_keys.sql", import.meta.url);
    await database.sql(`${nameWrite}; ${await Deno.readTextFile(keys)}
      grant usage on schema svc to writer;
      grant select, insert, update, delete on svc.idempotency_keys to writer;
      alter table api.orders alter owner set default 'a';
      create table private.writes (id int);
      create function private.note() returns trigger security definer language plpgsql as $$ begin
        insert into private.writes values (new.id); return null; end $$;
      create trigger note after insert or update on api.orders
        for each row execute function private.note()`);
    await using api = await database.open({
      dbPreRequest: { schema: "private", name: "name_write" },
      idempotencyTable: { schema: "svc", name: "idempotency_keys" },
      etagMode: "on",
    });
    const random = seededRandom(54);
    const devices = [await openDevice(api, random), await openDevice(api, random)] as const;
    const inserted = [1, 2];
    const persisted: Promise<unknown>[] = [];
    for (let flip = 0; flip < 1000; flip++) {
      const { network, outbox, collection } = random.pick(devices);
      if (random.below(3) > 0) {
        persisted.push(
          collection.update(1, (draft) => void draft.total++).isPersisted.promise,
        );
      } else {
        inserted.push(1000 + flip);
        persisted.push(
          collection.insert({ id: 1000 + flip, total: flip }).isPersisted.promise,
        );
      }
      network.losesResponses = random.below(2) === 0;
      network.isOnline = !network.isOnline;
      if (network.isOnline) await outbox.flush();
    }
    for (const { network, outbox } of devices) {
      Object.assign(network, { isOnline: true, losesResponses: false });
      while (outbox.size > 0) await outbox.flush();
    }
    await Promise.all(persisted);
    const rows = await api.sql("select id, total from api.orders where owner = 'a' order by id");
    const [{ writes } = {}] = await api.sql("select count(*)::int as writes from private.writes");
    deepStrictEqual(rows.map(({ id }) => id), inserted);
    strictEqual(rows[0]!.total, 10 + 1002 - inserted.length);
    strictEqual(writes, 1000);
    for (const { collection } of devices) {
      const seen = () => collection.toArray.map(({ id, total }) => ({ id, total }));
      await eventually("the device sees all rows", () => {
        const sorted = seen().toSorted((one, other) => one.id - other.id);
        return JSON.stringify(sorted) === JSON.stringify(rows);
      });
      await collection.cleanup();
    }
  },
});
