import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { signToken } from "../../src/state/auth/sign_token.ts";
import { parseConnectionString } from "../../src/database/connect/connection_string.ts";
import { eventually } from "../support/timing/eventually.ts";
import { prepared, serverVariable } from "../support/runner/environment.ts";
import { freePort } from "../support/server/free_port.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { startPostgres } from "../support/database/postgres_server.ts";
import { startService } from "../support/server/process.ts";
import {
  type EndedProgram,
  findScript,
  type ProgramFolder,
  programFolder,
} from "../support/server/program.ts";

const tables = `
create table film (id serial primary key, title text not null);
create table "two ""W,ords" (id int generated always as identity primary key, note text);
create view film_list as select id, title from film;
create function film_count() returns bigint language sql as 'select count(*) from film';
insert into film (title) values ('Alien');
`;

/** A database whose owner is no superuser, and names of roles that no other test uses. */
interface Shop extends AsyncDisposable {
  readonly name: string;
  /** Connection string of the owner. */
  readonly ownerUri: string;
  readonly superuserUri: string;
  readonly loginRole: string;
  readonly anonRole: string;
  readonly userRole: string;
  /** Flags that name the roles. */
  readonly roleFlags: readonly string[];
  /** Returns one value of a query of a superuser as JSON. */
  read(sql: string): Promise<unknown>;
}

let shops = 0;

async function makeShop(
  { owner = "createrole", server = prepared(serverVariable) }: {
    readonly owner?: string;
    readonly server?: string;
  } = {},
): Promise<Shop> {
  const name = `svc_init_${Deno.pid}_${++shops}`;
  const [ownerRole, loginRole, anonRole, userRole] = ["owner", "login", "anon", "user"]
    .map((role) => `${name}_${role}`) as [string, string, string, string];
  const uriOf = (user: string | null) => {
    const uri = new URL(server);
    uri.pathname = `/${name}`;
    if (user !== null) [uri.username, uri.password] = [user, "owner-word"];
    return uri.href;
  };
  await withClient(server, async (client) => {
    await client.query(`create role ${ownerRole} login password 'owner-word' ${owner}`);
    await client.query(`create database ${name} owner ${ownerRole}`);
  });
  await withClient(uriOf(ownerRole), (client) => client.query(tables));
  return {
    name,
    ownerUri: uriOf(ownerRole),
    superuserUri: uriOf(null),
    loginRole,
    anonRole,
    userRole,
    roleFlags: [
      "--schemas=public",
      `--login-role=${loginRole}`,
      `--anon-role=${anonRole}`,
      `--user-role=${userRole}`,
    ],
    read: (sql) =>
      withClient(uriOf(null), async (client) => {
        const { rows } = await client.query(`select (${sql}) as value`);
        return rows[0]!["value"];
      }),
    [Symbol.asyncDispose]: () =>
      withClient(server, async (client) => {
        await client.query(`drop database ${name} with (force)`);
        for (const role of [loginRole, anonRole, userRole, ownerRole]) {
          await client.query(`drop role if exists ${role}`);
        }
      }),
  };
}

/** Everything that `init` may change: roles with their verifiers, memberships, privileges, triggers. */
const state = `
select json_build_array(
  (select json_agg(a order by rolname) from pg_authid a where rolname like 'svc\\_init\\_%'),
  (select json_agg(json_build_array(roleid, member) order by roleid, member)
    from pg_auth_members where member::regrole::text like 'svc\\_init\\_%'),
  (select json_agg(json_build_array(relname, relacl) order by relname) from pg_class),
  (select json_agg(json_build_array(nspname, nspacl) order by nspname) from pg_namespace),
  (select json_agg(evtname order by evtname) from pg_event_trigger),
  (select json_agg(json_build_array(proname, proacl) order by oid) from pg_proc where oid > 16384)
)::text`;

function stateOf(shop: Shop): Promise<unknown> {
  return shop.read(state.replaceAll("svc\\_init\\_%", `${shop.name.replaceAll("_", "\\_")}\\_%`));
}

const environment = (uri: string) => ({ SVC_DB_URI: uri });

/** Returns the file with ports that no other test uses. */
function withPorts(conf: string, admin: number): string {
  return conf.replace(/^admin-server-port.*$/m, `admin-server-port = ${admin}`)
    .replace(/^server-port.*$/m, `server-port = ${freePort()}`);
}

