/**
 * A write that is answered with an error has changed nothing, and one that is answered with success
 * is committed, wherever the connection to the database breaks. The one exception: when COMMIT has
 * reached the server and its answer is lost, the service cannot know, and answers with an error
 * although the change may stand.
 */
import { ok, strictEqual } from "node:assert/strict";
import { createHandler, type Handler } from "../../mod.ts";
import {
  type Cut,
  type CutReport,
  type CuttingProxy,
  startCuttingProxy,
} from "../support/database/cutting_proxy.ts";
import { engines } from "../support/database/engines.ts";
import { prepared, serverVariable } from "../support/runner/environment.ts";
import { eventually } from "../support/timing/eventually.ts";
import { type PostgresClient, withClient } from "../support/database/postgres_client.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";

/** Bytes of a Sync message, without which the server acts all the same. */
const syncLength = 5;

/** A write whose effect shows in a query. */
interface Case {
  readonly name: string;
  readonly line: string;
  readonly parts: (marker: string) => RequestParts;
  /** Writes to the server up to the one that ends with COMMIT; null when it must not be committed. */
  readonly commitWrite: number | null;
  readonly status: number;
  /** How many rows with the marker there are when it was changed. */
  readonly effect: string;
}

const singular = { Accept: "application/vnd.svc.object+json" };
const inserted = "select count(*)::int as changed from api.makers where name = $1";

const cases: readonly Case[] = [
  {
    name: "an insert in one batch",
    line: "POST /makers",
    parts: (name) => ({ body: { id: 100, name } }),
    commitWrite: 0,
    status: 201,
    effect: inserted,
  },
  {
    name: "an insert that returns its rows",
    line: "POST /makers?select=id,name",
    parts: (name) => ({
      body: [{ id: 101, name }, { id: 102, name: "x".repeat(5000) }],
      headers: { Prefer: "return=representation" },
    }),
    commitWrite: 0,
    status: 201,
    effect: inserted,
  },
  {
    name: "an update that is looked at before it is kept",
    line: "PATCH /makers?id=eq.1",
    parts: (name) => ({ body: { name }, headers: singular }),
    commitWrite: 1,
    status: 204,
    effect: inserted,
  },
  {
    name: "an upsert by PUT",
    line: "PUT /makers?id=eq.105",
    parts: (name) => ({ body: { id: 105, name }, headers: { Prefer: "return=representation" } }),
    commitWrite: 1,
    status: 201,
    effect: inserted,
  },
  {
    name: "an update of too many rows",
    line: "PATCH /makers",
    parts: (name) => ({ body: { name }, headers: singular }),
    commitWrite: null,
    status: 406,
    effect: inserted,
  },
  {
    name: "an insert that a constraint refuses at COMMIT",
    line: "POST /marked_pairs",
    parts: (mark) => ({ body: { id: 1, other: 99, mark } }),
    commitWrite: null,
    status: 409,
    effect: "select count(*)::int as changed from api.marked_pairs where mark = $1",
  },
];

const reset = `
  delete from api.marked_pairs; delete from api.makers where id >= 100;
  update api.makers set name = 'name ' || id`;

/** Lengths that a cut leaves of an exchange, dense where things are decided. */
function lostLengths(): number[] {
  return [...Array(12).keys()].map((at) => at + 1).concat([20, 40, 80, 160, 400, 900, 1e6]);
}

/** Cuts in the part of an answer where nothing is decided. */
const spreadCuts = 15;

/**
 * Lengths of what is left of an answer, every one of them about its end: several cuts are between
 * ReadyForQuery, its last six bytes, and the answer to COMMIT.
 */
function passedLengths(whole: number): number[] {
  const spread = [...Array(spreadCuts).keys()].map((at) => Math.floor(at * whole / spreadCuts));
  return spread.concat([...Array(8).keys()].map((at) => whole - 50 + at * 5), lastLengths(whole));
}

function lastLengths(whole: number): number[] {
  return [...Array(12).keys()].map((at) => whole - 12 + at);
}

interface Place {
  readonly handler: Handler;
  readonly proxy: CuttingProxy;
  readonly owner: PostgresClient;
}

/** Resolves when the service has a connection that works. */
function warmUp(handler: Handler): Promise<void> {
  return eventually("a connection", async () => {
    const response = await handler(await buildRequest({ line: "GET /makers", origin: "http://x" }));
    await response.bytes();
    return response.status === 200;
  });
}

/**
 * Waits until no transaction runs any more, and the process is gone that a lost connection had: it may
 * not even have read yet what it was sent.
 */
async function quiet(owner: PostgresClient, { cut, port }: CutReport): Promise<void> {
  const running = `select count(*)::int as running from pg_stat_activity
    where datname = current_database() and usename = 'authenticator'
      and (state <> 'idle' or client_port = $1)`;
  while ((await owner.query(running, [cut ? port : null])).rows[0]?.["running"] !== 0);
}

