import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { diagnosedDatabase, type FileOptions } from "../support/handler/diagnosis.ts";
import { freePort } from "../support/server/free_port.ts";
import { findPgbouncer, startPgbouncer } from "../support/database/pgbouncer.ts";
import { startService } from "../support/server/process.ts";
import { programFolder } from "../support/server/program.ts";

const secret = "a secret of at least thirty-two bytes";

Deno.test("svc check names each problem, and its SQL mends them all", async (t) => {
  await using database = await diagnosedDatabase();
  await using folder = await programFolder();
  const { dbUri, dbAnonRole } = database.config({});
  const args = (...flags: readonly string[]) => [
    "check",
    ...flags,
    "--schemas=api",
    `--anon-role=${dbAnonRole}`,
    "--host=127.0.0.1",
  ];
  const env = { SVC_JWT_SECRET: secret, SVC_DB_URI: dbUri };

  await t.step("a database that is set up well", async () => {
    const { code, stdout, stderr } = await folder.run(args(), env);
    deepStrictEqual([code, stdout, stderr], [0, "", "svc check: nothing found\n"]);
  });

  await database.run(
    "revoke {anon} from {auth}; revoke usage on schema api from {anon}; " +
      "revoke usage on sequence api.film_id_seq from {user}",
  );
  const sql = {
    error: database.fill(
      "grant usage on schema api to {anon};\ngrant {anon} to {auth};",
    ).split("\n"),
    warn: database.fill("grant usage on sequence api.film_id_seq to {user};"),
  };

  await t.step("text has the SQL below each line", async () => {
    const { code, stdout, stderr } = await folder.run(args(), env);
    const expected = [
      "error role-not-granted: {auth} may not become {anon}",
      `    ${sql.error[1]}`,
      "error schema-usage: {anon} has no USAGE on schema api",
      `    ${sql.error[0]}`,
      "warn sequence-usage: {user} may insert into api.film, but not use the sequence " +
      "api.film_id_seq",
      `    ${sql.warn}`,
    ].map((line) => `${database.fill(line)}\n`);
    deepStrictEqual([code, stdout], [1, expected.join("")]);
    strictEqual(stderr, "svc check: 2 errors, 1 warning\n");
  });

  await t.step("--json has name, level, subject, message and sql", async () => {
    const { code, stdout } = await folder.run(args("--json"), env);
    strictEqual(code, 1);
    const found: readonly Record<string, string>[] = JSON.parse(stdout);
    deepStrictEqual(Object.keys(found[0]!), ["name", "level", "subject", "message", "sql"]);
    deepStrictEqual(found.map((each) => each["sql"]), [sql.error[1], sql.error[0], sql.warn]);
  });

  await t.step("--fix-sql mends it", async () => {
    const { code, stdout } = await folder.run(args("--fix-sql"), env);
    strictEqual(code, 1);
    await database.run(stdout);
    const after = await folder.run(args(), env);
    deepStrictEqual([after.code, after.stdout], [0, ""]);
  });
});

Deno.test("svc check of a connection string names the choices of quick mode", async () => {
  await using database = await diagnosedDatabase();
  await using folder = await programFolder();
  const { dbUri } = database.config({});
  const { stderr } = await folder.run(["check", dbUri]);
  match(
    stderr,
    new RegExp(database.fill(
      '^svc: .*\nsvc check: quick mode: schema api, requests without a token run as "{auth}", ' +
        "read only\n",
    )),
  );
});

const pgbouncer = findPgbouncer();

Deno.test({
  name: "svc check finds that a pooler in transaction mode loses notifications",
  ignore: pgbouncer === null,
  fn: async () => {
    await using database = await diagnosedDatabase();
    const { dbUri, dbAnonRole } = database.config({});
    const { port, username, password, pathname } = new URL(dbUri);
    await using pooler = await startPgbouncer(pgbouncer!, {
      mode: "transaction",
      server: { port: Number(port), user: username, password },
    });
    await using folder = await programFolder();
    const args = ["check", "--schemas=api", `--anon-role=${dbAnonRole}`, "--host=127.0.0.1"];
    const env = {
      SVC_JWT_SECRET: secret,
      SVC_DB_URI: `postgres://${username}:${password}@127.0.0.1:${pooler.port}${pathname}`,
    };
    const lost = "notify-lost: notifications on the channel svc do not arrive:";
    const polled = `info ${lost} the service polls the catalogs instead\n`;
    const expected = [
      [
        "notify",
        1,
        `error ${lost} use a db-uri without a pooler, or set db-schema-watch = "poll"\n`,
      ],
      ["auto", 0, polled],
      ["poll", 0, polled],
    ];
    for (const [watch, exit, line] of expected) {
      const flags = ["--db-prepared-statements=false", `--db-schema-watch=${watch}`];
      const { code, stdout } = await folder.run([...args, ...flags], env);
      deepStrictEqual([watch, code, stdout], [watch, exit, line]);
    }
  },
});

