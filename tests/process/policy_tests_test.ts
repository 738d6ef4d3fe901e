import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { signToken, testSecret } from "../support/handler/token.ts";
import { programFolder } from "../support/server/program.ts";

const cases =
  `insert into api.account (id, email, team) values (1, 'anna@shop', 3), (2, 'ben@shop', 4);
insert into api.doc (id, owner_id, title, published) values (1, 1, 'plan', false), (2, 2, 'report', true);
===
anna  web_user {"sub": "1", "team": "3"}
ben   web_user {"sub": "2", "team": "4"}
===
anna       GET   /doc?select=id                           => 200 [{"id":1}]
ben        PATCH /doc?id=eq.1 {"title":"mine"}            => 204 1 row
anna       PATCH /doc?id=eq.1&select=title {"title":"x"}
           Prefer: return=representation
`;

Deno.test("svc test and svc why run in a process", async (t) => {
  const database = await engines.pg({ name: "policy_tests", roles: ["web_anon", "web_user"] });
  {
    await using folder = await programFolder();
    await Deno.mkdir(`${folder.path}/tests`);
    await folder.write("tests/doc.cases", cases);
    await folder.write(
      "svc.conf",
      `db-schemas = "api"\ndb-anon-role = "web_anon"\njwt-secret = "${testSecret}"\n`,
    );
    const run = (...args: readonly string[]) =>
      folder.run([...args, "svc.conf"], { SVC_DB_URI: database.superuserUri! });

    await t.step("svc test names the cases that fail, and the cells without a case", async () => {
      const { code, stdout, stderr } = await run("test");
      strictEqual(code, 1);
      const lines = stdout.split("\n");
      match(
        lines[0]!,
        /^FAIL tests\/doc\.cases:8 ben PATCH \/doc\?id=eq\.1: expected 1 row, got no rows {3}\(.* why tests\/doc\.cases:8 svc\.conf\)$/,
      );
      match(lines[1]!, /:9 .*: expected nothing, got 200 \[\{"title":"x"\}\]; --write adds it/);
      match(
        stderr,
        /^svc test: 2 of 3 cases failed \(\d+ ms\); no case for \d+ cells of the matrix: .*web_user delete api\.doc/,
      );
      ok(!stderr.includes("web_user update api.doc"), stderr);
    });

    await t.step("--mutate lists what no case notices", async () => {
      const passing = cases.replace("204 1 row", "204 no rows").replace(/\nanna.*\n.*\n$/, "\n");
      await folder.write("tests/pass.cases", passing);
      const { code, stdout, stderr } = await run("test", "--mutate", "tests/pass.cases");
      strictEqual(code, 1);
      const line = "no case notices: revoke delete on api.doc from web_user, public\n";
      ok(stdout.includes(line), stdout);
      match(
        stderr,
        /^svc test: 2 cases passed .*\nsvc test --mutate: \d+ changes noticed, \d+ not noticed, \d+ without effect on the callers\n$/,
      );
      await Deno.remove(`${folder.path}/tests/pass.cases`);
    });

    await t.step("svc isolate prints leaks, and accepts them by lines", async () => {
      const [fixtures = "", callers = ""] = cases.split("===\n");
      const view =
        "create view api.docs as select id from api.doc; grant select on api.docs to web_user;\n";
      const leaky = (lines: string) =>
        folder.write("tests/leaky.cases", `${fixtures}${view}===\n${callers}===\n${lines}`);
      await leaky("");
      const found = await run("isolate", "--seconds=600", "tests/leaky.cases");
      strictEqual(found.code, 1);
      match(found.stdout, /^LEAK tests\/leaky\.cases anna GET \/docs\?select=id: api\.doc id=2 /m);
      match(found.stderr, /^svc isolate: anna: \d+ requests, \d tables with hidden rows$/m);
      match(found.stderr, /^svc isolate: \d+ leaks by \d+ requests$/m);
      const keys = found.stdout.matchAll(/To accept it: (leak: .*: )REASON$/gm);
      await leaky(Array.from(keys, ([, line]) => `${line}a test\n`).join(""));
      const accepted = await run("isolate", "--seconds=600", "tests/leaky.cases");
      deepStrictEqual([accepted.code, accepted.stdout], [0, ""]);
      const unreached = await run("isolate", "--seconds=0.001", "tests/leaky.cases");
      strictEqual(unreached.code, 2);
      match(unreached.stderr, /no request was compared/);
      const refused = await run("isolate", "--seconds=x", "tests/leaky.cases");
      deepStrictEqual([refused.code, refused.stderr], [
        2,
        "svc: --seconds: expected a number of seconds\n",
      ]);
      await Deno.remove(`${folder.path}/tests/leaky.cases`);
    });

    await t.step("svc why explains a line", async () => {
      const { code, stdout } = await run("why", "tests/doc.cases:8");
      strictEqual(code, 0);
      match(stdout, /^no privilege is missing \(not executed\); 1 row matches .* from web_user\n/);
      match(stdout, /\n {2}id=1 {2}doc_own false: /);
    });

    await t.step("svc why verifies a token", async () => {
      const token = await signToken({ role: "web_user", sub: "1" });
      const granted = await run("why", "GET /doc?select=id", `--token=${token}`);
      match(
        granted.stdout,
        /^200, no rows; no row matches the filter\napi\.doc: select granted on /,
      );
      const write = await run("why", "POST /doc", "--role=web_user");
      match(write.stdout, /^(?:403 42501|no privilege is missing)/);
      const { stdout } = await run("why", "GET /doc", "--token=x");
      match(stdout, /^401 SVC301: /);
    });

    await t.step("B10: --write adds answers only", async () => {
      await run("test", "--write", "--junit=junit.xml");
      const added = `{"title":"x"} => 200 [{"title":"x"}]`;
      strictEqual(
        await folder.read("tests/doc.cases"),
        cases.replace('{"title":"x"}\n', `${added}\n`),
      );
    });

    await t.step("--write keeps line ends and a byte order mark, and adds one answer", async () => {
      const file = "\uFEFFselect 1;\r===\ra web_user\r\n===\ra POST /doc {x \ra GET /nix\n";
      await folder.write("tests/old.cases", file);
      const written = file.replace("{x ", "{x => 400 SVC102").replace("/nix", "/nix => 404 SVC205");
      for (const _ of ["once", "twice"]) {
        await run("test", "--write", "tests/old.cases", "./tests/old.cases");
        const text = await Deno.readFile(`${folder.path}/tests/old.cases`);
        strictEqual(new TextDecoder("utf-8", { ignoreBOM: true }).decode(text), written);
      }
      await Deno.remove(`${folder.path}/tests/old.cases`);
    });

    await t.step("--junit has a test case for each line", async () => {
      const text = await folder.read("junit.xml");
      match(text, /<testsuite name="tests\/doc\.cases" tests="3" failures="2">/);
      match(text, /name="8 ben PATCH \/doc\?id=eq\.1" file="tests\/doc\.cases" line="8">/);
      match(text, /<failure message="expected 1 row, got no rows"\/>/);
    });

    const bad: readonly (readonly [label: string, text: string, code: number, error: string])[] = [
      ["B7: COMMIT", `select 1;\ncommit;\n${cases}`, 2, "line 2: fixtures cannot contain COMMIT"],
      [
        "a header that HTTP has not",
        "===\n===\nanonymous GET /doc\n  X: ☃\n",
        2,
        "line 4: expected a header: Name: value, indented; a body follows the path",
      ],
      ["a faulty line", "===\n===\na GET /doc\n", 2, 'line 3: unknown caller "a"'],
    ];
    for (const [label, text, code, error] of bad) {
      await t.step(`${label} ends the run before it begins`, async () => {
        await folder.write("tests/commit.cases", text);
        const ended = await run("test", "./tests/commit.cases");
        const stderr = `svc: cannot run ./tests/commit.cases: ${error}\n`;
        deepStrictEqual(ended, { code, stdout: "", stderr });
      });
    }

    await t.step("fixtures that the login may not insert name the login that may", async () => {
      await folder.write(
        "tests/commit.cases",
        "set role pg_monitor;\ntable pg_authid;\n===\n===\n",
      );
      const { code, stderr } = await run("test", "tests/commit.cases");
      strictEqual(code, 2);
      match(stderr, /pg_authid\nlog in as the tables' owner: --db-uri=postgres:\/\/owner@…$/m);
    });

    const kill = "select pg_terminate_backend(pg_backend_pid())";
    const lost = [
      ["fixtures", `${kill};\n===\n===\nanonymous GET /doc\n`],
      [
        "a case",
        `create function api.quit() returns bool security definer language sql as '${kill}';\n` +
        "===\n===\nanonymous POST /rpc/quit => 500\n" + "anonymous GET /doc => 200\n".repeat(99),
      ],
    ] as const;
    for (const [label, text] of lost) {
      await t.step(`${label} that ends the connection exits with 3`, async () => {
        await folder.write("tests/commit.cases", text);
        const { code, stdout, stderr } = await run("test", "tests/commit.cases");
        deepStrictEqual([code, stdout], [3, ""]);
        match(stderr, /^svc: .*connection/m);
        ok(stderr.split("\n").length < 20, stderr);
      });
    }

    await t.step("a login that cannot take the roles gets their GRANT", async () => {
      const owner = `owner ${crypto.randomUUID()}`;
      const uri = new URL(database.superuserUri!);
      uri.username = encodeURIComponent(owner);
      uri.password = "x";
      const sql = (text: string) => run("sql", "-c", text);
      await sql(
        `create role "${owner}" login password 'x'; grant all on schema api to "${owner}";` +
          `alter table api.account owner to "${owner}"; alter table api.doc owner to "${owner}"`,
      );
      const test = () =>
        folder.run(["test", "tests/doc.cases", "svc.conf"], { SVC_DB_URI: uri.href });
      await folder.write("tests/doc.cases", `${cases}anonymous GET /doc?select=id => 200\n`);
      const { code, stdout, stderr } = await test();
      deepStrictEqual([code, stdout], [2, ""]);
      const [, grants = ""] = /^svc: cannot run tests\/doc.cases as its callers: (.*)\n$/.exec(
        stderr,
      )!;
      strictEqual(grants, `grant web_anon to "${owner}"; grant web_user to "${owner}";`);
      await sql(grants);
      match((await test()).stderr, /^svc test: 2 of 4 cases failed/);
      await sql(
        `reassign owned by "${owner}" to current_user; drop owned by "${owner}"; drop role "${owner}"`,
      );
    });

    await t.step("B8: an error of SQL has line and column", async () => {
      await folder.write("tests/commit.cases", `select 1;\nselect nix;\n${cases}`);
      const { code, stderr } = await run("test", "tests/commit.cases");
      deepStrictEqual([code, stderr], [
        2,
        'svc: tests/commit.cases:2:8: column "nix" does not exist\n',
      ]);
    });

    await t.step("B11: a generated file passes", async () => {
      await run(
        "sql",
        "-c",
        "create type api.kind as enum ('new'); create table api.task (id int generated always as identity primary key, " +
          "owner int not null, title text not null, kind api.kind not null, done boolean not null, " +
          "made timestamptz not null, day date not null, level smallint not null); alter table api.task enable row level security; " +
          "create policy own on api.task using (owner = api.claim('sub')::int); " +
          "grant all on api.task to web_user",
      );
      const { code, stdout } = await run("test", "--generate");
      strictEqual(code, 0);
      match(stdout, /^# Read each line: an answer may be a hole\.\n/);
      match(
        stdout,
        /\n-- insert or update on table "doc" violates .*; Key \(owner_id\)=\(900001\) is not present in table "account"\.: insert into "api"\."doc"/,
      );
      match(stdout, /\n# web_user_doc_1 GET \/doc\?id=eq\.900001&select=id\n/);
      const task = "\nweb_user_task_1 ";
      ok(stdout.includes(`${task}GET /task?id=eq.900001&select=id => 200 [{"id":900001}]\n`));
      ok(stdout.includes(`${task}GET /task?id=eq.900002&select=id => 200 []\n`));
      ok(
        stdout.includes(
          `${task}PATCH /task?id=eq.900001 {"title":"x900003@example.com"} => 204 1 row\n`,
        ),
      );
      match(stdout, /\nweb_user_task_1 POST \/task .*"owner":"900002".* => 403 42501\n/);
      await folder.write("tests/generated.cases", stdout);
      const again = await run("test", "tests/generated.cases");
      deepStrictEqual([again.code, again.stdout], [0, ""]);
    });

    await t.step("refused fixtures name the login to use", async () => {
      await run(
        "sql",
        "-c",
        "create function api.refuse() returns trigger language plpgsql as $$ begin " +
          "raise insufficient_privilege using message = 'permission denied for table secret'; end $$; " +
          "create trigger refuse before insert on api.task for each row execute function api.refuse()",
      );
      const { stdout } = await run("test", "--generate");
      match(
        stdout,
        /\n-- permission denied for table secret; generate and run this file as the login that owns the table: insert into "api"\."task"/,
      );
      await run("sql", "-c", "drop trigger refuse on api.task");
    });

    await t.step("no policies", async () => {
      const { code, stderr } = await run("test", "--generate", "--schemas=public");
      strictEqual(code, 2);
      match(stderr, /^svc: schema public has no policy that .+: there is nothing to generate$/m);
    });

    await t.step("a missing file, and a database that cannot be reached", async () => {
      strictEqual((await run("test", "tests/nix.cases")).code, 2);
      strictEqual((await run("why", "GET /x", "--db-uri=postgres://x@127.0.0.1:1/x")).code, 3);
    });
  }
  await database.remove();
});

Deno.test("svc test runs the tests of the example shop", async () => {
  await using folder = await programFolder();
  const conf = new URL("../../examples/shop/svc.conf", import.meta.url).pathname;
  const { code, stdout, stderr } = await folder.run(["test", conf]);
  deepStrictEqual([code, stdout], [0, ""]);
  ok(/^svc test: \d+ cases passed/.test(stderr), stderr);
  const generated = await folder.run(["test", "--generate", conf]);
  const own = "shop_customer_customers_1 GET /customers?id=eq.90000";
  ok(generated.stdout.includes(`${own}1&select=id => 200 [{"id":900001}]\n`), generated.stdout);
  ok(generated.stdout.includes(`${own}2&select=id => 200 []\n`), generated.stdout);
  await folder.write("generated.cases", generated.stdout);
  const again = await folder.run(["test", "generated.cases", conf]);
  deepStrictEqual([again.code, again.stdout], [0, ""]);
});
