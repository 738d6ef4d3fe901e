import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { callerIdentity } from "../../src/state/auth/authenticate.ts";
import { parseRequest } from "../../src/wings/audit/policy_test/case_file.ts";
import { type RunSetup, withCaseState } from "../../src/wings/audit/policy_test/case_handler.ts";
import { explainRequest } from "../../src/wings/audit/why/explain_request.ts";
import { type Engine, engines } from "../support/database/engines.ts";
import { policyDatabase } from "../support/handler/policy_database.ts";
import { records } from "../support/handler/records.ts";

const fixtures = `
insert into api.account (id, email, team) values (1, 'anna@shop', 3), (2, 'ben@shop', 4);
insert into api.doc (id, owner_id, team, title, published)
values (1, 1, 3, 'plan', false), (2, 2, 4, 'report', true);
select setval(pg_get_serial_sequence('api.doc', 'id'), 10);
`;

/** A request of anna, who is `web_user`. */
interface Row {
  readonly label: string;
  /** SQL behind the fixtures. */
  readonly sql?: string | undefined;
  readonly request: string;
  readonly lines: readonly string[];
  /** First line of the explanation behind the SQL of this one. */
  readonly mended?: string | undefined;
}

const granted = "select granted on id, owner_id, team, title, published";
const updatable = "update granted on owner_id, team, title, archived";
const reading = "policies (doc_own or doc_team) and doc_not_archived";
const updating = "policies for update doc_own and doc_not_archived; " +
  "policies for select (doc_own or doc_team) and doc_not_archived";

