/**
 * A lock that threads take by a word of shared memory.
 *
 * @module
 */

/** Attempts before the thread sleeps: the holder needs about a microsecond. */
const spins = 200;

/** Milliseconds of one sleep; the holder may have ended without a wake-up. */
const sleepMs = 1;

/** The side of one thread. The word is 0 while no thread holds the lock, else the holder's number. */
export class ThreadLock {
  readonly #word: Int32Array;
  readonly #thread: number;

  /** `thread` is a number above 0 that no other thread has. */
  constructor(word: Int32Array, thread: number) {
    this.#word = word;
    this.#thread = thread;
  }

  /** Takes the lock, and blocks the thread meanwhile. */
  take(): void {
    for (
      let attempt = 0;
      Atomics.compareExchange(this.#word, 0, 0, this.#thread) !== 0;
      attempt++
    ) {
      if (attempt >= spins) Atomics.wait(this.#word, 0, Atomics.load(this.#word, 0), sleepMs);
    }
  }

  /** Releases the lock if this thread holds it; also for a thread that has ended. */
  release(): void {
    if (Atomics.compareExchange(this.#word, 0, this.#thread, 0) === this.#thread) {
      Atomics.notify(this.#word, 0, 1);
    }
  }
}
