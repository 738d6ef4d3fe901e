import { match, ok, rejects, strictEqual } from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { freePort } from "../support/server/free_port.ts";
import { HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import { type ServiceProcess, startService } from "../support/server/process.ts";
import { openTodos } from "../support/server/todos.ts";

/** Sends one request over a connection of its own. */
async function ask(place: number | string, line: string) {
  using connection = await HttpConnection.connect(place);
  return await connection.exchange(requestBytes(line), line.split(" ")[0]!);
}

function modeOf(path: string): string {
  return (Deno.lstatSync(path).mode! & 0o777).toString(8);
}

Deno.test("Unix sockets serve the API and the admin server", async (t) => {
  const folder = await Deno.makeTempDir({ prefix: "svc_sockets_" });
  const [api, admin] = [`${folder}/api.sock`, `${folder}/admin.sock`];
  await using todos = await openTodos();
  const config = {
    ...todos.config,
    "log-level": "info",
    "server-unix-socket": api,
    "admin-server-unix-socket": admin,
    "admin-server-unix-socket-mode": "600",
  };
  try {
    Deno.listen({ transport: "unix", path: api }).close();
    await leaveBehind(api);
    await using service = await startService(config);
    await service.listening();

    await t.step("a file that was left over is replaced", () => {
      ok(Deno.lstatSync(api).isSocket);
    });

    await t.step("the files have their modes", () => {
      strictEqual(modeOf(api), "660");
      strictEqual(modeOf(admin), "600");
    });

    await t.step("the log names the paths", async () => {
      match(await service.stderr.waitFor(/API server/), new RegExp(`listening on ${api}$`));
      match(await service.stderr.waitFor(/Admin server/), new RegExp(`listening on ${admin}$`));
    });

    await t.step("requests are answered, and their client has no address", async () => {
      const line = "GET /todos?select=id&id=eq.1&task=neq.'%7C^|\\";
      const answer = await ask(api, line);
      strictEqual(answer.status, 200);
      strictEqual(answer.body, '[{"id":1}]');
      match(
        await service.stdout.waitFor(/GET/),
        /^- - web_anon \[[^\]]+\] "GET \/todos\?select=id&id=eq.1&task=neq.'%7C\^\|\\\\ HTTP\/1.1" 200 10 "" ""$/,
      );
    });

    await t.step("no port is opened", async () => {
      for (const origin of [service.origin, service.adminOrigin]) {
        const port = Number(new URL(origin).port);
        await rejects(Deno.connect({ port }), Deno.errors.ConnectionRefused);
      }
    });

    await t.step("/live and /ready fail without the file", async () => {
      strictEqual((await ask(admin, "GET /live")).status, 200);
      strictEqual((await ask(admin, "GET /ready")).status, 200);
      const kept = await HttpConnection.connect(api);
      await Deno.rename(api, `${api}.away`);
      for (const path of ["/live", "/ready"]) {
        const answer = await ask(admin, `GET ${path}`);
        strictEqual(answer.status, 503, path);
        match(answer.headers.get("server")!, /^svc\//);
      }
      strictEqual((await kept.exchange(requestBytes("GET /todos"), "GET")).status, 200);
      kept.close();
      await Deno.rename(`${api}.away`, api);
      strictEqual((await ask(admin, "GET /live")).status, 200);
    });

    await t.step("a successor takes the path over, and keeps it", async () => {
      await using successor = await startService({
        ...config,
        "admin-server-unix-socket": `${folder}/admin2.sock`,
      });
      await successor.listening();
      strictEqual((await ask(admin, "GET /live")).status, 503);
      strictEqual((await service.stop()).code, 0);
      strictEqual((await ask(api, "GET /todos")).status, 200);
      strictEqual((await ask(`${folder}/admin2.sock`, "GET /live")).status, 200);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Leaves a socket's file behind, as a process that is killed does. */
async function leaveBehind(path: string): Promise<void> {
  const listener = Deno.listen({ transport: "unix", path: `${path}.old` });
  await Deno.rename(`${path}.old`, path);
  listener.close();
  ok(Deno.lstatSync(path).isSocket);
}

/** The API is served after the first attempt to reach the database, whatever came of it. */
const unreachable = { "db-uri": "postgres://127.0.0.1:1/none", "db-schemas": "api" };

Deno.test("in PostgREST's dialect a socket that is gone makes 500", async () => {
  const folder = await Deno.makeTempDir({ prefix: "svc_sockets_" });
  try {
    const [api, admin] = [`${folder}/api.sock`, `${folder}/admin.sock`];
    await using service = await startService({
      ...unreachable,
      "dialect": "pgrst",
      "server-unix-socket": api,
      "admin-server-unix-socket": admin,
    });
    await service.listening();
    await Deno.remove(api);
    strictEqual((await ask(admin, "GET /live")).status, 500);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const hasIpv6 = Object.values(networkInterfaces()).flat().some((found) => found?.family === "IPv6");

/** An address of this machine that is no loopback address. */
const outerAddress = Object.values(networkInterfaces()).flat()
  .find((found) => found !== undefined && !found.internal && found.family === "IPv4")?.address;

Deno.test({
  name: "inner paths of the admin server answer loopback peers only",
  ignore: outerAddress === undefined,
  fn: async () => {
    await using service = await startService({ ...unreachable, "admin-server-host": "*4" });
    await service.listening();
    const port = Number(new URL(service.adminOrigin).port);
    const statusAt = async (hostname: string, path: string, host: string) => {
      using connection = await HttpConnection.connect({ hostname, port });
      const request = requestBytes(`GET ${path}`, { headers: { Host: `${host}:${port}` } });
      return (await connection.exchange(request, "GET")).status;
    };
    for (const path of ["/", "/config", "/schema_cache"]) {
      strictEqual(await statusAt("127.0.0.1", path, "localhost"), 200, path);
      strictEqual(await statusAt("127.0.0.1", path, "evil.example"), 403, path);
      strictEqual(await statusAt(outerAddress!, path, outerAddress!), 403, path);
    }
    strictEqual(await statusAt(outerAddress!, "/live", "evil.example"), 200);
  },
});

/** What each host is shown as, and the addresses that reach it. */
const hosts: readonly (readonly [host: string, shown: string, reached: readonly string[]])[] = [
  ["*", "0.0.0.0", ["127.0.0.1"]],
  ["*6", "[::]", ["::1", "127.0.0.1"]],
  ["::1", "[::1]", ["::1"]],
  ["localhost", "127.0.0.1", ["127.0.0.1"]],
];

for (const [host, shown, reached] of hosts) {
  Deno.test({
    name: `server-host ${host} listens on ${shown}, and logs the port chosen for 0`,
    ignore: shown.startsWith("[") && !hasIpv6,
    fn: async () => {
      await using service = await startService({
        ...unreachable,
        "server-host": host,
        "server-port": 0,
        "admin-server-host": host,
        "admin-server-port": 0,
      });
      await service.listening();
      for (const what of ["API", "Admin"]) {
        const [address, port] = await toldAddress(service, what);
        strictEqual(address, shown);
        for (const hostname of reached) {
          const connection = await Deno.connect({ hostname, port });
          connection.close();
        }
      }
    },
  });
}

async function toldAddress(service: ServiceProcess, what: string) {
  const line = await service.stderr.waitFor(new RegExp(`${what} server listening on`));
  const [, address, port] = /listening on (\S+):(\d+)$/.exec(line)!;
  return [address, Number(port)] as const;
}

/** Places that cannot be taken, and the line that says so. */
const impossible: readonly (readonly [
  name: string,
  config: (place: { readonly port: number; readonly folder: string }) => Readonly<
    Record<string, string | number | boolean>
  >,
  line: RegExp,
])[] = [
  [
    "a port that is taken",
    ({ port }) => ({ "server-host": "127.0.0.1", "server-port": port }),
    /^svc: cannot listen on 127\.0\.0\.1:\d+: address already in use; stop the other server, or give another port, such as --port=\d+$/,
  ],
  [
    "an admin port that is taken",
    ({ port }) => ({ "admin-server-host": "127.0.0.1", "admin-server-port": port }),
    /^svc: cannot listen on .*, such as --admin-server-port=\d+$/,
  ],
  [
    "a name without an address",
    () => ({ "server-host": "nowhere.invalid" }),
    /^svc: cannot listen on nowhere\.invalid:\d+: .*nowhere\.invalid/,
  ],
  [
    "an address of another machine",
    () => ({ "server-host": "192.0.2.1" }),
    /^svc: cannot listen on 192\.0\.2\.1:\d+: /,
  ],
  [
    "a socket in a folder that is not there",
    ({ folder }) => ({ "server-unix-socket": `${folder}/no/api.sock` }),
    /^svc: cannot listen on .*\/no\/api\.sock: /,
  ],
  [
    "a socket in the place of another file",
    ({ folder }) => ({ "server-unix-socket": `${folder}/file` }),
    /^svc: cannot listen on .*\/file: file exists and is not a socket$/,
  ],
];

for (const [name, config, line] of impossible) {
  Deno.test(`the process ends with 1 and one line for ${name}`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "svc_sockets_" });
    using taken = Deno.listen({ hostname: "127.0.0.1", port: freePort() });
    await Deno.writeTextFile(`${folder}/file`, "kept");
    try {
      await using service = await startService({
        ...unreachable,
        ...config({ port: taken.addr.port, folder }),
      });
      strictEqual((await service.status).code, 1);
      await service.stderr.ended;
      const own = service.stderr.all.filter((text) => text.startsWith("svc: "));
      strictEqual(own.length, 1, service.stderr.all.join("\n"));
      match(own[0]!, line);
      ok(!service.stderr.all.join("\n").includes("    at "), "no stack");
      strictEqual(await Deno.readTextFile(`${folder}/file`), "kept");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
