import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { citusFake } from "../support/database/citus_fake.ts";
import { engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { freePort } from "../support/server/free_port.ts";
import { programCommand } from "../support/server/program_command.ts";
import { startClients } from "../support/clients/keep_alive_clients.ts";
import { collectLines } from "../support/server/lines.ts";
import { configText, startService } from "../support/server/process.ts";

const fixture = { name: "serving", roles: ["web_anon"] };

/** The line of the diagnosis, which arrives some time after the start. */
const finding = /^The database has \d+ findings?: /;

/** Diagnostic lines after `from` without their times and without findings. */
function texts(lines: readonly string[], from: number): readonly string[] {
  const all = lines.slice(from).map((line) => {
    match(line, /^\d\d\/\w{3}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}: /);
    return line.slice("06/May/2026:08:16:11 -0500: ".length);
  });
  return all.filter((text) => !finding.test(text));
}

/** A request, its status, and what is logged: statements, and the hint for an error. */
const requests:
  readonly (readonly [line: string, status: number, statements: readonly RegExp[]])[] = [
    ["GET /items?id=eq.1", 200, [
      /^select where \(pg_catalog\.set_config\('search_path', \$1, true\) operator\(pg_catalog\.\|\|\)/,
      /^select "api"\."nothing_special"\(\)$/,
      /^select pg_catalog\.count\(\*\)::pg_catalog\.text, .*"api"\."items"/,
    ]],
    ["GET /items?id=eq.x", 400, [
      /^select where \(pg_catalog\.set_config\('search_path', \$1, true\) operator\(pg_catalog\.\|\|\)/,
      /^select "api"\."nothing_special"\(\)$/,
      /^select pg_catalog\.count\(\*\)::pg_catalog\.text, .*"api"\."items"/,
      /^22P02 invalid input syntax for type integer: "x"\. Hint: The column id is integer$/,
    ]],
    ["GET /nothing", 404, []],
  ];

Deno.test("log-query tells the SQL of each request before the request, and no value", async (t) => {
  const database = await engines.pg(fixture);
  try {
    await using service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "web_anon",
      "db-pre-request": "api.nothing_special",
      "server-host": "127.0.0.1",
      "log-level": "info",
      "log-query": true,
    });
    await service.listening();
    await service.stderr.waitFor(/API server listening/);
    for (const [line, status, statements] of requests) {
      await t.step(line, async () => {
        const from = service.stderr.all.length;
        const response = await service.fetch(line);
        strictEqual(response.status, status);
        await service.stdout.waitFor(new RegExp(`"${line.replaceAll(/[?]/g, "\\?")} HTTP`));
        const last = statements.at(-1);
        if (last) await service.stderr.waitFor(new RegExp(last.source.slice(1)), { after: from });
        const logged = texts(service.stderr.all, from);
        strictEqual(logged.length, statements.length, logged.join("\n"));
        statements.forEach((pattern, position) => match(logged[position]!, pattern));
      });
    }

    await t.step("the estimate of a count is told last", async () => {
      const from = service.stderr.all.length;
      await service.fetch("GET /items", { headers: { Prefer: "count=planned" } });
      await service.stdout.waitFor(/"GET \/items HTTP/);
      await service.stderr.waitFor(/explain \(format json\) /i, { after: from });
      match(texts(service.stderr.all, from).at(-1)!, /^explain \(format json\) /i);
    });

    await t.step("requests that the level leaves out are left out here, too", async () => {
      const text = await Deno.readTextFile(service.configPath);
      await Deno.writeTextFile(service.configPath, text.replace('"info"', '"warn"'));
      const before = service.stderr.all.length;
      service.signal("SIGUSR2");
      await service.stderr.waitFor(/Config reloaded/, { after: before });
      const from = service.stderr.all.length;
      await service.fetch("GET /items?id=eq.2");
      await service.fetch("GET /items?id=eq.y");
      await service.stdout.waitFor(/id=eq\.y/);
      await service.stderr.waitFor(/select where \(pg_catalog\.set_config/, { after: from });
      const settings = texts(service.stderr.all, from)
        .filter((line) => line.startsWith("select where (pg_catalog.set_config"));
      strictEqual(settings.length, 1);
    });
    ok(!service.stdout.all.some((line) => line.includes("id=eq.2")));
    deepStrictEqual(service.stderr.all.filter((line) => /eq\.|'x'|'1'/.test(line)), []);
  } finally {
    await database.remove();
  }
});

Deno.test("log-query leaves out the commands with values that Citus forwards", async () => {
  const database = await engines.pg(fixture);
  try {
    await withClient(database.superuserUri!, (client) => client.query(citusFake));
    await using service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "web_anon",
      "server-host": "127.0.0.1",
      "log-level": "info",
      "log-query": true,
    });
    await service.listening();
    const response = await service.fetch("GET /items?id=eq.1", { headers: { "X-Key": "s3cret" } });
    strictEqual(response.status, 200);
    await service.stderr.waitFor(/"api"\."items"/);
    await service.stderr.waitFor(/set_config/);
    deepStrictEqual(service.stderr.all.filter((line) => /set local|s3cret/.test(line)), []);
  } finally {
    await database.remove();
  }
});

Deno.test("the log's lines about a request stand before its access line where both logs share a stream", async () => {
  const folder = await Deno.makeTempDir({ prefix: "svc_log_" });
  const port = freePort();
  const configPath = `${folder}/svc.conf`;
  await Deno.writeTextFile(
    configPath,
    configText({
      "db-uri": "postgres://127.0.0.1:1/none",
      "db-schemas": "api",
      "db-anon-role": "web_anon",
      "log-level": "info",
      "server-host": "127.0.0.1",
      "server-port": port,
    }),
  );
  const child = new Deno.Command("sh", {
    args: ["-c", `exec ${programCommand([configPath]).join(" ")} 2>&1`],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  try {
    const lines = collectLines(child.stdout);
    await lines.waitFor(/API server listening/);
    const load = startClients({ port, clients: 8, target: "/items" });
    await load.failures(200);
    load.stop();
    await load.ended;
    child.kill("SIGTERM");
    await lines.ended;
    let told = 0;
    for (const line of lines.all) {
      if (line.includes('"code":"SVC002"')) told++;
      else if (line.includes('"GET /items HTTP/1.1" 503 ')) {
        ok(--told >= 0, "a line came too early");
      }
    }
    strictEqual(told, 0);
    ok(lines.all.filter((line) => line.includes(" 503 ")).length >= 200);
  } finally {
    await child.status;
    await Deno.remove(folder, { recursive: true });
  }
});
