import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { applyInit } from "../../src/database/adapters/init_script.ts";
import { startEngine } from "../../src/database/adapters/start_engine.ts";
import { cacheEnvironment } from "../support/server/cache_folder.ts";
import { type FileConfig, type ServiceProcess, startService } from "../support/server/process.ts";

let cache: string;
Deno.test.beforeAll(async () => void (cache = await Deno.makeTempDir({ prefix: "svc_cache_" })));
Deno.test.afterAll(() => Deno.remove(cache, { recursive: true }));

/** Lends a folder for data and SQL. All services of the file share the cache, which saves `initdb`. */
async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "svc_embedded_" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Starts a service whose working directory is the folder. */
async function start(
  folder: string,
  sql: string,
  config: FileConfig = {},
): Promise<ServiceProcess> {
  await Deno.writeTextFile(join(folder, "my.sql"), sql);
  return await startService({
    "db-uri": `pglite://${join(folder, "data")}`,
    "db-embedded-init": join(folder, "my.sql"),
    "db-schemas": "api",
    "db-anon-role": "postgres",
    ...config,
  }, { cwd: folder, env: cacheEnvironment(cache) });
}

const good = "create schema api;\ncreate table api.film (id int primary key);\n";

/** SQL that fails, and the message. */
const failing: readonly (readonly [title: string, sql: string, message: string])[] = [
  [
    "a syntax error in line 3",
    `${good}create tabel api.reel ();`,
    'my.sql:3:8: syntax error at or near "tabel"',
  ],
  [
    "a position behind characters outside of the BMP",
    "/* 😀 ü */ create schema api;\n/* 😀 */ selec 1;",
    'my.sql:2:9: syntax error at or near "selec"',
  ],
  [
    "an unknown table",
    `${good}select * from api.nothing;`,
    'my.sql:3:15: relation "api.nothing" does not exist',
  ],
  [
    "a third statement that violates a constraint",
    `${good}-- a comment; with ';'\ninsert into api.film\n  values (1), (1);\nselect 1;`,
    'my.sql:4: duplicate key value violates unique constraint "film_pkey"',
  ],
  ["a DO block", `${good}select ';', $$;$$;\n\ndo $$ begin\n raise 'no';\nend $$;`, "my.sql:5: no"],
  ["COPY", `${good}copy api.film from stdin;`, "my.sql:3: COPY FROM STDIN has no input here"],
];

Deno.test("applyInit() names the place of an error", async (t) => {
  const { engine, close } = await startEngine({ uri: "pglite://memory", init: null });
  for (const [title, text, message] of failing) {
    await t.step(title, async () => {
      await rejects(applyInit(engine, { text, name: "my.sql" }), { name: "Error", message });
      await engine.exec("rollback");
    });
  }
  await close();
});

Deno.test("the service ends with 1 at an error in db-embedded-init, and leaves no folder", async () => {
  const [[, sql, message] = []] = failing;
  await withFolder(async (folder) => {
    await using service = await start(folder, sql!);
    strictEqual((await service.status).code, 1);
    await service.stderr.ended;
    strictEqual(service.stderr.all.at(-1), `svc: ${message}`);
    deepStrictEqual(Array.from(Deno.readDirSync(folder), ({ name }) => name), ["my.sql"]);
  });
});

Deno.test("the service applies db-embedded-init once, and warns when its text has changed", async () => {
  await withFolder(async (folder) => {
    const changed = `${good}create table api.reel (id int);`;
    for (const [sql, isWarned] of [[good, false], [good, false], [changed, true]] as const) {
      await using service = await start(folder, sql);
      await service.listening();
      const response = await service.fetch("GET /film");
      deepStrictEqual([response.status, await response.json()], [200, []]);
      strictEqual((await service.fetch("GET /reel")).status, 404);
      const warning = service.stderr.all.find((line) => line.includes("has changed"));
      strictEqual(warning !== undefined, isWarned);
      if (warning !== undefined) {
        match(
          warning,
          /: WARNING: \S+my\.sql has changed since data was made; it is applied once: delete the folder, or run (?:deno|npx -y deno@\S+) run -A \S*main\.ts sql --file=\S+my\.sql \S+svc\.conf$/,
        );
      }
      strictEqual((await service.stop()).code, 0);
    }
  });
});

Deno.test("the service ends with 1 if another process uses the folder, and takes over a stale lock", async () => {
  await withFolder(async (folder) => {
    const lock = join(folder, "data.lock");
    await Deno.writeTextFile(lock, "4194304 1\n");
    await using first = await start(folder, good);
    await first.listening();
    await using second = await start(folder, good);
    strictEqual((await second.status).code, 1);
    await second.stderr.ended;
    strictEqual(second.stderr.all.at(-1), `svc: data is in use by process ${first.pid}`);
    strictEqual((await first.fetch("GET /film")).status, 200);
    first.signal("SIGKILL");
    await first.status;
    await using third = await start(folder, good);
    await third.listening();
    strictEqual((await third.stop()).code, 0);
    deepStrictEqual(Array.from(Deno.readDirSync(folder), ({ name }) => name).sort(), [
      "data",
      "my.sql",
    ]);
  });
});

Deno.test("the service starts from initdb if the prebuilt data directory is broken", async () => {
  await withFolder(async (folder) => {
    await using first = await start(folder, good, { "db-uri": "pglite://memory" });
    await first.listening();
    strictEqual((await first.stop()).code, 0);
    const [{ name = "" } = {}] = Array.from(Deno.readDirSync(join(cache, "svc")));
    const file = join(cache, "svc", name);
    await Deno.writeFile(file, (await Deno.readFile(file)).slice(0, 1000));
    await using second = await start(folder, good);
    await second.listening();
    strictEqual((await second.fetch("GET /film")).status, 200);
    strictEqual((await second.stop()).code, 0);
    strictEqual((await Deno.stat(file)).size > 1_000_000, true);
  });
});
