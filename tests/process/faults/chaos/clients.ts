/** The clients of the chaos run: each sends a given number of requests over keep-alive connections
 * and checks every answer. @module */
import { type Answer, CutError, HttpConnection } from "../../../support/clients/http_connection.ts";
import { Milestones } from "../../../support/server/milestones.ts";
import { type Random, seededRandom } from "../../../support/timing/random.ts";
import type { Verdict } from "../ledger.ts";
import { errorCode, Tally } from "../tally.ts";
import { Effects } from "./effects.ts";
import { leaving, leavingReads, leavingWrites } from "./leaving.ts";
import { reads } from "./reads.ts";
import { type ChaosRequest, checkAnswer, type RequestContext, type WrittenRow } from "./request.ts";
import { pickUser, type User } from "./users.ts";
import type { Versions } from "./versions.ts";
import { shortWrites, slowWrites, writes } from "./writes.ts";

/** What the clients do. */
export interface ClientsOptions {
  readonly port: number;
  readonly clients: number;
  /** Requests of each client. */
  readonly turns: number;
  readonly seed: number;
  readonly users: readonly User[];
  readonly versions: Versions;
}

/** What the clients count. */
export interface ClientsBooks {
  readonly tally: Tally;
  readonly effects: Effects;
  readonly counts: ClientsCounts;
}

/** Counts beside those of the tally. */
interface ClientsCounts {
  /** Answers that were checked against what they must be. */
  verified: number;
  /** Requests whose client closed its connection before the answer. */
  abandoned: number;
  /** Large bodies that ended early because their connection was terminated. */
  cut: number;
  /** Statements that reached the timeout of their role. */
  timedOut: number;
}

/** The clients while they run. */
export interface RunningClients extends ClientsBooks {
  /** Counts answers. */
  readonly answered: Milestones;
  /** Settles when all clients have sent their requests. */
  readonly ended: Promise<void>;
}

/** One in so many requests is abandoned by its client. */
const abandonedShare = 60;

/** One in so many requests takes until its timeout. */
const slowShare = 400;

/** Most rows that a client keeps for deleting them. */
const maxRows = 20;

/** Requests of a phase, and lists of kinds that are equally frequent in it. */
const phaseLength = 200;
const phases = [
  [reads, reads, writes, writes, leaving],
  [writes, writes, leavingWrites],
  [reads, reads, leavingReads],
  [shortWrites, shortWrites, leavingWrites],
] as const;

/** Starts the clients. */
export function startClients(options: ClientsOptions): RunningClients {
  const books: ClientsBooks = {
    tally: new Tally(() => true),
    effects: new Effects(),
    counts: { verified: 0, abandoned: 0, cut: 0, timedOut: 0 },
  };
  const answered = new Milestones();
  const numbers = Array.from({ length: options.clients }, (_, number) => number);
  const clients = numbers.map((number) => new Client(options, number, books, answered).run());
  return { ...books, answered, ended: Promise.all(clients).then(() => {}) };
}

class Client {
  readonly #options: ClientsOptions;
  readonly #books: ClientsBooks;
  readonly #answered: Milestones;
  readonly #random: Random;
  readonly #rows: WrittenRow[] = [];

  constructor(options: ClientsOptions, number: number, books: ClientsBooks, answered: Milestones) {
    this.#options = options;
    this.#books = books;
    this.#answered = answered;
    this.#random = seededRandom(options.seed * 1000 + number);
  }

  async run(): Promise<void> {
    const { port, turns } = this.#options;
    let connection = await HttpConnection.connect(port);
    for (let turn = 0; turn < turns; turn++) {
      if (!connection.open) connection = await HttpConnection.connect(port);
      const request = this.#nextRequest();
      if (this.#random.below(abandonedShare) === 0) await this.#abandon(connection, request);
      else await this.#exchange(connection, request);
    }
    connection.close();
  }

  #nextRequest(): ChaosRequest {
    const random = this.#random;
    const context: RequestContext = {
      user: pickUser(this.#options.users, random),
      random,
      effects: this.#books.effects,
      mark: this.#books.effects.nextMark(),
      rows: this.#rows,
    };
    if (random.below(slowShare) === 0) return random.pick(slowWrites)(context);
    return random.pick(random.pick(this.#phaseOf(context)))(context);
  }

  /** Only batches of one class are pipelined: in some phases all requests are of one. */
  #phaseOf({ mark }: RequestContext): (typeof phases)[number] {
    return phases[Math.floor(mark / phaseLength) % phases.length]!;
  }

  async #exchange(connection: HttpConnection, request: ChaosRequest): Promise<void> {
    const { tally, counts } = this.#books;
    const spanOf = this.#options.versions.observe();
    const exchange = () => connection.exchange(request.bytes, request.method);
    const answer = await tally.count(() =>
      request.name === "big body" ? this.#uncut(exchange) : exchange()
    );
    this.#answered.add();
    if (answer === null) return;
    const code = errorCode(answer);
    settle(request, verdictOf(request, answer));
    if (isUnavailable(request, answer)) return;
    if (request.context.user.role === "clerk" && code === "57014") {
      counts.timedOut++;
      return;
    }
    if (answer === cutAnswer) {
      counts.cut++;
      return;
    }
    counts.verified++;
    const wrong = checkAnswer(request, answer, spanOf);
    if (wrong !== null) tally.problem(wrong);
    this.#remember(request, answer);
  }

  /** The service cannot answer otherwise once it has sent the head. */
  async #uncut(exchange: () => Promise<Answer>): Promise<Answer> {
    try {
      return await exchange();
    } catch (error) {
      if (error instanceof CutError && error.received > 0) return cutAnswer;
      throw error;
    }
  }

  /** Closes the connection before the answer, or while it arrives. */
  async #abandon(connection: HttpConnection, request: ChaosRequest): Promise<void> {
    const exchange = connection.exchange(request.bytes, request.method).catch((error) => {
      if (!(error instanceof CutError)) throw error;
    });
    for (let turns = this.#random.below(20); turns > 0; turns--) {
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    connection.close();
    await exchange;
    this.#books.counts.abandoned++;
  }

  #remember({ name, context }: ChaosRequest, answer: Answer): void {
    const isKept = name === "insert with representation" && answer.status === 201;
    if (isKept && this.#rows.length < maxRows) {
      this.#rows.push({ mark: context.mark, user: context.user });
    }
  }
}

/** Stands for an answer that ended early. */
const cutAnswer: Answer = { status: 200, headers: new Map(), body: "" };

function settle({ changes = [] }: ChaosRequest, verdict: Verdict): void {
  for (const change of changes) change(verdict);
}

/** Whether the connection was terminated. A HEAD request is answered without a code. */
function isUnavailable({ method }: ChaosRequest, answer: Answer): boolean {
  return answer.status === 503 && (method === "HEAD" || errorCode(answer) === "SVC001");
}

/** `SVC001` alone leaves open what became of a write. */
function verdictOf({ expected }: ChaosRequest, answer: Answer): Verdict {
  if (errorCode(answer) === "SVC001") return "uncertain";
  return answer.status < 300 && expected.isRolledBack !== true ? "acknowledged" : "refused";
}