let marks = 0;

/** Sends the write, cuts, and checks the promise; tells whether there was something to cut. */
async function probe({ handler, proxy, owner }: Place, tried: Case, cut: Cut | null) {
  await owner.query(reset);
  await warmUp(handler);
  const marker = `mark-${++marks}-of-the-write`;
  proxy.arm(marker, cut);
  const { line } = tried;
  const request = await buildRequest({ line, origin: "http://x" }, tried.parts(marker));
  const response = await handler(request);
  await response.bytes();
  const report = proxy.disarm();
  await quiet(owner, report);
  const changed = (await owner.query(tried.effect, [marker])).rows[0]?.["changed"] !== 0;
  const told = `${JSON.stringify(cut)}: ${response.status}, changed: ${changed}`;
  if (response.status < 300) ok(changed, told);
  const atCommit = cut?.side === "to server" && report.cut && cut.write === tried.commitWrite;
  // After COMMIT of its own, the write also undoes what functions left to the session.
  const behindCommit = report.afterCommit ?? syncLength;
  if (atCommit) strictEqual(report.afterCommit === null, tried.commitWrite === 0, told);
  const committed = tried.commitWrite !== null &&
    (report.wholeWrites > tried.commitWrite || (atCommit && cut.lost <= behindCommit));
  if (changed) ok(committed, told);
  // A server that loses its client while it answers may end before it has come to the end.
  const isCertain = cut?.side !== "from server" || tried.commitWrite === 1;
  if (committed && !atCommit && isCertain) ok(changed, told);
  if (!report.cut) strictEqual(response.status, tried.status, told);
  else if (response.status >= 300) ok(response.status === 503 || changed === false, told);
  return { ...report, status: response.status };
}

async function probeAll(place: Place, tried: Case): Promise<void> {
  // All others run on a new connection, too, which has more to say.
  await probe(place, tried, { side: "from server", passed: 0 });
  const whole = await probe(place, tried, null);
  strictEqual(whole.cut, false);
  let errors = 0;
  let successes = 0;
  for (let write = 0; write <= (tried.commitWrite ?? 1); write++) {
    for (const lost of lostLengths()) {
      const { cut, status } = await probe(place, tried, { side: "to server", write, lost });
      if (cut && status === 503) errors++;
    }
  }
  const answers = async (lengths: readonly number[]) => {
    for (const passed of lengths) {
      const { cut, status } = await probe(place, tried, { side: "from server", passed });
      if (cut && status === 503) errors++;
      if (cut && status < 300) successes++;
    }
  };
  await answers(passedLengths(whole.received));
  // The system may throw away what came just before the end, before the service has read it.
  for (let again = 0; tried.commitWrite === 1 && successes === 0 && again < 10; again++) {
    await answers(lastLengths(whole.received));
  }
  // A test that never cut anything would have shown nothing.
  ok(errors > 20, `${errors} errors`);
  // Where the answer to a COMMIT came through, nothing was uncertain. A batch of its own has none:
  // that it was committed is told by the last message.
  strictEqual(successes > 0, tried.commitWrite === 1);
}

Deno.test("what a broken connection leaves of a write", async (t) => {
  await using resources = new AsyncDisposableStack();
  const database = await engines.pg({ name: "writes", roles: ["anon", "writer"] });
  resources.defer(() => database.remove());
  const proxy = resources.use(startCuttingProxy(Number(new URL(database.uri).port)));
  const uri = new URL(database.uri);
  const owner = new URL(prepared(serverVariable));
  owner.pathname = uri.pathname;
  uri.port = String(proxy.port);
  await withClient(owner.href, async (client) => {
    await client.query(`
      create table api.marked_pairs (
        id int primary key,
        other int references api.marked_pairs deferrable initially deferred,
        mark text
      );
      create function api.nothing() returns void language sql as 'select';
      grant all on api.marked_pairs to anon;
    `);
    const common = { dbUri: uri.href, dbSchemas: ["api"], dbAnonRole: "anon", dbPool: 1 };
    // Sessions that keep a footing begin with what depends on what they did before, and the exchange of
    // a write with a decision has to be as long each time.
    const dbPreRequest = { schema: "api", name: "nothing" };
    const quietly = createHandler(common);
    const loudly = createHandler({ ...common, dbPreRequest });
    await Promise.all([quietly.ready(), loudly.ready()]);
    for (const tried of cases) {
      const handler = tried.commitWrite === 0 ? quietly : loudly;
      await t.step(tried.name, () => probeAll({ handler, proxy, owner: client }, tried));
    }
    await Promise.all([quietly.close(), loudly.close()]);
  });
});