const unreachable: readonly (readonly [
  label: string,
  uri: (uri: string) => string,
  message: RegExp,
])[] = [
  [
    "no server listens",
    () => `postgres://a:secret-word@127.0.0.1:${freePort()}/x`,
    /^svc: cannot connect to the database: .*refused/i,
  ],
  [
    "the password is wrong",
    (uri) => uri.replace(":secret@", ":secret-word@"),
    /^svc: cannot connect to the database: .*password authentication failed for user/i,
  ],
  [
    "the database does not exist",
    (uri) => uri.replace(/\/\w+$/, "/no_such"),
    /^svc: cannot connect to the database: .*database "no_such" does not exist/,
  ],
];

Deno.test("svc check exits with 3 if it cannot connect", async (t) => {
  await using database = await diagnosedDatabase();
  await using folder = await programFolder();
  const { dbUri } = database.config({});
  for (const [label, uri, message] of unreachable) {
    await t.step(label, async () => {
      const { code, stdout, stderr } = await folder.run(
        ["check", "--json", "--schemas=api"],
        { SVC_DB_URI: uri(dbUri) },
      );
      deepStrictEqual([code, stdout], [3, ""]);
      match(stderr, message);
      // The last line says what to do.
      match(stderr, /^svc: [^\n]+\n(?: {2}[^\n]+\n)?[A-Z][^\n]+\.\n$/);
      ok(!stderr.includes("secret-word"));
    });
  }
});

const invalid: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [["--jsn"], /^svc: unknown option "--jsn"; did you mean --json\?$/m],
  [["--json", "--fix-sql"], /^svc: --json and --fix-sql exclude each other$/m],
  [["nofile.conf"], /^svc: nofile\.conf: no such file; svc init writes one$/m],
  [[], /^svc: required, but not set: db-uri/m],
];

Deno.test("svc check exits with 2 if the call or the configuration is invalid", async (t) => {
  await using folder = await programFolder();
  for (const [args, message] of invalid) {
    await t.step(args.join(" "), async () => {
      const { code, stdout, stderr } = await folder.run(["check", ...args]);
      deepStrictEqual([code, stdout], [2, ""]);
      match(stderr, message);
    });
  }
});

const startLines: readonly (readonly [level: string, options: FileOptions, lines: number])[] = [
  ["crit", {}, 1],
  ["crit", { "log-findings": "false" }, 0],
  ["info", { "dialect": "pgrst" }, 0],
  ["debug", { "dialect": "pgrst" }, 1],
];

for (const [level, options, count] of startLines) {
  const dialect = options["dialect"] ?? "svc";
  Deno.test(`the start writes ${count} lines of findings at log-level ${level} in dialect ${dialect}`, async () => {
    await using database = await diagnosedDatabase();
    await database.run(
      "revoke usage on schema api from {anon}; grant truncate on api.film to {anon}",
    );
    const { dbUri, dbAnonRole } = database.config({});
    await using service = await startService({
      "db-uri": dbUri,
      "db-anon-role": dbAnonRole!,
      "db-schemas": "api",
      "server-host": "127.0.0.1",
      "log-level": level,
      ...options,
    });
    await service.listening();
    const line = /: The database has 2 findings: .*check/;
    // The last line of two reloads, between which nothing changes, follows all findings.
    const seen = service.stderr.all.length;
    if (count > 0) await service.stderr.waitFor(line, { after: 0 });
    service.signal("SIGUSR1");
    await service.stderr.waitFor(/Schema cache loaded in/, { after: seen });
    await service.stop();
    strictEqual(service.stderr.all.filter((text) => line.test(text)).length, count);
    const api = service.stderr.all.findIndex((line) => line.includes("API server listening"));
    ok(service.stderr.all.slice(0, api).every((text) => !line.test(text)));
  });
}
