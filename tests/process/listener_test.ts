import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { eventually } from "../support/timing/eventually.ts";
import { startPostgres } from "../support/database/postgres_server.ts";
import { type PostgresClient, withClient } from "../support/database/postgres_client.ts";
import { type ServiceProcess, startService } from "../support/server/process.ts";

const schema = `
  create role anon nologin;
  create role authenticator login noinherit password 'p';
  grant anon to authenticator;
  create schema api;
  grant usage on schema api to anon;
  alter default privileges in schema api grant select on tables to anon;
`;

async function statusOf(service: ServiceProcess, line: string): Promise<number> {
  const response = await service.fetch(line);
  await response.body?.cancel();
  return response.status;
}

async function readiness(service: ServiceProcess): Promise<number> {
  return (await service.fetchAdmin("GET /ready")).status;
}

/** Schema cache loads so far. */
async function loads(service: ServiceProcess): Promise<number> {
  const text = await (await service.fetchAdmin("GET /metrics")).text();
  return Number(/schema_cache_loads_total\{status="SUCCESS"\} (\d+)/.exec(text)?.[1]);
}

/** Resolves when the connections that listen have run this last, and there are no others. */
function listening(client: PostgresClient, ...statements: readonly string[]): Promise<void> {
  return eventually(`what listens is ${statements}`, async () => {
    const { rows } = await client.query(
      "select query from pg_stat_activity where query like 'LISTEN%'",
    );
    return rows.map(({ query }) => query).join() === statements.join();
  });
}

