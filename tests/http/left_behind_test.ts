/**
 * What functions leave behind on the connection, and what those are told that come after them.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Observation } from "../../src/base/observe/observation.ts";
import { type OneConnection, testOneConnection } from "../support/database/one_connection.ts";
import type { RequestParts } from "../support/handler/request.ts";

const sql = `
  create function api.told(a int default 1) returns jsonb stable language sql as $$
    select jsonb_build_object('a', a, 'role', current_user, 'path', current_setting('search_path'),
      'sub', current_setting('request.jwt.claims')::json->>'sub',
      'method', current_setting('request.method'), 'at', current_setting('request.path'),
      'mark', current_setting('request.headers')::json->>'x-mark',
      'cookie', current_setting('request.cookies')::json->>'c',
      'zone', current_setting('timezone')) $$;
  create function api.sub() returns text stable language sql
    as $$ select current_setting('request.jwt.claims')::json->>'sub' $$;
  -- It is stable, and says something else.
  create function api.sub_after(prefix text) returns text immutable language plpgsql
    as $$ begin return prefix || api.sub(); end $$;
  create function api.sub_by_default(prefix text, sub text default api.sub()) returns text
    stable language sql as $$ select prefix || sub $$;
  create function api.subs(prefix text) returns setof text stable language sql
    as $$ select prefix || api.sub() $$;
  create function api.own_sub(sub text) returns boolean stable language sql
    as $$ select sub = api.sub() $$;
  create domain api.own as text check (api.own_sub(value));
  create function api.only_own(sub api.own) returns text stable language sql as $$ select sub::text $$;
  create function api.body(text) returns text stable language sql as $$ select $1 || api.sub() $$;
  create function api.all_of(variadic v int[]) returns int stable language sql
    as $$ select cardinality(v) $$;
  create function api.leave(name text, value text) returns text language plpgsql as $$
    begin
      perform set_config(name, value, false);
      return 'left';
    end $$;
  create function api.leave_quietly(name text, value text) returns text stable language plpgsql as $$
    begin
      perform set_config(name, value, false);
      return pg_catalog.current_setting(name);
    end $$;
  create function api.elsewhere(path text) returns text stable language plpgsql as $$
    begin
      perform set_config('search_path', path, true);
      return current_setting('search_path');
    end $$;
  create table api.log (id int generated always as identity primary key, sub text default api.sub());
  create function api.write_down() returns void language sql
    as $$ insert into api.log default values $$;
  create function api.leave_late() returns trigger language plpgsql as $$
    begin
      perform set_config('response.headers', '[{"X-Left": "behind"}]', false);
      return null;
    end $$;
  create constraint trigger late after insert on api.log deferrable initially deferred
    for each row execute function api.leave_late();
  create sequence api.calls;
  grant all on api.log, api.calls to anon, writer;
  create function api.fail(state text, said text) returns int language plpgsql as $$
    begin
      perform nextval('api.calls');
      raise exception using errcode = state, message = said;
    end $$;
  create function api.read_level() returns text language plpgsql as $$
    begin
      perform nextval('api.calls');
      execute 'set transaction isolation level serializable';
      return 'set';
    end $$;
  create function api.divide(a int, b int) returns int stable language plpgsql
    as $$ begin return a / b; end $$;
`;

function leftTest(name: string, run: (setup: OneConnection) => Promise<void>): void {
  testOneConnection(name, { sql }, run);
}

const [ann, bob] = ["ann", "bob"].map((sub): RequestParts => ({ as: { role: "writer", sub } }));

/** By several users in turn, as often as it takes to know a shape. */
async function inTurn(work: (user: RequestParts, sub: string) => Promise<void>): Promise<void> {
  for (let turn = 0; turn < 8; turn++) {
    await work(turn % 2 === 0 ? ann! : bob!, turn % 2 === 0 ? "ann" : "bob");
  }
}

const json = { "Content-Type": "application/json" };

/** What is asked, what it is asked with, and the answer by who asks. */
const calls: readonly [line: string, parts: RequestParts, answer: (sub: string) => unknown][] = [
  ["GET /rpc/sub", {}, (sub) => `"${sub}"`],
  ["POST /rpc/sub", {}, (sub) => `"${sub}"`],
  ["GET /rpc/sub_after?prefix=x", {}, (sub) => `"x${sub}"`],
  ["POST /rpc/sub_after", { headers: json, body: '{"prefix":"é"}' }, (sub) => `"é${sub}"`],
  ["GET /rpc/sub_by_default?prefix=x", {}, (sub) => `"x${sub}"`],
  ["GET /rpc/subs?prefix=x", {}, (sub) => [`x${sub}`]],
  [
    "POST /rpc/body",
    { headers: { "Content-Type": "text/plain" }, body: "b" },
    (sub) => `"b${sub}"`,
  ],
  ["GET /rpc/all_of?v=1&v=2&v=3", {}, () => "3"],
  ["GET /rpc/all_of?v=1", {}, () => "1"],
];

