/** Clients that send one request after the other over keep-alive connections, and account for each
 * of them. They read all the time, as browsers and proxies do, and so notice when the server closes
 * a connection on which nothing is asked. @module */
import { delay } from "../timing/delay.ts";
import { Milestones } from "../server/milestones.ts";

/** What became of requests and connections. */
export interface KeepAliveCounts {
  /** Requests with a whole answer of status 200. */
  answered: number;
  /** Whole answers of another status. */
  failed: number;
  /** Connections that ended with an answer marked `Connection: close`. */
  marked: number;
  /** Connections that the server closed while nothing was asked on them. */
  idleClosed: number;
  /** Requests that were sent on an open connection and got no answer at all. */
  lost: number;
  /** Answers that ended too early. */
  broken: number;
  /** Connections that were refused. */
  refused: number;
}

/** Clients at work. */
export interface KeepAliveClients {
  readonly counts: Readonly<KeepAliveCounts>;
  /** Resolves after so many further answers of status 200. */
  answers(count: number): Promise<void>;
  /** Resolves after so many further whole answers of another status. */
  failures(count: number): Promise<void>;
  /** No request begins any more. */
  stop(): void;
  /** Settles when the clients were stopped, or found the port closed. */
  readonly ended: Promise<void>;
}

/** How the clients behave. */
export interface KeepAliveOptions {
  readonly port: number;
  readonly clients: number;
  /** Path and query of the requests. */
  readonly target: string;
  /** Whether each request has a separate connection. */
  readonly reconnect?: boolean;
}

/** Starts clients; each connects again when its connection ends, until it is refused. */
export function startClients(options: KeepAliveOptions): KeepAliveClients {
  const counts: KeepAliveCounts = {
    answered: 0,
    failed: 0,
    marked: 0,
    idleClosed: 0,
    lost: 0,
    broken: 0,
    refused: 0,
  };
  const load: Load = {
    counts,
    answered: new Milestones(),
    failed: new Milestones(),
    isStopped: false,
  };
  const all = Array.from({ length: options.clients }, () => live(options, load));
  const ended = Promise.all(all).then(() => {});
  const untilEnded = async (goal: Promise<void>) => {
    const isReached = await Promise.race([goal.then(() => true), ended.then(() => false)]);
    if (!isReached) throw new Error(`the clients have ended: ${JSON.stringify(counts)}`);
  };
  return {
    counts,
    ended,
    stop: () => void (load.isStopped = true),
    answers: (count) => untilEnded(load.answered.more(count)),
    failures: (count) => untilEnded(load.failed.more(count)),
  };
}

/** What clients have in common while they run. */
interface Load {
  readonly counts: KeepAliveCounts;
  readonly answered: Milestones;
  readonly failed: Milestones;
  isStopped: boolean;
}

async function live({ port, target, reconnect }: KeepAliveOptions, load: Load): Promise<void> {
  const header = reconnect ? "Connection: close\r\n" : "";
  const request = new TextEncoder().encode(`GET ${target} HTTP/1.1\r\nHost: x\r\n${header}\r\n`);
  while (!load.isStopped) {
    using connection = await Connection.open(port);
    if (connection === null) {
      load.counts.refused++;
      return;
    }
    while (!load.isStopped && await exchange(connection, request, load));
  }
}

/** Sends a request and reads the answer; tells whether the connection goes on. */
async function exchange(
  connection: Connection,
  request: Uint8Array,
  { counts, answered, failed }: Load,
): Promise<boolean> {
  // A client that works without a pause does not notice that its connection ends.
  await delay(1);
  if (connection.ended) {
    counts.idleClosed++;
    return false;
  }
  const head = await connection.exchange(request);
  if (head === null) {
    if (connection.isBegun) counts.broken++;
    else counts.lost++;
    return false;
  }
  const isSuccess = head.startsWith("HTTP/1.1 200 ");
  counts[isSuccess ? "answered" : "failed"]++;
  (isSuccess ? answered : failed).add();
  if (!/\r\nconnection: close(\r\n|$)/i.test(head)) return true;
  counts.marked++;
  return false;
}

/** A connection that is read all the time; answers have a `Content-Length`. */
class Connection implements Disposable {
  readonly #conn: Deno.Conn;
  #received = "";
  #wake = () => {};
  ended = false;

  private constructor(conn: Deno.Conn) {
    this.#conn = conn;
    this.#read();
  }

  static async open(port: number): Promise<Connection | null> {
    try {
      return new Connection(await Deno.connect({ hostname: "127.0.0.1", port }));
    } catch (error) {
      if (error instanceof Deno.errors.ConnectionRefused) return null;
      throw error;
    }
  }

  /** Whether something of the answer has come. */
  get isBegun(): boolean {
    return this.#received !== "";
  }

  /** Gives the head of the whole answer, or null when it did not come whole. */
  async exchange(request: Uint8Array): Promise<string | null> {
    this.#received = "";
    try {
      await this.#conn.write(request);
    } catch {
      return null;
    }
    for (;;) {
      const end = this.#received.indexOf("\r\n\r\n");
      const head = this.#received.slice(0, Math.max(end, 0));
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? NaN);
      if (end >= 0 && this.#received.length >= end + 4 + length) return head;
      if (this.ended) return null;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  async #read(): Promise<void> {
    const buffer = new Uint8Array(16 * 1024);
    const decoder = new TextDecoder("latin1");
    try {
      for (let size; (size = await this.#conn.read(buffer)) !== null;) {
        this.#received += decoder.decode(buffer.subarray(0, size));
        this.#wake();
      }
    } catch {
      // Closed by this side, or reset by the other.
    }
    this.ended = true;
    this.#wake();
  }

  [Symbol.dispose](): void {
    try {
      this.#conn.close();
    } catch {
      // Ended by a reset.
    }
  }
}
