/**
 * What functions leave in the session of a connection, and what the requests of other roles see of it.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { type OneConnection, testOneConnection } from "../support/database/one_connection.ts";
import type { RequestParts } from "../support/handler/request.ts";
import { seededRandom } from "../support/timing/random.ts";

/** Each leaves something; the volatile one is run by all that a request can reach. */
const leavings = {
  "a custom setting": "perform set_config('app.tenant', 'eve', false)",
  "client_encoding": "perform set_config('client_encoding', 'LATIN1', false)",
  "DateStyle": "perform set_config('datestyle', 'german', false)",
  "IntervalStyle": "perform set_config('intervalstyle', 'sql_standard', false)",
  "standard_conforming_strings": "set standard_conforming_strings = off",
  "bytea_output": "set bytea_output = 'escape'",
  "row_security": "set row_security = off",
  "statement_timeout": "perform set_config('statement_timeout', '600s', false)",
  "extra_float_digits": "set extra_float_digits = 0",
  "defaults": "set default_transaction_isolation = serializable; set jit = on",
  "a role": "set role writer",
  "a search path": "set search_path = pg_catalog",
  "advisory locks": "perform pg_advisory_lock(7), pg_advisory_lock_shared(8)",
  "a cursor": "execute 'declare held cursor with hold for select 1'",
  "a channel to listen on": "execute 'listen spied'",
  "a prepared statement": "execute 'prepare mine as select 1'",
  "no prepared statement": "execute 'deallocate all'",
  "others' prepared statements": `for found in select name from pg_prepared_statements loop
      execute format('deallocate %I', found.name);
      execute format('prepare %I as select api.spy()', found.name);
    end loop`,
  "a temporary table": `if current_setting('transaction_read_only') = 'off' then
      create temp table if not exists rows (id int, at timestamptz, place text);
      insert into pg_temp.rows values (666, now(), 'temporary');
      create or replace temp view pg_class as select 1 as oid;
    end if`,
} as const;
type Leaving = keyof typeof leavings;
const names = Object.keys(leavings) as Leaving[];

const sql = `
  create table api.spied (by text);
  grant insert on api.spied to public;
  create function api.spy() returns text language plpgsql as $$
    begin
      if current_setting('transaction_read_only') = 'off' then
        insert into api.spied values (current_user);
      end if;
      return 'spied';
    end $$;
  create function api.leave(what text) returns int language plpgsql as $$
    declare found record;
    begin
      case split_part(what, '!', 1)
        ${names.map((name) => `when $s$${name}$s$ then ${leavings[name]};`).join("\n        ")}
        else null;
      end case;
      if what like '%!' then raise exception 'failed'; end if;
      return 1;
    end $$;
  create function api.leave_quietly(what text) returns int stable language plpgsql
    as $$ begin return api.leave(what); end $$;
  create function api.leave_by_trigger() returns trigger language plpgsql
    as $$ begin perform api.leave(new.what); return new; end $$;
  create table api.leaving (what text);
  create trigger before before insert on api.leaving for each row
    execute function api.leave_by_trigger();
  create table api.leaving_late (what text);
  create constraint trigger late after insert on api.leaving_late deferrable initially deferred
    for each row execute function api.leave_by_trigger();
  create table api.words (what text);
  insert into api.words select unnest(array[${names.map((name) => `$s$${name}$s$`)}]);
  insert into api.words select what || '!' from api.words;
  create view api.leaving_view as select what from api.words where what = '' offset 0;
  create table api.guarded (what text);
  insert into api.guarded select * from api.words;
  alter table api.guarded enable row level security;
  create policy seen on api.guarded
    using (what = current_setting('request.headers')::json->>'x-what' and api.leave_quietly(what) = 1);
  create function api.left_here(api.words) returns int stable language plpgsql
    as $$ begin return api.leave($1.what); end $$;
  create table api.rows (id int primary key, at timestamptz, place text, pause interval);
  insert into api.rows values (1, '2026-02-03 04:05:06Z', 'Zürich', '1 day 2 hours');
  create table api.secrets (owner text);
  insert into api.secrets values ('anon'), ('writer');
  alter table api.secrets enable row level security;
  create policy own on api.secrets using (owner = current_user);
  grant all on all tables in schema api to anon, writer;
  create function api.seen() returns jsonb stable language sql as $$
    select jsonb_build_object('role', current_user, 'path', current_setting('search_path'),
      'settings', (select json_object_agg(name, setting) from pg_settings where source = 'session'),
      'tenant', coalesce(current_setting('app.tenant', true), ''),
      'temporary', (select count(*) from pg_catalog.pg_class where pg_is_other_temp_schema(relnamespace)
        or relnamespace = pg_my_temp_schema()),
      'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
      'cursors', (select count(*) from pg_cursors where is_holdable),
      'channels', (select count(*) from pg_listening_channels()),
      'statements', (select count(*) from pg_prepared_statements where from_sql)) $$;
`;

