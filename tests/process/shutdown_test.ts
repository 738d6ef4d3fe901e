import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { eventually } from "../support/timing/eventually.ts";
import { silentServer } from "../support/database/silent_server.ts";
import { freePort } from "../support/server/free_port.ts";
import { holdLock } from "../support/database/held_lock.ts";
import { HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import { startClients } from "../support/clients/keep_alive_clients.ts";
import { type ServiceProcess, startService } from "../support/server/process.ts";
import { RawClient } from "../support/clients/raw_client.ts";

const fixture = { name: "serving", roles: ["web_anon"] };

function configFor(uri: string) {
  return { "db-uri": uri, "db-schemas": "api", "db-anon-role": "web_anon", "db-pool": 4 };
}

const uploadBytes = 90_000;
const uploadConfigs: readonly (readonly [label: string, own: Readonly<Record<string, unknown>>])[] =
  [
    ["defaults", {}],
    ["server-body-timeout", { "server-body-timeout": 30 }],
    ["server-shutdown-wait-period", { "server-shutdown-wait-period": "300ms" }],
    ["server-workers", { "server-workers": 2 }],
  ];
const uploadHead = "POST /rpc/nothing_special HTTP/1.1\r\nHost: localhost\r\n" +
  `Content-Type: application/json\r\nContent-Length: ${uploadBytes}\r\n` +
  "Expect: 100-continue\r\n\r\n";

function portOf({ origin }: Pick<ServiceProcess, "origin">): number {
  return Number(new URL(origin).port);
}

Deno.test("SIGTERM and SIGINT break no answer and lose no request", async (t) => {
  const database = await engines.pg(fixture);
  try {
    const limited = { "server-idle-timeout": 30 };
    for (
      const [signal, limits] of [["SIGTERM", {}], ["SIGINT", {}], ["SIGTERM", limited]] as const
    ) {
      const name = `${signal} while keep-alive clients are at work, with ${JSON.stringify(limits)}`;
      await t.step(name, async () => {
        await using service = await startService({ ...configFor(database.uri), ...limits });
        await service.listening();
        const load = startClients({
          port: portOf(service),
          clients: 24,
          target: "/items?order=id",
        });
        await load.answers(500);
        const { code } = await service.stop(signal);
        await load.ended;
        strictEqual(code, 0);
        const { failed, lost, broken, marked, refused } = load.counts;
        deepStrictEqual({ failed, lost, broken }, { failed: 0, lost: 0, broken: 0 });
        ok(marked > 0, "answers in flight say that they are the last");
        strictEqual(refused, 24);
      });
    }

    await t.step("a request in progress is answered, and a second signal is nothing", async () => {
      await using service = await startService(configFor(database.uri));
      await service.listening();
      using idle = await Deno.connect({ port: portOf(service) });
      await idle.write(requestBytes("GET /items"));
      const buffer = new Uint8Array(4096);
      ok(await idle.read(buffer));
      using busy = await HttpConnection.connect(portOf(service));
      await using lock = await holdLock(database.superuserUri!);
      const waiting = busy.exchange(requestBytes("POST /rpc/wait_for_lock"), "POST");
      // Whatever else fails is told first.
      waiting.catch(() => {});
      await lock.awaited();
      service.signal("SIGTERM");
      await service.stderr.waitFor(/Received termination unix signal SIGTERM$/);
      strictEqual(await idle.read(buffer), null, "idle connections are closed at once");
      await isRefused(portOf(service));
      service.signal("SIGTERM");
      service.signal("SIGINT");
      await lock.release();
      const answer = await waiting;
      strictEqual(answer.status, 204);
      strictEqual(answer.headers.get("connection"), "close");
      strictEqual((await service.status).code, 0);
      const told = service.stderr.all.filter((line) => /Received termination/.test(line));
      strictEqual(told.length, 1);
    });

    await t.step("half an upload stalls beside a request in progress", async () => {
      const config = { ...configFor(database.uri), "server-body-timeout": "300ms" };
      await using service = await startService(config);
      await service.listening();
      using busy = await HttpConnection.connect(portOf(service));
      await using lock = await holdLock(database.superuserUri!);
      const waiting = busy.exchange(requestBytes("POST /rpc/wait_for_lock"), "POST");
      waiting.catch(() => {});
      await lock.awaited();
      using upload = await RawClient.connect(portOf(service));
      await upload.send(uploadHead);
      match(await upload.read("\r\n\r\n"), /^HTTP\/1\.1 100 /);
      await upload.send("{");
      service.signal("SIGTERM");
      await isRefused(portOf(service));
      match(await upload.read(), /^HTTP\/1\.1 408 /);
      await lock.release();
      strictEqual((await waiting).status, 204);
      strictEqual((await service.status).code, 0);
      deepStrictEqual(service.stderr.all.filter((line) => /\berror:/i.test(line)), []);
    });

    for (const [label, own] of uploadConfigs) {
      await t.step(`an upload that arrives meanwhile is answered: ${label}`, async () => {
        await using service = await startService({ ...configFor(database.uri), ...own });
        await service.listening();
        using upload = await RawClient.connect(portOf(service));
        await upload.send(uploadHead);
        match(await upload.read("\r\n\r\n"), /^HTTP\/1\.1 100 /);
        await upload.send("{");
        service.signal("SIGTERM");
        await service.stderr.waitFor(/Received termination unix signal SIGTERM$/);
        if ("server-body-timeout" in own) await isRefused(portOf(service));
        // Deno.serve accepts connections until no body arrives.
        else if (!("server-shutdown-wait-period" in own)) await isClosing(service);
        await upload.send(" ".repeat(uploadBytes - 2) + "}");
        const answer = await upload.read();
        match(answer, /^HTTP\/1\.1 204 /);
        if (!("server-shutdown-wait-period" in own)) match(answer, /^connection: close\r$/im);
        strictEqual((await service.status).code, 0);
      });
    }

    await t.step("server-shutdown-wait-period serves on, not ready, until a signal", async () => {
      await using service = await startService({
        ...configFor(database.uri),
        "server-shutdown-wait-period": "1h",
        "server-health-path": "/-/health",
      });
      await service.listening();
      strictEqual((await service.fetchAdmin("GET /ready")).status, 200);
      service.signal("SIGTERM");
      await service.stderr.waitFor(/Not ready any more; requests are served for 3600 seconds/);
      strictEqual((await service.fetchAdmin("GET /ready")).status, 503);
      strictEqual((await service.fetchAdmin("GET /live")).status, 200);
      strictEqual((await service.fetch("GET /-/health")).status, 503);
      strictEqual((await service.fetch("GET /items")).status, 200);
      strictEqual((await service.stop()).code, 0);
    });

    await t.step("server-shutdown-wait-period does not count for SIGINT", async () => {
      const config = { ...configFor(database.uri), "server-shutdown-wait-period": "1h" };
      await using service = await startService(config);
      await service.listening();
      strictEqual((await service.stop("SIGINT")).code, 0);
    });

    await t.step("a service without requests ends", async () => {
      await using service = await startService(configFor(database.uri));
      await service.listening();
      strictEqual((await service.stop()).code, 0);
    });
  } finally {
    await database.remove();
  }
});

/** Resolves when connections are refused. */
function isRefused(port: number): Promise<void> {
  return eventually(
    "connections are refused",
    () => Deno.connect({ port }).then((connection) => connection.close() ?? false, () => true),
  );
}

/** Resolves when responses close their connections; Node's server refuses connections instead. */
function isClosing(service: ServiceProcess): Promise<void> {
  return eventually("responses close their connections", async () => {
    using client = await HttpConnection.connect(portOf(service)).catch(nullIfRefused);
    if (client === null) return true;
    const { status, headers } = await client.exchange(requestBytes("GET /items"), "GET");
    strictEqual(status, 200);
    return headers.get("connection") === "close";
  });
}

function nullIfRefused(error: unknown): null {
  if (error instanceof Deno.errors.ConnectionRefused) return null;
  throw error;
}

Deno.test("SIGTERM during the first load ends the process", async () => {
  using silent = silentServer();
  await using service = await startService({
    "db-uri": `postgres://nobody@127.0.0.1:${silent.port}/none`,
    "db-schemas": "api",
    "server-port": freePort(),
  });
  await Promise.race([silent.connected, service.status]);
  // The server never answers: a service that waited for it would not end.
  strictEqual((await service.stop()).code, 0);
  ok(!service.stderr.all.some((line) => /API server listening/.test(line)));
});
