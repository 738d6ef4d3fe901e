/**
 * Checks that notifications arrive. A pooler in transaction mode takes LISTEN for one transaction's,
 * gives the server connection to others, and reports nothing.
 *
 * @module
 */
import type { Schedule } from "../../lib/timers.ts";
import type { Notify } from "../database.ts";

/** What a {@linkcode NotificationProbe} works with. */
export interface NotificationProbeOptions {
  /** Sends a notification over another connection than the one that listens. */
  readonly notify: Notify;
  /** Makes a text that nobody can guess. */
  readonly makeNonce: () => string;
  readonly schedule: Schedule;
}

/** Milliseconds that a notification may take. */
const longestDelay = 5000;

/** Sends one notification at a time and waits for it. */
export class NotificationProbe {
  readonly #options: NotificationProbeOptions;
  #expected: string | null = null;
  #cancelTimer: () => void = () => {};

  constructor(options: NotificationProbeOptions) {
    this.#options = options;
  }

  /**
   * Sends a notification, and calls `onLost` when it has not arrived in time. Resolves when it was
   * sent; when that is not possible, nothing is known, and nothing is called.
   */
  async start(channel: string, onLost: () => void): Promise<void> {
    this.cancel();
    const { notify, makeNonce, schedule } = this.#options;
    const payload = `svc-probe ${makeNonce()}`;
    this.#expected = payload;
    try {
      await notify(channel, payload);
    } catch {
      if (this.#expected === payload) this.cancel();
      return;
    }
    // It may have arrived, or been given up, before the sender heard that it was sent.
    if (this.#expected !== payload) return;
    this.#cancelTimer = schedule(() => {
      this.cancel();
      onLost();
    }, longestDelay);
  }

  /** Takes note of a notification that arrived. */
  arrived(payload: string): void {
    if (payload === this.#expected) this.cancel();
  }

  /** Waits no more. */
  cancel(): void {
    this.#expected = null;
    this.#cancelTimer();
    this.#cancelTimer = () => {};
  }
}

/** Returns 128 random bits in hexadecimal digits. */
export function randomNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