Deno.test("svc init writes two files, and changes nothing in the database", async () => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  const before = await stateOf(shop);
  const run = () =>
    folder.run(["init", ...shop.roleFlags, "--grant=film"], environment(shop.ownerUri));
  const first = await run();
  deepStrictEqual([first.code, first.stderr], [0, ""]);
  match(first.stdout, /^Wrote svc\.conf, which only you can read, and svc-init\.sql\.$/m);
  match(first.stdout, /^Apply the SQL:$/m);
  strictEqual((await Deno.stat(`${folder.path}/svc.conf`)).mode! & 0o777, 0o600);
  const sql = await folder.read("svc-init.sql");
  match(sql, new RegExp(`^grant select on public\\.film to ${shop.anonRole}, `, "m"));
  match(sql, /^-- grant select on public\.film_list to /m);
  strictEqual(await stateOf(shop), before);

  const second = await run();
  deepStrictEqual([second.code, second.stdout], [2, ""]);
  match(second.stderr, /^svc: svc\.conf and svc-init\.sql exist: overwrite with --yes/);
  strictEqual(await folder.read("svc-init.sql"), sql);
});

/** Calls without a terminal, and a line of the output. */
const unaskedCalls: readonly (readonly [flags: readonly string[], line: RegExp])[] = [
  [
    [],
    /^The SQL lets \w+_anon read no relation yet\. .+ --grant=all or --grant=NAMES, and --yes;/m,
  ],
  [
    ["--schemas=pubic", "--grant=none"],
    /^ {2}the schema pubic does not exist: the SQL creates it; did you mean public\?$/m,
  ],
];

Deno.test("svc init without a terminal says what its defaults and names lead to", async (t) => {
  await using shop = await makeShop();
  for (const [flags, line] of unaskedCalls) {
    await t.step(flags.join(" "), async () => {
      await using folder = await programFolder();
      const roles = shop.roleFlags.filter((flag) =>
        !flag.startsWith("--schemas=") || !flags.length
      );
      const call = ["init", ...roles, ...flags];
      const { code, stdout } = await folder.run(call, environment(shop.ownerUri));
      strictEqual(code, 0);
      match(stdout, line);
      strictEqual(stdout.includes("read no relation yet"), flags.length === 0);
    });
  }
});