Deno.test("notifications ask for reloads", async (t) => {
  await using server = await startPostgres({ cluster: "copied" });
  await withClient(server.uri(), async (client) => {
    await client.query(schema);
    await using service = await startService({
      "db-uri": server.uri({ user: "authenticator", password: "p" }),
      "db-schemas": "api",
      "db-anon-role": "anon",
      "log-level": "crit",
    });
    await service.listening();
    const { stderr } = service;
    const rewrite = async (lines: string) => {
      const text = await Deno.readTextFile(service.configPath);
      await Deno.writeTextFile(service.configPath, text.split("#")[0]! + "#\n" + lines);
      const after = stderr.all.length;
      service.signal("SIGUSR2");
      await stderr.waitFor(/Config reloaded$/, { after });
      return after;
    };

    await t.step("the listener listens before the service is ready", async () => {
      await eventually("readiness", async () => await readiness(service) === 200);
      match(
        await stderr.waitFor(/Listener connected/),
        new RegExp(
          `: Listener connected to PostgreSQL \\d+.* on "127\\.0\\.0\\.1:${server.port}" and ` +
            'listening for database notifications on the "svc" channel$',
        ),
      );
      await listening(client, 'LISTEN "svc"');
      strictEqual(await loads(service), 1);
    });

    for (const [name, notify] of [["one", "notify svc"], ["two", "notify svc, 'reload schema'"]]) {
      await t.step(`${notify} loads the schema cache`, async () => {
        strictEqual(await statusOf(service, `GET /${name}`), 404);
        await client.query(`create table api.${name} (id int)`);
        const after = stderr.all.length;
        await client.query(notify!);
        match(
          await stderr.waitFor(/Received/, { after }),
          /: Received a schema cache reload message on the "svc" channel$/,
        );
        await stderr.waitFor(/Schema cache loaded in/, { after });
        // The configuration in the database is read, too.
        ok(stderr.all.slice(after).some((line) => line.endsWith(": Config reloaded")));
        strictEqual(await statusOf(service, `GET /${name}`), 200);
      });
    }

    await t.step("others ask for nothing and leave no line; reload config does", async () => {
      const [after, before] = [stderr.all.length, await loads(service)];
      await client.query(
        "notify svc, 'x'; notify svc, 'reload'; notify other; notify svc, 'reload config'",
      );
      await stderr.waitFor(/Config reloaded$/, { after });
      deepStrictEqual(
        stderr.all.slice(after).map((line) => line.replace(/^\S+ \S+: /, "")),
        ['Received a config reload message on the "svc" channel', "Config reloaded"],
      );
      strictEqual(await loads(service), before);
    });

    await t.step(
      "a burst during a load causes one more, and the last one is not lost",
      async () => {
        const [after, before] = [stderr.all.length, await loads(service)];
        const isReceived = (line: string) =>
          line.includes("Received a schema cache reload message");
        await withClient(server.uri(), async (blocker) => {
          await blocker.query(
            "begin; lock table pg_catalog.pg_description in access exclusive mode",
          );
          await client.query("notify svc");
          await eventually("the load waits for the lock", async () => {
            const waiting = "select 1 from pg_locks where not granted and locktype = 'relation'";
            return (await blocker.query(waiting)).rows.length > 0;
          });
          for (let notified = 1; notified < 40; notified++) {
            await client.query("notify svc");
          }
          await client.query("create table api.last (id int); notify svc");
          await eventually(
            "all notifications",
            () => stderr.all.slice(after).filter(isReceived).length === 41,
          );
          strictEqual(await loads(service), before);
          await blocker.query("commit");
        });
        await eventually("two loads", async () => await loads(service) >= before + 2);
        strictEqual(await statusOf(service, "GET /last"), 200);
        strictEqual(await loads(service), before + 2);
      },
    );

    await t.step("a lost connection is noticed at once and comes back", async () => {
      const after = stderr.all.length;
      await client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like 'LISTEN%'",
      );
      match(
        await stderr.waitFor(/Failed listening/, { after }),
        /: Failed listening for database notifications on the "svc" channel\. terminating connection/,
      );
      await stderr.waitFor(/Retrying listening for database notifications in 1 seconds\.\.\.$/, {
        after,
      });
      // Requests work without it.
      strictEqual(await readiness(service), 200);
      await client.query("create table api.missed (id int)");
      await stderr.waitFor(/Listener connected/, { after });
      strictEqual(await readiness(service), 200);
      await eventually(
        "what was missed",
        async () => await statusOf(service, "GET /missed") === 200,
      );
    });

    await t.step("db-channel is renamed by a reload, whatever it is called", async () => {
      const name = 'a "b; drop schema api; --';
      const after = await rewrite(`db-channel = ${JSON.stringify(name)}\n`);
      await stderr.waitFor(/Listener connected .* on the "a "b; drop schema api; --" channel$/, {
        after,
      });
      await listening(client, 'LISTEN "a ""b; drop schema api; --"');
      const heard = stderr.all.length;
      await client.query("select pg_notify($1, 'reload config')", [name]);
      await stderr.waitFor(/Received a config reload message on the "a "b/, { after: heard });
    });

    await t.step("db-channel-enabled ends the connection and opens it again", async () => {
      await rewrite("db-channel-enabled = false\n");
      await listening(client);
      strictEqual(await readiness(service), 200);
      const after = await rewrite("db-channel-enabled = true\n");
      await stderr.waitFor(/Listener connected .* on the "svc" channel$/, { after });
      await listening(client, 'LISTEN "svc"');
    });

    strictEqual((await service.stop()).code, 0);
  });
});

Deno.test("notifications ask for reloads of an embedded database, too", async () => {
  const folder = await Deno.makeTempDir({ prefix: "svc_listener_" });
  try {
    const init = `${folder}/init.sql`;
    await Deno.writeTextFile(
      init,
      `
      create role anon nologin;
      create schema api;
      grant usage, create on schema api to anon;
      create function api.grow(name text) returns void language plpgsql as $$
      begin
        execute format('create table api.%I (id int)', name);
        notify svc;
      end $$;
    `,
    );
    await using service = await startService({
      "db-uri": "pglite://memory",
      "db-embedded-init": init,
      "db-schemas": "api",
      "db-anon-role": "anon",
    });
    await service.listening();
    await service.stderr.waitFor(/Listener connected to PostgreSQL \d+.* on "pglite:\/\/memory"/);
    strictEqual(await readiness(service), 200);
    for (const name of ["one", "two", "three"]) {
      const grown = await service.fetch(`GET /nothing`);
      strictEqual(grown.status, 404);
      await grown.body?.cancel();
      const response = await service.fetch("POST /rpc/grow", { body: JSON.stringify({ name }) });
      strictEqual(response.status, 204);
      await eventually(name, async () => await statusOf(service, `GET /${name}`) === 200);
    }
    strictEqual((await service.stop()).code, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
