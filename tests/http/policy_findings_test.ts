/** The findings in policies and indexes: each appears, and its SQL mends it without changing answers. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { measureFindings } from "../../src/wings/audit/diagnosis/measure.ts";
import { findingsOf, readCatalogue } from "../../src/wings/audit/diagnosis/diagnose.ts";
import type { Finding } from "../../src/wings/audit/diagnosis/finding.ts";
import { openDatabase } from "../../src/database/open.ts";
import {
  type DiagnosedDatabase,
  diagnosedDatabase,
  type FindingRow,
  findingRows,
} from "../support/handler/diagnosis.ts";
import { signToken } from "../support/handler/token.ts";
import { isChosen } from "../support/runner/row_filter.ts";
import { withClient } from "../support/database/postgres_client.ts";

const secret = "a secret of at least thirty-two bytes";

/** A table of two owners, and a function of a claim. Its policies and grants are those of the rows. */
const setup = `
create schema app;
grant usage on schema app to {anon}, {user};
create function app.uid() returns int stable language sql as $$
  select (nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub')::int $$;
create table api.doc (id int primary key, owner_id int, title text, team varchar(20), tags text[], open bool);
insert into api.doc values
  (1, 1, 'plan', 'a', '{a}', false), (2, 2, 'report', 'b', '{a,b}', true), (3, null, 'x''(select', 'a', '{}', null);
alter table api.doc enable row level security;
grant select, update, delete on api.doc to {user};
grant select on api.doc to {anon};
`;
const claims = `(current_setting('request.jwt.claims', true)::json ->> 'sub')::int`;
const claimsText =
  `(((current_setting('request.jwt.claims'::text, true))::json ->> 'sub'::text))::integer`;
const many =
  "insert into api.doc select n, n % 100, 'x' from generate_series(10, 12000) n; analyze api.doc;";

