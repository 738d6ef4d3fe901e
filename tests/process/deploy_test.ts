import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { dirname, join } from "node:path";
import { noValues } from "../../src/state/config/load.ts";
import { configSource } from "../../src/state/config/source.ts";
import { adminListenAddress, apiListenAddress } from "../../src/process/listen_address.ts";
import { debuggerPort } from "../support/server/debugger_attack.ts";
import { findProgram } from "../support/server/find_program.ts";
import { freePort } from "../support/server/free_port.ts";
import { startService } from "../support/server/process.ts";
import { onDeno } from "../support/server/program_command.ts";
import { openTodos } from "../support/server/todos.ts";
import { testSecret } from "../support/handler/token.ts";
import { wingOptions } from "../../src/process/wings.ts";

const deploy = new URL("../../examples/deploy/", import.meta.url);

function read(name: string): string {
  return Deno.readTextFileSync(new URL(name, deploy));
}

Deno.test("the compose file configures a service that reports whether it is ready", () => {
  const text = read("compose.yaml");
  ok(!text.includes("\t"));
  const given = text.matchAll(/^ {6}(SVC_\w+): "?([^"\n]*)"?$/gm);
  const environment = Object.fromEntries(Array.from(given, ([, name, value]) => [
    name!,
    value!.replace(/^\$\{SVC_JWT_SECRET:\?[^}]+\}$/, testSecret),
  ]));
  const source = configSource({
    wingOptions,
    file: null,
    environment,
    readFile: () => {
      throw new Error("no file is named");
    },
  });
  const config = source.configure(noValues);
  deepStrictEqual(apiListenAddress(config), {
    kind: "tcp",
    host: "0.0.0.0",
    port: 3000,
    reusePort: false,
  });
  deepStrictEqual(adminListenAddress(config), {
    kind: "tcp",
    host: "127.0.0.1",
    port: 3001,
    reusePort: false,
  });
  deepStrictEqual(config.jwtSecret, new TextEncoder().encode(testSecret));
  const uri = new URL(config.dbUri);
  deepStrictEqual([uri.hostname, uri.username], ["db", "authenticator"]);
  const roles = read("init/roles.sql");
  match(roles, new RegExp(`role ${uri.username} login noinherit password '${uri.password}'`));
  match(roles, new RegExp(`create role ${config.dbAnonRole} `));
  match(roles, new RegExp(`create schema ${config.dbSchemas[0]}`));
  for (const name of ["svc", "db", "data"]) match(text, new RegExp(`^ *${name}:$`, "m"));
});

