/** Clients that read and insert without a pause, each over a keep-alive connection of its own, and
 * look at every answer. @module */
import { delay } from "../../support/timing/delay.ts";
import {
  type Answer,
  HttpConnection,
  requestBytes,
} from "../../support/clients/http_connection.ts";
import { Milestones } from "../../support/server/milestones.ts";
import { Ledger, type Verdict } from "./ledger.ts";
import { things } from "./place.ts";
import { describeRequests } from "./report.ts";
import { errorCode, type Expectation, Tally } from "./tally.ts";

/** What a load is. */
export interface LoadOptions {
  readonly port: number;
  readonly clients: number;
  /** Statuses beside 200 and 201 that the fault may cause. */
  readonly expected?: Expectation;
  /** What each client does, again and again; {@linkcode readsAndInserts} unless told. */
  readonly turns?: readonly Turn[];
  /** Clients end when the service closes their connection in order, instead of connecting anew. */
  readonly endsWhenClosed?: boolean;
  /** Those of an earlier load, to be continued. */
  readonly books?: Books;
}

/** Sends one request and looks at the answer; null when no whole one came. */
export type Turn = (connection: HttpConnection, books: Books) => Promise<Answer | null>;

/** Where a load writes what happens. */
export interface Books {
  readonly tally: Tally;
  readonly ledger: Ledger;
  /** Counts turns of a running load that failed, and the failed tries of those that try again. */
  readonly failed?: Milestones;
}

/** A load that runs. */
export interface Load extends Books {
  /** Resolves when so many more requests have been answered with success. */
  progress(answers: number): Promise<void>;
  /** Resolves when so many more requests have been answered with an error. */
  failures(answers: number): Promise<void>;
  /** Resolves when all clients have ended. */
  readonly ended: Promise<void>;
  /** Ends the clients; resolves when the requests under way are answered. */
  stop(): Promise<void>;
}

/** Milliseconds for which a client waits after an answer that tells it to come again later. */
const pauseAfterError = 10;

/** Milliseconds without an answer after which a load fails. */
const longestWait = 120_000;

const readRequest = requestBytes("GET /things?order=id");
const readAnswer = JSON.stringify(things);

/** A way to insert a row, and what is answered. */
export interface Insert {
  readonly line: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: (mark: number) => unknown;
  readonly answer?: (mark: number) => string;
}

/** Reads all rows. */
export const read: Turn = async (connection, { tally }) => {
  const answer = await tally.count(() => connection.exchange(readRequest, "GET"));
  if (answer?.status === 200 && spaceless(answer.body) !== readAnswer) {
    tally.problem("wrong answer to a read");
  }
  return answer;
};

/** Inserts a row with a mark of its own. */
export function insertBy({ line, headers, body, answer: expected }: Insert): Turn {
  return async (connection, { tally, ledger }) => {
    const mark = ledger.next();
    const request = requestBytes(line, { headers, body: body?.(mark) ?? { mark } });
    const answer = await tally.count(() => connection.exchange(request, "POST"));
    ledger.note(mark, verdictOf(answer));
    if (answer?.status === 201 && spaceless(answer.body) !== (expected?.(mark) ?? "")) {
      tally.problem("wrong answer to an insert");
    }
    return answer;
  };
}

const withRows = { Prefer: "return=representation" };

/** Inserts in one batch; in one with its rows; and in two, the second of which is COMMIT alone. */
export const readsAndInserts: readonly Turn[] = [
  read,
  insertBy({ line: "POST /marks" }),
  read,
  insertBy({
    line: "POST /marks?select=mark",
    headers: withRows,
    answer: (mark) => JSON.stringify([{ mark }]),
  }),
  read,
  insertBy({
    line: "POST /marks?select=mark",
    headers: { ...withRows, Accept: "application/vnd.svc.object+json" },
    answer: (mark) => JSON.stringify({ mark }),
  }),
];

/** Lets the clients loose. */
export function startLoad(options: LoadOptions): Load {
  const books = options.books ??
    { tally: new Tally(options.expected), ledger: new Ledger() };
  const pace = { stopping: false, served: new Milestones(), failed: new Milestones() };
  const clients = Array.from(
    { length: options.clients },
    (_, at) => runClient(at, options, books, pace),
  );
  const ended = Promise.all(clients).then(() => {});
  // Told to who waits for the load, not to the process.
  ended.catch(() => {});
  return {
    ...books,
    ended,
    progress: (answers) => withinLimit(Promise.race([pace.served.more(answers), ended]), books),
    failures: (answers) => withinLimit(Promise.race([pace.failed.more(answers), ended]), books),
    stop: () => {
      pace.stopping = true;
      return ended;
    },
  };
}

/** Rejects when no answer comes for so long that none will come. */
async function withinLimit(progress: Promise<void>, { tally }: Books): Promise<void> {
  for (let answered = -1; tally.counts.answered > answered;) {
    answered = tally.counts.answered;
    if (await endsWithin(longestWait, progress)) return;
  }
  const told = [describeRequests(tally.counts), ...tally.problems];
  throw new Error(`no answers come any more: ${told.join("; ")}`);
}

async function endsWithin(milliseconds: number, awaited: Promise<void>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  try {
    return await Promise.race([awaited.then(() => true), limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** What the clients of a load have in common while they run. */
interface Pace {
  stopping: boolean;
  readonly served: Milestones;
  readonly failed: Milestones;
}

/** Takes its turns until the load stops. */
async function runClient(
  number: number,
  { port, turns = readsAndInserts, endsWhenClosed = false }: LoadOptions,
  books: Books,
  pace: Pace,
): Promise<void> {
  let connection = await HttpConnection.connect(port);
  for (let turn = number; !pace.stopping; turn++) {
    if (!connection.open) {
      if (endsWhenClosed) return;
      connection = await HttpConnection.connect(port);
    }
    const answer = await turns[turn % turns.length]!(connection, { ...books, failed: pace.failed });
    if (answer !== null && answer.status < 300) {
      pace.served.add();
    } else {
      pace.failed.add();
      await delay(pauseAfterError);
    }
  }
  connection.close();
}

/** `SVC001` alone leaves open what became of a write. */
export function verdictOf(answer: Answer | null): Verdict {
  if (answer === null || errorCode(answer) === "SVC001") return "uncertain";
  return answer.status < 300 ? "acknowledged" : "refused";
}

/** PostgreSQL puts a line end between the rows of an array. */
function spaceless(json: string): string {
  return json.replaceAll(/\s+(?=[{[])|(?<=,)\s+/g, "").trim();
}
