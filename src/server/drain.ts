/**
 * The last moments of a server: answers are held back until no request comes any more, so that the
 * listening socket and the idle connections can be closed while none carries a request unread.
 *
 * @module
 */

/** How long a closing gate looks at what comes. */
export interface GateTimes {
  /** Milliseconds without a request after which no more are expected. */
  readonly quiet: number;
  /** Looks at most so many times. */
  readonly looks: number;
}

const usualTimes: GateTimes = { quiet: 25, looks: 6 };

/**
 * What all answers of a server pass. Open from the start; closed once and then opened for good.
 *
 * A client waits for its answer before it asks again on the same connection, and one that waits for
 * nothing has sent nothing. So when all answers are held for a moment, each connection is either
 * known to carry a request or idle, and idle ones can go.
 */
export class Gate {
  readonly #wait: (milliseconds: number) => Promise<void>;
  readonly #times: GateTimes;
  #arrived = 0;
  #closed: Promise<void> | null = null;
  #open = () => {};

  constructor(wait: (milliseconds: number) => Promise<void>, times: GateTimes = usualTimes) {
    this.#wait = wait;
    this.#times = times;
  }

  /** Counts a request. */
  arrived(): void {
    this.#arrived++;
  }

  /** Whether answers need to {@linkcode pass}. */
  get isClosing(): boolean {
    return this.#closed !== null;
  }

  /** Holds answers back; resolves when no request has come for a while. */
  async close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => this.#open = resolve);
    for (let look = 0; look < this.#times.looks; look++) {
      const before = this.#arrived;
      await this.#wait(this.#times.quiet);
      if (this.#arrived === before) return;
    }
  }

  /** Lets the answers go. */
  open(): void {
    this.#open();
  }

  /** Waits until the answer may go, which tells the client that it is the connection's last. */
  async pass(response: Response): Promise<Response> {
    await this.#closed;
    if (this.isClosing) response.headers.set("Connection", "close");
    return response;
  }
}
