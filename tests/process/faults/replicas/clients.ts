/** Clients that write a row, read it back with its bookmark, and look at the newest row of all
 * clients. @module */
import { delay } from "../../../support/timing/delay.ts";
import {
  type Answer,
  HttpConnection,
  requestBytes,
} from "../../../support/clients/http_connection.ts";
import { Milestones } from "../../../support/server/milestones.ts";
import { Ledger } from "../ledger.ts";
import { verdictOf } from "../load.ts";
import { Tally } from "../tally.ts";

export interface PairsOptions {
  /** Ports of the services: each client uses all of them in turn. */
  readonly ports: readonly number[];
  readonly clients: number;
}

/** What the clients count, beside the answers. */
export interface PairCounts {
  /** Rows that were written with success and then read by the same client. */
  pairs: number;
  /** Further reads, of the newest row. */
  looks: number;
  /** Reads that did not show the client's own row. */
  stale: number;
  /** Reads that saw less than an earlier answer to the same client. */
  backwards: number;
  readonly byPort: Map<number, number>;
  onStandby: number;
  onPrimary: number;
}

/** The clients while they run. */
export interface RunningPairs {
  readonly tally: Tally;
  readonly ledger: Ledger;
  readonly counts: Readonly<PairCounts>;
  /** Whether any 503 is allowed. Set it before the primary goes away, and reset it when it is back. */
  isPrimaryAway: boolean;
  /** Resolves after so many further pairs. Rejects if a client fails. */
  progress(pairs: number): Promise<void>;
  /** Resolves when each service has acknowledged so many further writes. */
  writes(each: number): Promise<void>;
  /** Resolves after so many further writes that failed. */
  failures(writes: number): Promise<void>;
  /** Ends the clients; resolves when the requests under way are answered. */
  stop(): Promise<void>;
  /** Describes the counts. */
  figures(): Readonly<Record<string, string>>;
}

/** A row of the views that clients read. */
interface Seen {
  readonly mark?: number;
  readonly latest: number | null;
  readonly port: number;
  readonly standby: boolean;
}

/** Milliseconds for which a client waits after an error. */
const pauseAfterError = 10;

/** Starts the clients. */
export function startPairs({ ports, clients }: PairsOptions): RunningPairs {
  const crowd = new Crowd(ports);
  const numbers = Array.from({ length: clients }, (_, number) => number);
  const ended = Promise.all(numbers.map((number) => new Client(crowd, ports, number).run()));
  // The error reaches the caller of `progress` or `stop`.
  ended.catch(() => {});
  const withinLife = async (event: Promise<void>) => void await Promise.race([event, ended]);
  return Object.assign(crowd, {
    progress: (pairs: number) => withinLife(crowd.paired.more(pairs)),
    writes: (each: number) =>
      withinLife(
        Promise.all([...crowd.written.values()].map((one) => one.more(each))).then(() => {}),
      ),
    failures: (writes: number) => withinLife(crowd.failed.more(writes)),
    stop: async () => {
      crowd.isStopping = true;
      await ended;
    },
    figures: () => ({ ...describeCounts(crowd.counts), ...errorsOf(crowd.tally) }),
  });
}

/** What the clients have in common. */
class Crowd {
  isPrimaryAway = false;
  isStopping = false;
  readonly tally = new Tally((status) => status === 503 && this.isPrimaryAway);
  readonly ledger = new Ledger();
  readonly paired = new Milestones();
  /** Acknowledged writes by the port of the service. */
  readonly written: ReadonlyMap<number, Milestones>;
  readonly failed = new Milestones();
  readonly counts: PairCounts = {
    pairs: 0,
    looks: 0,
    stale: 0,
    backwards: 0,
    byPort: new Map(),
    onStandby: 0,
    onPrimary: 0,
  };

  constructor(ports: readonly number[]) {
    this.written = new Map(ports.map((port) => [port, new Milestones()]));
  }
}

class Client {
  readonly #crowd: Crowd;
  readonly #ports: readonly number[];
  readonly #connections = new Map<number, HttpConnection>();
  #turn: number;
  /** The bookmark of the last answer; null before the first one. */
  #bookmark: string | null = null;
  /** The newest row that an answer has shown. */
  #latest = 0;