Deno.test("the image's build gets what it needs, and no configuration", async () => {
  const root = new URL("../../", import.meta.url).pathname;
  const [all, ...kept] = Deno.readTextFileSync(`${root}.dockerignore`).split("\n")
    .filter((line) => !/^(#.*)?$/.test(line));
  strictEqual(all, "*");
  const folder = await Deno.makeTempDir({ prefix: "svc_context_" });
  try {
    for (const line of kept) {
      match(line, /^![\w./]+$/);
      const path = line.slice(1);
      await Deno.mkdir(join(folder, dirname(path)), { recursive: true });
      await run("cp", ["-r", `${root}${path}`, join(folder, path)]);
    }
    const args = ["run", "-A", "--frozen", `${folder}/main.ts`, "--version"];
    const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: folder })
      .output();
    ok(success, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** The values of each key of a unit, by `Section.Key`. */
function readUnit(name: string): ReadonlyMap<string, readonly string[]> {
  const unit = new Map<string, string[]>();
  let section = "";
  for (const line of read(name).split("\n").filter((line) => !/^(#.*)?$/.test(line))) {
    const head = /^\[(\w+)\]$/.exec(line)?.[1];
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    ok(head !== undefined || key !== undefined, line);
    if (head !== undefined) section = head;
    else unit.set(`${section}.${key}`, [...unit.get(`${section}.${key}`) ?? [], value!]);
  }
  return unit;
}

Deno.test("the unit denies the port of Deno's debugger", () => {
  const denied = readUnit("svc.service").get("Service.SocketBindDeny");
  deepStrictEqual(denied, [`tcp:${debuggerPort}`]);
});

Deno.test("the instances of the unit have the ports of HAProxy's servers", () => {
  const [ports] = readUnit("instances.conf").get("Service.Environment")!;
  const expected = [0, 1, 2].map((instance) => ports!.replaceAll("%i", String(instance)));
  const servers = read("haproxy.cfg").matchAll(/^ {2}server \w+ 127\.0\.0\.1:(\d+) port (\d+)$/gm);
  deepStrictEqual(
    Array.from(
      servers,
      ([, api, admin]) => `SVC_SERVER_PORT=${api} SVC_ADMIN_SERVER_PORT=${admin}`,
    ),
    expected,
  );
});

Deno.test({
  name: "a process that the unit starts survives signals from its first instant",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const [start] = readUnit("svc.service").get("Service.ExecStart")!;
    const [env, ignore] = start!.split(" ");
    // `sleep` never listens for signals: what it survives is ignored from its start.
    const child = new Deno.Command(env!, {
      args: [ignore!, "sh", "-c", "echo; exec sleep 1000"],
      stdout: "piped",
    })
      .spawn();
    const output = child.stdout.getReader();
    await output.read();
    for (const signal of ["SIGUSR1", "SIGUSR2", "SIGHUP"] as const) child.kill(signal);
    child.kill("SIGTERM");
    strictEqual((await child.status).signal, "SIGTERM");
    await output.cancel();
  },
});

const [nginx, openssl, systemdAnalyze, haproxy] = ["nginx", "openssl", "systemd-analyze", "haproxy"]
  .map(findProgram);

/** Tenths: systemd calls an exposure below 2.0 "OK". */
const maxExposure = "20";

Deno.test({
  name: "systemd understands the unit and finds it confined",
  ignore: systemdAnalyze === null,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "svc_unit_" });
    try {
      const unit = `${folder}/svc.service`;
      await Deno.writeTextFile(unit, read("svc.service"));
      strictEqual(await complaintsAbout(unit), "");
      // The same unit for several instances.
      await Deno.mkdir(`${folder}/svc@.service.d`);
      await Deno.writeTextFile(`${folder}/svc@.service`, read("svc.service"));
      await Deno.writeTextFile(`${folder}/svc@.service.d/instances.conf`, read("instances.conf"));
      const instance = `${folder}/svc@0.service`;
      strictEqual(await complaintsAbout(instance), "");
      await run(systemdAnalyze!, ["security", "--offline=yes", `--threshold=${maxExposure}`, unit]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** Lines of the check about files in the unit's folder: it also reads the units of the machine. */
async function complaintsAbout(unit: string): Promise<string> {
  const output = await run(systemdAnalyze!, ["verify", "--man=no", unit]);
  return output.split("\n").filter((line) => line.includes(dirname(unit))).join("\n");
}

/** A whole configuration as Debian has it, which includes the site. */
function nginxConfig(folder: string): string {
  return `pid ${folder}/pid; error_log stderr; events {}
    http { access_log ${folder}/log; gzip on; include /etc/nginx/mime.types; include ${folder}/site; }`;
}

Deno.test({
  name: "nginx understands its example",
  ignore: nginx === null || openssl === null,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "svc_nginx_" });
    try {
      await run(openssl!, [
        ..."req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=example.com".split(" "),
        ...["-keyout", `${folder}/key`, "-out", `${folder}/certificate`],
      ]);
      const site = read("nginx.conf");
      // nginx makes the last folder of the path, and /var/cache exists everywhere.
      match(site, /^proxy_cache_path \/var\/cache\/[\w-]+ /m);
      for (
        const directive of ["client_max_body_size", "gzip on", "proxy_set_header X-Request-Id"]
      ) {
        ok(site.includes(`  ${directive}`), directive);
      }
      const moved = site
        .replace("/etc/ssl/certs/example.com.pem", `${folder}/certificate`)
        .replace("/etc/ssl/private/example.com.key", `${folder}/key`)
        .replace("/var/log/nginx/svc.log", `${folder}/site.log`)
        .replace(/\/var\/cache\/[\w-]+/, `${folder}/cache`);
      await Deno.writeTextFile(`${folder}/site`, moved);
      await Deno.writeTextFile(`${folder}/nginx.conf`, nginxConfig(folder));
      await run(nginx!, ["-t", "-p", folder, "-c", `${folder}/nginx.conf`]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "HAProxy understands its example",
  ignore: haproxy === null,
  fn: async () => {
    await run(haproxy!, ["-c", "-f", new URL("haproxy.cfg", deploy).pathname]);
  },
});

/** Returns what a successful program writes to its standard error. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const { success, stderr } = await new Deno.Command(program, { args: [...args] }).output();
  const text = new TextDecoder().decode(stderr);
  ok(success, text);
  return text;
}

Deno.test({
  ...onDeno,
  name: "the permissions of the page suffice to read, to write and to keep long bodies in files",
  fn: async () => {
    const page = Deno.readTextFileSync(new URL("../../docs/how-to/deploy.md", import.meta.url));
    const [command = ""] = /deno run --no-prompt[^`]*?main\.ts/.exec(page) ?? [];
    await using todos = await openTodos();
    const database = new URL(String(todos.config["db-uri"]));
    const [port, adminPort] = [freePort(), freePort()];
    const root = new URL("../../", import.meta.url).pathname;
    const permissions = command.split(/[\s\\]+/).slice(2, -1).map((flag) =>
      flag
        .replace("db.example.com:5432", database.host)
        .replace("0.0.0.0:3000", `0.0.0.0:${port}`)
        .replace("127.0.0.1:3001", `127.0.0.1:${adminPort}`)
        .replace("=.,/etc/svc", `=${root},/etc/svc`)
    );
    await using service = await startService({
      ...todos.config,
      "jwt-secret": testSecret,
      "server-port": port,
      "server-host": "0.0.0.0",
      "admin-server-port": adminPort,
      "admin-server-host": "127.0.0.1",
    }, { permissions });
    await service.listening();
    strictEqual((await service.fetch("GET /todos?limit=1")).status, 200);
    const body = JSON.stringify({ task: "x".repeat(5_000_000) });
    const posted = await service.fetch("POST /todos", {
      as: { role: "todo_user", sub: "a" },
      body,
    });
    strictEqual(posted.status, 201);
    strictEqual((await service.fetchAdmin("GET /metrics")).status, 200);
    const { code } = await service.stop();
    strictEqual(code, 0);
    strictEqual(/NotCapable|Requires .* access/.test(service.stderr.all.join("\n")), false);
  },
});
