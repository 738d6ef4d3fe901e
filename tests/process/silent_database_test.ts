import { deepStrictEqual } from "node:assert/strict";
import { eventually } from "../support/timing/eventually.ts";
import { startPostgres } from "../support/database/postgres_server.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { startService } from "../support/server/process.ts";

const schema = `
  create role anon nologin;
  create role authenticator login noinherit password 'p';
  grant anon to authenticator;
  create schema api;
  grant usage on schema api to anon;
  create table api.items (id int primary key);
  insert into api.items values (1);
  grant select on api.items to anon;
`;

/** Processes of the sessions of a role. */
const backends = "select pid from pg_stat_activity where usename = 'authenticator' order by pid";

/** Whether the process was there. */
function signal(pid: number, name: Deno.Signal): boolean {
  try {
    Deno.kill(pid, name);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

for (
  const [label, connections, options] of [
    ["over the listening connection", 3, {}],
    ["over an idle connection", 2, { "db-channel-enabled": false }],
  ] as const
) {
  Deno.test(`a database that falls silent is noticed ${label}`, async () => {
    await using server = await startPostgres({ cluster: "copied" });
    await withClient(server.uri(), (client) => client.query(schema));
    await using service = await startService({
      "db-uri": server.uri({ user: "authenticator", password: "p" }),
      "db-schemas": "api",
      "db-anon-role": "anon",
      "server-request-timeout": "1s",
      "db-pool": 2,
      ...options,
    });
    const ready = async () => (await service.fetchAdmin("GET /ready")).status;
    const items = async () => {
      const response = await service.fetch("GET /items");
      return [response.status, await response.json()] as const;
    };
    await service.listening();
    await eventually("readiness", async () => await ready() === 200);
    const idle = async () => {
      const metrics = await (await service.fetchAdmin("GET /metrics")).text();
      return Number(/_db_pool_available (\d+)/.exec(metrics)?.[1]);
    };
    let pids: readonly number[] = [];
    const resume = () => {
      for (const pid of pids) signal(pid, "SIGCONT");
    };
    try {
      // Requests at once may share a connection, and a slow machine may have a connection replaced: its
      // process may end while the pool has one connection. Then the requests are sent again.
      await eventually("all connections to stop", async () => {
        resume();
        await Promise.all(Array.from({ length: 20 }, items));
        pids = await withClient(server.uri(), async (client) => {
          const { rows } = await client.query(backends);
          return rows.map(({ pid }) => Number(pid));
        });
        return pids.length === connections && pids.every((pid) => signal(pid, "SIGSTOP")) &&
          await idle() === 2;
      });
      const response = await service.fetch("GET /items");
      await service.stderr.waitFor(/WARNING: The database has not answered for 1 second$/);
      // A new connection reaches another process of PostgreSQL, so that the service recovers.
      deepStrictEqual([response.status, (await response.json()).code], [503, "SVC001"]);
      await service.stderr.waitFor(/The database answers again, after \d+\.\d seconds$/);
      await eventually("readiness", async () => await ready() === 200);
      await eventually("an answer in time", async () => (await items())[0] === 200);
    } finally {
      resume();
    }
  });
}