  constructor(crowd: Crowd, ports: readonly number[], number: number) {
    this.#crowd = crowd;
    this.#ports = ports;
    this.#turn = number;
  }

  async run(): Promise<void> {
    const { counts, paired } = this.#crowd;
    while (!this.#crowd.isStopping) {
      const mark = await this.#write();
      if (mark === null) continue;
      const [own] = await this.#read(`GET /seen?mark=eq.${mark}`) ?? [null];
      if (own === null) continue;
      if (own?.mark === mark) this.#see(own);
      else {
        counts.stale++;
        this.#crowd.tally.problem("stale read");
      }
      counts.pairs++;
      paired.add();
      const [newest] = await this.#read("GET /latest") ?? [];
      if (newest === undefined) continue;
      counts.looks++;
      this.#see(newest);
    }
    for (const connection of this.#connections.values()) connection.close();
  }

  /** Returns the number of the row; null if no answer says that it is written. */
  async #write(): Promise<number | null> {
    const { ledger, tally, failed, written } = this.#crowd;
    const mark = ledger.next();
    const port = this.#nextPort;
    const answer = await this.#exchange("POST", requestBytes("POST /marks", { body: { mark } }));
    ledger.note(mark, verdictOf(answer));
    if (answer?.status === 201) {
      if (!answer.headers.has("svc-bookmark")) tally.problem("write without a bookmark");
      written.get(port)!.add();
      return mark;
    }
    failed.add();
    await delay(pauseAfterError);
    return null;
  }

  /** Reads with the bookmark until an answer has rows; null if the clients stop before. */
  async #read(line: string): Promise<readonly Seen[] | null> {
    while (!this.#crowd.isStopping) {
      const headers: Record<string, string> = this.#bookmark === null
        ? {}
        : { "Svc-Bookmark": this.#bookmark };
      const answer = await this.#exchange("GET", requestBytes(line, { headers }));
      if (answer?.status === 200) return JSON.parse(answer.body);
      await delay(pauseAfterError);
    }
    return null;
  }

  async #exchange(method: string, request: Uint8Array): Promise<Answer | null> {
    const connection = await this.#nextConnection();
    const answer = await this.#crowd.tally.count(() => connection.exchange(request, method));
    const bookmark = answer?.headers.get("svc-bookmark");
    if (bookmark !== undefined) this.#bookmark = bookmark;
    return answer;
  }

  get #nextPort(): number {
    return this.#ports[this.#turn % this.#ports.length]!;
  }

  async #nextConnection(): Promise<HttpConnection> {
    const port = this.#nextPort;
    this.#turn++;
    const kept = this.#connections.get(port);
    if (kept?.open) return kept;
    const connection = await HttpConnection.connect(port);
    this.#connections.set(port, connection);
    return connection;
  }

  #see({ latest, port, standby }: Seen): void {
    const { counts, tally } = this.#crowd;
    counts.byPort.set(port, (counts.byPort.get(port) ?? 0) + 1);
    if (standby) counts.onStandby++;
    else counts.onPrimary++;
    const row = latest ?? 0;
    if (row < this.#latest) {
      counts.backwards++;
      tally.problem("answer that goes back in time");
    }
    this.#latest = Math.max(this.#latest, row);
  }
}

/** Returns the errors by status and code: `503 SVC000`. */
function errorsOf({ counts: { byStatus } }: Tally): Readonly<Record<string, string>> {
  const errors = Object.entries(byStatus).filter(([status]) => status.startsWith("5"));
  return Object.fromEntries(errors.map(([status, count]) => [status, String(count)]));
}

function describeCounts(counts: PairCounts): Readonly<Record<string, string>> {
  const { pairs, looks, stale, backwards, byPort, onStandby, onPrimary } = counts;
  const hosts = [...byPort].toSorted(([a], [b]) => a - b).map(([, reads]) => reads);
  return {
    "pairs of a write and a read": String(pairs),
    "further reads": String(looks),
    "stale answers": String(stale),
    "answers that go back in time": String(backwards),
    "reads on standbys": String(onStandby),
    "on the primary": String(onPrimary),
    "by host": hosts.join(", "),
  };
}
