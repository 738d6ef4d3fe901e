import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { withAppState } from "../../src/process/cli/with_app_state.ts";
import { dumpConfig } from "../../src/state/config/print.ts";
import { freePort } from "../support/server/free_port.ts";
import { programCommand } from "../support/server/program_command.ts";

const root = new URL("../../", import.meta.url).pathname;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function svc(
  args: readonly string[],
  { env = {}, files = {} }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly files?: Readonly<Record<string, string>>;
  } = {},
): Promise<Ended> {
  const folder = await Deno.makeTempDir({ prefix: "svc_cli_" });
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    const [command, ...words] = programCommand(args);
    const { code, stdout, stderr } = await new Deno.Command(command, {
      args: words,
      cwd: folder,
      env: { ...env },
    }).output();
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, stdout: decode(stdout), stderr: decode(stderr) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const memory = 'db-uri = "pglite://memory"\n';

Deno.test("--dump-schema prints the schema cache as one line of JSON", async () => {
  const { code, stdout } = await svc(["--dump-schema", `${root}examples/todos/svc.conf`]);
  strictEqual(code, 0);
  deepStrictEqual(stdout.trimEnd().split("\n").length, 1);
  const dumped = JSON.parse(stdout);
  deepStrictEqual(Object.keys(dumped), [
    "dbMediaHandlers",
    "dbRelationships",
    "dbRepresentations",
    "dbRoutines",
    "dbTables",
    "dbRowFunctions",
    "dbSearchOperators",
    "dbVolatileFunctions",
    "dbSessionFunctions",
    "dbStableWithoutArguments",
  ]);
  const names = dumped.dbTables.map(([name]: readonly [unknown]) => name);
  deepStrictEqual(names, [{ qiName: "todos", qiSchema: "api" }]);
});

Deno.test("--dump-schema of a schema that does not exist fails and says why", async () => {
  const { code, stdout, stderr } = await svc(["--dump-schema", "a.conf"], {
    files: { "a.conf": `${memory}db-schemas = "nothing"\n` },
  });
  deepStrictEqual([code, stdout], [1, ""]);
  match(
    stderr,
    /Failed to load the schema cache using db-schemas=nothing and db-extra-search-path=public\. \{"code":"3F000"/,
  );
});

Deno.test("--dump-config prints what is left when the database cannot be reached", async () => {
  const { code, stdout, stderr } = await svc(["--dump-config"], {
    env: {
      SVC_DB_URI: `postgres://nobody@127.0.0.1:${freePort()}/x`,
      SVC_DB_SCHEMAS: "api",
      SVC_JWT_ROLE_CLAIM_KEY: "$.a",
    },
  });
  strictEqual(code, 0);
  match(stdout, /^jwt-role-claim-key = "\$\$\.a"$/m);
  match(stderr, /Failed to query database settings for the config parameters\.\{"code":"SVC000"/);
});

Deno.test("the process names all problems of the configuration, one line each", async () => {
  const file = 'db-schema-s = "api"\ndb-pool = 0\ndb-tx-end = "never"\n';
  const { code, stdout, stderr } = await svc(["a.conf"], { files: { "a.conf": file } });
  deepStrictEqual([code, stdout], [1, ""]);
  const lines = stderr.trimEnd().split("\n");
  deepStrictEqual(lines.map((line) => line.replace(/^(svc: \S+ \S+).*$/, "$1")), [
    "svc: a.conf:1: db-schema-s:",
    "svc: a.conf:2: db-pool:",
    "svc: a.conf:3: db-tx-end:",
    "svc: required, but",
    "svc: required, but",
  ]);
  strictEqual(lines[0], "svc: a.conf:1: db-schema-s: unknown key; did you mean db-schemas?");
});

Deno.test("the process names the next step after a call without a configuration", async (t) => {
  for (const [args, expected] of [[[], 1], [["access"], 2], [["--dump-config"], 1]] as const) {
    await t.step(args.join(), async () => {
      const { code, stderr } = await svc(args);
      const lines = stderr.trimEnd().split("\n");
      deepStrictEqual([code, lines.length], [expected, 3]);
      match(lines[2]!, /^svc: no configuration file was read: name one or a database, such as .+:/);
    });
  }
});

Deno.test("the process says why it did not read svc.conf", async () => {
  const { code, stderr } = await svc(["test", "--generate", "--db-uri=postgres://x@127.0.0.1/x"], {
    files: { "svc.conf": 'db-schemas = "api"' },
  });
  strictEqual(code, 2);
  match(
    stderr,
    /^svc: svc\.conf was not read, since arguments or the environment name a database: name it, too$/m,
  );
});

Deno.test("the process names a configuration file that does not exist", async () => {
  const { code, stderr } = await svc(["nofile.conf"]);
  strictEqual(code, 1);
  match(stderr, /^svc: nofile\.conf: no such file; svc init writes one\n$/);
});

Deno.test("the process names a configuration file with a similar name", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/svc.conf`, "");
    await Deno.mkdir(`${folder}/svc.cn`);
    const { code, stderr } = await svc([`${folder}/svc.cnf`]);
    const line = `svc: ${folder}/svc.cnf: no such file; did you mean ${folder}/svc.conf?\n`;
    deepStrictEqual([code, stderr], [1, line]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** What ends the process at once, and the end of the line that says so. */
const refusals: readonly (readonly [
  what: string,
  file: string,
  env: Readonly<Record<string, string>>,
  line: RegExp,
])[] = [
  [
    "a role path",
    `${memory}db-schemas = "api"\njwt-role-claim-key = "$.my_role;;domain"\n`,
    {},
    /^svc: a\.conf:3: jwt-role-claim-key: failed to parse role-claim-key value \(\$\.my_role;;domain\).*\n$/,
  ],
  [
    "a secret in a file that is not there",
    `${memory}db-schemas = "api"\njwt-secret = "@missing"\n`,
    {},
    /^svc: a\.conf:3: jwt-secret: cannot read the file "missing": .*\n$/,
  ],
];

for (const [what, file, env, line] of refusals) {
  Deno.test(`the process refuses ${what} in one line`, async () => {
    const { code, stdout, stderr } = await svc(["a.conf"], { files: { "a.conf": file }, env });
    deepStrictEqual([code, stdout], [1, ""]);
    // A path is parsed only when it is to be used: the process has said by then that it starts.
    match(stderr.replace(/^[^\n]*(?:Starting|[Ee]mbedded) [^\n]*\n/gm, ""), line);
  });
}

Deno.test("--ready asks the admin server of the configuration", async () => {
  const port = freePort();
  let status = 200;
  const server = Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, (request) => {
    const known = new URL(request.url).pathname === "/ready";
    return new Response(null, { status: known ? status : 404 });
  });
  const env = {
    SVC_DB_URI: "pglite://memory",
    SVC_DB_SCHEMAS: "api",
    SVC_ADMIN_SERVER_PORT: String(port),
    SVC_SERVER_HOST: "127.0.0.1",
  };
  const url = `http://127.0.0.1:${port}/ready`;
  deepStrictEqual(await svc(["--ready"], { env }), { code: 0, stdout: `OK: ${url}\n`, stderr: "" });
  status = 503;
  deepStrictEqual(await svc(["--ready"], { env }), {
    code: 1,
    stdout: "",
    stderr: `ERROR: ${url}\n`,
  });
  await server.shutdown();
  deepStrictEqual(await svc(["--ready"], { env }), {
    code: 1,
    stdout: "",
    stderr: `ERROR: connection refused to ${url}\n`,
  });
});

Deno.test("--ready asks a loopback address when the admin server binds to all", async (t) => {
  const port = freePort();
  const env = {
    SVC_DB_URI: "pglite://memory",
    SVC_DB_SCHEMAS: "api",
    SVC_ADMIN_SERVER_PORT: `${port}`,
  };
  const hosts = [["127.0.0.1", "127.0.0.1"], ["::1", "[::1]"]] as const;
  for (const [hostname, address] of hosts) {
    await t.step(hostname, async () => {
      await using _ = Deno.serve({ hostname, port, onListen: () => {} }, () => new Response(null));
      const stdout = `OK: http://${address}:${port}/ready\n`;
      deepStrictEqual(await svc(["--ready"], { env }), { code: 0, stdout, stderr: "" });
    });
  }
});

Deno.test("--dump-config of what --example prints is the defaults", async () => {
  const example = await svc(["--example"]);
  const env = { SVC_DB_CONFIG: "false" };
  const dump = await svc(["--dump-config", "a.conf"], { env, files: { "a.conf": example.stdout } });
  const needed = `db-uri = "postgres://authenticator:secret@localhost:5432/shop"
db-schemas = "api"
db-anon-role = "web_anon"
jwt-secret = "a secret of at least thirty-two characters"
`;
  const first = example.stdout.split("\n").filter((line) => /^[a-z]/.test(line)).slice(0, 4);
  deepStrictEqual(first, needed.trimEnd().split("\n"));
  deepStrictEqual(
    dump,
    await svc(["--dump-config", "a.conf"], { env, files: { "a.conf": needed } }),
  );
  match(dump.stdout, /^admin-server-host = "\*4"\n/);
});

/** A role's path as it stands in the file, and in the dump. */
const rolePaths: readonly (readonly [given: string, dumped: string])[] = [
  ["$$.role", "$$.role"],
  ["$$['https://x/y'][0].v", "$$['https://x/y'][0].v"],
  ['$$[\\"https://x/y\\"][0].v', '$$[\\"https://x/y\\"][0].v'],
  ['$$.roles[?(@ == \\"a\\")]', '$$.roles[?(@ == \\"a\\")]'],
  ["$$.roles[1:3]", "$$.roles[1:3]"],
  ["$$.roles[5:]", "$$.roles[5:]"],
  ["$$[?@.level > 20].name", "$$[?@.level > 20].name"],
  ['$$.roles[?search( @,\\"^a\\")]', '$$.roles[?search( @,\\"^a\\")]'],
  ["$$.roles[?@ == 'a' && !($$.b || $$.c)]", "$$.roles[?@ == 'a' && !($$.b || $$.c)]"],
  ['.roles[?(@ ^== \\"r\\")]', '.\\"roles\\"[?(@ ^== \\"r\\")]'],
  [".a.b[1]", '.\\"a\\".\\"b\\"[1]'],
];

/** Returns what `--dump-config` prints for a file. */
async function dump(file: string): Promise<string> {
  const call = { file, flags: new Map() };
  return await withAppState(call, async (service) => dumpConfig(await service.readConfig()));
}

Deno.test("dumpConfig() shows role paths in one way, and its dump is itself", async () => {
  const needed = 'db-uri = "postgresql://"\ndb-schemas = "public"\ndb-config = false\n';
  const folder = await Deno.makeTempDir({ prefix: "svc_cli_" });
  const file = `${folder}/a.conf`;
  for (const dialect of ["svc", "pgrst"]) {
    for (const [given, dumped] of rolePaths) {
      const text = `dialect = "${dialect}"\n${needed}jwt-role-claim-key = "${given}"\n`;
      await Deno.writeTextFile(file, text);
      const first = await dump(file);
      const line = first.match(/^jwt-role-claim-key = .*$/m)?.[0];
      strictEqual(line, `jwt-role-claim-key = "${dumped}"`);
      await Deno.writeTextFile(file, first);
      strictEqual(await dump(file), first);
    }
  }
  await Deno.remove(folder, { recursive: true });
});
