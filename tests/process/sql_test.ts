import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { cacheEnvironment } from "../support/server/cache_folder.ts";
import { engines } from "../support/database/engines.ts";
import { startDeno } from "../support/server/process.ts";

const main = new URL("../../main.ts", import.meta.url).pathname;

interface Ended {
  readonly code: number;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
}

/** Runs `svc sql` in a folder. */
async function svcSql(folder: string, args: readonly string[], stdin?: string): Promise<Ended> {
  await using child = startDeno(["run", "-A", main, "sql", ...args], {
    cwd: folder,
    stdin,
    env: cacheEnvironment(join(folder, "cache")),
  });
  const { code } = await child.status;
  await Promise.all([child.stdout.ended, child.stderr.ended]);
  return { code, stdout: child.stdout.all, stderr: child.stderr.all };
}

/** Arguments, the standard input, and the whole result. `URI` stands for the connection string. */
type Row = readonly [title: string, args: readonly string[], stdin: string | undefined, Ended];

const done = (...stdout: readonly string[]): Ended => ({ code: 0, stdout, stderr: [] });
const failed = (stderr: readonly string[], ...stdout: readonly string[]): Ended => ({
  code: 1,
  stdout,
  stderr,
});

const rows: readonly Row[] = [
  [
    "prints a table",
    ["-c", "select 1 as a, null as b, 'ü' as c"],
    undefined,
    done(" a | b | c", "---+---+---", " 1 |   | ü", "(1 row)"),
  ],
  [
    "prints CSV",
    ["--csv", "-c", "select 1 as a, 'x,y' as b; select 2 as c"],
    undefined,
    done("a,b", '1,"x,y"', "c", "2"),
  ],
  [
    "runs a file",
    ["--file=my.sql"],
    undefined,
    done("CREATE SCHEMA", "CREATE TABLE", "INSERT 0 2"),
  ],
  [
    "runs a pipe",
    [],
    "copy shop.film to stdout;\nselect count(*) from shop.film;",
    done("1", "2", " count", "-------", " 2", "(1 row)"),
  ],
  [
    "prints notices",
    ["-c", "do $$ begin raise notice 'look'; end $$"],
    undefined,
    { code: 0, stdout: ["DO"], stderr: ["NOTICE: look"] },
  ],
  [
    "ends with 1 at an error, after the results before it",
    ["-c", "select 1 as a;\nselect * form x"],
    undefined,
    failed(['svc: -c:2:10: syntax error at or near "form"']),
  ],
  [
    "rolls a pipe back at an error",
    [],
    "delete from shop.film;\n\ninsert into shop.film values (3), (3);",
    failed([
      'svc: stdin:3: duplicate key value violates unique constraint "film_pkey"',
      "DETAIL: Key (id)=(3) already exists.",
    ], "DELETE 2"),
  ],
  [
    "has rolled it back",
    ["--csv", "-c", "select count(*) from shop.film"],
    undefined,
    done("count", "2"),
  ],
  [
    "has no input for COPY",
    ["-c", "copy shop.film from stdin"],
    undefined,
    failed(["svc: -c:1: COPY from stdin failed: COPY FROM STDIN has no input here"]),
  ],
  ["names a missing file", ["--file=none.sql"], undefined, failed(["svc: none.sql: no such file"])],
];

const script = "create schema shop;\ncreate table shop.film (id int primary key);\n" +
  "insert into shop.film values (1), (2);\n";

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "svc_sql_" });
  try {
    await Deno.writeTextFile(join(folder, "my.sql"), script);
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("svc sql runs SQL on a server", async (t) => {
  const database = await engines.pg({ name: "tools", roles: ["anon", "writer"] });
  try {
    await withFolder(async (folder) => {
      for (const [title, args, stdin, expected] of rows) {
        await t.step(title, async () => {
          const { code, stdout, stderr } = await svcSql(
            folder,
            [...args, database.superuserUri!],
            stdin,
          );
          const warning = /^svc: warning: /;
          deepStrictEqual(
            { code, stdout, stderr: stderr.filter((line) => !warning.test(line)) },
            expected,
          );
        });
      }
    });
  } finally {
    await database.remove();
  }
});

Deno.test("svc sql runs SQL on an embedded database, unless a process uses its folder", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(
      join(folder, "svc.conf"),
      'db-uri = "pglite://data"\ndb-schemas = "shop"\ndb-embedded-init = "my.sql"\n',
    );
    const read = ["--csv", "-c", "select id from shop.film", "svc.conf"];
    deepStrictEqual(await svcSql(folder, read), done("id", "1", "2"));
    await Deno.writeTextFile(join(folder, "more.sql"), "insert into shop.film values (3)");
    deepStrictEqual(await svcSql(folder, ["--file=more.sql", "svc.conf"]), done("INSERT 0 1"));
    deepStrictEqual(await svcSql(folder, read), done("id", "1", "2", "3"));
    await Deno.writeTextFile(join(folder, "data.lock"), `${Deno.pid} ${startTime()}\n`);
    deepStrictEqual(
      await svcSql(folder, read),
      failed([`svc: data is in use by process ${Deno.pid}`]),
    );
  });
});

/** The 22nd field of this process's `stat`. */
function startTime(): string {
  const stat = Deno.readTextFileSync("/proc/self/stat");
  strictEqual(stat.startsWith(`${Deno.pid} `), true);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]!;
}
