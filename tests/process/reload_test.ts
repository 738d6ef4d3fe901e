import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { eventually } from "../support/timing/eventually.ts";
import {
  configText,
  type FileConfig,
  type ServiceProcess,
  startService,
} from "../support/server/process.ts";
import { testSecret } from "../support/handler/token.ts";
import { openTodos } from "../support/server/todos.ts";

const other = "anothersecretanothersecretanothersecret";

Deno.test("SIGUSR2 reads the file and the files that it names again", async (t) => {
  const folder = await Deno.makeTempDir({ prefix: "svc_reload_" });
  const secretFile = `${folder}/secret`;
  await Deno.writeTextFile(secretFile, `${testSecret}\n`);
  await using todos = await openTodos();
  const config = { ...todos.config, "jwt-secret": `@${secretFile}` };
  try {
    await using service = await startService(config);
    await service.listening();
    const ports = configText(config);
    const full = (await Deno.readTextFile(service.configPath)).replace(ports, "");
    const write = (lines: string) => Deno.writeTextFile(service.configPath, full + ports + lines);
    const as = (secret: string) =>
      service.fetch("GET /todos?limit=1", { as: "todo_user", secret }).then(async (response) => {
        await response.body?.cancel();
        return response.status;
      });
    const rows = async () => (await (await service.fetch("GET /todos?limit=2")).json()).length;

    await t.step("a new value is in force", async () => {
      strictEqual(await rows(), 2);
      await write("db-max-rows = 1\n");
      const after = service.stderr.all.length;
      service.signal("SIGUSR2");
      await service.stderr.waitFor(/Config reloaded$/, { after });
      strictEqual(await rows(), 1);
    });

    await t.step("a file that cannot be used changes nothing and is told", async () => {
      await write('db-max-rows = 2\ndb-tx-end = "never"\n');
      service.signal("SIGUSR2");
      const line = await service.stderr.waitFor(/Failed reloading config/);
      match(
        line,
        /: Failed reloading config: Error in config .*svc\.conf:\d+: db-tx-end: Invalid transaction termination\. Check your configuration\./,
      );
      strictEqual(await rows(), 1);
    });

    for (
      const [line, problem] of [
        ['db-anon-role = "nobody_there"', "db-anon-role: The role does not exist"],
        ['db-pre-request = "nowhere.check"', "db-pre-request: The function does not exist"],
        ['db-pre-request = "pg_catalog.length"', "db-pre-request: The function does not exist"],
      ] as const
    ) {
      await t.step(`${line} is refused`, async () => {
        const after = service.stderr.all.length;
        const kept = (full + ports).replace(/^db-anon-role = .*\n/m, "");
        await Deno.writeTextFile(service.configPath, `${kept}db-max-rows = 3\n${line}\n`);
        service.signal("SIGUSR2");
        match(await service.stderr.waitFor(/Failed reloading config/, { after }), RegExp(problem));
        strictEqual(await rows(), 1);
      });
    }

    await t.step("a changed option that only a restart applies is named", async () => {
      const restarts = () => service.stderr.all.filter((line) => line.includes("restart"));
      deepStrictEqual(restarts(), []);
      await write("db-pool = 5\ndb-max-rows = 1\n");
      const after = service.stderr.all.length;
      service.signal("SIGUSR2");
      const line = await service.stderr.waitFor(/restart/, { after });
      match(line, /: db-pool has changed: takes effect after a restart$/);
      strictEqual(restarts().length, 1);
    });

    await t.step("the secret's file is read again", async () => {
      await write("");
      deepStrictEqual([await as(testSecret), await as(other)], [200, 401]);
      await Deno.writeTextFile(secretFile, other);
      deepStrictEqual([await as(testSecret), await as(other)], [200, 401]);
      service.signal("SIGUSR1");
      await service.stderr.waitFor(/Schema cache loaded in/);
      await eventually("the new secret", async () => await as(other) === 200);
      deepStrictEqual([await as(testSecret), await as(other)], [401, 200]);
    });

    await t.step("a short secret is refused with its place", async () => {
      await Deno.writeTextFile(secretFile, "short");
      service.signal("SIGUSR2");
      await service.stderr.waitFor(
        /Failed reloading config: .*jwt-secret: The JWT secret must be at least 32 characters long\./,
      );
      strictEqual(await as(other), 200);
      await Deno.writeTextFile(secretFile, other);
    });

    await t.step("an old role path is warned of", async () => {
      await write('jwt-role-claim-key = ".roles[0]"\n');
      service.signal("SIGUSR2");
      await service.stderr.waitFor(
        /: WARNING: The config `jwt-role-claim-key=\."roles"\[0\]` is using the deprecated JSPath syntax\.$/,
      );
      await service.stderr.waitFor(
        /: Update `jwt-role-claim-key=\."roles"\[0\]` to the new JSONPath .* is written `\$\["a b"\]`\.$/,
      );
    });

    await t.step("what is fixed at the start stays", async () => {
      await write(
        'dialect = "pgrst"\ndb-uri = "postgres://nobody/"\n'.replace("db-uri", "#db-uri"),
      );
      service.signal("SIGUSR2");
      const response = await service.fetch("GET /nothing");
      strictEqual((await response.json()).code, "SVC205");
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function statusAs(service: ServiceProcess, secret: string): Promise<number> {
  const response = await service.fetch("GET /todos?limit=1", { as: "todo_user", secret });
  await response.body?.cancel();
  return response.status;
}

Deno.test("a secret on the standard input is read once and outlives reloads", async () => {
  await using todos = await openTodos();
  for (const key of ["jwt-secret", "db-uri"] as const) {
    const given: FileConfig = { ...todos.config, "jwt-secret": testSecret };
    const config = { ...given, [key]: "@/dev/stdin" };
    await using service = await startService(config, { stdin: `${given[key]}\n` });
    await service.listening();
    strictEqual(await statusAs(service, testSecret), 200);
    for (const signal of ["SIGUSR2", "SIGUSR1"] as const) {
      const after = service.stderr.all.length;
      service.signal(signal);
      await service.stderr.waitFor(/Config reloaded$/, { after });
    }
    strictEqual(await statusAs(service, testSecret), 200);
    strictEqual(service.stderr.all.some((line) => line.includes("Failed reloading")), false);
  }
});

Deno.test("a reload does not need the file of db-uri any more", async () => {
  await using todos = await openTodos();
  const folder = await Deno.makeTempDir({ prefix: "svc_reload_" });
  try {
    await Deno.writeTextFile(`${folder}/uri`, `${todos.config["db-uri"]}\n`);
    await using service = await startService({
      ...todos.config,
      "db-uri": `@${folder}/uri`,
      "jwt-secret": testSecret,
    });
    await service.listening();
    await Deno.remove(`${folder}/uri`);
    for (const signal of ["SIGUSR2", "SIGUSR1"] as const) {
      const after = service.stderr.all.length;
      service.signal(signal);
      await service.stderr.waitFor(/Config reloaded$/, { after });
    }
    strictEqual(await statusAs(service, testSecret), 200);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("in pgrst a relative path is meant from the working directory", async () => {
  await using todos = await openTodos();
  const folder = await Deno.makeTempDir({ prefix: "svc_reload_" });
  try {
    await Deno.writeTextFile(`${folder}/uri`, `${todos.config["db-uri"]}\n`);
    await Deno.writeTextFile(`${folder}/secret`, testSecret);
    const config = {
      ...todos.config,
      "dialect": "pgrst",
      "db-uri": "@uri",
      "jwt-secret": "@./secret",
    };
    await using service = await startService(config, { cwd: folder });
    await service.listening();
    strictEqual(await statusAs(service, testSecret), 200);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("SIGUSR2 applies db-prepared-statements to open connections", async () => {
  const folder = await Deno.makeTempDir({ prefix: "svc_reload_" });
  const init = `${folder}/init.sql`;
  await Deno.writeTextFile(
    init,
    `create role web_anon; create schema api; grant usage on schema api to web_anon;
    create function api.prepared() returns bigint language sql
      as 'select count(*) from pg_prepared_statements';`,
  );
  const config = {
    "db-uri": "pglite://memory",
    "db-embedded-init": init,
    "db-schemas": "api",
    "db-anon-role": "web_anon",
  };
  try {
    await using service = await startService(config);
    await service.listening();
    const prepared = async () => await (await service.fetch("GET /rpc/prepared")).json();
    const isAny: boolean[] = [await prepared() > 0];
    for (const value of ["false", "true"]) {
      const text = await Deno.readTextFile(service.configPath);
      const others = text.replace(/^db-prepared-statements.*\n/m, "");
      await Deno.writeTextFile(service.configPath, `${others}db-prepared-statements = ${value}\n`);
      const after = service.stderr.all.length;
      service.signal("SIGUSR2");
      await service.stderr.waitFor(/Config reloaded$/, { after });
      isAny.push(await prepared() > 0);
    }
    deepStrictEqual(isAny, [true, false, true]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
