/** Clients send batches, some with an `Idempotency-Key`, while connections are terminated,
 * statements are canceled and a lock makes batches wait for longer than `batch-timeout`. @module */
import { delay } from "../../support/timing/delay.ts";
import { type Answer, requestBytes } from "../../support/clients/http_connection.ts";
import type { PostgresClient } from "../../support/database/postgres_client.ts";
import type { Verdict } from "./ledger.ts";
import { type Load, startLoad, type Turn } from "./load.ts";
import { openPlace } from "./place.ts";
import { type FaultReport, type Scale, type WriteCounts, writeProblems } from "./report.ts";
import { errorCode } from "./tally.ts";

const sizes = {
  short: { rounds: 6, clients: 8, answersBetween: 15 },
  full: { rounds: 120, clients: 12, answersBetween: 45 },
} as const;

/** Rows that each batch inserts, one per operation; a read of the first ones stands before the last. */
const rowsPerBatch = 9;
const operationsPerBatch = rowsPerBatch + 1;

const sql = `
  create table api.entries (batch int not null, part int not null check (part >= 0));
  create index on api.entries (batch);
  grant select, insert on api.entries to anon;
  create schema svc;
  create table svc.keys (
    principal text not null, key text not null, fingerprint bytea not null, status int,
    headers json, body bytea, created_at timestamptz not null default now(),
    primary key (principal, key)
  );
  grant usage on schema svc to anon;
  grant select, insert, update, delete on svc.keys to anon;
`;

const config = {
  "batch-max-operations": 20,
  "batch-timeout": "300ms",
  "idempotency-table": "svc.keys",
};

/** Runs the fault. */
export async function disturbBatches(scale: Scale): Promise<FaultReport> {
  const { rounds, clients, answersBetween } = sizes[scale];
  await using place = await openPlace({ sql, config });
  const ledger = new BatchLedger();
  const { plain, keyed, refused } = batchTurns(ledger);
  const load = startLoad({
    port: place.port,
    clients,
    expected: isExpected,
    turns: [plain, keyed, plain, refused],
  });
  await place.asOwner(async (client) => {
    for (let round = 0; round < rounds; round++) {
      await load.progress(answersBetween);
      await disturbances[round % disturbances.length]!(client, load);
    }
  });
  await load.progress(answersBetween);
  await load.stop();
  const { writes, halves } = await place.asOwner((client) => ledger.compare(client));
  const operations = load.tally.counts.answered * operationsPerBatch;
  return {
    fault: `batches disturbed ${rounds} times`,
    requests: load.tally.counts,
    writes,
    figures: { "operations sent": String(operations), "batches half done": String(halves) },
    problems: [
      ...load.tally.problems,
      ...writeProblems(writes),
      ...(halves > 0 ? [`${halves} batches half done`] : []),
    ],
  };
}

const expectedErrors: ReadonlySet<string> = new Set([
  "503 SVC001",
  "503 57P01",
  "504 SVC144",
  // A statement that the test cancels.
  "500 57014",
  "409 SVC155",
  // The batch that is to be refused.
  "400 23514",
]);

function isExpected(status: number, code: string): boolean {
  return expectedErrors.has(`${status} ${code}`);
}

type Disturbance = (client: PostgresClient, load: Load) => Promise<void>;

const sessions = "from pg_stat_activity where usename = 'authenticator'";

const disturbances: readonly Disturbance[] = [
  async (client) => void await client.query(`select pg_terminate_backend(pid) ${sessions}`),
  async (client) =>
    void await client.query(`select pg_cancel_backend(pid) ${sessions} and state = 'active'`),
  async (client, load) => {
    await client.query("begin; lock table api.entries in access exclusive mode");
    await load.failures(3);
    await client.query("commit");
  },
];