const rows: readonly FindingRow[] = [
  ...findingRows`
    # policies without row-level security
      sql: alter table api.doc disable row level security; create policy p on api.doc using (true)
      finding: error policy-without-rls api.doc: api.doc has no row-level security, so its policies
        + have no effect: p
      mend: alter table api.doc enable row level security;
    # a policy reads user_metadata
      sql: create policy p on api.doc using (title = current_setting('request.jwt.claims',
        + true)::jsonb #>> '{user_metadata,title}')
      finding: error policy-user-metadata p on api.doc: the policy p on api.doc reads
        + user_metadata, which users change: use app_metadata
    # a column has the name user_metadata
      sql: alter table api.doc add user_metadata text; create policy p on api.doc using
        + (user_metadata = title)
      absent: policy-user-metadata
    # all policies are restrictive
      sql: create policy p on api.doc as restrictive for select using (id > 0)
      finding: warn restrictive-only api.doc: no row of api.doc passes for select of {anon} and
        + {user}: all policies are restrictive
    # no policy for SELECT beside one for UPDATE
      sql: create policy p on api.doc for update to {user} using (owner_id = 1)
      finding: warn select-policy-missing api.doc: update of {user} finds no row of api.doc: no
        + policy for SELECT applies
      mend: create policy p_read on api.doc for select to {user} using ((owner_id = 1));
      changes: true
    # a policy names a role without the privilege
      sql: create policy p on api.doc for delete to {anon} using (id = 1)
      finding: warn policy-without-grant p on api.doc: the policy p on api.doc names {anon},
        + without the privilege: delete
      mend: grant delete on api.doc to {anon};
    # a policy for all commands of a role with one privilege
      sql: create policy p on api.doc to {anon} using (id = 1)
      absent: policy-without-grant
    # a policy calls a function that roles may not call
      sql: create function api.may(id int) returns bool stable language sql as 'select true'; revoke
        + execute on function api.may from public; create policy p on api.doc using
        + (api.may(owner_id))
      finding: error policy-function api.may(integer): {anon} and {user} may not call
        + api.may(integer), so requests on api.doc fail: a policy calls it
      mend: grant execute on function api.may(integer) to {anon};
      mend: grant execute on function api.may(integer) to {user};
      changes: true
    # a policy lets a role write every row
      sql: create policy p on api.doc to {user} using (true)
      finding: warn write-policy-true p on api.doc: the policy p on api.doc is true for delete and
        + update of {user}: name the rows
    # a policy lets a role give rows away
      sql: create policy p on api.doc for update to {user} using (owner_id = 1) with check (true)
      finding: warn write-policy-true p on api.doc: the policy p on api.doc is true for update of
        + {user}: name the rows
    # a restrictive policy bounds a policy that is true
      sql: create policy p on api.doc to {user} using (true); create policy q on api.doc as
        + restrictive using (owner_id = 1)
      absent: write-policy-true
    # a policy is true for a role that may only read
      sql: create policy p on api.doc to {anon} using (true)
      absent: write-policy-true
    # every role may call a function with the rights of its owner
      sql: create function api.wipe() returns int security definer set search_path = '' language
        + sql as 'select 1'
      finding: warn definer-callable api.wipe(): {anon} may call api.wipe(), which runs with the
        + rights of its owner
      mend: revoke execute on function api.wipe() from public;
      mend: grant execute on function api.wipe() to {user};
    # the anonymous role may call such a function by name
      sql: create function api.login(a int) returns int security definer set search_path = ''
        + language sql as 'select 1'; revoke execute on function api.login from public; grant
        + execute on function api.login to {anon}
      finding: info definer-callable api.login(a integer): {anon} may call api.login(a integer),
        + which runs with the rights of its owner
      mend: revoke execute on function api.login(a integer) from {anon};
    # a materialized view copies rows with policies
      sql: create materialized view api.stats as select count(*) from api.doc; grant select on
        + api.stats to {anon}
      finding: warn copy-exposed api.stats: {anon} may read all rows of api.stats, past policies:
        + they come from api.doc
      mend: revoke select on api.stats from {anon};
    # a foreign table is readable
      sql: create foreign data wrapper {anon}_fdw; create server {anon}_server foreign data wrapper
        + {anon}_fdw; create foreign table api.far (id int) server {anon}_server; grant select (id)
        + on api.far to {user}
      finding: warn copy-exposed api.far: {user} may read all rows of api.far, past policies: they
        + come from a foreign server
      mend: revoke select on api.far from {user};
    # the anonymous role may read columns that look like secrets
      sql: create table api.account (id int, user_pass text, "apiKey" text, session_id int, token
        + text, password_hash bytea); grant select (id, user_pass, "apiKey", session_id,
        + password_hash) on api.account to {anon}; grant select on api.account to {user}
      finding: warn secret-readable api.account: {anon} may read user_pass, "apiKey" and
        + password_hash of api.account, which look like secrets: grant the other columns alone
    # a policy calls a volatile function
      sql: create function app.now_uid() returns int language sql as 'select app.uid()'; create
        + policy p on api.doc using (owner_id = app.now_uid())
      finding: warn policy-volatile p on api.doc: the policy p on api.doc calls app.now_uid() for
        + each row: VOLATILE forbids to do it once
      mend: alter function app.now_uid() stable;
    # the call is in a subquery
      sql: create policy p on api.doc using (owner_id = (select app.uid()))
      absent: policy-per-row
    # a function takes a column
      sql: create function app.may(id int) returns bool stable language sql as 'select id =
        + app.uid()'; create policy p on api.doc using (app.may(owner_id))
      absent: policy-per-row
    # two policies have the same roles and command
      sql: create policy p on api.doc for update to {user} using (id = 1) with check (owner_id =
        + 1); create policy "Q" on api.doc for update to {user} using (id = 2); create policy r on
        + api.doc for select using (true)
      finding: info policies-merge api.doc: "Q" and p on api.doc are evaluated together for {user}:
        + make them one, or separate them
    # two policies have different commands
      sql: create policy p on api.doc to {user} using (id = 1); create policy q on api.doc for
        + select using (id = 2)
      finding: info policies-merge api.doc: p and q on api.doc are evaluated together for {user}:
        + make them one, or separate them
    # one of two policies is true, so that PostgreSQL evaluates neither
      sql: create policy p on api.doc to {user} using (id = 1); create policy q on api.doc for
        + select to {user} using (true)
      absent: policies-merge
    # a foreign key has no index
      sql: alter table api.doc add unique (owner_id, id); create table api.note (id int primary
        + key, o int, "D" int, foreign key (o, "D") references api.doc (owner_id, id)); create
        + index on api.note (o); create index on api.note (o, "D") where id > 0
      finding: info foreign-key-index "note_o_D_fkey" on api.note: no index begins with the columns
        + of "note_o_D_fkey" on api.note: embeds and deletes scan the table
      mend: create index concurrently on api.note (o, "D");
    # an index has the columns of a foreign key in another order
      sql: alter table api.doc add unique (owner_id, id); create table api.note (id int primary
        + key, o int, d int, foreign key (o, d) references api.doc (owner_id, id)); create index on
        + api.note (d, o, id)
      absent: foreign-key-index
    # two indexes have the same keys
      sql: create index "One" on api.doc (team, lower(title)) include (id) where open; create index
        + "Two" on api.doc (team, lower(title)) include (id) where open
      finding: info index-duplicate api."Two": the index api."Two" finds the rows that api."One"
        + finds
      mend: drop index concurrently api."Two";
    # an index has the keys of a primary key
      sql: create index again on api.doc (id)
      finding: info index-duplicate api.again: the index api.again finds the rows that api.doc_pkey
        + finds
      mend: drop index concurrently api.again;
    # a partitioned index has the keys of another one
      sql: create table api.part (id int, day date) partition by range (day); create table
        + api.part_1 partition of api.part default; create index on api.part (id); create index
        + again on api.part (id)
      finding: info index-duplicate api.again: the index api.again finds the rows that
        + api.part_id_idx finds
      mend: drop index api.again;
    # indexes differ in order, class, collation, method, condition, or are unique
      sql: create index on api.doc (title); create index on api.doc (title desc); create index on
        + api.doc (title text_pattern_ops); create index on api.doc (title collate "C"); create
        + index on api.doc using hash (title); create index on api.doc (title) where open; create
        + index on api.doc (title) include (id); create index on api.doc (title, id); create unique
        + index on api.doc (title); alter table api.doc add unique (title, team), add exclude
        + (title with =); drop index api.doc_title_idx
      absent: index-duplicate
    # a table has no primary key
      sql: create table api.log (id int)
      finding: info no-primary-key api.log: api.log has no primary key: requests have neither PUT
        + nor cursors
    # a policy parses the claims for each row
      sql: create policy p on api.doc using (owner_id = ${claims})
      finding: info policy-per-row p on api.doc: the policy p on api.doc computes for each row what
        + is the same for all: put it in (select …)
      mend: alter policy p on api.doc using ((owner_id = (select ${claimsText})));
    # a policy of a large table parses the claims for each row
      sql: ${many}  create policy p on api.doc using (owner_id = ${claims})
      finding: warn policy-per-row p on api.doc: the policy p on api.doc computes for each row what
        + is the same for all: put it in (select …)
      mend: alter policy p on api.doc using ((owner_id = (select ${claimsText})));
    # USING and WITH CHECK call a function for each row
      sql: create policy "a b" on api.doc using (app.uid() = owner_id) with check (app.uid() > 0)
      finding: info policy-per-row "a b" on api.doc: the policy "a b" on api.doc computes for each
        + row what is the same for all: put it in (select …)
      mend: alter policy "a b" on api.doc using (((select app.uid()) = owner_id)) with check
        + ((select (app.uid() > 0)));
    # a string looks like a subquery
      sql: create policy p on api.doc using (title = 'x''(select' or owner_id = app.uid())
      finding: info policy-per-row p on api.doc: the policy p on api.doc computes for each row what
        + is the same for all: put it in (select …)
      mend: alter policy p on api.doc using (((title = 'x''(select'::text) OR (owner_id = (select
        + app.uid()))));
    # ANY takes an array of the claims
      sql: create policy p on api.doc using (owner_id = any
        + (string_to_array(current_setting('app.ids', true), ',')::int[]))
      finding: info policy-per-row p on api.doc: the policy p on api.doc computes for each row what
        + is the same for all: put it in (select …)
    # a policy compares a column without an index
      sql: ${many}  create policy p on api.doc for select using (team = (select app.uid())::text)
      finding: info policy-index team of p on api.doc: the policy p on api.doc compares team, and no
        + index begins with it
      mend: create index concurrently on api.doc (team);
    # two policies compare the column of a foreign key without an index
      sql: ${many}  create table api.owner (id int primary key); alter table api.doc add foreign key
        + (owner_id) references api.owner not valid; create policy p on api.doc for select using
        + (owner_id = (select app.uid())); create policy q on api.doc to {user} using (owner_id =
        + (select app.uid()))
      absent: foreign-key-index
    # an index begins with the column
      sql: ${many}  create index on api.doc (owner_id, id); create policy p on api.doc using
        + (owner_id = app.uid())
      absent: policy-index
    # another branch of the condition needs all rows
      sql: ${many}  create policy p on api.doc using (open or owner_id = app.uid())
      absent: policy-index
  `,
];

