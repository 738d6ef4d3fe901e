import { ok, strictEqual } from "node:assert/strict";
import { type Api, apiSuite, serviceSuite } from "../support/handler/api.ts";
import { delay } from "../support/timing/delay.ts";

const pool = 2;
const suite = apiSuite("bodies", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbPool: pool,
  dbPoolAcquisitionTimeout: 8,
  serverTraceHeader: "X-Trace",
});

const singular = { Accept: "application/vnd.svc.object+json" };
const strict = { Prefer: "handling=strict, max-affected=1" };

/** Requests whose long body is made in the database and not sent. */
const dropped: readonly [string, Readonly<Record<string, string>>, number][] = [
  ["GET /fat", singular, 406],
  ["GET /rpc/fat_rows", strict, 400],
  ["GET /rpc/big?status=204", {}, 204],
  ["GET /rpc/big?status=304", {}, 304],
  ["GET /rpc/big?status=42", {}, 500],
  ["GET /rpc/bad_headers", {}, 500],
];

async function statusOf(api: Api, line: string, headers = {}): Promise<number> {
  const response = await api(line, { headers });
  await response.body?.cancel();
  return response.status;
}

for (const [line, headers, status] of dropped) {
  suite.test(`${line} ${JSON.stringify(headers)} keeps no connection`, async (api) => {
    for (let time = 0; time < pool + 1; time++) {
      strictEqual(await statusOf(api, line, headers), status);
    }
    strictEqual(await statusOf(api, "GET /wide?limit=1"), 200);
  });
}

suite.test("a body that the client leaves keeps no connection", async (api) => {
  for (let time = 0; time < pool + 1; time++) {
    const response = await api.handler(new Request("http://x/fat"));
    await response.body!.cancel();
  }
  strictEqual(await statusOf(api, "GET /wide?limit=1"), 200);
});

suite.test("bodies that nobody reads give way to those who wait", async (api) => {
  const unread = await Promise.all(
    Array.from({ length: pool }, () => api.handler(new Request("http://x/fat"))),
  );
  strictEqual(await statusOf(api, "GET /wide?limit=1"), 200);
  for (const response of unread) await response.bytes().catch(() => {});
});

suite.test("count=planned knows the total of an answer that arrives in pieces", async (api) => {
  const response = await api("GET /wide?limit=2500", { headers: { Prefer: "count=planned" } });
  strictEqual(response.status, 206);
  const total = Number(response.headers.get("Content-Range")!.split("/")[1]);
  ok(total > 2000 && total < 4000, String(total));
});

const cancelling = serviceSuite("bodies", { dbSchemas: ["api"], dbAnonRole: "anon", dbPool: 3 }, {
  title: "clients that leave",
});

cancelling.test("a client that leaves does not end the query of another", async (api) => {
  const leave = async () => {
    const client = new AbortController();
    const answer = api.handler(
      new Request("http://x/rpc/wait?seconds=0.02", { signal: client.signal }),
    );
    delay(3 + Math.random() * 5).then(() => client.abort());
    await (await answer).body?.cancel();
  };
  const stay = async () => strictEqual(await statusOf(api, "GET /rpc/wait?seconds=0.01"), 200);
  for (let round = 0; round < 30; round++) {
    await Promise.all([leave(), leave(), leave(), stay(), stay(), stay()]);
  }
});

suite.test("database code replaces Server and the trace header", async (api) => {
  const plain = await api("GET /wide?limit=1", { headers: { "X-Trace": "mine" } });
  strictEqual(plain.headers.get("X-Trace"), "mine");
  ok(plain.headers.get("Server")!.startsWith("svc/"));
});

suite.test("an aggregate in public does not take the place of the built-in one", async (api) => {
  const response = await api("GET /wide?select=id&id=eq.1");
  strictEqual(await response.text(), '[{"id":1}]');
});

const single = apiSuite("bodies", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbPool: 1,
  dbTxEnd: "commit",
}, { title: "one connection" });

single.test("what a function leaves on the connection does not reach the next response", async (api) => {
  strictEqual(await statusOf(api, "POST /rpc/leave_settings"), 418);
  const next = await api("GET /wide?select=id&id=eq.1");
  strictEqual(next.status, 200);
  strictEqual(next.headers.get("X-Left"), null);
});
