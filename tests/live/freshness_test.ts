/** Clients of live queries see only what they may see now, and streams wait as a GET does. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { hashOf } from "../../src/state/auth/api_keys.ts";
import { openLiveApi } from "../support/handler/live_api.ts";
import { eventually } from "../support/timing/eventually.ts";

const a = { role: "writer", sub: "a" };
const path = "/live/docs?select=id,title";
const refuse = `create function private.refuse() returns void language plpgsql as $$ begin
  if exists (select from private.blocks where sub = current_setting('request.jwt.claims')::json->>'sub')
  then raise sqlstate 'PT403' using message = 'blocked'; end if; end $$`;

/** SQL that closes the rows, and the answer to a request behind it. */
const closings = [
  ["a function before requests", "insert into private.blocks values ('a')", 403],
  ["a lost privilege", "revoke select on api.docs from writer", 403],
  [
    "a narrower policy",
    "drop policy members on api.docs; create policy none on api.docs using (false)",
    200,
  ],
] as const;

/** Requests that may show rows, with the offset of the first state. */
const forms: Readonly<Record<string, (next: string) => string>> = {
  "all rows": () => `${path}&offset=-1`,
  "changes of the log": (next) => `${path}&${next}`,
  "a poll": (next) => `${path}&${next}&live=true`,
  "Electric's stream": (next) => `${path}&${next}&live=true&live_sse=true`,
  "an EventSource": () => path,
};

for (const [label, sql, status] of closings) {
  Deno.test(`${label} counts for the next request, whatever its form`, async (context) => {
    for (const [form, lineOf] of Object.entries(forms)) {
      await context.step(form, async () => {
        await using api = await openLiveApi({
          liveRecheck: 600,
          dbPreRequest: { schema: "private", name: "refuse" },
        });
        await api.sql(refuse);
        const first = await api.send(`GET ${path}&offset=-1`, { as: a });
        await first.body?.cancel();
        const { headers } = first;
        const next = `offset=${headers.get("electric-offset")}&handle=${
          headers.get("electric-handle")
        }`;
        await using stream = await api.stream(path, { as: a });
        await stream.next();
        await api.sql("update api.docs set title = 'secret' where id = 1");
        await stream.next();
        await api.sql(sql);
        const isEvents = form === "an EventSource";
        const accept: Record<string, string> = isEvents ? { Accept: "text/event-stream" } : {};
        const response = await api.send(`GET ${lineOf(next)}`, { as: a, headers: accept });
        const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
        const { value: text = "" } = await reader.read();
        strictEqual(response.status, status, text);
        strictEqual(/secret|"operation":"(?:insert|update)"/.test(text), false, text);
        if (status === 200) match(text, /up-to-date/);
        await reader.cancel();
      });
    }
  });
}

Deno.test("a revocation ends streams and polls, those of others continue", async () => {
  await using api = await openLiveApi({ jwtRevocations: { schema: "private", name: "revoked" } });
  // The list is read again with each notification.
  await using writer = await api.connect();
  await using stream = await api.stream("/live/orders?select=id", { as: { ...a, jti: "1" } });
  await using other = await api.stream("/live/orders?select=id", { as: { ...a, jti: "2" } });
  await stream.next();
  await other.next();
  await writer.query(
    "insert into private.revoked values ('jti', '1'); notify svc, 'reload revocations'",
  );
  await stream.ended();
  strictEqual(other.isEnded, false);
  const refused = await api.send("GET /live/orders?select=id", { as: { ...a, jti: "1" } });
  deepStrictEqual([refused.status, (await refused.json()).code], [401, "SVC301"]);
});

Deno.test("a reload without an API key ends its streams, those of other keys continue", async () => {
  const keyOf = async (name: string) => ({ name, sha256: await hashOf(name), role: "writer" });
  await using api = await openLiveApi({ dbConfig: true });
  const load = async (...names: readonly string[]) => {
    const keys = JSON.stringify(await Promise.all(names.map(keyOf)));
    await api.sql(`do $do$ begin execute format('alter role authenticator in database %I
      set svc.api_keys = %L', current_database(), '${keys}'); end $do$`);
    await api.handler.reloadConfig();
  };
  await load("sb_secret_removed", "sb_secret_kept");
  const open = (path: string, apikey: string) => api.stream(path, { headers: { apikey } });
  await using stream = await open(path, "sb_secret_removed");
  await using shape = await open(
    "/live/v1/shape?table=orders&offset=-1&live=true&live_sse=true",
    "sb_secret_removed",
  );
  await using other = await open(path, "sb_secret_kept");
  for (const each of [stream, shape, other]) await each.next();
  await load("sb_secret_kept");
  await stream.ended();
  await shape.ended();
  strictEqual(other.isEnded, false);
  const refused = await open(path, "sb_secret_removed");
  await refused.ended();
  strictEqual(refused.response.status, 401);
});

Deno.test("a policy of rate-limits for a relation counts its live queries", async () => {
  for (const under of ["/orders", "/live/orders", "/live"]) {
    await using api = await openLiveApi({ rateLimits: `orders: 2/1h by ip on ${under}` });
    const send = async (line: string) => {
      const response = await api.send(`GET ${line}`, { as: a });
      await response.body?.cancel();
      return response.status;
    };
    const orders = "/live/orders?select=id&offset=-1";
    deepStrictEqual([await send(orders), await send(orders), await send(orders)], [200, 200, 429]);
    strictEqual(await send("/live/docs?select=id&offset=-1"), under === "/live" ? 429 : 200);
    strictEqual(await send("/orders"), under === "/orders" ? 429 : 200);
  }
});

Deno.test("a stream waits while the records of changes are locked", async () => {
  await using api = await openLiveApi();
  await using locker = await api.connect();
  await locker.query("begin; lock svc_live.change");
  const headers = { Accept: "text/event-stream" };
  const opening = api.send("GET /live/orders?select=id", { as: a, headers });
  await eventually("the poll waits for the lock", async () => {
    const [{ waits } = {}] = await api.sql(
      "select count(*)::int as waits from pg_locks where not granted and relation = 'svc_live.change'::regclass",
    );
    return waits !== 0;
  });
  await locker.query("rollback");
  const response = await opening;
  strictEqual(response.headers.has("electric-offset"), true);
  await response.body?.cancel();
});
