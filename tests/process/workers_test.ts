/** Several threads serve: each answers, all follow the same state, and none loses or miscounts a request. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { eventually } from "../support/timing/eventually.ts";
import { startClients } from "../support/clients/keep_alive_clients.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { type ServiceProcess, startService } from "../support/server/process.ts";

const fixture = { name: "workers", roles: ["web_anon"] };

const base = {
  "db-schemas": "api",
  "db-anon-role": "web_anon",
  "server-host": "127.0.0.1",
  "server-health-path": "/-/health",
};

/** Connections among which the kernel leaves no worker out. */
const connections = 64;

/** Sends requests over connections of their own. Resolves with their statuses and texts. */
async function fromEach(service: ServiceProcess, line: string): Promise<readonly string[]> {
  const answers = Array.from({ length: connections }, async () => {
    const response = await service.fetch(line);
    return `${response.status} ${await response.text()}`;
  });
  return [...new Set(await Promise.all(answers))];
}

/** Waits until all workers give one answer. */
async function agreed(service: ServiceProcess, line: string, answer: RegExp): Promise<void> {
  await eventually(`${line} has one answer`, async () => {
    const answers = await fromEach(service, line);
    return answers.length === 1 && answer.test(answers[0]!);
  });
}

async function counted(service: ServiceProcess, pattern: RegExp): Promise<number> {
  const text = await (await service.fetchAdmin("GET /metrics")).text();
  return Number(pattern.exec(text)?.[1] ?? NaN);
}

interface Target {
  readonly target: string;
}

const countOf = (route: string, status: number) =>
  new RegExp(
    `^http_server_request_duration_seconds_count\\{http_request_method="GET",http_route="${route}",` +
      `http_response_status_code="${status}"\\} (.+)$`,
    "m",
  );

Deno.test("server-workers = 4 serves by four threads with one state", async (t) => {
  const database = await engines.pg(fixture);
  const execute = (sql: string) =>
    withClient(database.superuserUri!, async (client) => void await client.query(sql));
  try {
    await using service = await startService({
      ...base,
      "db-uri": database.uri,
      "db-pool": 4,
      "server-workers": 4,
      "log-level": "info",
      "rate-limits": "items: 100/1d by ip on /items",
    });
    await service.listening();

    let rounds = 0;
    await t.step("each thread responds by a connection of its own", async () => {
      // A pool may replace its connection, as after a reload.
      await eventually("four backends", async () => {
        rounds++;
        return (await fromEach(service, "GET /rpc/backend")).length === 4;
      });
      strictEqual(service.stderr.all.filter((line) => /API server listening/.test(line)).length, 1);
      const loads = service.stderr.all.filter((line) => /Schema cache loaded \d/.test(line));
      strictEqual(loads.length, 1);
      ok(service.stderr.all.some((line) => /maximum size of 4 connections/.test(line)));
    });

    await t.step("the health path and the admin server agree", async () => {
      deepStrictEqual(await fromEach(service, "GET /-/health"), ["200 "]);
      strictEqual((await service.fetchAdmin("GET /ready")).status, 200);
      strictEqual((await service.fetchAdmin("GET /live")).status, 200);
    });

    const statuses = new Map<number, number>();
    await t.step("each thread admits its part of a policy of rate-limits", async () => {
      await Promise.all(Array.from({ length: 150 }, async () => {
        const response = await service.fetch("GET /items");
        await response.body?.cancel();
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      }));
      const admitted = statuses.get(200) ?? 0;
      // A thread that receives no connection admits none.
      ok(admitted >= 25 && admitted <= 100, `${admitted}`);
      strictEqual(statuses.get(429), 150 - admitted);
    });

    await t.step("/metrics adds up all requests", async () => {
      strictEqual(await counted(service, countOf("/items", 200)), statuses.get(200));
      strictEqual(await counted(service, countOf("/items", 429)), statuses.get(429));
      strictEqual(await counted(service, countOf("/rpc/backend", 200)), rounds * connections);
      strictEqual(
        await counted(service, /^svc_rate_limited_total\{policy="items"\} (.+)$/m),
        statuses.get(429),
      );
      strictEqual(await counted(service, /^svc_build_info\{.*\} (.+)$/m), 1);
      strictEqual(await counted(service, /^http_server_active_requests (.+)$/m), 0);
    });

    await t.step("the access log has each request", async () => {
      await eventually("150 lines", () => {
        return service.stdout.all.filter((line) => /"GET \/items HTTP/.test(line)).length === 150;
      });
    });

    await t.step("the console shows the requests of all threads", async () => {
      let round = 0;
      // Threads begin to record when the console asks for the first time.
      await eventually("each request of an earlier round", async () => {
        const url = `${service.adminOrigin}/console/requests`;
        const { newest } = await (await fetch(url, { headers: { Console: "1" } })).json();
        const targets = Map.groupBy(newest as Target[], ({ target }) => target);
        await fromEach(service, `GET /rpc/backend?select=${++round}`);
        return [...targets.values()].some(({ length }) => length >= 4);
      });
    });

    await t.step("NOTIFY reloads the schema in all threads", async () => {
      await execute(
        "create table api.made as select 1 as id; grant select on api.made to web_anon;" +
          "notify svc, 'reload schema'",
      );
      await agreed(service, "GET /made", /^200 \[\{"id":1\}\]$/);
    });

    await t.step("SIGUSR1 reloads the schema in all threads", async () => {
      await execute("alter table api.made rename to renamed");
      service.signal("SIGUSR1");
      await agreed(service, "GET /renamed", /^200 /);
    });

    await t.step("SIGUSR2 reloads the configuration in all threads", async () => {
      const text = await Deno.readTextFile(service.configPath);
      await Deno.writeTextFile(
        service.configPath,
        text.replace(/^rate-limits.*$/m, "").concat("db-max-rows = 2\n"),
      );
      service.signal("SIGUSR2");
      await agreed(service, "GET /items", /^200 \[\{"id":1\},\s*\{"id":2\}\]$/);
    });

    await t.step("SIGTERM under load breaks no answer and loses no request", async () => {
      const load = startClients({
        port: Number(new URL(service.origin).port),
        clients: 24,
        target: "/items",
      });
      await load.answers(500);
      const { code } = await service.stop("SIGTERM");
      await load.ended;
      strictEqual(code, 0);
      const { failed, lost, broken, refused } = load.counts;
      deepStrictEqual({ failed, lost, broken, refused }, {
        failed: 0,
        lost: 0,
        broken: 0,
        refused: 24,
      });
    });
  } finally {
    await database.remove();
  }
});

Deno.test("server-workers is lowered to db-pool, which workers divide", async () => {
  const database = await engines.pg(fixture);
  try {
    await using service = await startService({
      ...base,
      "db-uri": database.uri,
      "db-pool": 2,
      "server-workers": 4,
    });
    await service.listening();
    match(
      service.stderr.all.join("\n"),
      /server-workers is lowered to 2: each worker needs a connection of db-pool/,
    );
    await eventually(
      "two backends",
      async () => (await fromEach(service, "GET /rpc/backend")).length === 2,
    );
    strictEqual((await service.stop()).code, 0);
  } finally {
    await database.remove();
  }
});
