/** Reads and writes while servers fail; each row repairs what it damages, but the last. @module */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { eventually } from "../../support/timing/eventually.ts";
import { place, portOf } from "../../support/database/replica_stage.ts";
import { nextId, readOwn, type Step, writeNote } from "./step.ts";

export const damages: readonly Step[] = [
  ["a function declared stable that writes fails as on the primary", async ({ api }) => {
    const response = await api("POST /rpc/liar");
    deepStrictEqual([response.status, (await response.json()).code], [405, "25006"]);
  }],
  ["a read that a conflict with recovery cancels is repeated on the primary", async (fixture) => {
    const { stage: { cluster }, api } = fixture;
    for (const standby of cluster.standbys) {
      await standby.configure({ max_standby_streaming_delay: "0" });
    }
    const id = nextId();
    await api("POST /notes", { body: { id } });
    await cluster.replayed();
    const reading = api("GET /rpc/conflicting");
    await eventually("the function runs on a standby", async () => {
      const sleeping = "select 1 from pg_stat_activity where wait_event = 'PgSleep'";
      const found = await Promise.all(
        cluster.standbys.map((one) => cluster.execute(one, sleeping)),
      );
      return found.some((rows) => rows.length > 0);
    });
    await cluster.execute(cluster.primary, `delete from api.notes where id = ${id}`);
    await cluster.execute(cluster.primary, "vacuum api.notes");
    const response = await reading;
    deepStrictEqual([response.status, await response.json() > 0], [200, true]);
  }],
  ["a relation that standbys have not replayed is read from the primary", async ({ stage }) => {
    const { cluster } = stage;
    const { api, handler } = stage.openWithReplicas();
    await stage.readsFromStandbys(api);
    await stage.whilePaused(async () => {
      await cluster.execute(
        cluster.primary,
        "create table api.late as select 1 as id; grant select on api.late to anon",
      );
      await handler.reloadSchema();
      const response = await api("GET /late");
      deepStrictEqual([response.status, await response.json()], [200, [{ id: 1 }]]);
    });
  }],
  ["a REVOKE counts within the maximum lag", async ({ stage }) => {
    const { cluster } = stage;
    const api = await stage.open({ dbReplicaMaxLag: 1 });
    strictEqual((await api("GET /secrets")).status, 200);
    await stage.whilePaused(async () => {
      await cluster.execute(cluster.primary, "revoke select on api.secrets from anon");
      await eventually("the REVOKE counts", async () => {
        return (await api("GET /secrets")).status === 401;
      });
      strictEqual(await portOf(await api(place)), cluster.primary.port);
    });
    await stage.readsFromStandbys(api);
  }],
  ["without a standby, the fallback `error` answers 503", async ({ stage, api }) => {
    const strict = await stage.open({ dbReplicaFallback: "error" });
    const { standbys, primary } = stage.cluster;
    const reading = Array.from({ length: 20 }, () => api(place));
    await standbys[0]!.kill();
    for (const response of await Promise.all(reading)) strictEqual(response.status, 200);
    await stage.readsFrom(api, new Set([standbys[1]!.port]));
    await standbys[1]!.kill();
    await stage.readsFrom(api, new Set([primary.port]));
    let refused = await strict(place);
    await eventually("no standby is fit", async () => {
      refused = await strict(place);
      return refused.status !== 200;
    });
    deepStrictEqual([refused.status, (await refused.json()).code], [503, "SVC000"]);
    ok(refused.headers.has("Retry-After"));
    const chosen = await strict(place, { headers: { Prefer: "read=primary" } });
    strictEqual(await portOf(chosen), primary.port);
    for (const standby of standbys) await standby.resume();
    await stage.readsFromStandbys(api);
  }],
  ["without a primary, reads go on; after the promotion, writes do", async ({ stage, api }) => {
    const { cluster } = stage;
    const before = await writeNote(api);
    await cluster.replayed();
    await cluster.primary.kill();
    await eventually("writes fail", async () => {
      return (await api("POST /notes", { body: { id: nextId() } })).status === 503;
    });
    ok(stage.isStandby(await portOf(await api(place))));
    const [promoted, other] = cluster.standbys;
    await cluster.promote(promoted!);
    await eventually("writes succeed", async () => {
      return (await api("POST /notes", { body: { id: nextId() } })).status === 201;
    });
    strictEqual(await readOwn(api, before), promoted!.port);
    const after = await writeNote(api);
    match(after.bookmark, /^2-/);
    await readOwn(api, after);
    await stage.readsFrom(api, new Set([other!.port]));
  }],
];
