/** Claims of rows by limited writes with `lock`: a table as a queue. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import {
  type Administered,
  withAdministeredHandler,
} from "../support/handler/administered_handler.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody } from "../support/handler/rows.ts";
import { sessionsAreBlocked } from "../support/database/blocked_sessions.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";

const suite = serviceSuite("writes_shapes", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "writes_shapes, locks",
});
const representation = { Prefer: "return=representation" };
const refused = (details: string) => ({
  code: "SVC195",
  message: "Rows cannot be locked",
  details,
  hint: "Send PATCH or DELETE with order, limit and lock=skip or lock=nowait",
});
const onlyWrites = refused("Only PATCH and DELETE lock rows");

suite.rows("lock=", [
  ...answers()`
    PATCH /single?order=id&limit=1&lock=skip&select=id with {"note":"n"}
      Prefer: return=representation
      200 [{"id":1}]
    DELETE /single?order=id.desc&limit=1&lock=nowait&select=id {Prefer: return=representation}
      200 [{"id":2}]
    PATCH /keyless?order=a&limit=1&lock=skip with {"b":"x"} | 204
    PATCH /parted?order=id&limit=1&lock=skip&select=id with {"region":"b"}
      Prefer: return=representation
      200 [{"id":1}]
    PATCH /singles?order=id&limit=1&lock=skip&select=id with {"note":"v"}
      Prefer: return=representation
      200 [{"id":1}]
    PATCH /single?order=id&lock=skip with {}
      400 SVC195 | Rows cannot be locked | It needs 'limit' and 'order' | Send PATCH or DELETE with
        + order, limit and lock=skip or lock=nowait
    PATCH /single?limit=1&lock=skip with {}
      400 SVC109 | A 'limit' was applied without an explicit 'order' |  | Apply an 'order' using
        + unique column(s)
  `,
  ["PATCH /single?order=id&limit=1&lock=maybe", { body: {} }, 400, refused("'maybe' is not known")],
  ["GET /single?order=id&limit=1&lock=skip", {}, 400, onlyWrites],
  ["POST /single?lock=nowait", { body: { id: 7 } }, 400, onlyWrites],
  ["PUT /single?id=eq.7&lock=nowait", { body: { id: 7 } }, 400, onlyWrites],
  // A filter of a column with this name.
  ...answers()`
GET /single?lock=eq.skip | 400 42703 | column single.lock does not exist
`,
]);

const limited = serviceSuite("writes_shapes", {
  dialect: "pgrst",
  dbSchemas: ["api"],
  dbAnonRole: "anon",
}, { title: "writes_shapes, locks of the other dialect" });

limited.answers("lock= makes limits count")`
  PATCH /single?order=id&limit=1&lock=skip&select=id {Prefer: return=representation}
    with {"note":"n"}
    200 [{"id":1}]
`;

const jobs = (count: number) => `
  create table jobs (id int primary key, tenant int not null default 1, state text not null default 'new',
    worker int, lease int not null default 0, priority int not null default 0);
  insert into jobs (id, priority) select n, n % 3 from generate_series(1, ${count}) n;
  create view shown as select id, worker, state from jobs;
  create view counted as select state, count(*) as n from jobs group by state;
  create function ignore() returns trigger language plpgsql as 'begin return old; end';
  create trigger ignore instead of update on counted for each row execute function ignore();
  grant select, insert, update, delete on jobs, shown, counted to anon;`;

type Send = (line: string, parts?: RequestParts) => Promise<Response>;

function withJobs(
  count: number,
  use: (send: Send, admin: Administered["admin"]) => Promise<void>,
): Promise<void> {
  const options = { dbSchemas: ["public"], dbPool: 8 } as const;
  return withAdministeredHandler(jobs(count), options, async ({ handler, admin }) => {
    await use(
      async (line, parts) => await handler(await buildRequest({ line, origin: "http://x" }, parts)),
      admin,
    );
  });
}

async function idsOf(response: Promise<Response>): Promise<number[]> {
  const { status, body } = { status: (await response).status, body: await (await response).json() };
  strictEqual(status, 200, JSON.stringify(body));
  return body.map(({ id }: { id: number }) => id);
}

const claim = "PATCH /jobs?state=eq.new&order=priority.desc,id&limit=10&select=id";

Deno.test("lock=skip gives two claims at once disjoint rows", async () => {
  await withJobs(15, async (send, admin) => {
    // Both claims wait for the trigger, so each has locked its rows before the other ends.
    await admin.query(`
      create function hold() returns trigger language plpgsql as
        'begin perform pg_advisory_xact_lock_shared(1); return new; end';
      create trigger hold before update on jobs for each row execute function hold()`);
    await admin.query("select pg_advisory_lock(1)");
    const claims = ["a", "b"].map((state) =>
      idsOf(send(`${claim}&lock=skip`, { body: { state }, headers: representation }))
    );
    await sessionsAreBlocked(admin, 2);
    await admin.query("select pg_advisory_unlock(1)");
    const [a, b] = await Promise.all(claims);
    deepStrictEqual([a!.length, b!.length].sort(), [10, 5]);
    strictEqual(new Set([...a!, ...b!]).size, 15);
  });
});

Deno.test("lock=nowait fails at a locked row", async () => {
  await withJobs(2, async (send, admin) => {
    await admin.query("begin; select from jobs where id = 1 for update");
    const response = await send("DELETE /jobs?order=id&limit=1&lock=nowait");
    strictEqual(response.status, 500);
    deepStrictEqual(
      await response.json(),
      errorBody(
        '55P03 | could not obtain lock on row in relation "jobs" |  | Send the request again',
      ),
    );
    deepStrictEqual(
      await idsOf(
        send("DELETE /jobs?order=id&limit=1&lock=skip&select=id", { headers: representation }),
      ),
      [2],
    );
    await admin.query("rollback");
  });
});

Deno.test("lock= on a view over groups is refused", async () => {
  await withJobs(2, async (send) => {
    const response = await send("PATCH /counted?order=state&limit=1&lock=skip", { body: { n: 1 } });
    strictEqual(response.status, 400);
    const { code, message } = await response.json();
    deepStrictEqual([code, message], ["0A000", "FOR UPDATE is not allowed with GROUP BY clause"]);
  });
});

Deno.test("lock=skip claims only what policies let the role change, and leaves other rows unlocked", async () => {
  await withJobs(6, async (send, admin) => {
    await admin.query(`
      update jobs set tenant = 2 where id > 3;
      alter table jobs enable row level security;
      create policy reading on jobs for select to anon using (true);
      create policy changing on jobs for update to anon using (tenant = 2);
      create policy removing on jobs for delete to anon using (tenant = 3)`);
    const parts = { body: { state: "taken" }, headers: representation };
    deepStrictEqual((await idsOf(send(`${claim}&lock=skip`, parts))).sort(), [4, 5, 6]);
    const removal = "DELETE /jobs?order=id&limit=9&lock=skip&select=id";
    deepStrictEqual(await idsOf(send(removal, { headers: representation })), []);
  });
});

Deno.test("lock=skip picks rows of a view by the columns of the order, without NULL there", async () => {
  await withJobs(3, async (send) => {
    const parts = { body: { state: "taken" }, headers: representation };
    const line = "PATCH /shown?limit=2&lock=skip&select=id&order=";
    deepStrictEqual(await idsOf(send(`${line}id`, parts)), [1, 2]);
    deepStrictEqual(await idsOf(send(`${line}worker.nullsfirst,id`, parts)), []);
  });
});

Deno.test("a limited write waits for a row that another transaction changes, and changes it", async () => {
  await withJobs(2, async (send, admin) => {
    await admin.query("begin; update jobs set priority = 9 where id = 1");
    const changed = idsOf(
      send("PATCH /jobs?state=eq.new&order=id&limit=1&select=id", {
        body: { state: "taken" },
        headers: representation,
      }),
    );
    await sessionsAreBlocked(admin);
    await admin.query("commit");
    deepStrictEqual(await changed, [1]);
  });
});

/** The jobs that workers hold, and how often each was claimed. */
class Ledger {
  readonly #holders = new Map<number, number>();
  readonly #dead = new Set<number>();

