/**
 * Listens to a notification channel on a connection of its own, and comes back when it is lost.
 *
 * @module
 */

/** A connection that listens. */
export interface ListeningConnection {
  /** Settles when the connection is lost, with why. */
  readonly lost: Promise<string>;
  /** Closes it; `lost` settles. */
  close(): Promise<void>;
}

/** Opens a connection that listens to a channel; `onPayload` is told each notification. */
export type OpenListening = (
  channel: string,
  onPayload: (payload: string) => void,
) => Promise<ListeningConnection>;

/** What a {@linkcode Listener} does its work with. */
export interface ListenerOptions {
  readonly channel: string;
  readonly open: OpenListening;
  readonly onPayload: (payload: string) => void;
  /** Told when it listens; `again` after it had been lost, when notifications may have been missed. */
  readonly onListening: (again: boolean) => void;
  /** Told when listening failed or ended, and in how many seconds it is tried again. */
  readonly onFailure: (reason: string, seconds: number) => void;
}

const longestPause = 32;

/** Keeps listening until it is closed: pauses double from 1 to 32 seconds. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #ended: Promise<void>;
  #connection: ListeningConnection | null = null;
  #closed = false;
  #wake: (() => void) | null = null;

  /** Begins at once. */
  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#ended = this.#run();
  }

  /** Whether notifications arrive at present. */
  get listening(): boolean {
    return this.#connection !== null;
  }

  /** Stops; resolves when the connection is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#wake?.();
    await this.#connection?.close();
    await this.#ended;
  }

  async #run(): Promise<void> {
    let pause = 1;
    let again = false;
    while (!this.#closed) {
      const reason = await this.#listenOnce(again, () => {
        pause = 1;
        again = true;
      });
      if (this.#closed) return;
      this.#options.onFailure(reason, pause);
      await this.#sleep(pause * 1000);
      pause = Math.min(pause * 2, longestPause);
    }
  }

  /** Listens until the connection is lost; gives why. */
  async #listenOnce(again: boolean, connected: () => void): Promise<string> {
    const { channel, open, onPayload, onListening } = this.#options;
    try {
      const connection = await open(channel, onPayload);
      if (this.#closed) await connection.close();
      else this.#connection = connection;
      connected();
      if (!this.#closed) onListening(again);
      return await connection.lost;
    } catch (error) {
      return error instanceof Error ? error.message : "listening failed";
    } finally {
      this.#connection = null;
    }
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