for (const [line, parts, answer] of calls) {
  leftTest(`${line} is told who asks`, ({ ask }) =>
    inTurn(async (user, sub) => {
      deepStrictEqual(await ask(line, { ...parts, ...user }), [200, answer(sub)]);
    }));
}

leftTest(
  "a call is told all that the request said, as others before it were",
  ({ ask }) =>
    inTurn(async (user, sub) => {
      const headers = { "X-Mark": `of ${sub}`, "Cookie": `c=${sub}`, Prefer: "timezone=UTC" };
      const said = {
        a: 1,
        path: '"api", "public", pg_temp',
        sub,
        mark: `of ${sub}`,
        cookie: sub,
        zone: "UTC",
      };
      for (const method of ["GET", "POST"]) {
        deepStrictEqual(await ask(`${method} /rpc/told`, { ...user, headers }), [
          200,
          { ...said, role: "writer", method, at: "/rpc/told" },
        ]);
      }
      const nobody = { sub: null, mark: null, cookie: null, role: "anon" };
      deepStrictEqual(await ask("GET /rpc/told?a=7", { headers: { Prefer: "timezone=UTC" } }), [
        200,
        { ...said, ...nobody, a: 7, method: "GET", at: "/rpc/told" },
      ]);
      deepStrictEqual(await ask("GET /log?id=eq.0", user), [200, []]);
    }),
);

leftTest("a domain's check is told who asks", ({ ask }) =>
  inTurn(async (user, sub) => {
    deepStrictEqual(await ask(`GET /rpc/only_own?sub=${sub}`, user), [200, `"${sub}"`]);
    strictEqual((await ask("GET /rpc/only_own?sub=eve", user))[0], 400);
  }));

for (
  const [name, value] of [
    ["role", "writer"],
    ["role", "none"],
    ["search_path", "nowhere"],
    ["response.headers", '[{"X-Left": "behind"}]'],
    ["response.status", "418"],
    ["request.jwt.claims", '{"sub":"eve"}'],
    ["request.cookies", '{"c":"eve"}'],
    ["default_transaction_isolation", "serializable"],
    ["default_transaction_read_only", "on"],
    ["timezone", "Asia/Tokyo"],
  ] as const
) {
  leftTest(`a call that leaves ${name} = ${value} leaves it to nobody`, async (setup) => {
    const { ask, handler } = setup;
    const [, { zone: initialZone }] = await ask("GET /rpc/told") as [number, { zone: string }];
    const leave = async (turn: number) => {
      const parts = { ...(turn % 2 === 0 ? {} : ann), body: { name, value } };
      await ask(turn % 3 === 0 ? "POST /rpc/leave" : "POST /rpc/leave_quietly", parts);
    };
    for (let turn = 0; turn < 12; turn++) {
      await leave(turn);
      const response = await handler(new Request("http://h/rpc/told"));
      strictEqual(response.status, 200);
      strictEqual(response.headers.get("X-Left"), null);
      const { role, path, sub, cookie, zone } = await response.json();
      deepStrictEqual([role, path, sub, cookie], ["anon", '"api", "public", pg_temp', null, null]);
      strictEqual(zone, initialZone);
      await leave(turn);
      strictEqual((await ask("POST /rpc/write_down", bob))[0], 204);
      deepStrictEqual(await ask("GET /log?select=sub&order=id.desc&limit=1"), [200, [{
        sub: "bob",
      }]]);
    }
  });
}

leftTest("what is left behind at the end of a transaction is left to nobody", async (setup) => {
  const { ask, handler } = setup;
  for (let turn = 0; turn < 6; turn++) {
    deepStrictEqual(await ask("POST /rpc/write_down", ann), [204, ""]);
    const response = await handler(new Request("http://h/rpc/told"));
    strictEqual(response.headers.get("X-Left"), null);
    strictEqual((await response.json()).role, "anon");
  }
});

