/** Sends a moderate load for a long time, and fails if memory or descriptors grow, or if an answer
 * is not the expected one. Run: `deno task soak --minutes 60 --rate 100`; Linux only. @module */
import { parseArgs } from "node:util";
import { liveSql } from "../../src/wings/live/live_schema.ts";
import { withClient } from "../../tests/support/database/postgres_client.ts";
import { startPostgres } from "../../tests/support/database/postgres_server.ts";
import { freePort } from "../../tests/support/server/free_port.ts";
import { memoryOf } from "../../tests/support/server/process_memory.ts";
import { pause, runSql } from "./bench.ts";
import { median } from "./figures.ts";
import { freshStock, itemCount, plainFixture, roles, schema, serverConfig } from "./fixture.ts";
import { ownCommand, startServer } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";

/** A request, the status of its answer, and a text in the body. */
type SoakRow = readonly [line: string, status: number, text: string, init?: RequestInit];
const json = (body: unknown, Prefer = "return=minimal", method = "POST"): RequestInit => {
  const headers = { "Content-Type": "application/json", Prefer };
  return { method, body: JSON.stringify(body), headers };
};
/** Status in a row whose request the client aborts. */
const aborted = 0;
/** The requests of a round. */
const rowsOf = (n: number): readonly SoakRow[] => [
  [`/items?id=eq.${n}`, 200, `"id":${n},`],
  ["/items?limit=100&order=id", 200, '"id":100,'],
  [`/items?select=n:count()&category=eq.${n % 50}`, 200, '"n":200}'],
  [`/parents?select=id,children(id,grandchildren(id))&id=eq.${n}`, 200, '"grandchildren":[{'],
  [`/rpc/add?a=${n}&b=1`, 200, String(n + 1)],
  ["/rpc/add", 200, String(n + 2), json({ a: n, b: 2 })],
  ["/notes", 201, "", json({ title: "a note", stars: 3 })],
  ["/notes", 201, '"stars":4', json({ stars: 4 }, "return=representation")],
  [`/stock?id=eq.${n}`, 204, "", json({ amount: n }, "return=minimal", "PATCH")],
  ["/stock", 200, "", json({ id: n, amount: 1 }, "resolution=merge-duplicates")],
  [`/stock?id=eq.${n + itemCount}`, 204, "", { method: "DELETE" }],
  [`/items?price=gt.${"x".repeat(n % 9)}y`, 400, '"22P02"'],
  [`/missing_${n}`, 404, '"code"'],
  ["/stock", 400, '"23502"', json({ name: "without a key" })],
  ["/items", 401, '"code"', { headers: { Authorization: `Bearer ${n}.${n}.${n}` } }],
  ["/rpc/nap", aborted, ""],
  [`/live/stock?id=eq.${n % 20}`, 200, "up-to-date", { headers: { Accept: "text/event-stream" } }],
];
const columns = ["memory MB", "descriptors", "PostgreSQL connections", "loop delay ms", "requests"];
/** Maximum growth of memory and descriptors from the second to the last quarter of a run. */
const growthLimits = [16, 8] as const;
const { values } = parseArgs({
  options: { minutes: { type: "string", default: "60" }, rate: { type: "string", default: "100" } },
});
await using postgres = await startPostgres();
const nap = "create function api.nap() returns void language sql as 'select pg_sleep(0.2)';";
const triggers = liveSql("authenticator", [{ schema: "api", name: "stock", scope: null }]);
await runSql({ postgres }, `${roles}${schema}${plainFixture}${freshStock}${nap}${triggers}`);
const admin = { "admin-server-port": freePort(), "live-path": "/live" };
const config = { ...serverConfig(postgres), ...admin, "db-aggregates-enabled": true };
await using server = await startServer("service", ownCommand, { config });
const byStatus: Record<string, number> = {};
const wrong: string[] = [];
let [sent, inserted] = [0, 0];

/** Sends a request, and compares its answer. Aborts a stream after it has received the rows. */
async function exchange([line, expected, text, init = {}]: SoakRow): Promise<void> {
  const client = AbortSignal.timeout(expected === aborted ? 20 : 30_000);
  let [status, body] = [aborted, ""];
  try {
    const response = await fetch(server.origin + line, { ...init, signal: client });
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      body += part;
      if (line.startsWith("/live") && body.includes(text)) break;
    }
    status = response.status;
  } catch (error) {
    body = String(error);
  }
  byStatus[status] = (byStatus[status] ?? 0) + 1;
  if (line === "/notes" && status === 201) inserted++;
  if (status === expected && body.includes(text)) return;
  wrong.push(`${init.method ?? "GET"} ${line}: ${status} ${body.slice(0, 200)}`);
}

function numberOf(sql: string): Promise<number> {
  return withClient(postgres.uri(), async (client) => Number((await client.query(sql)).rows[0]!.n));
}

async function sample(): Promise<readonly number[]> {
  const response = await fetch(`http://127.0.0.1:${admin["admin-server-port"]}/metrics`);
  return [
    await memoryOf(server.pid, "VmRSS") / 1e6,
    Array.from(Deno.readDirSync(`/proc/${server.pid}/fd`)).length,
    await numberOf("select count(*) n from pg_stat_activity where usename = 'authenticator'"),
    Number(/^\w+event_loop_delay_seconds ([\d.e-]+)$/m.exec(await response.text())?.[1]) * 1000,
    sent,
  ];
}
const samples: (readonly number[])[] = [];
const inFlight = new Set<Promise<void>>();
const began = performance.now();
for (let round = 1; performance.now() < began + Number(values.minutes) * 60_000; round++) {
  for (const row of rowsOf(round % itemCount + 1)) {
    await pause(Math.max(0, began + ++sent * 1000 / Number(values.rate) - performance.now()));
    const open = exchange(row).finally(() => inFlight.delete(open));
    inFlight.add(open);
    if (performance.now() > began + (samples.length + 1) * 10_000) samples.push(await sample());
  }
}
await Promise.all(inFlight);
const quarters = [0, 1, 2, 3].map((at) => {
  const part = samples.slice(samples.length * at / 4, samples.length * (at + 1) / 4);
  return columns.map((_, column) => median(part.map((each) => each[column]!)));
});
const rows = quarters.map((cells, index) => [String(index + 1), ...cells.map(shown)]);
const lost = inserted - await numberOf("select count(*) n from api.notes");
const growths = growthLimits.map((_, column) => quarters[3]![column]! - quarters[1]![column]!);
console.log(`${markdownTable(["quarter", ...columns], rows)}\n`);
console.log(
  `${values.minutes} minutes, ${sent} requests; rows acknowledged ${inserted}, lost ${lost}`,
);
console.log("answers by status (0: the client left)", byStatus, "growth", growths.map(shown));
console.log("wrong answers", wrong.length, wrong.slice(0, 9));
const hasGrown = growths.some((growth, index) => growth >= growthLimits[index]!);
Deno.exitCode = hasGrown || wrong.length + lost > 0 ? 1 : 0;
