/**
 * Many reads, or writes, at once on few connections, so that several share a write to PostgreSQL, which
 * answers several reads together: each is a transaction of its own all the same wherever code of the
 * database's own could tell.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import type { PostgresClient } from "../support/database/postgres_client.ts";
import { buildRequest } from "../support/handler/request.ts";

const sql = `
  create table api.notes (id int primary key, body text);
  insert into api.notes select n, 'note ' || n from generate_series(1, 100) n;
  create table api.owned (id int primary key, body text);
  insert into api.owned select n, 'owned ' || n from generate_series(1, 100) n;
  alter table api.owned enable row level security;
  create policy own on api.owned using
    (id = (current_setting('request.headers')::json->>'x-n')::int);
  create table api.kept (id int primary key, body text);
  grant select on api.notes, api.owned to anon;
  grant all on api.kept to anon;
  create schema other;
  create table api.thing (id int);
  create table other.thing (id int);
  create table api.named (id int primary key, thing regclass);
  create table other.named (id int primary key, thing regclass);
  grant usage on schema other to anon;
  grant all on api.named, other.named to anon;

  -- What it is told, the transaction that it is in, and what the one before it has left.
  create function api.state(n int) returns json stable language plpgsql as $$
    declare told json;
    begin
      told := json_build_object(
        'n', n,
        'told', current_setting('request.headers')::json->>'x-n',
        'path', current_setting('request.path'),
        'left', coalesce(current_setting('my.left', true), ''),
        'role', current_user,
        'mode', current_setting('transaction_read_only'),
        'level', current_setting('transaction_isolation'),
        'transaction', (select virtualtransaction from pg_locks
          where pid = pg_backend_pid() and locktype = 'virtualxid'),
        'locks', (select count(*) from pg_locks
          where pid = pg_backend_pid() and locktype = 'advisory')
      );
      perform set_config('my.left', 'something', true);
      perform pg_advisory_xact_lock_shared(n);
      perform set_config('response.headers', json_build_array(json_build_object('X-N', n::text))::text, true);
      return told;
    end $$;
  create function api.leave(n int) returns text stable language plpgsql as $$
    declare
      found text := current_setting('response.headers', true);
    begin
      if n % 3 = 0 then
        perform set_config('response.headers', '[{"X-Left": "behind"}]', false),
          set_config('response.status', '202', false);
      end if;
      return found;
    end $$;
  create function api.refuse(n int) returns int stable language plpgsql as $$
    begin
      if n % 5 = 0 then raise exception 'no %', n; end if;
      return n;
    end $$;
  create function api.wait(n int) returns int stable language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(n); return n; end $$;
`;

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

type Ask = (
  line: string,
  n: number,
  more?: { readonly body: unknown; readonly headers?: Readonly<Record<string, string>> },
) => Promise<Answer>;

function togetherTest(name: string, run: (ask: Ask, admin: PostgresClient) => Promise<void>): void {
  const config = { dbSchemas: ["api", "other"], dbPool: 3 };
  Deno.test(name, () =>
    withAdministeredHandler(sql, config, ({ handler, admin }) => {
      const ask: Ask = async (line, n, more) => {
        const parts = { ...more, headers: { "X-N": String(n), ...more?.headers } };
        const request = await buildRequest({ line, origin: "http://h" }, parts);
        const response = await handler(request);
        const { status, headers } = response;
        const text = await response.text();
        return { status, headers, body: text === "" ? null : JSON.parse(text) };
      };
      return run(ask, admin);
    }));
}

/** Asks for each number at once, over and over; gives all answers. */
async function askAll(
  ask: (n: number) => Promise<Answer>,
  rounds = 10,
): Promise<readonly (readonly [n: number, answer: Answer])[]> {
  const all: (readonly [number, Answer])[] = [];
  for (let round = 0; round < rounds; round++) {
    const numbers = Array.from({ length: 40 }, (_, at) => at + 1);
    all.push(...await Promise.all(numbers.map(async (n) => [n, await ask(n)] as const)));
  }
  return all;
}

togetherTest(
  "each call is told what its own request said, in a transaction of its own",
  async (ask) => {
    const seen = new Set<unknown>();
    for (
      const [n, { status, body, headers }] of await askAll((n) => ask(`GET /rpc/state?n=${n}`, n))
    ) {
      const { transaction, ...told } = body as Record<string, unknown>;
      strictEqual(status, 200);
      deepStrictEqual(told, {
        n,
        told: String(n),
        path: "/rpc/state",
        left: "",
        role: "anon",
        mode: "on",
        level: "read committed",
        locks: 0,
      });
      strictEqual(headers.get("X-N"), String(n));
      ok(!seen.has(transaction), "a transaction had two calls");
      seen.add(transaction);
    }
  },
);

togetherTest("what a call leaves on the connection is gone", async (ask) => {
  for (
    const [n, { status, body, headers }] of await askAll((n) => ask(`GET /rpc/leave?n=${n}`, n))
  ) {
    const isLeft = n % 3 === 0;
    deepStrictEqual([status, body, headers.get("X-Left")], [
      isLeft ? 202 : 200,
      "",
      isLeft ? "behind" : null,
    ]);
  }
});

togetherTest("a call that fails fails alone", async (ask) => {
  for (const [n, { status, body }] of await askAll((n) => ask(`GET /rpc/refuse?n=${n}`, n))) {
    if (n % 5 === 0) {
      deepStrictEqual([status, (body as { message: string }).message], [400, `no ${n}`]);
    } else deepStrictEqual([status, body], [200, n]);
  }
});