/** Returns the requests that clients send in turn. */
function batchTurns(ledger: BatchLedger): Readonly<Record<"plain" | "keyed" | "refused", Turn>> {
  const send = async (
    [connection, { tally }]: Parameters<Turn>,
    { batch, headers, isRefused = false }: SentBatch,
  ) => {
    const request = requestBytes("POST /", { headers, body: documentOf(batch, isRefused) });
    const answer = await tally.count(() => connection.exchange(request, "POST"));
    if (answer?.status === 200 && !isWhole(answer)) tally.problem("wrong answer to a batch");
    return answer;
  };
  return {
    plain: async (...turn) => {
      const batch = ledger.next();
      const answer = await send(turn, { batch });
      ledger.note(batch, verdictOf(answer));
      return answer;
    },
    refused: async (...turn) => {
      const batch = ledger.next();
      const answer = await send(turn, { batch, isRefused: true });
      ledger.note(batch, verdictOf(answer));
      return answer;
    },
    keyed: async (...turn) => {
      const batch = ledger.next();
      const headers = { "Idempotency-Key": `batch-${batch}` };
      let answer: Answer | null = null;
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        answer = await send(turn, { batch, headers });
        if (answer?.status === 200 || !turn[0].open) {
          ledger.note(batch, verdictOf(answer));
          return answer;
        }
        turn[1].failed?.add();
        await delay(retryPauseMs);
      }
      const last = answer === null ? "no answer" : `${answer.status} ${errorCode(answer)}`;
      throw new Error(`batch ${batch} never succeeds: ${last}`);
    },
  };
}

interface SentBatch {
  readonly batch: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether its last operation is refused. Default: false. */
  readonly isRefused?: boolean;
}

const maxAttempts = 1000;
const retryPauseMs = 20;

function documentOf(batch: number, isRefused: boolean): unknown {
  const insert = (part: number) => ({ method: "POST", url: "/entries", body: { batch, part } });
  const parts = Array.from({ length: rowsPerBatch - 1 }, (_, part) => insert(part));
  const read = { method: "GET", url: `/entries?batch=eq.${batch}&select=part&order=part` };
  return { requests: [...parts, read, insert(isRefused ? -1 : rowsPerBatch - 1)] };
}

/** Whether the read in a batch has seen the rows before it, once each. */
function isWhole({ body }: Answer): boolean {
  const { responses } = JSON.parse(body);
  const seen: readonly { readonly part: number }[] = responses[rowsPerBatch - 1].body;
  return responses.length === operationsPerBatch &&
    seen.length === rowsPerBatch - 1 && seen.every(({ part }, index) => part === index);
}

function verdictOf(answer: Answer | null): Verdict {
  if (answer === null || errorCode(answer) === "SVC001") return "uncertain";
  return answer.status === 200 ? "acknowledged" : "refused";
}

/** The batches that were sent, and their answers. */
class BatchLedger {
  readonly #verdicts = new Map<number, Verdict>();

  /** Returns the number of a batch to be sent. */
  next(): number {
    const batch = this.#verdicts.size + 1;
    this.#verdicts.set(batch, "uncertain");
    return batch;
  }

  note(batch: number, verdict: Verdict): void {
    this.#verdicts.set(batch, verdict);
  }

  /** Compares with the rows of `api.entries`. No batch may be under way. */
  async compare(
    client: PostgresClient,
  ): Promise<{ readonly writes: WriteCounts; readonly halves: number }> {
    const { rows } = await client.query(
      "select batch, count(*)::int as rows, count(distinct part)::int as parts " +
        "from api.entries group by 1",
    );
    const found = new Map(rows.map((row) => [Number(row["batch"]), row]));
    const marked = (verdict: Verdict) =>
      [...this.#verdicts].filter(([, own]) => own === verdict).map(([batch]) => batch);
    const isThere = (batch: number) => found.has(batch);
    const [acknowledged, refused, uncertain] = [
      marked("acknowledged"),
      marked("refused"),
      marked("uncertain"),
    ];
    const all = [...found.values()];
    return {
      writes: {
        acknowledged: acknowledged.length,
        lost: acknowledged.filter((batch) => !isThere(batch)).length,
        doubled: all.filter((row) => Number(row["rows"]) > Number(row["parts"])).length,
        refused: refused.length,
        undead: refused.filter(isThere).length,
        uncertain: uncertain.length,
        uncertainFound: uncertain.filter(isThere).length,
      },
      halves: all.filter((row) => Number(row["parts"]) !== rowsPerBatch).length,
    };
  }
}
