/** Limits the streams of each client, so that one of them cannot hold all. @module */

/** Most streams of one client. */
const maxStreams = 5;

/** Number of open streams of each client that has any. */
export class Listeners {
  readonly #streams = new Map<string, number>();

  /** Counts a stream. Returns the function that ends it; null if the client has no more. */
  enter(client: string): (() => void) | null {
    const count = this.#streams.get(client) ?? 0;
    if (count >= maxStreams) return null;
    this.#streams.set(client, count + 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#leave(client);
      isOpen = false;
    };
  }

  #leave(client: string): void {
    const count = this.#streams.get(client)! - 1;
    if (count === 0) this.#streams.delete(client);
    else this.#streams.set(client, count);
  }
}