togetherTest("a reading that fails fails alone", async (ask) => {
  const asked = (n: number) => ask(`GET /notes?select=body&id=eq.${n % 7 === 0 ? "x" : n}`, n);
  for (const [n, { status, body }] of await askAll(asked)) {
    if (n % 7 === 0) strictEqual(status, 400);
    else deepStrictEqual([status, body], [200, [{ body: `note ${n}` }]]);
  }
});

togetherTest("readings of all kinds at once", async (ask) => {
  const asked = (n: number): Promise<Answer> => {
    switch (n % 4) {
      case 0:
        return ask(`GET /notes?select=body&id=eq.${n}`, n);
      case 1:
        return ask(`GET /owned?select=body`, n);
      case 2:
        return ask(`GET /rpc/refuse?n=${n}`, n);
      default:
        return ask(`GET /notes?select=id&id=eq.${n}`, n);
    }
  };
  for (const [n, { status, body }] of await askAll(asked, 20)) {
    const expected = [
      [200, [{ body: `note ${n}` }]],
      [200, [{ body: `owned ${n}` }]],
      n % 5 === 0 ? [400, `no ${n}`] : [200, n],
      [200, [{ id: n }]],
    ][n % 4];
    const told = status === 200 ? body : (body as { message: string }).message;
    deepStrictEqual([status, told], expected);
  }
});

togetherTest("a call that waits holds up no others", async (ask, admin) => {
  const wait = (n: number) => ask(`GET /rpc/wait?n=${n}`, n);
  await askAll(wait, 20);
  await admin.query("select pg_advisory_lock(9)");
  const all = Array.from({ length: 20 }, (_, n) => wait(n));
  const others = await Promise.all(all.filter((_, n) => n !== 9));
  deepStrictEqual(others.map(({ body }) => body), [...Array(20).keys()].filter((n) => n !== 9));
  await admin.query("select pg_advisory_unlock(9)");
  strictEqual((await all[9]!).body, 9);
});

togetherTest("writes that are sent together are kept or refused one by one", async (ask, admin) => {
  let next = 0;
  const ids: number[] = [];
  const asked = async (n: number) => {
    // Each tenth is there already.
    const id = n % 10 === 0 ? 1 : ++next + 1;
    const answer = await ask("POST /kept", n, { body: { id, body: `kept ${n}` } });
    if (answer.status === 201) ids.push(id);
    return answer;
  };
  await ask("POST /kept", 0, { body: { id: 1, body: "first" } });
  for (const [n, { status }] of await askAll(asked, 30)) {
    strictEqual(status, n % 10 === 0 ? 409 : 201);
  }
  const { rows } = await admin.query("select id from api.kept order by id");
  deepStrictEqual(rows.map(({ id }) => id), [1, ...ids.toSorted((a, b) => a - b)]);
});

/** Writes that may stand behind one in the same write to the socket. */
const maxBehind = 3;

togetherTest(
  "a write that waits for a lock holds up the few behind it, and each is done once",
  async (ask, admin) => {
    let next = 0;
    const write = (id: number) => ask("POST /kept", id, { body: { id, body: `kept ${id}` } });
    await askAll(() => write(++next), 10);
    await admin.query("begin; insert into api.kept values (10009, ''), (10010, '')");
    let done = 0;
    const enough = Promise.withResolvers<void>();
    const all = Array.from({ length: 30 }, async (_, at) => {
      const { status } = await write(10_000 + at);
      if (++done === 28 - 2 * maxBehind) enough.resolve();
      return status;
    });
    await enough.promise;
    await admin.query("rollback");
    deepStrictEqual(await Promise.all(all), Array(30).fill(201));
    const { rows } = await admin.query("select count(*)::int from api.kept where id >= 10000");
    deepStrictEqual(rows, [{ count: 30 }]);
  },
);

togetherTest(
  "writes find names in their own schema, whatever fails before them",
  async (ask, admin) => {
    let next = 1;
    const write = (n: number) => {
      // A third is there already: what fails takes back the search path that it took.
      const id = n % 3 === 0 ? 1 : ++next;
      const headers = { "Content-Profile": n % 7 < 2 ? "other" : "api" };
      return ask("POST /named", n, { body: { id, thing: "thing" }, headers });
    };
    await admin.query("insert into api.named values (1); insert into other.named values (1)");
    const statuses = new Set((await askAll(write, 40)).map(([, { status }]) => status));
    deepStrictEqual(statuses, new Set([201, 409]));
    const { rows } = await admin.query(`
    select count(*)::int from api.named where thing <> 'api.thing'::regclass
    union all select count(*)::int from other.named where thing <> 'other.thing'::regclass`);
    deepStrictEqual(rows, [{ count: 0 }, { count: 0 }]);
  },
);

togetherTest(
  "writes on a new connection do not depend on the one that fails before them",
  async (ask, admin) => {
    let next = 0;
    const write = (id: number) => ask("POST /kept", 1, { body: { id, body: `kept ${id}` } });
    await askAll(() => write(++next), 3);
    for (let round = 0; round < 5; round++) {
      await admin.query(`select pg_terminate_backend(pid, 10000) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`);
      const answers = await Promise.all([1, ++next, ++next, ++next, ++next, ++next].map(write));
      const statuses = answers.map(({ status }) => status);
      ok(statuses.every((status, index) => status === 503 || status === (index === 0 ? 409 : 201)));
    }
  },
);
