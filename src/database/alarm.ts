/**
 * Doing something later, once for however many asked for it.
 *
 * @module
 */

/** Runs a function a while after it was first asked for. */
export class Alarm {
  readonly #run: () => void;
  readonly #isAwaited: boolean;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** The process does not end before one that is `awaited`. */
  constructor(run: () => void, kind: "awaited" | "optional" = "optional") {
    this.#run = run;
    this.#isAwaited = kind === "awaited";
  }

  /** Sets it to so many milliseconds from now, unless it is set. */
  set(milliseconds: number): void {
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#run();
    }, milliseconds);
    if (!this.#isAwaited) (this.#timer as { unref?: () => void }).unref?.();
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