Deno.test("svc init --apply makes an API that answers, and twice is as once", async (t) => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  const flags = [...shop.roleFlags, "--grant=all", '--grant-write=film,"two ""W,ords"'];
  const apply = (...more: readonly string[]) =>
    folder.run(["init", "--apply", ...more], environment(shop.ownerUri));

  await t.step("it asks, so that it needs a terminal or --yes", async () => {
    const { code, stdout, stderr } = await apply(...flags);
    deepStrictEqual([code, stdout], [1, ""]);
    match(stderr, /^svc: --apply asks before it changes the database: .*--yes$/m);
    deepStrictEqual(Array.from(Deno.readDirSync(folder.path)), []);
  });

  await t.step("an owner with CREATEROLE applies all but the event triggers", async () => {
    const { code, stdout, stderr } = await apply(...flags, "--yes");
    deepStrictEqual([code, stderr], [0, ""]);
    match(stdout, new RegExp(`^Applied to database ${shop.name} at 127\\.0\\.0\\.1:\\d+ as `, "m"));
    match(
      stdout,
      /^The event triggers were refused: permission denied to create event trigger .* polls instead\.$/m,
    );
    strictEqual(await shop.read("select count(*)::int from pg_event_trigger"), 0);
  });

  const conf = await folder.read("svc.conf");
  const sql = await folder.read("svc-init.sql");
  const dbUri: string = JSON.parse(/^db-uri = (.*)$/m.exec(conf)![1]!);
  const password = parseConnectionString(dbUri).get("password")!;

  await t.step(
    "the SQL has the verifier that PostgreSQL stores, and not the password",
    async () => {
      strictEqual(password.length, 32);
      ok(!sql.includes(password));
      const stored = await shop.read(
        `select rolpassword from pg_authid where rolname = '${shop.loginRole}'`,
      );
      ok(sql.includes(`password '${stored}'`));
      match(String(stored), /^SCRAM-SHA-256\$4096:/);
    },
  );

  await t.step("once more it changes nothing", async () => {
    const before = await stateOf(shop);
    const { code } = await apply("--yes");
    strictEqual(code, 0);
    strictEqual(await stateOf(shop), before);
    deepStrictEqual([await folder.read("svc.conf"), await folder.read("svc-init.sql")], [
      conf,
      sql,
    ]);
  });

  await t.step("overwritten files keep password and secret", async () => {
    const before = await stateOf(shop);
    const { code } = await apply(...flags, "--yes");
    strictEqual(code, 0);
    strictEqual(await folder.read("svc.conf"), conf);
    strictEqual(await stateOf(shop), before);
  });

  await t.step("a superuser applies the event triggers as well", async () => {
    const { code, stdout } = await folder.run(
      ["init", `--apply=${shop.superuserUri}`, "--yes"],
      environment(shop.ownerUri),
    );
    strictEqual(code, 0);
    ok(!stdout.includes("refused"));
    strictEqual(await shop.read("select count(*)::int from pg_event_trigger"), 2);
  });

  await t.step("the service reads and writes", async () => {
    await using service = await startService({}, {
      configText: withPorts(conf, freePort()),
    });
    await service.stderr.waitFor(/API server listening on/);
    const origin = /^server-port = (\d+)$/m.exec(await Deno.readTextFile(service.configPath))![1];
    const api = (path: string, init?: RequestInit) =>
      fetch(`http://127.0.0.1:${origin}${path}`, init);
    deepStrictEqual(await (await api("/film")).json(), [{ id: 1, title: "Alien" }]);
    const secret = /^jwt-secret = "(.*)"$/m.exec(conf)![1]!;
    const token = await signToken({ role: shop.userRole }, new TextEncoder().encode(secret));
    const statusOf = async (headers: HeadersInit, path: string, body: unknown) => {
      const response = await api(path, {
        method: "POST",
        headers: { ...headers, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      await response.body?.cancel();
      return response.status;
    };
    const authorized = { Authorization: `Bearer ${token}` };
    strictEqual(await statusOf(authorized, "/film", { title: "Brazil" }), 201);
    strictEqual(await statusOf(authorized, "/two%20%22W,ords", { note: "x" }), 201);
    strictEqual(await statusOf({}, "/film", { title: "Brazil" }), 401);
  });
});

Deno.test("svc init accepts a domain of text for the owner of a row", async () => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  await withClient(shop.ownerUri, (client) =>
    client.query(
      "create domain mail as text check (value like '%@%'); create table member (mail mail primary key)",
    ));
  const { code } = await folder.run(
    ["init", ...shop.roleFlags, "--grant=member", "--owner=member.mail"],
    environment(shop.ownerUri),
  );
  strictEqual(code, 0);
  match(
    await folder.read("svc-init.sql"),
    /create policy svc_own on public\.member to \w+ using \(mail = \(select current_setting/,
  );
});

Deno.test("svc init quotes every name", async () => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  const names = [
    `${shop.name} lo'g"in $svc$`,
    `${shop.name} "an'on\\`,
    'My "Ap\'i" schema',
  ] as const;
  const quoted = names.map((name) => `"${name.replaceAll('"', '""')}"`);
  await withClient(shop.superuserUri, (client) =>
    client.query(
      `revoke create on schema public from public; create schema ${quoted[2]}; create table ${
        quoted[2]
      }."a'b\nselect 1/0; --" (id int primary key)`,
    ));
  try {
    const { code, stderr } = await folder.run([
      "init",
      "--apply",
      "--yes",
      `--login-role=${names[0]}`,
      `--anon-role=${names[1]}`,
      `--schemas=${names[2]}`,
    ], environment(shop.superuserUri));
    deepStrictEqual([code, stderr], [0, ""]);
    const check = await folder.run(["check", "--json", "svc.conf"]);
    strictEqual(check.code, 0, check.stdout);
    deepStrictEqual(
      JSON.parse(check.stdout).map(({ name }: { readonly name: string }) => name),
      ["nothing-readable"],
    );
  } finally {
    await withClient(shop.superuserUri, (client) =>
      client.query(
        `drop schema ${quoted[2]} cascade; drop role ${quoted[0]}; ` +
          `drop owned by ${quoted[1]}; drop role ${quoted[1]}`,
      ));
  }
});

Deno.test("svc init --revoke-functions holds for functions that the owner creates later", async () => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  const { code } = await folder.run(
    ["init", ...shop.roleFlags, "--revoke-functions", `--apply=${shop.superuserUri}`, "--yes"],
    environment(shop.ownerUri),
  );
  strictEqual(code, 0);
  await withClient(
    shop.ownerUri,
    (client) => client.query("create function later() returns int language sql as 'select 1'"),
  );
  const mayCall = (name: string) =>
    shop.read(`select has_function_privilege('${shop.anonRole}', '${name}()', 'execute')`);
  deepStrictEqual([await mayCall("film_count"), await mayCall("later")], [false, false]);
  const sql = await folder.read("svc-init.sql");
  match(sql, /^-- grant execute on function public\.film_count\(\) to /m);
});

Deno.test("svc init --idempotency makes a table whose rows belong to role and subject", async () => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  const apply = () =>
    folder.run(
      ["init", ...shop.roleFlags, "--idempotency", `--apply=${shop.superuserUri}`, "--yes"],
      environment(shop.ownerUri),
    );
  const [first, second] = [await apply(), await apply()];
  deepStrictEqual([first.code, second.code], [0, 0], second.stderr);
  match(await folder.read("svc.conf"), /^idempotency-table = "svc\.idempotency_keys"$/m);
  const counts: unknown[] = [];
  await withClient(shop.superuserUri, async (client) => {
    await client.query(`set role ${shop.userRole}`);
    for (const subject of ["ada", "bob"]) {
      await client.query("select set_config('request.jwt.claims', $1, false)", [
        JSON.stringify({ sub: subject }),
      ]);
      await client.query("insert into svc.idempotency_keys (key, fingerprint) values ('k', '')");
      const { rows } = await client.query("select count(*)::int from svc.idempotency_keys");
      counts.push(rows[0]);
    }
  });
  deepStrictEqual(counts, [{ count: 1 }, { count: 1 }]);
  const mayRead = `has_table_privilege('${shop.anonRole}', 'svc.idempotency_keys', 'select')`;
  strictEqual(await shop.read(`select ${mayRead}`), false);
});