Deno.test("diagnose() finds each problem of policies and indexes, and its SQL mends it", async (t) => {
  for (const row of rows.filter(({ label }) => isChosen(label))) {
    const fn = () => checkRow(row);
    await t.step({ name: row.label, fn, sanitizeOps: false, sanitizeResources: false });
  }
});

async function checkRow(
  { sql, finding, absent, mend, changes, request }: FindingRow,
): Promise<void> {
  await using database = await diagnosedDatabase();
  await database.run(setup + sql);
  const before = await database.diagnose({});
  if (finding === null) return strictEqual(before.find(({ name }) => name === absent), undefined);
  const lines = before.map(({ level, name, subject, message }) =>
    `${level} ${name} ${subject}: ${message}`
  );
  const at = lines.indexOf(database.fill(finding));
  ok(at >= 0, JSON.stringify(lines, null, 1));
  const found = before[at]!;
  strictEqual(found.sql, mend ? database.fill(mend) : null);
  if (found.sql === null) return;
  const answered = await answers(database, request?.[0]);
  // CREATE INDEX CONCURRENTLY is a statement of its own.
  for (const statement of found.sql.split(";\n")) await database.run(statement);
  const after = await database.diagnose({});
  deepStrictEqual(
    after.filter(({ name, subject }) => name === found.name && subject === found.subject),
    [],
  );
  if (!changes) deepStrictEqual(await answers(database, request?.[0]), answered);
}

