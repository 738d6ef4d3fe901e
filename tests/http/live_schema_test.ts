/** The SQL of live queries: which changes it records, and for whom. */
import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { liveSql } from "../../src/wings/live/live_schema.ts";
import { type Engine, engines } from "../support/database/engines.ts";
import { type Session, withFixture } from "../support/database/sessions.ts";
import type { PostgresClient } from "../support/database/postgres_client.ts";

const fixture = { name: "live", roles: ["anon", "writer"] };

function withSession(engine: Engine, use: (session: Session) => Promise<void>): Promise<void> {
  return withFixture(engine, fixture, use);
}

/** A reader begins, and returns its snapshot. */
async function begin(session: PostgresClient): Promise<string> {
  await session.query("select svc_live.renew(null)");
  return await snapshot(session);
}

async function snapshot(session: PostgresClient): Promise<string> {
  const { rows } = await session.query("select pg_current_snapshot()::text as taken");
  return String(rows[0]!.taken);
}

/** Returns `table scope` of the changes since a snapshot. */
async function changes(session: PostgresClient, since: string): Promise<readonly string[]> {
  const { rows } = await session.query(
    "select c.relname || coalesce(' ' || r.scope, '') as text from svc_live.changes($1) r " +
      "join pg_class c on c.oid = r.relation order by 1",
    [since],
  );
  return rows.map(({ text }) => String(text));
}

async function count(session: PostgresClient): Promise<number> {
  const { rows } = await session.query("select count(*)::int as rows from svc_live.change");
  return Number(rows[0]!.rows);
}

const u = "00000000-0000-4000-8000-00000000000";

/** A statement, and the records of it. */
const recorded: readonly (readonly [label: string, sql: string, records: readonly string[]])[] = [
  ["an insert", "insert into api.members values (5, 'a'), (5, 'b')", ["members"]],
  ["no row", "insert into api.orders select 9, 'z' where false", []],
  [
    "inserts of several scopes",
    "insert into api.orders values (11, 'a'), (12, 'b'), (13, 'b')",
    ["orders a", "orders b"],
  ],
  ["a delete", "delete from api.orders where id in (11, 12)", ["orders a", "orders b"]],
  ["an update of other columns", "update api.orders set total = 1 where id = 13", ["orders b"]],
  [
    "an update of the scope",
    "update api.orders set owner = 'c' where id = 13",
    ["orders b", "orders c"],
  ],
  [
    "an upsert",
    "insert into api.orders values (13, 'c'), (14, 'd') on conflict (id) do update set owner = 'e'",
    ["orders c", "orders d", "orders e"],
  ],
  [
    "a scope that is NULL",
    "insert into api.nodes values (14, null), (15, 'x')",
    ["nodes ", "nodes x"],
  ],
  ["a cascade", "truncate api.customers cascade", ["customers", "orders"]],
  ["a truncation", "truncate api.orders", ["orders"]],
  [
    "rows of partitions, by their parent",
    `insert into api.parts values (1, '${u}1'), (101, '${u}2')`,
    [`parts ${u}1`, `parts ${u}2`],
  ],
  ["a partition alone", `insert into api.parts_low values (2, '${u}1')`, [`parts_low ${u}1`]],
  ["a row that changes its partition", "update api.parts set id = 102 where id = 2", [
    `parts ${u}1`,
  ]],
  ["a table without trigger", "insert into api.log values (9)", []],
  [
    "writes of replication",
    "set session_replication_role = replica; insert into api.members values (6, 'a'); " +
    "reset session_replication_role",
    ["members"],
  ],
  [
    "a column named like a variable of triggers",
    "alter table api.nodes add tg_relid int; insert into api.nodes values (16, 'y')",
    ["nodes y"],
  ],
  [
    "a collation that takes texts for equal",
    "create collation private.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); " +
    "alter table api.nodes alter owner type text collate private.loose; " +
    "insert into api.nodes values (20, 'k'), (21, 'K')",
    ["nodes K", "nodes k"],
  ],
  [
    "a scope that has another name",
    "alter table api.nodes rename owner to keeper; insert into api.nodes values (30, 'm')",
    ["nodes"],
  ],
  [
    "a scope with its name again",
    "alter table api.nodes rename keeper to owner; delete from api.nodes where id = 30",
    ["nodes m"],
  ],
  [
    "a table without its scope",
    "alter table api.nodes drop owner; update api.nodes set parent = null",
    ["nodes"],
  ],
  ["COPY", "copy api.members from program 'echo 7,z' (format csv)", ["members"]],
];