const rows: readonly Row[] = [
  ...records`
    # C1: no SELECT
      sql: revoke select (id, owner_id, team, title, published) on api.doc from web_user;
      request: GET /doc?select=id
      line: 403 42501: permission denied for table doc
      line: api.doc: SELECT is not granted
      line:     grant select on api.doc to web_user;
      mended: 200, 1 row; 1 more row matches the filter and is hidden from web_user
    # C2: no SELECT on one column
      request: PATCH /doc?id=eq.1&select=id,secret {"title":"x"}
      request:   Prefer: return=representation
      line: 403 42501: permission denied for table doc (not executed)
      line: api.doc: ${updatable}; ${granted}; the representation reads secret, without a grant;
        + ${updating}
      line:     grant select (secret) on api.doc to web_user;    -- or request
        + &select=id,owner_id,team,title,published
      mended: no privilege is missing (not executed)
    # C3: no EXECUTE
      request: POST /rpc/wipe
      line: 403 42501: permission denied for function wipe (not executed)
      line: api.wipe(): EXECUTE is not granted; its body, which is not checked, runs as web_user
      line:     grant execute on function api.wipe() to web_user;
      mended: no privilege is missing (not executed)
    # C4: a row of another user
      request: GET /doc?id=in.(1,2)&select=id
      line: 200, 1 row; 1 more row matches the filter and is hidden from web_user
      line: api.doc: ${granted}; ${reading}
      line:   id=2  doc_own false: (owner_id = (api.claim('sub'::text))::integer), owner_id = 2
      line:         doc_team false: (team = (api.claim('team'::text))::integer), team = 4
      line:         doc_not_archived true
    # C5: no such row
      request: GET /doc?id=eq.99&select=id
      line: 200, no rows; no row matches the filter
      line: api.doc: ${granted}; ${reading}
    # C6: row level security without a policy
      sql: insert into api.note values (1, 1, 'x');
      request: GET /note
      line: 200, no rows; 1 row matches the filter and is hidden from web_user
      line: api.note: select granted; no permissive policy for SELECT
    # C7: a change hides the row
      sql: create policy doc_unlocked on api.doc as restrictive for select to web_user using (title
        + <> 'locked');
      request: PATCH /doc?id=eq.1 {"title":"locked"}
      line: 403 42501: a row violates row level security (not executed)
      line: api.doc: ${updatable}; ${granted}; ${updating} and doc_unlocked
      line:   new row  doc_own true
      line:            doc_not_archived true
      line:            doc_team true
      line:            doc_unlocked false: (title <> 'locked'::text), title = "locked"
    # C8: an upsert of a row of another user
      sql: grant update (id) on api.doc to web_user;
      request: POST /doc {"id":2,"owner_id":1,"title":"x"}
      request:   Prefer: resolution=merge-duplicates
      line: 403 42501: a row violates row level security (not executed)
      line: api.doc: insert granted on id, owner_id, team, title, published; update granted on id,
        + owner_id, team, title, archived; ${granted}; policies for insert doc_own and
        + doc_not_archived; ${updating}
      line:   id=2  doc_own false: (owner_id = (api.claim('sub'::text))::integer), owner_id = 2
      line:         doc_not_archived true
      line:         doc_team false: (team = (api.claim('team'::text))::integer), team = 4
    # C9: a view with security_invoker
      sql: insert into api.log (text) values ('x');
      request: GET /log_lines
      line: 403 42501: permission denied for table log
      line: api.log_lines: a relation below the view cannot be read
      line:     grant select on api.log to web_user;
      mended: 200, 1 row
    # C11: an auditing trigger
      sql: create function api.audit() returns trigger language plpgsql as $$ begin raise exception
        + 'ran'; end $$; create trigger audit before update on api.doc for each row execute function
        + api.audit();
      request: PATCH /doc?id=eq.1 {"title":"x"}
      line: no privilege is missing (not executed)
      line: api.doc: ${updatable}; ${granted}; ${updating}
    # an error of the service
      request: GET /docs
      line: 404 SVC205: Could not find the table 'api.docs' in the schema cache
    # a new row of another user
      request: POST /doc {"owner_id":2,"title":"x"}
      line: 403 42501: a row violates row level security (not executed)
      line: api.doc: insert granted on id, owner_id, team, title, published; policies doc_own and
        + doc_not_archived
      line:   new row  doc_own false: (owner_id = (api.claim('sub'::text))::integer), owner_id = 2
      line:            doc_not_archived true
    # a deletion of a row of another user
      request: DELETE /doc?id=eq.2
      line: no privilege is missing (not executed); 1 row matches the filter and is hidden from
        + web_user
      line: api.doc: delete granted; ${granted}; policies for delete doc_own and doc_not_archived;
        + policies for select (doc_own or doc_team) and doc_not_archived
      line:   id=2  doc_own false: (owner_id = (api.claim('sub'::text))::integer), owner_id = 2
      line:         doc_not_archived true
      line:         doc_team false: (team = (api.claim('team'::text))::integer), team = 4
    # a policy that fails
      sql: revoke execute on function api.claim(text) from public;
      request: DELETE /doc?id=eq.1
      line: 403 42501: permission denied for function claim (not executed); 1 row matches the filter
        + and is hidden from web_user
      line: api.doc: delete granted; ${granted}; policies for delete doc_own and doc_not_archived;
        + policies for select (doc_own or doc_team) and doc_not_archived; a policy calls
        + api.claim(text), without a grant
      line:     grant execute on function api.claim(text) to web_user;
      line:   id=1  doc_own error 42501: permission denied for function claim: (owner_id =
        + (api.claim('sub'::text))::integer), owner_id = 1
      line:         doc_not_archived true
      line:         doc_team error 42501: permission denied for function claim: (team =
        + (api.claim('team'::text))::integer), team = 3
      mended: no privilege is missing (not executed)
    # a policy with an operator whose function the role may not call
      sql: create function api.same(int, int) returns boolean immutable language sql as 'select $1 =
        + $2'; revoke execute on function api.same(int, int) from public; create operator api.=== (leftarg =
        + int, rightarg = int, function = api.same); create table api.bill (id int primary key);
        + insert into api.bill values (1); grant select on api.bill to web_user; alter table api.bill
        + enable row level security; create policy bill_one on api.bill using (id operator(api.===)
        + 1);
      request: GET /bill
      line: 403 42501: permission denied for function same; 1 row matches the filter and is hidden
        + from web_user
      line: api.bill: select granted; policies bill_one; a policy calls api.same(integer,integer),
        + without a grant
      line:     grant execute on function api.same(integer,integer) to web_user;
      line:   id=1  bill_one error 42501: permission denied for function same: (id OPERATOR(api.===)
        + 1), id = 1
      mended: 200, 1 row
    # a write without a privilege
      sql: revoke delete on api.doc from web_user;
      request: DELETE /doc?id=eq.1
      line: 403 42501: permission denied for table doc (not executed)
      line: api.doc: DELETE is not granted; ${granted}; policies for select (doc_own or doc_team)
        + and doc_not_archived
      line:     grant delete on api.doc to web_user;
      mended: no privilege is missing (not executed)
    # a schema without USAGE
      sql: revoke usage on schema api from web_user;
      request: GET /note?select=id
      line: 403 42501: permission denied for schema api
      line: api.note: no USAGE on schema api
      line:     grant usage on schema api to web_user;
      mended: 200, no rows; no row matches the filter
    # a limit
      sql: insert into api.doc (owner_id, title) values (1, 'x');
      request: GET /doc?id=neq.2&select=id&limit=1
      line: 200, 1 row; 1 row left out by limit=1
      line: api.doc: ${granted}; ${reading}
    # an offset
      request: GET /doc?id=eq.1&select=id&offset=1
      line: 200, no rows; 1 row left out by offset=1
      line: api.doc: ${granted}; ${reading}
    # an inner join, and a count
      sql: insert into api.note values (1, 1, 'x');
      request: GET /doc?id=eq.1&select=id,note!inner(id)
      request:   Prefer: count=exact
      line: 200, no rows; 1 row left out by !inner of note
      line: api.doc: ${granted}; ${reading}
    # a filter by a function
      sql: create function api.shout(api.doc) returns text language plpgsql as $$ begin raise
        + exception 'ran as %', current_user; end $$;
      request: GET /doc?id=eq.2&shout=eq.X&select=id
      line: 403 42501: permission denied for table doc
      line: api.doc: ${granted}; the answer reads archived, secret, without a grant; ${reading}
      line:     grant select (archived, secret) on api.doc to web_user;    -- or request
        + &select=id,owner_id,team,title,published
      line: rows not shown: the filter uses "doc"."shout"
    # a filter on a column of a type that is not built in
      sql: create type api.span as (a int, b int); create table api.plan (span api.span); grant
        + select on api.plan to web_user; alter table api.plan enable row level security;
      request: GET /plan?span=is.null
      line: 200, no rows
      line: api.plan: select granted; no permissive policy for SELECT
      line: rows not shown: the filter uses "plan"."span"
    # a row that is long
      sql: update api.doc set title = repeat('x', 200000);
      request: GET /doc?id=eq.2&select=id
      line: 200, no rows
      line: api.doc: ${granted}; ${reading}
      line: rows not shown: one is longer than 100 kB
    # defaults, and generated columns
      sql: create sequence api.numbers; create table api.line (id int primary key default
        + nextval('api.numbers'), part real default random(), day date default '2026-01-02', count
        + int default 2, price int, total int generated always as (count * price) stored); alter
        + table api.line enable row level security; grant insert on api.line to web_user; create
        + policy line_all on api.line to web_user using (id is null and part is null and day =
        + '2026-01-02' and total > 10);
      request: POST /line {"price":3}
      line: 403 42501: a row violates row level security (not executed)
      line: api.line: insert granted; policies line_all
      line:   new row  line_all false: ((id IS NULL) AND (part IS NULL) AND (day =
        + '2026-01-02'::date) AND (total > 10)), day = "2026-01-02", id = null, part = null, total =
        + 6
    # a nested insert
      sql: grant insert, select (id) on api.account to web_user;
      request: POST /account?columns=id,email,doc(title) {"id":9,"email":"x","doc":[{"title":"x"}]}
      line: no privilege is missing (not executed)
      line: api.account: insert granted
      line: rows not shown: the insert is nested
  `.map(({ label, all, one }): Row => ({
    label,
    sql: one("sql"),
    request: one("request")!,
    lines: all("line"),
    mended: one("mended"),
  })),
  {
    label: "a policy with a subquery, whose lines PostgreSQL breaks",
    sql: "create table api.pick (n int); grant select on api.pick to web_user; " +
      "create table api.club (id int primary key); grant select on api.club to web_user; " +
      "alter table api.club enable row level security; insert into api.club values (1); " +
      "create policy club_pick on api.club using (id in (select n from api.pick where n > 1));",
    request: "GET /club",
    lines: [
      "200, no rows; 1 row matches the filter and is hidden from web_user",
      "api.club: select granted; policies club_pick",
      "  id=1  club_pick false: (id IN ( SELECT pick.n FROM api.pick WHERE (pick.n > 1))), id = 1",
    ],
  },
  {
    label: "a name with an escape sequence and a line break",
    sql: 'create table api."a\u001b[2J\nb" (id int primary key, "c""\n    grant" int); ' +
      'alter table api."a\u001b[2J\nb" enable row level security; ' +
      'create policy "p\n    grant all" on api."a\u001b[2J\nb" using ("c""\n    grant" = 1); ' +
      'insert into api."a\u001b[2J\nb" values (1, 2); ' +
      'grant select on api."a\u001b[2J\nb" to web_user;',
    request: "GET /a%1B%5B2J%0Ab",
    lines: [
      "200, no rows; 1 row matches the filter and is hidden from web_user",
      String.raw`api."a\x1b[2J\nb": select granted; policies "p\n    grant all"`,
      String.raw`  id=1  "p\n    grant all" false: ("c""\n    grant" = 1), c"\n    grant = 2`,
    ],
  },
];