Deno.test("svc init --idempotency refuses to serve the schema of its table", async () => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  const flags = ["--schemas=svc", ...shop.roleFlags.slice(1), "--idempotency"];
  const { code, stderr } = await folder.run(["init", ...flags], environment(shop.ownerUri));
  strictEqual(code, 1);
  match(stderr, /--idempotency makes a table that must not be served, in the schema svc$/m);
});

Deno.test("svc init uses roles that exist as they are", async () => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  await withClient(shop.superuserUri, (client) =>
    client.query(
      `create role ${shop.loginRole} login noinherit password 'kept' connection limit 7; ` +
        `create role ${shop.anonRole} nologin; alter role ${shop.anonRole} set work_mem = '8MB'`,
    ));
  const roles = `select json_agg(a order by rolname)::text from pg_authid a
    where rolname in ('${shop.loginRole}', '${shop.anonRole}')`;
  const before = await shop.read(roles);
  const { code, stdout, stderr } = await folder.run(
    ["init", ...shop.roleFlags.slice(0, 3), "--grant=film", "--apply", "--yes"],
    environment(shop.superuserUri),
  );
  strictEqual(code, 1);
  match(stdout, new RegExp(`^The role ${shop.loginRole} exists: it is used as it is\\.$`, "m"));
  match(
    stdout,
    new RegExp(`^The role ${shop.loginRole} exists: write its password into db-uri`, "m"),
  );
  match(stdout, /^Applied to database/m);
  match(stderr, /^svc: the service cannot log in by svc\.conf: .*password/);
  strictEqual(await shop.read(roles), before);
  ok(!(await folder.read("svc-init.sql")).includes("SCRAM"));
});

Deno.test("svc init refuses an anonymous role with too many rights", async () => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  await withClient(
    shop.superuserUri,
    (client) => client.query(`create role ${shop.anonRole} superuser`),
  );
  const { code, stderr } = await folder.run(
    ["init", ...shop.roleFlags],
    environment(shop.ownerUri),
  );
  strictEqual(code, 1);
  strictEqual(
    stderr,
    `svc: the role ${shop.anonRole} must not be used for requests without a token:\n` +
      `error role-superuser: ${shop.anonRole} is a superuser: neither privileges nor policies ` +
      `restrict its requests\n    alter role ${shop.anonRole} nosuperuser nobypassrls;\n`,
  );
  deepStrictEqual(Array.from(Deno.readDirSync(folder.path)), []);
});

