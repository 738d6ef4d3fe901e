import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { delay } from "../support/delay.ts";
import { engines } from "../support/engines.ts";
import { silentServer } from "../support/silent_server.ts";
import { freePort } from "../support/free_port.ts";
import { HttpConnection, requestBytes } from "../support/http_connection.ts";
import { startClients } from "../support/keep_alive_clients.ts";
import { type ServiceProcess, startService } from "../support/process.ts";

const fixture = { name: "serving", roles: ["web_anon"] };

function configFor(uri: string) {
  return { "db-uri": uri, "db-schemas": "api", "db-anon-role": "web_anon", "db-pool": 4 };
}

function portOf({ origin }: Pick<ServiceProcess, "origin">): number {
  return Number(new URL(origin).port);
}

Deno.test("SIGTERM and SIGINT break no answer and lose no request", async (t) => {
  const database = await engines.pg(fixture);
  try {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      await t.step(`${signal} while keep-alive clients are at work`, async () => {
        await using service = await startService(configFor(database.uri));
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
      const nap = busy.exchange(requestBytes("POST /rpc/nap", { body: { seconds: 1.5 } }), "POST");
      // Whatever else fails is told first.
      nap.catch(() => {});
      await isAsleep(service);
      service.signal("SIGTERM");
      await service.stderr.waitFor(/Received termination unix signal SIGTERM$/);
      strictEqual(await idle.read(buffer), null, "idle connections are closed at once");
      await isRefused(portOf(service));
      service.signal("SIGTERM");
      service.signal("SIGINT");
      const answer = await nap;
      strictEqual(answer.status, 204);
      strictEqual(answer.headers.get("connection"), "close");
      strictEqual((await service.status).code, 0);
      const told = service.stderr.all.filter((line) => /Received termination/.test(line));
      strictEqual(told.length, 1);
    });

    await t.step("with nothing to do the end is near", async () => {
      await using service = await startService(configFor(database.uri));
      await service.listening();
      const began = performance.now();
      strictEqual((await service.stop()).code, 0);
      ok(performance.now() - began < 1000);
    });
  } finally {
    await database.remove();
  }
});

/** Waits until connections are refused. */
async function isRefused(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const refused = await Deno.connect({ port }).then(
      (connection) => connection.close(),
      () => true,
    );
    if (refused) return;
    await delay(5);
  }
  throw new Error("the port stays open");
}

/** Waits until the database runs a request, which the figures of the pool tell. */
async function isAsleep(service: ServiceProcess): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const text = await (await service.fetchAdmin("GET /metrics")).text();
    if (/^svc_db_pool_available 0(\.0)?$/m.test(text)) return;
    await delay(5);
  }
  throw new Error("no request is in progress");
}

Deno.test("SIGTERM during the first load ends the process", async () => {
  using silent = silentServer();
  await using service = await startService({
    "db-uri": `postgres://nobody@127.0.0.1:${silent.port}/none`,
    "db-schemas": "api",
    "server-port": freePort(),
  });
  await silent.connected;
  const began = performance.now();
  strictEqual((await service.stop()).code, 0);
  ok(performance.now() - began < 1000);
  ok(!service.stderr.all.some((line) => /API server listening/.test(line)));
});
