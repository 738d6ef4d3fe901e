/** The open connections of clients, by state. The table closes connections that exceed a timeout, and
 * inactive ones if there are too many connections. @module */
import type { Clock } from "../../base/lib/clock.ts";
import { type Deferred, deferred } from "../../base/lib/deferred.ts";
import { LinkedList, type ListMember } from "../../base/lib/linked_list.ts";
import { OneShotTimer } from "../../base/lib/one_shot_timer.ts";
import type { ConnectionEnd, Observation } from "../../base/observe/observation.ts";

/** Limits of connections. 0 sets no limit. */
export interface ConnectionLimits {
  /** Keys of the options that set limits. */
  readonly keys: readonly string[];
  /** Time from the accept to the end of the first request's header. */
  readonly headerTimeoutMs: number;
  /** Time without a request after the last response. */
  readonly idleTimeoutMs: number;
  readonly maxConnections: number;
}

export interface ConnectionTableOptions {
  readonly limits: ConnectionLimits;
  readonly clock: Pick<Clock, "now" | "schedule">;
  readonly observe: (event: Observation) => void;
}

/** Period of the check for timeouts. A connection may be closed this much too late. */
const checkPeriodMs = 1000;
/** Milliseconds of sending after which a connection is closed if new connections need room. Otherwise
 * slow readers could occupy all connections. */
const maxContendedSendingMs = 30_000;

/** Time for the last bytes of a response before its connection is closed. */
const closingTimeoutMs = 1000;

export interface OpenConnection extends ListMember<OpenConnection> {
  /** Time of the connection's last change of state, in milliseconds of the table's clock. */
  since: number;
  /** Ends the connection at once. */
  readonly abort: () => void;
  /** Number of requests to which the handler has not responded. */
  handling: number;
  /** Number of requests whose response is not completely sent. */
  open: number;
  /** Whether the server closes the connection after all responses are sent. */
  isClosing: boolean;
  hasEnded: boolean;
}

/** The connections of one listener. */
export class ConnectionTable {
  readonly #options: ConnectionTableOptions;
  /** Connections without a request so far. */
  readonly #unused = new LinkedList<OpenConnection>();
  /** Connections whose last response is completely sent. */
  readonly #idle = new LinkedList<OpenConnection>();
  /** Connections that wait for the reader of a response, and not for a handler. */
  readonly #sending = new LinkedList<OpenConnection>();
  /** Connections whose response is sent, and whose request is incomplete. */
  readonly #closing = new LinkedList<OpenConnection>();
  readonly #timer: OneShotTimer;
  #size = 0;
  /** Resolves when a connection ends or becomes idle; null if no client waits for a connection. */
  #room: Deferred<void> | null = null;

  constructor(options: ConnectionTableOptions) {
    this.#options = options;
    this.#timer = new OneShotTimer(options.clock.schedule, () => this.#check());
  }

  get size(): number {
    return this.#size;
  }

  /** Adds an accepted connection. */
  add(abort: () => void): OpenConnection {
    const connection: OpenConnection = {
      abort,
      handling: 0,
      open: 0,
      isClosing: false,
      hasEnded: false,
      since: 0,
      list: null,
      previous: null,
      next: null,
    };
    this.#enter(this.#unused, connection);
    this.#size++;
    this.#options.observe({ kind: "connection-opened" });
    this.#timer.start(checkPeriodMs);
    return connection;
  }

  /** Records that the header of a request has arrived. */
  requestBegan(connection: OpenConnection): void {
    connection.handling++;
    connection.open++;
    connection.list?.remove(connection);
  }

  /** Records that the handler has responded to a request. */
  responded(connection: OpenConnection): void {
    connection.handling--;
    this.#listUnhandled(connection);
  }

  /** Whether a connection has sent no request. */
  isUnused({ list }: OpenConnection): boolean {
    return list === this.#unused;
  }

  /** Records that a response is completely sent, or cannot be sent any more. */
  requestEnded(connection: OpenConnection): void {
    connection.open--;
    this.#listUnhandled(connection);
  }

  /** Closes a connection soon after its responses are sent. */
  closeSoon(connection: OpenConnection): void {
    connection.isClosing = true;
    this.#listUnhandled(connection);
  }

  /** Removes a connection that was ended by its client, or by the shutdown of the server. */
  remove(connection: OpenConnection): void {
    this.#end(connection, "client");
  }

  /** Whether a client waits for a connection, and none can be closed. */
  get isContended(): boolean {
    return this.#room !== null;
  }

  /** Resolves when the server may serve one more connection. Closes an inactive one if necessary. */
  async makeRoom(): Promise<void> {
    const { maxConnections } = this.#options.limits;
    while (maxConnections > 0 && this.#size >= maxConnections) {
      const victim = this.#victim();
      if (victim === null) await (this.#room ??= deferred()).promise;
      else this.#close(victim, "limit");
    }
  }

  /**
   * Returns the connection that has been without a request for the longest time, otherwise one that
   * has been sending for too long. Skips connections in the list `#closing`: their clients still send,
   * and have a second to read the response.
   */
  #victim(): OpenConnection | null {
    const [unused, idle] = [this.#unused.first, this.#idle.first];
    if (unused !== null && (idle === null || unused.since <= idle.since)) return unused;
    if (idle !== null) return idle;
    const sending = this.#sending.first;
    const isSlow = sending !== null && this.#now() - sending.since >= maxContendedSendingMs;
    return isSlow ? sending : null;
  }

  #check(): void {
    const { headerTimeoutMs, idleTimeoutMs } = this.#options.limits;
    this.#closeOverdue(this.#unused, headerTimeoutMs, "header");
    this.#closeOverdue(this.#idle, idleTimeoutMs, "idle");
    this.#closeOverdue(this.#closing, closingTimeoutMs, "body");
    if (this.#room !== null && this.#victim() !== null) this.#offerRoom();
    if (this.#size > 0) this.#timer.start(checkPeriodMs);
  }

  #closeOverdue(
    list: LinkedList<OpenConnection>,
    timeoutMs: number,
    end: ConnectionEnd,
  ): void {
    if (timeoutMs === 0) return;
    const overdue = this.#now() - timeoutMs;
    for (let next = list.first; next !== null && next.since <= overdue; next = list.first) {
      this.#close(next, end);
    }
  }

  /** Moves a connection that waits for no handler to the list of its state. */
  #listUnhandled(connection: OpenConnection): void {
    if (connection.hasEnded || connection.handling > 0) return;
    connection.list?.remove(connection);
    if (connection.open > 0) return this.#enter(this.#sending, connection);
    this.#enter(connection.isClosing ? this.#closing : this.#idle, connection);
    this.#offerRoom();
  }

  /** Adds a connection to a list. */
  #enter(list: LinkedList<OpenConnection>, connection: OpenConnection): void {
    connection.since = this.#now();
    list.add(connection);
  }

  #close(connection: OpenConnection, reason: ConnectionEnd): void {
    this.#end(connection, reason);
    connection.abort();
  }

  #end(connection: OpenConnection, reason: ConnectionEnd): void {
    if (connection.hasEnded) return;
    connection.hasEnded = true;
    connection.list?.remove(connection);
    this.#size--;
    this.#options.observe({ kind: "connection-closed", reason });
    this.#offerRoom();
    if (this.#size === 0) this.#timer.clear();
  }

  #offerRoom(): void {
    this.#room?.resolve();
    this.#room = null;
  }

  #now(): number {
    return this.#options.clock.now();
  }
}