/** The command that applies the files as a superuser. */
function nextApply({ name }: Shop): RegExp {
  return new RegExp(`^  PGPASSWORD=… .+ init '?--apply=postgres://postgres@[^/ ]+/${name}`, "m");
}

Deno.test("svc init --apply rolls all back if one statement fails, and names its line", async (t) => {
  await using shop = await makeShop({ owner: "" });
  await using folder = await programFolder();
  const apply = async (): Promise<EndedProgram> =>
    await folder.run(["init", "--apply", "--yes"], environment(shop.ownerUri));
  const before = await stateOf(shop);
  const written = await folder.run(
    ["init", ...shop.roleFlags, "--grant=film"],
    environment(shop.ownerUri),
  );
  match(
    written.stdout,
    /^Apply the SQL, as a superuser, or as the schema's owner with CREATEROLE:$/m,
  );
  match(written.stdout, nextApply(shop));
  const sql = await folder.read("svc-init.sql");

  await t.step("an owner without CREATEROLE", async () => {
    const { code, stdout, stderr } = await apply();
    strictEqual(code, 1);
    const whoApplies = "a superuser, or as the schema's owner with CREATEROLE";
    const line = `${shop.name}_owner may not create roles: apply the SQL as ${whoApplies}.`;
    ok(stdout.split("\n").includes(line), stdout);
    match(stderr, /^svc-init\.sql:5: permission denied to create role$/m);
    match(stderr, /^Nothing was applied\.$/m);
    match(stderr, /^Apply the SQL as a superuser, or as the schema's owner with CREATEROLE:$/m);
    match(stderr, nextApply(shop));
    strictEqual(await stateOf(shop), before);
  });

  await t.step("a syntax error in an edited file", async () => {
    await folder.write("svc-init.sql", sql.replace("\ngrant usage", "\n-- é\n  gant usage"));
    const { code, stderr } = await apply();
    const line = sql.split("\n").findIndex((text) => text.startsWith("grant usage")) + 2;
    strictEqual(code, 1);
    match(stderr, new RegExp(`^svc-init\\.sql:${line}:3: syntax error at or near "gant"$`, "m"));
    strictEqual(await stateOf(shop), before);
  });

  await t.step("a relation that is gone", async () => {
    await folder.write(
      "svc-init.sql",
      sql.replace(/^do [\s\S]*?^end.*;$/m, "select 1;\nselect 2;"),
    );
    const { code, stderr } = await apply();
    strictEqual(code, 1);
    match(stderr, /^svc-init\.sql:\d+: role "\w+" does not exist$/m);
  });
});

Deno.test("svc init gives a second database of a server a login role of its own", async () => {
  await using server = await startPostgres({ cluster: "copied" });
  await using first = await makeShop({ server: server.uri() });
  await using second = await makeShop({ server: server.uri() });
  const uriOf = async (folder: ProgramFolder) =>
    /^db-uri = "postgres:\/\/(\w+):/m.exec(await folder.read("svc.conf"))?.[1];
  await using folder = await programFolder();
  await using other = await programFolder();
  const apply = (at: ProgramFolder, shop: Shop) =>
    at.run(["init", "--grant=film", "--apply", "--yes"], environment(shop.superuserUri));

  strictEqual((await apply(folder, first)).code, 0);
  strictEqual(await uriOf(folder), "authenticator");
  const own = `authenticator_${second.name}`;
  const { code, stderr } = await apply(other, second);
  deepStrictEqual([code, stderr], [0, ""]);
  strictEqual(await uriOf(other), own);
  // Both files have passwords that are known.
  for (
    const [at, shop, role] of [[folder, first, "authenticator"], [other, second, own]] as const
  ) {
    strictEqual((await apply(at, shop)).code, 0);
    strictEqual(await uriOf(at), role);
  }
});

Deno.test("svc init --apply works where transactions are read-only by default", async () => {
  await using shop = await makeShop();
  await withClient(
    shop.superuserUri,
    (client) => client.query(`alter database ${shop.name} set default_transaction_read_only = on`),
  );
  await using folder = await programFolder();
  const args = [
    "init",
    ...shop.roleFlags,
    "--grant=film",
    "--grant-write=film",
    "--apply",
    "--yes",
  ];
  const { code, stderr } = await folder.run(args, environment(shop.superuserUri));
  deepStrictEqual([code, stderr], [0, ""]);
  const conf = await folder.read("svc.conf");
  const admin = freePort();
  await using service = await startService({}, {
    configText: withPorts(conf, admin),
  });
  // The listener connects and the service is ready. Its log counts the findings, of which one warns
  // that requests can write.
  await service.stderr.waitFor(/Listener connected to /);
  await service.stderr.waitFor(/The database has \d+ findings?: /);
  const check = await folder.run(["check", "svc.conf"]);
  match(check.stdout, /^warn read-only-default.* set db-read-only = true$/m);
  await eventually("the service is ready", async () => {
    const response = await fetch(`http://127.0.0.1:${admin}/ready`);
    await response.body?.cancel();
    return response.status === 200;
  });
});

Deno.test("svc init --apply on a standby says PostgreSQL's text", async () => {
  await using primary = await startPostgres({ cluster: "copied" });
  await using shop = await makeShop({ server: primary.uri() });
  await using standby = await startPostgres({ standbyOf: primary });
  await using folder = await programFolder();
  const uri = new URL(shop.superuserUri);
  uri.port = String(standby.port);
  const { code, stderr } = await folder.run(
    ["init", ...shop.roleFlags, "--apply", "--yes"],
    environment(uri.href),
  );
  strictEqual(code, 1);
  match(stderr, /^svc-init\.sql:\d+: cannot set transaction read-write mode during recovery$/m);
  match(await folder.read("svc-init.sql"), /^begin read write;$/m);
});

/** Arguments that cannot work, and the message. */
const mistakes: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [[], /^svc: expected a connection string: .+ init postgres:\/\/…$/m],
  [["pglite://memory"], /^svc: init makes roles on a server, not in an embedded database$/m],
  [["--anon-role=pg_monitor", "URI"], /^svc: role name "pg_monitor" is reserved$/m],
  [["--anon-role=a", "--login-role=a", "URI"], /^svc: "a" is named for two roles$/m],
  [["--schemas=pg_catalog", "URI"], /^svc: schema "pg_catalog" belongs to PostgreSQL$/m],
  [["--schemas=a b", "URI"], /^svc: the schema "a b" does not exist; several .+: a,b$/m],
  [["--grant=flim", "URI"], /^svc: "flim" is not a relation of the schema; did you mean film\?$/m],
  [["--grant-write=film", "URI"], /^svc: --grant-write needs --user-role/m],
  [["postgres://me@127.0.0.1:1/x"], /^svc: cannot connect to the database: .*Connection refused/m],
  [[`--login-role=${"x".repeat(64)}`, "URI"], /^svc: "x+" is longer than 63 bytes$/m],
];