const onServersAlone = new Set(["a collation that takes texts for equal", "COPY"]);

for (const engine of Object.keys(engines) as Engine[]) {
  Deno.test(`[${engine}] svc_live.changes() lists the tables and scopes of changes`, async (context) => {
    await withSession(engine, async (session) => {
      for (const [label, sql, records] of recorded) {
        if (engine === "pglite" && onServersAlone.has(label)) continue;
        await context.step({
          name: label,
          sanitizeOps: false,
          sanitizeResources: false,
          fn: async () => {
            const since = await begin(session);
            await session.query(sql);
            deepStrictEqual(await changes(session, since), records);
          },
        });
      }
    });
  });

  Deno.test(`[${engine}] svc_live.renew() deletes what a snapshot has seen, and lets writes be recorded`, async () => {
    await withSession(engine, async (session) => {
      const insert = (id: number) => session.query(`insert into api.members values (${id}, 'a')`);
      await insert(20);
      strictEqual(await count(session), 0);
      const first = await begin(session);
      await insert(21);
      const seen = await snapshot(session);
      await insert(22);
      deepStrictEqual(await changes(session, first), ["members"]);
      strictEqual(await count(session), 2);
      await session.query("select svc_live.renew($1)", [seen]);
      strictEqual(await count(session), 1);
      deepStrictEqual(await changes(session, seen), ["members"]);
      deepStrictEqual(await changes(session, await snapshot(session)), []);
      await session.query(
        "select setval('svc_live.reader_until', extract(epoch from clock_timestamp())::bigint - 1)",
      );
      await session.query("delete from svc_live.change");
      await insert(23);
      await session.query("delete from api.orders");
      strictEqual(await count(session), 0);
    });
  });
}

Deno.test("[pg] svc_live.changes() has a record in the one poll in which its change appears", async () => {
  await withSession("pg", async (poller) => {
    const [first, second] = [await poller.connect("writer"), await poller.connect("writer")];
    const visible = async () => {
      const { rows } = await poller.query(
        "select count(*)::int as rows from api.docs where id > 9",
      );
      return Number(rows[0]!.rows);
    };
    let since = await begin(poller);
    const poll = async () => {
      const found = await changes(poller, since);
      since = await snapshot(poller);
      return [found.length, await visible()];
    };
    await poller.query("alter table api.docs disable row level security");
    await first.query("begin; savepoint s; insert into api.docs values (10, 'x'); release s");
    deepStrictEqual(await poll(), [0, 0]);
    await second.query("insert into api.docs values (11, 'y')");
    deepStrictEqual(await poll(), [1, 1]);
    await first.query("commit");
    deepStrictEqual(await poll(), [1, 2]);
    await second.query("begin; insert into api.docs values (12, 'y'); rollback");
    deepStrictEqual(await poll(), [0, 2]);
  });
});

Deno.test("[pg] the triggers let roles write that have no rights on svc_live", async () => {
  await withSession("pg", async (session) => {
    const since = await begin(session);
    const writer = await session.connect("writer");
    await writer.query("insert into api.orders values (30, 'w'); truncate api.members");
    deepStrictEqual(await changes(session, since), ["members", "orders w"]);
  });
});