/** The answers to requests without a token and of two users. */
async function answers(
  database: DiagnosedDatabase,
  target = "/doc?id=lt.10",
): Promise<readonly string[]> {
  const handler = database.handler();
  try {
    const results: string[] = [];
    for (const sub of [null, "1", "2"]) {
      const token = sub === null
        ? null
        : await signToken({ role: database.fill("{user}"), sub }, secret);
      const headers: HeadersInit = token === null ? {} : { authorization: `Bearer ${token}` };
      const response = await handler(new Request(`http://localhost${target}`, { headers }));
      results.push(`${response.status} ${await response.text()}`);
    }
    return results;
  } finally {
    await handler.close();
  }
}

/** Conditions, and whether the SQL for `policy-per-row` is expected: without it, nothing may change. */
const conditions: readonly (readonly [condition: string, isMended: boolean])[] = [
  [`owner_id = ${claims}`, true],
  ["owner_id = app.uid() or title = E'it''s /* no comment */ -- $$ ('", true],
  ["title <> $tag$ '' \" $tag$ and owner_id = app.uid() /* a comment */", true],
  ["title = E'back\\\\slash' or owner_id = app.uid()", false],
  ["case when open then true else owner_id = app.uid() end", false],
  ["case app.uid() when 1 then true else false end", true],
  ["coalesce(owner_id, app.uid()) = app.uid()", false],
  ["nullif(owner_id, app.uid()) is null", true],
  ["greatest(owner_id, app.uid(), 0) = owner_id", true],
  ["owner_id is not distinct from app.uid()", true],
  ["owner_id is distinct from app.uid() and not (app.uid() is null)", true],
  ["owner_id in (app.uid(), 2)", false],
  ["owner_id = any (array[app.uid(), 2])", false],
  ["app.uid() = any (array[owner_id, 2])", false],
  ["tags @> array[case app.uid() when 1 then 'a' else 'b' end]", true],
  ["tags && string_to_array(current_setting('app.tags', true), ',')", true],
  ["(string_to_array('b,a', ','))[app.uid()] = team", true],
  ["tags[app.uid()] = team", true],
  ["(owner_id, id) = (app.uid(), 1)", true],
  ["row(owner_id, id) < row(app.uid(), 5)", false],
  ["owner_id = (select app.uid()) or id = app.uid()", false],
  [
    "owner_id in (select d.o from (values (app.uid())) d (o) where d.o > id - 5) and app.uid() > 0",
    false,
  ],
  ["exists (select from api.film f where f.id = doc.owner_id) and owner_id = app.uid()", false],
  ["team = (app.uid() + 9)::numeric::int::text::varchar(20) or owner_id - 1 = app.uid() - 1", true],
  ["team like (chr(96 + app.uid()) || '%')", true],
  ["team ~~* any (array[chr(96 + app.uid())])", false],
  ['title collate "C" = app.uid()::text collate "C" or owner_id = app.uid()', false],
  ["extract(year from now()) > app.uid() and owner_id = app.uid()", false],
  ["(now() at time zone 'utc') > (timestamp '2000-01-01' + app.uid() * interval '1 day')", true],
  ["app.may(owner_id, app.uid())", true],
  ["app.may(id => app.uid(), owner => owner_id)", true],
  ["app.whole(doc) and owner_id = app.uid()", true],
  ["(app.pair()).a = owner_id and (app.pair()).b is null", true],
  ["random() >= 0 and owner_id = app.uid()", true],
  ["owner_id + floor(random() * app.uid() * 0) = owner_id and owner_id is not null", true],
  ["owner_id + app.tick() - app.tick() = app.uid()", false],
  ["-owner_id = -app.uid() and current_user = session_user or owner_id = @ app.uid()", true],
  ['"open" is true and app.uid() is not null', true],
  ["(open and app.uid() = 2) is not false and '[1,5)'::int4range @> app.uid()", true],
  ["owner_id::text = current_setting('request.jwt.claims', true)::jsonb #>> '{sub}'", true],
  ["jsonb_path_exists(to_jsonb(tags), '$[*] ? (@ == \"b\")') and app.uid() > 0", true],
  ["(array_position(tags, 'b') = app.uid()) is true", true],
  ["xmlserialize(content xmlelement(name a, app.uid()) as text) = '<a>1</a>'", false],
];