Deno.test("svc init names each mistake and writes nothing", async (t) => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  for (const [args, message] of mistakes) {
    await t.step(args.join(" "), async () => {
      const full = args.map((argument) => argument === "URI" ? shop.ownerUri : argument);
      const { code, stdout, stderr } = await folder.run(["init", ...full]);
      deepStrictEqual([code, stdout], [1, ""]);
      match(stderr, message);
      deepStrictEqual(Array.from(Deno.readDirSync(folder.path)), []);
    });
  }
});

/** Answers on a terminal, line by line. */
const answers = [
  "", // the schema
  "LOGIN",
  "public", // reserved: asked again
  "ANON",
  "USER",
  "flim", // unknown: asked again
  'all except "two*"', // read without a token
  "none", // read besides, with a token
  "film",
  "film.owner", // no such column: asked again
  "film.title", // the owner's column
  "n", // functions
  "y", // apply
];

Deno.test({
  name: "svc init asks on a terminal",
  ignore: !findScript(),
  fn: async () => {
    await using shop = await makeShop();
    await withClient(
      shop.superuserUri,
      (client) => client.query("create extension pgcrypto; create extension pg_buffercache"),
    );
    await using folder = await programFolder();
    const names = { LOGIN: shop.loginRole, ANON: shop.anonRole, USER: shop.userRole };
    const text = answers.map((answer) => names[answer as keyof typeof names] ?? answer);
    const { code, output } = await folder.runOnTerminal(
      ["init", "--apply"],
      text,
      environment(shop.ownerUri),
    );
    strictEqual(code, 0, output);
    for (
      const line of [
        "Schemas:",
        "  public: 3 relations, 1 function",
        '  role name "public" is reserved',
        '  "flim" is not a relation of the schema; did you mean film?',
        "Every role may call 1 function of this schema. Revoke that? [y/N] n",
        "Start the service:",
        "Summary:",
        "alter table public.film enable row level security;",
      ]
    ) ok(output.split("\r\n").includes(line), `${line}\n${output}`);
    match(
      output,
      new RegExp(`^  .+ token --role=${shop.userRole} --claim=sub=… svc\\.conf\\r$`, "m"),
    );
    match(output, /^ {2}curl 'http:\/\/127\.0\.0\.1:3\d+\/film\?limit=3'\r$/m);
    match(output, new RegExp(`^Apply to database ${shop.name} at 127.0.0.1:\\d+ as \\w+\\? `, "m"));
    const reads = (role: string, privilege: string) =>
      shop.read(`select has_table_privilege('${role}', 'film', '${privilege}')`);
    deepStrictEqual(
      await Promise.all([
        reads(shop.anonRole, "select"),
        reads(shop.anonRole, "insert"),
        reads(shop.userRole, "insert"),
      ]),
      [true, false, true],
    );
  },
});