async function explain(
  setup: RunSetup,
  sql: string,
  text: string,
  hiddenRows: "all" | "none" = "all",
): Promise<readonly string[]> {
  return await withCaseState(setup, { name: "x", text: sql }, (parts) => {
    const claims = '{"sub": "1", "team": "3"}';
    const identity = callerIdentity({ role: "web_user", claims }, parts.appState.snapshot.config);
    return explainRequest({ ...parts, hiddenRows }, parseRequest(text), identity);
  });
}

for (const engine of Object.keys(engines) as Engine[]) {
  Deno.test(`[${engine}] explainRequest()`, async (t) => {
    await using database = await policyDatabase(engine);
    const { setup, authenticator } = database;
    // PGlite explains what the others explain: the cases of the reference run there.
    const some = engine === "pg" ? rows : rows.filter(({ label }) => label.startsWith("C"));
    for (const { label, sql = "", request, lines, mended } of some) {
      await t.step(label, async () => {
        const found = await explain(setup, fixtures + sql, request);
        deepStrictEqual(found, lines);
        if (mended === undefined) return;
        const grants = found.filter((line) => line.startsWith("    grant ")).join("\n");
        const [first] = await explain(setup, `${fixtures}${sql}\n${grants}`, request);
        strictEqual(first, mended);
      });
    }
    await t.step("no hidden rows in a console without admin-sign-in", async () => {
      deepStrictEqual(await explain(setup, fixtures, "GET /doc?id=in.(1,2)&select=id", "none"), [
        "200, 1 row",
        `api.doc: ${granted}; ${reading}`,
        "to see hidden rows: svc why, or admin-sign-in",
      ]);
    });
    await t.step("a batch", async () => {
      const request = "POST /\n  Content-Type: application/vnd.pgrst.batch+json";
      const found = await explain(setup, fixtures, request.replace("/\n", '/ {"operations":[]}\n'));
      match(found[0]!, /^[45]\d\d/);
    });
    if (authenticator === null) return;
    await t.step("C10: as a role that may not become the owner", async () => {
      const found = await explain(authenticator, "", "GET /doc?select=id");
      strictEqual(found[0], "200, no rows");
      match(found.at(-1)!, /^to see hidden rows, log in as (\S+): --db-uri=postgres:\/\/\1@…$/);
    });
  });
}