/** SQL of a role that owns a table, and is refused. */
const abuses: readonly (readonly [label: string, role: string, sql: string, message: RegExp])[] = [
  ["read", "writer", "select svc_live.changes(pg_current_snapshot())", /schema svc_live/],
  ["read the table", "authenticator", "table svc_live.change", /table change/],
  ["record", "authenticator", "insert into svc_live.change values (null)", /table change/],
  [
    "make triggers",
    "authenticator",
    "create temp table t (); create trigger t after insert on t execute function svc_live.changed()",
    /function svc_live.changed/,
  ],
  [
    "set the sequence",
    "authenticator",
    "select setval('svc_live.reader_until', 1e15::bigint)",
    /sequence reader_until/,
  ],
  ["make objects", "authenticator", "create table svc_live.t ()", /schema svc_live/],
];

for (const [label, role, sql, message] of abuses) {
  Deno.test(`[pg] svc_live refuses ${role} to ${label}`, async () => {
    await withSession("pg", async (session) => {
      const client = await session.connect(role);
      await rejects(client.query(sql), { code: "42501", message });
    });
  });
}

/** What a role that may make objects tries, so that they run with the rights of the owner of `svc_live`. */
const baits = `
  create function private.escape() returns text language plpgsql as $$ begin
    insert into private.caught values (current_user); return 'x'; end $$;
  create schema bait; create domain bait.text as pg_catalog.text check (private.escape() = 'x');
  create domain pg_temp.text as pg_catalog.text check (private.escape() = 'x');
  create domain pg_temp.oid as pg_catalog.oid check (private.escape() = 'x');
  create function bait.concat(anyelement) returns text language sql as 'select private.escape()';
  create function bait.pg_current_xact_id() returns xid8 language sql
    as 'select private.escape(); select pg_catalog.pg_current_xact_id()';
  create type bait.pair as (a int);
  create function bait.pair_text(bait.pair) returns pg_catalog.text language sql
    as 'select private.escape()';
  create cast (bait.pair as pg_catalog.text) with function bait.pair_text(bait.pair) as implicit;
  create temp table change (xid xid8, relation oid, scope pg_catalog.text);
  create temp table reader_until (last_value int8); insert into pg_temp.reader_until values (1e15);
  create temp table new_rows (owner pg_catalog.text);
  set search_path = pg_temp, bait, pg_catalog;
  insert into api.nodes values (40, 'n');
  alter table api.nodes alter owner type bait.pair using row(1)::bait.pair;
  insert into api.nodes values (41, row(2)); update api.nodes set parent = null; delete from api.nodes;
`;

Deno.test("[pg] the triggers run no code of callers with the rights of their owner", async () => {
  await withSession("pg", async (session) => {
    await session.query(
      `create table private.caught (name text); grant insert on private.caught to public;
       grant create on schema private to writer;
       do $$ begin execute format('grant create, temporary on database %I to writer',
         current_database()); end $$;
       alter table api.nodes owner to writer;`,
    );
    const since = await begin(session);
    const writer = await session.connect("writer");
    await writer.query(baits);
    deepStrictEqual(
      (await session.query("select name from private.caught where name <> 'writer'")).rows,
      [],
    );
    match((await changes(session, since)).join(), /^nodes \(1\),nodes \(2\),nodes n$/);
  });
});

Deno.test("liveSql() refuses a schema svc_live of another owner", async () => {
  await withSession("pg", async (session) => {
    await session.query("alter schema svc_live owner to writer");
    await rejects(session.query(liveSql("authenticator", [])), {
      message: "svc_live has another owner",
    });
  });
});

Deno.test("liveSql() applied again moves a table from one scope to another, and to none", async () => {
  await withSession("pg", async (session) => {
    const record = async (scope: string | null) => {
      await session.query(liveSql("authenticator", [{ schema: "api", name: "orders", scope }]));
      const since = await begin(session);
      await session.query("update api.orders set hidden = hidden + 1 where id = 1");
      return await changes(session, since);
    };
    deepStrictEqual(await record("status"), ["orders open"]);
    deepStrictEqual(await record(null), ["orders"]);
    deepStrictEqual(await record("owner"), ["orders a"]);
  });
});