/** With the prefix of the function's name, it has 64 bytes. */
const longName = "é".repeat(29);

/** Lists of `--live`, and the line of standard error. */
const wrongLists: readonly (readonly [list: string, problem: string])[] = [
  ["film,flim", "svc: --live: flim does not exist"],
  ["film_list", "svc: --live: film_list is not a table: name the tables below it"],
  ["film:owner", "svc: --live: film has no column owner"],
  ['films:"a$b"', "svc: --live: films a$b: too long, or with a dollar sign"],
  [`films:${longName}`, `svc: --live: films ${longName}: too long, or with a dollar sign`],
];

Deno.test("svc init --live prints the SQL that records changes of tables and partitions", async (t) => {
  await using shop = await makeShop();
  await using folder = await programFolder();
  const { superuserUri } = shop;
  const inDatabase = (sql: string) => withClient(superuserUri, (client) => client.query(sql));
  await inDatabase(
    `create role ${shop.loginRole};
     create table films (id int, at timestamptz, "a$b" int, ${longName} int) partition by range (id);
     create table films_1 partition of films for values from (1) to (9)`,
  );
  const init = (list: string) =>
    folder.run(
      ["init", "--schemas=public", `--live=${list}`, `--login-role=${shop.loginRole}`],
      environment(superuserUri),
    );
  for (const [list, problem] of wrongLists) {
    await t.step(list, async () => {
      const { code, stdout, stderr } = await init(list);
      deepStrictEqual([code, stdout, stderr.trim()], [1, "", problem]);
    });
  }
  await t.step("a login role that may not use the schema", async () => {
    await inDatabase(
      `create schema hidden; create table hidden.plans (id int);
       create role live_reader login password 'live_reader'`,
    );
    const uri = new URL(superuserUri);
    [uri.username, uri.password] = ["live_reader", "live_reader"];
    for (const [schemas, list] of [["hidden", "plans"], ["public", "hidden.plans"]] as const) {
      const arguments_ = ["init", `--schemas=${schemas}`, `--live=${list}`];
      const { code, stdout, stderr } = await folder.run(arguments_, environment(uri.href));
      deepStrictEqual([code, stdout, stderr.trim()], [
        1,
        "",
        `svc: --live: ${list} is in a schema that live_reader may not use: ` +
        "grant usage on schema hidden to live_reader;",
      ]);
    }
  });
  await t.step("twice is as once", async () => {
    for (let time = 0; time < 2; time++) {
      const { code, stdout, stderr } = await init('films:id, "two ""W,ords"');
      deepStrictEqual([code, stderr], [0, ""]);
      await inDatabase(stdout);
    }
    deepStrictEqual(
      await shop.read(
        "select json_object_agg(name, triggers) from (select tgrelid::regclass::text as name, " +
          "string_agg(tgname || ' ' || tgenabled::text, ', ' order by tgname) as triggers " +
          "from pg_trigger where tgname ~ 'svc_live' group by 1) t",
      ),
      Object.fromEntries([
        ...["films", "films_1"].map((name) => [
          name,
          "svc_live A, svc_live_delete A, svc_live_insert A, svc_live_update A",
        ]),
        ['"two ""W,ords"', "svc_live A"],
      ]),
    );
  });
  deepStrictEqual(Array.from(Deno.readDirSync(folder.path)), []);
  strictEqual(
    await shop.read(
      `select has_function_privilege('${shop.loginRole}', 'svc_live.renew(pg_snapshot)', 'execute')`,
    ),
    true,
  );
});
