import { deepStrictEqual, match, ok, rejects, throws } from "node:assert/strict";
import { SqlSession } from "../../src/database/connection/sql_session.ts";
import { isolateFile } from "../../src/wings/audit/isolation/isolate.ts";
import { parseCaseFile } from "../../src/wings/audit/policy_test/case_file.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { holesTable, isolationCases } from "../support/handler/isolation_corpus.ts";
import { type PolicyDatabase, policyDatabase } from "../support/handler/policy_database.ts";

const options = { "db-aggregates-enabled": "true", "db-comment-tags": "true", "etag-mode": "on" };

const prelude = await Deno.readTextFile(new URL("../isolation/prelude.sql", import.meta.url));
const view =
  "create view api.docs as select id, title from api.doc;\ngrant select on api.docs to web_user;\n";

/** A file with the table of the prelude, SQL, and lines after the callers. */
function fileOf(sql: string, lines = "") {
  return parseCaseFile(`${prelude}${sql}===\nanna web_user {"sub": "1"}\n===\n${lines}`);
}

/** Runs a file without a limit of the time. `step` is what the clock advances each time, in milliseconds. */
async function run({ setup }: PolicyDatabase, file: ReturnType<typeof fileOf>, step = 0) {
  let time = 0;
  const now = () => time += step;
  return await isolateFile({ name: "x", file, setup }, { msPerCaller: 500, now, report: () => {} });
}

Deno.test("[pg] isolateFile() finds each hole of tests/isolation", async (t) => {
  await using database = await policyDatabase("pg", {}, options);
  const holes = await isolationCases("holes.sql");
  ok(holes.length >= 60, `${holes.length} holes`);
  for (const { title, file, leaks } of holes) {
    await t.step(title, async () => {
      const { findings } = await run(database, file);
      ok(leaks.length > 0);
      deepStrictEqual(findings.map(({ key }) => key), leaks);
    });
  }
});

Deno.test("docs/reference/isolation.md lists the holes of tests/isolation", async () => {
  const page = await Deno.readTextFile(
    new URL("../../docs/reference/isolation.md", import.meta.url),
  );
  ok(page.includes(await holesTable()));
});

Deno.test("[pg] isolateFile() finds nothing where there is no hole", async (t) => {
  await using database = await policyDatabase("pg", {}, options);
  const sound = await isolationCases("sound.sql");
  ok(sound.length >= 20, `${sound.length} cases`);
  for (const { title, file } of sound) {
    await t.step(title, async () => deepStrictEqual((await run(database, file)).findings, []));
  }
});

Deno.test("[pglite] isolateFile() finds holes", async (t) => {
  await using database = await policyDatabase("pglite", {}, options);
  for (const { title, file, leaks } of (await isolationCases("holes.sql")).slice(0, 4)) {
    await t.step(title, async () => {
      deepStrictEqual((await run(database, file)).findings.map(({ key }) => key), leaks);
    });
  }
});

Deno.test("[pg] isolateFile() reports, accepts, and leaves nothing", async (t) => {
  await using database = await policyDatabase("pg", {}, options);
  const sql = async (text: string) =>
    (await new SqlSession(database.setup.transport).run(text)).results.at(-1)!.rows;

  await t.step("the request, the row, the first byte, and the cause", async () => {
    const { findings: [first] } = await run(database, fileOf(view));
    match(
      first!.text,
      /^anna GET \/docs\?select=id,title: api\.doc id=2 changed: byte 34: .*"hers".* became .*"also hers".*; api\.docs, a view that runs as its owner\. To accept it: leak: anna GET \/docs of api\.doc by api\.docs: REASON$/,
    );
  });

  const key = "GET /docs of api.doc by api.docs";
  for (const name of ["anna", "*"]) {
    await t.step(`a line accepts a leak of ${name}`, async () => {
      deepStrictEqual(
        (await run(database, fileOf(view, `leak: ${name} ${key}: public\n`))).findings,
        [],
      );
    });
  }

  await t.step("a line that accepts no leak is a finding", async () => {
    const { findings } = await run(database, fileOf("", `leak: * ${key}: public\n`));
    deepStrictEqual(findings.map(({ line, text }) => [line, text]), [
      [prelude.split("\n").length + 3, `accepts no leak: * ${key}`],
    ]);
  });

  await t.step("a line without a reason is refused", () => {
    throws(
      () => fileOf(view, `leak: anna ${key}\n`),
      /expected leak: NAME METHOD PATH of TABLE by OBJECT: REASON$/,
    );
  });

  await t.step("answers that always differ are named", async () => {
    const { findings, notes } = await run(
      database,
      fileOf(
        "create table api.x (id uuid primary key default gen_random_uuid(), word text default 'a');\n" +
          "grant select, insert (word) on api.x to web_user;\n",
      ),
    );
    deepStrictEqual(findings, []);
    match(notes.join(), /anna POST \/x\?select=id,word: the answers always differ/);
  });

  await t.step("sequences and rows are as before", async () => {
    await sql(
      "create table api.kept (id int generated always as identity, text text unique); " +
        "grant select, insert (text), update (text), delete on api.kept to web_user; insert into api.kept (text) values ('a')",
    );
    const state =
      "select last_value, (select count(*) from api.kept), (select count(*) from pg_class), " +
      "(select sum(n_live_tup) from pg_stat_user_tables where relname = 'nix') from api.kept_id_seq";
    const before = await sql(state);
    const file = parseCaseFile(
      `===\nanna web_user {"sub": "1"}\n===\nanna POST /kept {"text":"b"}\n`,
    );
    const { requests } = await run(database, file);
    ok(requests > 10);
    deepStrictEqual(await sql(state), before);
  });

  await t.step("a limit of the time names what was not reached", async () => {
    const tables = Array.from(
      { length: 500 },
      (_, at) =>
        `create table api.t${at} (id int primary key, owner int);
      insert into api.t${at} values (1, 1), (2, 2); alter table api.t${at} enable row level security;
      create policy own on api.t${at} using (owner = private.uid()); grant select on api.t${at} to web_user;`,
    );
    const { notes, requests, findings } = await run(
      database,
      fileOf(`${tables.join("\n")}\n`, `leak: * ${key}: public\n`),
      2,
    );
    deepStrictEqual(findings, []);
    ok(requests > 0 && requests < 500, String(requests));
    const [, names = ""] = /^anna, not reached: (.*)$/m.exec(notes.join("\n"))!;
    ok(names.split(", ").length > 400, names);
    ok(names.includes("/t499"), names);
  });

  await t.step("a connection that is lost leaves nothing", async () => {
    const kill =
      "create function api.quit() returns boolean language sql stable security definer " +
      "as 'select pg_terminate_backend(pg_backend_pid())';\n";
    await rejects(run(database, fileOf(kill)), /connection/);
    await withClient(database.uri!, async (client) => {
      const { rows } = await client.query(
        "select to_regnamespace('private'), to_regprocedure('api.quit()')",
      );
      deepStrictEqual(rows, [{ to_regnamespace: null, to_regprocedure: null }]);
    });
  });
});