const header = { "Content-Type": "application/json" };

/** The requests by which one leaves something. */
const leavers: readonly ((what: string) => readonly [line: string, parts: RequestParts])[] = [
  (what) => ["POST /rpc/leave", { body: { what } }],
  (what) => [`GET /rpc/leave_quietly?what=${encodeURIComponent(what)}`, {}],
  (what) => ["POST /leaving", { body: { what } }],
  (what) => ["POST /leaving_late", { body: { what } }],
  (
    what,
  ) => ["GET /guarded", { headers: { "X-What": encodeURIComponent(what).replaceAll("%20", " ") } }],
  (what) => [`GET /words?select=left_here&what=eq.${encodeURIComponent(what)}`, {}],
  (what) => [`GET /words?select=what&left_here=eq.1&what=eq.${encodeURIComponent(what)}`, {}],
];

/** What another role asks after that. */
const observers: readonly (readonly [line: string, parts: RequestParts])[] = [
  ["GET /rpc/seen", {}],
  ["GET /rows", {}],
  ["GET /rows?place=eq.Z%C3%BCrich&select=place,at,pause", {}],
  ["GET /secrets", {}],
  ["PATCH /rows?id=eq.1&select=place", {
    headers: { ...header, Prefer: "return=representation" },
    body: '{"place":"Zürich"}',
  }],
];

const [eve, bob]: RequestParts[] = [{ as: { role: "anon" } }, {
  as: { role: "writer", sub: "bob" },
}];

async function baseline({ ask }: OneConnection): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for (const [line, parts] of observers) {
    const answer = await ask(line, { ...parts, ...bob });
    strictEqual(answer[0], 200, line);
    answers.push(answer);
  }
  return answers;
}

testOneConnection("1,000 pairs of what one leaves and another sees", { sql }, async (setup) => {
  const { ask, admin } = setup;
  const expected = await baseline(setup);
  const random = seededRandom(51);
  for (let pair = 0; pair < 1000; pair++) {
    const what = random.pick(names) + (random.pick([true, false, false]) ? "!" : "");
    const leaver = random.pick(leavers)(what);
    const at = random.pick([...observers.keys()]);
    const [line, parts] = observers[at]!;
    const name = `${pair}: ${leaver[0]} leaves ${what}, then ${line}`;
    await ask(leaver[0], { ...leaver[1], ...eve });
    deepStrictEqual(await ask(line, { ...parts, ...bob }), expected[at], name);
  }
  deepStrictEqual((await admin.query("select * from api.spied where by <> 'anon'")).rows, []);
});

testOneConnection(
  "reads that are sent together see nothing of each other",
  { sql },
  async (setup) => {
    const { ask, admin } = setup;
    const expected = await baseline(setup);
    const random = seededRandom(52);
    const reads = [1, 4, 5, 6].map((at) => leavers[at]!);
    for (let round = 0; round < 60; round++) {
      const sent = Array.from({ length: 12 }, (_, place) => {
        if (place % 2 === 0) {
          const what = random.pick(names) + (random.pick([true, false, false]) ? "!" : "");
          const [line, parts] = random.pick(reads)(what);
          return ask(line, { ...parts, ...eve }).then(() => null);
        }
        const at = random.pick([0, 1, 2, 3]);
        const [line, parts] = observers[at]!;
        return ask(line, { ...parts, ...bob }).then((answer) => ({ line, at, answer }));
      });
      for (const seen of await Promise.all(sent)) {
        if (seen !== null) {
          deepStrictEqual(
            seen.answer,
            expected[seen.at],
            `${round}: ${seen.line}`,
          );
        }
      }
    }
    deepStrictEqual((await admin.query("select * from api.spied where by <> 'anon'")).rows, []);
  },
);

testOneConnection(
  "a connection whose parameters changed is not used again",
  { sql },
  async (setup) => {
    const { ask, admin } = setup;
    // The schema cache has not seen that the view runs a function.
    await admin.query(
      "create or replace view api.leaving_view as select api.leave_quietly(what)::text as what " +
        "from api.words where what = current_setting('request.headers')::json->>'x-what' offset 0",
    );
    const expected = await baseline(setup);
    for (
      const what of ["client_encoding", "DateStyle", "IntervalStyle", "standard_conforming_strings"]
    ) {
      for (let turn = 0; turn < 4; turn++) {
        const leaving = ask("GET /leaving_view", { ...eve, headers: { "X-What": what } });
        const seen = observers.map(([line, parts]) => ask(line, { ...parts, ...bob }));
        strictEqual((await leaving)[0], 200);
        deepStrictEqual(await Promise.all(seen), expected, what);
      }
    }
  },
);

testOneConnection(
  "each thing is left, but for the end of the transaction",
  { sql },
  async ({ ask }) => {
    for (const what of names) {
      const [status] = await ask("POST /rpc/leave", { body: { what }, ...eve });
      ok(status === 200, `${what}: ${status}`);
    }
  },
);