/** Whoever made these would like them to be run by others. */
const trap = `
  create schema trap;
  grant usage on schema trap to public;
  create function trap.spring() returns text language plpgsql immutable
    as $$ begin raise exception 'sprung'; end $$;
  create function trap.spring(a name, b text) returns boolean language sql immutable
    as 'select trap.spring() is null';
  create function trap.spring(a text, b text) returns boolean language sql immutable
    as 'select trap.spring() is null';
  create operator trap.= (function = trap.spring, leftarg = name, rightarg = text);
  create operator trap.= (function = trap.spring, leftarg = text, rightarg = text);
  create function trap.set_config(text, text, boolean) returns text language sql immutable
    as 'select trap.spring()';
  create function trap.current_setting(text) returns text language sql immutable
    as 'select trap.spring()';
  create function trap.current_setting(text, boolean) returns text language sql immutable
    as 'select trap.spring()';
  create function trap.pg_is_in_recovery() returns boolean language sql immutable
    as 'select trap.spring() is null';
  create function trap.to_json(anyelement) returns json language sql immutable
    as 'select trap.spring()::pg_catalog.json';
  create function trap.concat(text, name) returns text language sql immutable
    as 'select trap.spring()';
  create function trap.json_to_record(pg_catalog.json) returns record language plpgsql
    as 'begin raise exception ''sprung''; end';
  create function trap.version() returns text language sql immutable as 'select trap.spring()';
  create function trap.split_part(text, text, int) returns text language sql immutable
    as 'select trap.spring()';
  create function trap.json_array_elements_text(pg_catalog.json) returns setof text language plpgsql
    as 'begin raise exception ''sprung''; end';
  create function trap.sfunc(bigint, pg_catalog.text) returns bigint language plpgsql
    as 'begin raise exception ''sprung''; end';
  create aggregate trap.count (pg_catalog.text) (sfunc = trap.sfunc, stype = bigint, initcond = '0');
  create domain trap.text as pg_catalog.text check (trap.spring() is null);
  create domain trap.jsonb as pg_catalog.jsonb check (trap.spring() is null);
  create domain trap.json as pg_catalog.json check (trap.spring() is null);
`;

leftTest("a search path that is left behind leads nobody into a trap", async (setup) => {
  const { ask, admin } = setup;
  await admin.query(trap);
  const laying = (turn: number) =>
    `GET /rpc/leave${turn % 2 === 0 ? "" : "_quietly"}` +
    "?name=search_path&value=trap,%20pg_catalog,%20api";
  for (
    const [line, parts, answer] of [...calls, ["GET /rpc/divide?a=6&b=2", {}, () => "3"]] as const
  ) {
    for (let turn = 0; turn < 4; turn++) {
      strictEqual((await ask(laying(turn), ann))[0], 200);
      deepStrictEqual(await ask(line, { ...parts, ...ann }), [200, answer("ann")], line);
    }
  }
  strictEqual((await ask(laying(0), ann))[0], 200);
  strictEqual((await ask("POST /rpc/write_down", ann))[0], 204);
  strictEqual((await ask(laying(1), ann))[0], 200);
  deepStrictEqual(await ask("GET /log?select=sub", ann), [200, [{ sub: "ann" }]]);
});

/** A function leaves types and relations in the temporary schema of the connection. */
const temporaryTrap = `
  create function api.lay() returns text language plpgsql as $lay$
    declare taken text;
    begin
      create or replace function pg_temp.spring(text) returns boolean language plpgsql
        as $$ begin raise exception 'sprung as %', current_user; end $$;
      foreach taken in array array['text', 'json', 'jsonb', 'name', 'oid', 'regclass', 'float8'] loop
        execute format('create domain pg_temp.%I as pg_catalog.%1$I check (pg_temp.spring(value::text))', taken);
      end loop;
      foreach taken in array array['pg_class', 'pg_proc', 'pg_namespace', 'pg_roles', 'log'] loop
        execute format('create view pg_temp.%I as select pg_temp.spring(null)', taken);
      end loop;
      return 'laid';
    end $lay$;
`;

leftTest(
  "types and relations of the temporary schema take the place of no others",
  async (setup) => {
    const { ask, admin, handler } = setup;
    await admin.query(temporaryTrap);
    await handler.reloadSchema();
    deepStrictEqual(await ask("POST /rpc/lay", ann), [200, '"laid"']);
    for (const [line, parts, answer] of calls) {
      deepStrictEqual(await ask(line, { ...parts, ...bob }), [200, answer("bob")], line);
    }
    strictEqual((await ask("POST /log", { ...bob, body: [{ sub: "x" }] }))[0], 201);
    deepStrictEqual(
      await ask("PATCH /log?sub=eq.x&select=sub", {
        ...bob,
        headers: { Prefer: "return=representation" },
        body: { sub: "y" },
      }),
      [200, [{ sub: "y" }]],
    );
    deepStrictEqual(await ask("GET /log?select=sub&order=sub&limit=1", ann), [200, [{ sub: "y" }]]);
    await handler.reloadConfig();
    await handler.reloadSchema();
    deepStrictEqual(await ask("GET /rpc/sub", bob), [200, '"bob"']);
  },
);

leftTest(
  "a call that takes another search path for itself has it",
  ({ ask }) =>
    inTurn(async (user, sub) => {
      deepStrictEqual(await ask("GET /rpc/elsewhere?path=pg_catalog", user), [200, '"pg_catalog"']);
      deepStrictEqual(await ask("GET /rpc/sub", user), [200, `"${sub}"`]);
    }),
);