Deno.test("the SQL of policy-per-row shows no caller other rows", async (t) => {
  await using database = await diagnosedDatabase();
  const functions = `
    create function app.may(owner int, id int) returns bool stable language sql as 'select owner = id';
    create function app.whole(d api.doc) returns bool stable language sql as 'select d.id > 0';
    create type app.two as (a int, b int);
    create function app.pair() returns app.two stable language sql as 'select row(app.uid(), null)::app.two';
    create function app.tick() returns int volatile language sql as 'select 1';`;
  await database.run(setup + functions);
  for (const [condition, isMended] of conditions.filter(([text]) => isChosen(text))) {
    await t.step(condition, async () => {
      await database.run(
        `drop policy if exists p on api.doc; create policy p on api.doc using (${condition})`,
      );
      const before = await visible(database);
      const found = (await database.diagnose({})).find(({ name }) => name === "policy-per-row");
      strictEqual(found !== undefined && found.sql !== null, isMended, JSON.stringify(found));
      if (!isMended) return;
      await database.run(found!.sql!);
      deepStrictEqual(await visible(database), before);
      const after = await database.diagnose({});
      deepStrictEqual(after.filter(({ name }) => name === "policy-per-row"), []);
    });
  }
});

/** The rows that each caller sees, and may change; an error is its code. */
async function visible(database: DiagnosedDatabase): Promise<readonly unknown[]> {
  return await withClient(database.superuserUri, async (client) => {
    const seen: unknown[] = [];
    for (const role of ["{anon}", "{user}"]) {
      for (const subject of ["", "{}", '{"sub":"1"}', '{"sub":"2"}', '{"sub":"x"}']) {
        await client.query(database.fill(
          `begin; set local role ${role}; set local request.jwt.claims = '${subject}'; set local app.tags = 'b,c'`,
        ));
        const { rows } = await client.query("select id from api.doc order by id")
          .catch(({ code }) => ({ rows: [{ code }] }));
        seen.push([role, subject, rows]);
        await client.query("rollback");
      }
    }
    return seen;
  });
}

