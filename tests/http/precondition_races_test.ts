/** Clients that change one row at once: each change is made to what its client has seen. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { sessionsAreBlocked } from "../support/database/blocked_sessions.ts";
import type { PostgresClient } from "../support/database/postgres_client.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";

const config = {
  dbSchemas: ["public"],
  etagMode: "on",
  idempotencyTable: { schema: "keys", name: "idempotency_keys" },
} as const;

const counters = `
  create table counters (id int primary key, value int not null, note text);
  insert into counters values (1, 0);
  grant select, insert, update, delete on counters to anon;
  create schema keys;
  create table keys.idempotency_keys (
    principal text not null, key text not null, fingerprint bytea not null, status int,
    headers json, body bytea, created_at timestamptz not null default now(),
    primary key (principal, key)
  );
  grant usage on schema keys to anon;
  grant select, insert, update, delete on keys.idempotency_keys to anon;`;

type Send = (line: string, parts?: RequestParts) => Promise<Response>;

function withCounters(use: (send: Send, admin: PostgresClient) => Promise<void>): Promise<void> {
  return withAdministeredHandler(counters, config, async ({ handler, admin }) => {
    const send: Send = async (line, parts) =>
      await handler(await buildRequest({ line, origin: "http://x" }, parts));
    await use(send, admin);
  });
}

async function read(send: Send) {
  const response = await send("GET /counters?id=eq.1&select=value");
  const [row] = await response.json();
  return { value: row.value as number, tag: response.headers.get("ETag")! };
}

async function statusOf(response: Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

Deno.test("of two changes to one version one is made: 200 races lose no update", async () => {
  await withCounters(async (send) => {
    for (let race = 0; race < 200; race++) {
      const { value, tag } = await read(send);
      strictEqual(value, race);
      const body = { value: value + 1 };
      const headers = { "If-Match": tag };
      const rivals = [
        send("PATCH /counters?id=eq.1", { body, headers }),
        race % 2 === 0
          ? send("PATCH /counters?id=eq.1", { body, headers })
          : send("PUT /counters?id=eq.1", { body: { id: 1, ...body }, headers }),
      ];
      deepStrictEqual((await Promise.all(rivals.map(statusOf))).sort(), [204, 412]);
    }
    strictEqual((await read(send)).value, 200);
  });
});

/** Requests on the row that another session changes meanwhile. */
const waiting: readonly (readonly [line: string, body: unknown])[] = [
  ["PATCH /counters?id=eq.1", { value: 5 }],
  ["PUT /counters?id=eq.1", { id: 1, value: 5 }],
  ["DELETE /counters?id=eq.1", undefined],
  ["PATCH /counters?order=id&limit=1", { value: 5 }],
];

for (const [line, body] of waiting) {
  for (const rival of ["update counters set value = 9", "delete from counters"]) {
    Deno.test(`${line} with If-Match waits for "${rival}" and fails`, async () => {
      await withCounters(async (send, admin) => {
        const { tag } = await read(send);
        await admin.query("begin");
        await admin.query(rival);
        const pending = send(line, { body, headers: { "If-Match": tag } });
        await sessionsAreBlocked(admin);
        await admin.query("commit");
        strictEqual(await statusOf(pending), 412);
        const rows = await (await send("GET /counters?select=value")).json();
        deepStrictEqual(rows, rival.startsWith("update") ? [{ value: 9 }] : []);
      });
    });
  }
}

for (
  const [rival, value] of [
    ["update counters set note = 'seen'", 5],
    ["update counters set value = 9", 9],
  ] as const
) {
  Deno.test(`a limited write waits for "${rival}", and tests its filters again`, async () => {
    await withCounters(async (send, admin) => {
      await admin.query("begin");
      await admin.query(rival);
      const body = { value: 5 };
      const pending = send("PATCH /counters?value=eq.0&order=value&limit=1", { body });
      await sessionsAreBlocked(admin);
      await admin.query("commit");
      strictEqual(await statusOf(pending), 204);
      strictEqual((await read(send)).value, value);
    });
  });
}

Deno.test("of two PUTs with If-None-Match: * one inserts", async () => {
  await withCounters(async (send) => {
    for (let id = 10; id < 30; id++) {
      const put = () =>
        send(`PUT /counters?id=eq.${id}`, {
          body: { id, value: 1, note: null },
          headers: { "If-None-Match": "*" },
        });
      deepStrictEqual((await Promise.all([put(), put()].map(statusOf))).sort(), [204, 412]);
    }
  });
});

Deno.test("a key comes before preconditions: the answer of a repeated write is the first one", async () => {
  await withCounters(async (send) => {
    const { tag } = await read(send);
    const patch = (key: string) =>
      send("PATCH /counters?id=eq.1", {
        body: { value: 1 },
        headers: { "If-Match": tag, "Idempotency-Key": key },
      });
    strictEqual(await statusOf(patch("a")), 204);
    const again = await patch("a");
    deepStrictEqual([again.status, again.headers.get("Idempotent-Replayed")], [204, "true"]);
    strictEqual(await statusOf(patch("b")), 412);
    // A write that failed keeps nothing under its key.
    strictEqual(await statusOf(patch("b")), 412);
    const next = await read(send);
    const other = { "If-Match": next.tag, "Idempotency-Key": "b" };
    strictEqual(
      await statusOf(send("PATCH /counters?id=eq.1", { body: { value: 1 }, headers: other })),
      204,
    );
  });
});

Deno.test("a representation with a key is kept with its tag", async () => {
  await withCounters(async (send) => {
    const parts = {
      body: { value: 3 },
      headers: { Prefer: "return=representation", "Idempotency-Key": "a" },
    };
    const [first, second] = [
      await send("PATCH /counters?id=eq.1", parts),
      await send("PATCH /counters?id=eq.1", parts),
    ];
    const tag = first.headers.get("ETag");
    ok(tag !== null);
    deepStrictEqual([second.headers.get("ETag"), await second.text()], [tag, await first.text()]);
  });
});

Deno.test("a role that loses its right to the whole table fails once, and reads on without versions", async () => {
  await withCounters(async (send, admin) => {
    const tagOf = async () => {
      const response = await send("GET /counters?id=eq.1&select=id,value");
      await response.body?.cancel();
      return response.headers.get("ETag") ?? `${response.status}`;
    };
    const whole = await tagOf();
    ok(!whole.startsWith('"-'));
    await admin.query("revoke select on counters from anon");
    await admin.query("grant select (id, value) on counters to anon");
    strictEqual(await tagOf(), "401");
    for (let time = 0; time < 4; time++) strictEqual(await tagOf(), `"${whole.slice(17)}`);
    const headers = { "If-Match": whole };
    const body = { value: 1 };
    strictEqual(await statusOf(send("PATCH /counters?id=eq.1", { body, headers })), 412);
  });
});
