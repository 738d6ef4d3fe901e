/** Live queries of a process: its end, and that of its database. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { fixtureSql } from "../support/database/fixture.ts";
import { engines } from "../support/database/engines.ts";
import { startPostgres } from "../support/database/postgres_server.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { LiveStream } from "../support/clients/live_client.ts";
import { startService } from "../support/server/process.ts";
import { signToken, testSecret } from "../support/handler/token.ts";
import { eventually } from "../support/timing/eventually.ts";

const fixture = { name: "live", roles: ["anon", "writer"] };
const a = { role: "writer", sub: "a" };

function configFor(uri: string) {
  return {
    "db-uri": uri,
    "db-schemas": "api",
    "db-anon-role": "anon",
    "jwt-secret": testSecret,
    "live-path": "/live",
    "log-level": "crit",
  };
}

/** Opens streams of one query, each over a connection of its own. */
async function openStreams(origin: string, count: number): Promise<readonly LiveStream[]> {
  const headers = { Accept: "text/event-stream", Authorization: `Bearer ${await signToken(a)}` };
  const open = async () =>
    new LiveStream(await fetch(`${origin}/live/orders?select=id,total&id=lt.9`, { headers }));
  return await Promise.all(Array.from({ length: count }, open));
}

Deno.test("SIGTERM ends streams at the end of a batch, and the process at once", async () => {
  const database = await engines.pg(fixture);
  try {
    await using service = await startService(configFor(database.uri));
    await service.listening();
    const streams = await openStreams(service.origin, 100);
    for (const stream of streams) await stream.next();
    const { code } = await service.stop("SIGTERM");
    strictEqual(code, 0);
    for (const stream of streams) {
      await stream.ended();
      deepStrictEqual([...stream.rows.keys()], ['"1"', '"2"']);
    }
  } finally {
    await database.remove();
  }
});

const events = "text/event-stream";

/** Requests that are refused while the only stream is open: subject, status, and code in the metric. */
const refused = [
  ["/live/orders?select=id", events, "b", 200, "SVC183"],
  ["/live/orders?select=id&offset=-1&live=true&live_sse=true", "*/*", "b", 503, "SVC183"],
  ["/live/orders?select=id", events, "a", 429, "SVC184"],
  ["/live/log?offset=-1", "*/*", "a", 406, "SVC181"],
  ["/live/orders?nothing=eq.1&offset=-1", "*/*", "a", 400, "42703"],
] as const;

Deno.test("svc_live_refusals_total counts refusals by code", async () => {
  const database = await engines.pg(fixture);
  try {
    await using service = await startService({
      ...configFor(database.uri),
      "live-max-streams": 1,
    });
    await service.listening();
    const send = async (line: string, Accept: string, sub: string) => {
      const Authorization = `Bearer ${await signToken({ role: "writer", sub })}`;
      return await fetch(service.origin + line, { headers: { Authorization, Accept } });
    };
    await using stream = new LiveStream(await send("/live/orders?select=id", events, "a"));
    await stream.next();
    for (const [line, accept, sub, status] of refused) {
      const response = await send(line, accept, sub);
      strictEqual(response.status, status, `${line}: ${await response.text()}`);
    }
    const metrics = await (await service.fetchAdmin("GET /metrics")).text();
    deepStrictEqual(
      metrics.match(/^svc_live_refusals_total\{.*$/gm)?.sort(),
      ["42703", "SVC181", "SVC183", "SVC184"].map((code) =>
        `svc_live_refusals_total{code="${code}"} ${
          refused.filter((row) => row.at(-1) === code).length
        }.0`
      ),
    );
  } finally {
    await database.remove();
  }
});

Deno.test("streams outlive a database that is away, polls do not, and both get the difference", async () => {
  await using server = await startPostgres({ cluster: "copied" });
  await withClient(
    server.uri(),
    async (client) => void await client.query(await fixtureSql(fixture)),
  );
  const uri = server.uri({ user: "authenticator", password: "authenticator" });
  await using service = await startService(configFor(uri));
  await service.listening();
  const [stream] = await openStreams(service.origin, 1);
  await stream!.next();
  const path = "/live/orders?select=id,total&id=lt.9";
  const first = await service.fetch(`GET ${path}&offset=-1`, { as: a });
  const offset = first.headers.get("electric-offset")!;
  await server.halt("fast");
  await eventually(
    "a poll is refused",
    async () =>
      (await service.fetch(`GET ${path}&offset=${offset}&live=true`, { as: a })).status === 503,
  );
  await server.resume();
  await withClient(
    server.uri(),
    (client) => client.query("update api.orders set total = 77 where id = 1"),
  );
  await stream!.until(({ rows }) => JSON.stringify([...rows.values()]).includes("77"));
  strictEqual(stream!.isEnded, false);
  await eventually("a poll has the difference", async () => {
    const response = await service.fetch(`GET ${path}&offset=${offset}`, { as: a });
    const text = await response.text();
    if (response.status === 503) return false;
    match(text, /"update".*"total":77/s);
    return true;
  });
  await stream![Symbol.asyncDispose]();
});