for (const name of ["search_path", "role"]) {
  const failures: unknown[] = [];
  const observe = (event: Observation) => {
    if (event.kind === "database-config-failed") failures.push(event);
  };
  const title = `the service itself asks nothing on a ${name} that is left behind`;
  testOneConnection(title, { sql, observe }, async (setup) => {
    const { ask, admin, handler } = setup;
    const value = name === "role" ? "writer" : "trap,%20pg_catalog,%20api";
    const lay = async () => {
      strictEqual((await ask(`GET /rpc/leave?name=${name}&value=${value}`))[0], 200);
    };
    await admin.query(`${trap}; create table api.later (id int); grant select on api.later to anon;
      create function api.timeout() returns text stable language sql
        as $$ select current_setting('lock_timeout') $$`);
    await handler.reloadSchema();
    const role = `clerk_${crypto.randomUUID().slice(0, 8)}`;
    await admin.query(`create role ${role}; grant ${role} to authenticator;
      alter role ${role} set lock_timeout = '1234ms'; grant usage on schema api to ${role}`);
    try {
      for (let turn = 0; turn < 2; turn++) {
        await lay();
        // It asks several things, whose transactions are rolled back.
        await handler.reloadConfig();
        deepStrictEqual(await ask("GET /rpc/timeout", { as: role }), [200, '"1234ms"']);
        await lay();
        await handler.reloadSchema();
        deepStrictEqual(await ask("GET /later"), [200, []]);
      }
      deepStrictEqual(failures, []);
    } finally {
      await admin.query(`drop owned by ${role}; drop role ${role}`);
    }
  });
}

const callsMade = "select last_value, is_called from api.calls";

for (
  const [line, parts, status, code] of [
    ["POST /rpc/fail", { body: { state: "42501", said: "permission denied" } }, 403, "42501"],
    ["POST /rpc/fail", { body: { state: "25001", said: "active" } }, 500, "25001"],
    [
      "POST /rpc/fail",
      { body: { state: "22P02", said: "another role or search path: eve" } },
      400,
      "22P02",
    ],
    ["POST /rpc/read_level", {}, 500, "25001"],
  ] as const
) {
  leftTest(`${line} that fails of ${code} is run once`, async (setup) => {
    const { ask, admin } = setup;
    for (let turn = 1; turn <= 5; turn++) {
      const [found, body] = await ask(line, { ...parts, ...ann });
      deepStrictEqual([found, (body as { code: string }).code], [status, code]);
      deepStrictEqual((await admin.query(callsMade)).rows, [{
        last_value: String(turn),
        is_called: true,
      }]);
    }
  });
}

leftTest("privileges are looked at with every call", async ({ ask, admin }) => {
  const divide = "GET /rpc/divide?a=6&b=2";
  const codeOf = ([status, body]: readonly [number, unknown]) =>
    [status, (body as { code: string }).code] as const;
  await inTurn(async (user) => deepStrictEqual(await ask(divide, user), [200, "3"]));
  await admin.query(`revoke execute on function api.divide from public;
    grant execute on function api.divide to anon`);
  for (let turn = 0; turn < 3; turn++) {
    deepStrictEqual(await ask(divide), [200, "3"]);
    deepStrictEqual(codeOf(await ask(divide, ann)), [403, "42501"]);
    deepStrictEqual(codeOf(await ask("GET /rpc/divide?a=1&b=0")), [400, "22012"]);
    deepStrictEqual(codeOf(await ask("GET /rpc/divide?a=x&b=0")), [400, "22P02"]);
  }
});

leftTest("where few may set anything, all may call", async ({ ask, admin }) => {
  const setting = "pg_catalog.set_config(text, text, boolean)";
  await admin.query(`revoke execute on function ${setting} from public;
    grant execute on function ${setting} to authenticator`);
  await inTurn(async (user, sub) => {
    deepStrictEqual(await ask("GET /rpc/sub", user), [200, `"${sub}"`]);
  });
});

for (
  const [what, body] of [
    ["read-only defaults", { name: "default_transaction_read_only", value: "on" }],
    ["another isolation level", { name: "default_transaction_isolation", value: "serializable" }],
  ] as const
) {
  leftTest(`calls that are sent together leave ${what} to none of them`, async ({ ask }) => {
    const harmless = { name: "my.setting", value: "1" };
    for (let turn = 0; turn < 10; turn++) {
      // Calls are sent together once their kind has proved to be short.
      for (let call = 0; call < 10; call++) {
        await ask("POST /rpc/leave", { ...ann, body: harmless });
      }
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => ask("POST /rpc/leave", { ...ann, body })),
      );
      for (const answer of answers) deepStrictEqual(answer, [200, '"left"']);
    }
  });
}
