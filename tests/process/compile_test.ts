import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { makeDeb } from "../../tools/release/deb.ts";
import { compileArguments as argumentsFor, targets } from "../../tools/release/executables.ts";
import { engines } from "../support/database/engines.ts";
import { HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import { findProgram } from "../support/server/find_program.ts";
import { freePort } from "../support/server/free_port.ts";
import { startCommand, startService } from "../support/server/process.ts";
import { programCommand } from "../support/server/program_command.ts";

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

Deno.test("a release compiles the executable of the task for each target", async () => {
  const [, ...args] = (await compileArguments()).slice(
    (await compileArguments()).indexOf("compile"),
  );
  for (const target of targets) {
    const name = target.includes("windows") ? `svc-${target}.exe` : `svc-${target}`;
    const expected = args.map((arg) => arg === "dist/svc" ? `out/${name}` : arg);
    deepStrictEqual(argumentsFor(target, "out"), ["compile", "--target", target, ...expected]);
  }
});

/** Installs a package in a folder as in a system. */
async function installDeb(path: string, root: string): Promise<void> {
  for (const folder of ["etc", "var/lib/dpkg/updates", "var/lib/dpkg/info", "var/log"]) {
    await Deno.mkdir(join(root, folder), { recursive: true });
  }
  for (const file of ["etc/passwd", "etc/group", "etc/shadow", "var/lib/dpkg/status"]) {
    await Deno.writeTextFile(join(root, file), "");
  }
  const { success, stderr } = await new Deno.Command("dpkg", {
    args: [`--root=${root}`, "--force-script-chrootless,depends,not-root", "--install", path],
  }).output();
  ok(success, new TextDecoder().decode(stderr));
}

Deno.test({
  name: "the Debian package installs the program, its user, its unit and a configuration",
  // useradd changes the files of a folder for root only.
  ignore: findProgram("dpkg") === null || Deno.uid() !== 0,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc_deb_test_" });
    const database = await engines.pg(fixture);
    try {
      // It takes the place of the executable.
      const executable = join(folder, "svc");
      const command = programCommand([]).map((word) => `'${word}'`).join(" ");
      await Deno.writeTextFile(executable, `#!/bin/sh\nexec ${command} "$@"\n`);
      const deb = join(folder, "svc.deb");
      await makeDeb({ executable, architecture: "all", version: "1.2.3", seconds: 1e9 }, deb);
      const root = join(folder, "root");
      await installDeb(deb, root);
      match(await Deno.readTextFile(join(root, "etc/passwd")), /^svc:x:\d+:(\d+):/m);
      const config = join(root, "etc/svc/svc.conf");
      const { mode, gid } = await Deno.stat(config);
      const [, group] = /^svc:[^:]*:(\d+)/m.exec(await Deno.readTextFile(join(root, "etc/group")))!;
      deepStrictEqual([mode! & 0o777, gid], [0o640, Number(group)]);
      const unit = await Deno.readTextFile(join(root, "usr/lib/systemd/system/svc.service"));
      const [, start] = /^ExecStart=\S+ --ignore-signal=\S+ (.*)$/m.exec(unit)!;
      const [program, ...args] = start!.split(" ").map((path) => join(root, path));
      const port = freePort();
      const env = {
        ...{ SVC_DB_URI: database.uri, SVC_DB_SCHEMAS: "api", SVC_DB_ANON_ROLE: "web_anon" },
        ...{ SVC_SERVER_HOST: "127.0.0.1", SVC_SERVER_PORT: String(port) },
      };
      await using service = startCommand([program!, ...args], { env });
      await service.stderr.waitFor(/API server listening on/);
      const response = await fetch(`http://127.0.0.1:${port}/items?id=eq.1`);
      deepStrictEqual([response.status, await response.json()], [200, [{ id: 1 }]]);
      strictEqual((await service.stop()).code, 0);
    } finally {
      await database.remove();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
