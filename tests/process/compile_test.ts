import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import { startService } from "../support/server/process.ts";

const fixture = { name: "serving", roles: ["web_anon"] };

/** The arguments of `deno task compile`. */
async function compileArguments(): Promise<readonly string[]> {
  const text = await Deno.readTextFile(new URL("../../deno.json", import.meta.url));
  return JSON.parse(text).tasks.compile.command.split(" ");
}

Deno.test("the executable has what no import names: the modules of threads, the console", async () => {
  const compiled = await compileArguments();
  const included = compiled.filter((_, index) => compiled[index - 1] === "--include");
  const worker = ["src/process/server/worker_thread.ts", "src/process/cli/program.ts"];
  const mcp = "src/wings/mcp/endpoint.ts";
  const entry = "src/process/server/workers/worker_entry.ts";
  deepStrictEqual(included, [...worker, entry, mcp, "dist/console"]);
  const main = await Deno.readTextFile(new URL("../../main.ts", import.meta.url));
  const mainThread = new URL("../../src/process/server/main_thread.ts", import.meta.url);
  ok(main.includes(`runInWorker(new URL("./src/process/cli/program.ts"`));
  ok((await Deno.readTextFile(mainThread)).includes(`new Worker(new URL("./worker_thread.ts"`));
  const team = new URL("../../src/process/server/workers/worker_team.ts", import.meta.url);
  ok((await Deno.readTextFile(team)).includes(`new Worker(new URL("./worker_entry.ts"`));
});

Deno.test("the executable's permissions suffice to serve, reload and end", async () => {
  const permissions = (await compileArguments())
    .filter((argument) => /^--(allow-|no-prompt)/.test(argument));
  ok(permissions.length > 0);
  const database = await engines.pg(fixture);
  const folder = await Deno.makeTempDir({ prefix: "svc_compile_" });
  try {
    await using service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "web_anon",
      "server-unix-socket": `${folder}/api.sock`,
    }, { permissions });
    await service.listening();
    using connection = await HttpConnection.connect(`${folder}/api.sock`);
    const answer = await connection.exchange(requestBytes("GET /items?id=eq.1"), "GET");
    deepStrictEqual([answer.status, answer.body], [200, '[{"id":1}]']);
    strictEqual((await service.fetchAdmin("GET /ready")).status, 200);
    for (
      const [signal, line] of [["SIGUSR1", /cache loaded in/], ["SIGUSR2", /reloaded/]] as const
    ) {
      const after = service.stderr.all.length;
      service.signal(signal);
      await service.stderr.waitFor(line, { after });
    }
    strictEqual((await service.stop()).code, 0);
    ok(!/Requires .* access/.test(service.stderr.all.join("\n")));
  } finally {
    await database.remove();
    await Deno.remove(folder, { recursive: true });
  }
});