  /** Fails if a living worker has one of the jobs. */
  claim(ids: readonly number[], worker: number): void {
    for (const id of ids) {
      const holder = this.#holders.get(id);
      ok(holder === undefined || this.#dead.has(holder), `${worker} and ${holder} have ${id}`);
      this.#holders.set(id, worker);
    }
  }

  finish(ids: readonly number[]): void {
    for (const id of ids) this.#holders.delete(id);
  }

  kill(worker: number): void {
    this.#dead.add(worker);
  }
}

/** A worker: claims jobs at a time of its clock, and finishes them. Returns when there are none left. */
async function work(
  worker: number,
  { send, ledger, time, isKilled }: {
    readonly send: Send;
    readonly ledger: Ledger;
    readonly time: number;
    readonly isKilled: boolean;
  },
): Promise<void> {
  const free = `or=(state.eq.new,and(state.eq.taken,lease.lt.${time}))`;
  const line = `PATCH /jobs?${free}&order=priority.desc,id&limit=10&lock=skip&select=id`;
  const body = { state: "taken", worker, lease: time };
  for (let round = 0;; round++) {
    const ids = await idsOf(send(line, { body, headers: representation }));
    if (ids.length === 0) return;
    ledger.claim(ids, worker);
    if (isKilled && round === 2) {
      // The last claim of a killed worker is on its way.
      const { signal, abort } = abortable();
      const last = send(line, { body, headers: representation, signal }).catch(() => null);
      abort();
      await (await last)?.body?.cancel();
      return ledger.kill(worker);
    }
    const own = `worker=eq.${worker}&state=eq.taken&id=in.(${ids})`;
    const done = await idsOf(
      send(`PATCH /jobs?${own}&select=id`, { body: { state: "done" }, headers: representation }),
    );
    strictEqual(done.length, ids.length);
    ledger.finish(ids);
  }
}

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

/** 2,000 in the suite; `SVC_TEST_JOBS=20000` for the full length. */
const jobCount = Number(Deno.env.get("SVC_TEST_JOBS") ?? 2000);

Deno.test(`32 workers finish ${jobCount} jobs, two killed: none is lost or held by two`, async () => {
  await withJobs(jobCount, async (send, admin) => {
    const ledger = new Ledger();
    const workers = Array.from({ length: 32 }, (_, worker) => worker);
    const workAt = (time: number) =>
      Promise.all(
        workers.map((worker) =>
          work(worker, { send, ledger, time, isKilled: time === 1 && worker < 2 })
        ),
      );
    await workAt(1);
    const { rows: [held] } = await admin.query(
      "select count(*)::int as n, bool_and(worker < 2) as dead from jobs where state <> 'done'",
    );
    strictEqual(held!["dead"], true);
    ok(Number(held!["n"]) >= 20, "the killed workers hold jobs");
    // The leases of the killed workers have ended.
    await workAt(2);
    const { rows: [last] } = await admin.query(
      "select count(*) filter (where state = 'done')::int as done from jobs",
    );
    strictEqual(last!["done"], jobCount);
  });
});