const large = `
  insert into api.doc select n, n % 1000 from generate_series(10, 3000) n;
  create policy p on api.doc to {user} using (owner_id = app.uid());
  create table api.note (id int primary key, doc_id int references api.doc);
  insert into api.note select n, n from generate_series(10, 3000) n;
  analyze api.doc, api.note; grant {anon}, {user} to postgres;`;

/** Measures as a superuser. */
async function measured(database: DiagnosedDatabase): Promise<readonly Finding[]> {
  const config = database.config({ "db-uri": database.superuserUri });
  const opened = await openDatabase(config, { embeddedInit: null, applicationName: "test" });
  try {
    const catalogue = await readCatalogue(opened, config);
    return await measureFindings(
      opened,
      findingsOf(catalogue, { config, program: "svc" }),
      catalogue,
    );
  } finally {
    await opened.close();
  }
}

const measurable = ["policy-per-row", "policy-index", "foreign-key-index"];
const results = (findings: readonly Finding[]) =>
  measurable.map((name) =>
    findings.find((each) => each.name === name)?.message.replace(/^.*: /, "")
  );

Deno.test("measureFindings() appends times, and leaves the catalog as it is", async () => {
  await using database = await diagnosedDatabase();
  await database.run(setup + large);
  const catalogue = () =>
    withClient(database.superuserUri, (client) =>
      client.query(
        "select (select json_agg(c.relname order by 1) from pg_class c) as relations, " +
          "(select json_agg(i.indexrelid order by 1) from pg_index i) as indexes, " +
          "(select json_agg(p order by oid) from pg_policy p) as policies, " +
          "(select json_agg(d order by d::text) from pg_depend d) as uses",
      ).then(({ rows }) => rows));
  const before = await catalogue();
  for (const result of results(await measured(database))) {
    match(result!, /^[\d.]+ ms → [\d.]+ ms on (3,000|2,994|2,991) rows$/);
  }
  deepStrictEqual(await catalogue(), before);
});

/** What others do to the tables meanwhile, and what is not measured then. */
const locks:
  readonly (readonly [label: string, sql: string, expected: readonly (string | undefined)[]])[] = [
    [
      "a writer",
      "insert into api.doc values (5000); insert into api.note values (5000)",
      ["times", "not measured, 55P03", "not measured, 55P03"],
    ],
    ["an exclusive lock of the table of policies", "lock table api.doc", [
      undefined,
      undefined,
      "times",
    ]],
  ];

for (const [label, sql, expected] of locks) {
  Deno.test(`measureFindings() does not wait for ${label}`, async () => {
    await using database = await diagnosedDatabase();
    await database.run(setup + large);
    await withClient(database.superuserUri, async (client) => {
      await client.query(`begin; ${sql}`);
      const found = results(await measured(database));
      deepStrictEqual(found.map((each) => each?.replace(/^.* ms → .*$/, "times")), expected);
      await client.query("rollback");
    });
  });
}

Deno.test("measureFindings() measures nothing where policies apply to the owner", async () => {
  await using database = await diagnosedDatabase();
  await database.run(
    setup + large + "create role {anon}_new; alter table api.doc owner to {anon}_new; " +
      "grant usage on schema api, app to {anon}_new; alter table api.doc force row level security",
  );
  strictEqual(results(await measured(database))[0], "not measured, 42501");
});
