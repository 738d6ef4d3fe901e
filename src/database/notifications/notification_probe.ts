/** Tests whether notifications arrive. They get lost if a pooler in transaction mode gives the server
 * connection to other clients after LISTEN, which causes no error. @module */
import { type Schedule, schedule } from "../../base/lib/timers.ts";
import type { Notifications } from "../database.ts";

interface NotificationProbeOptions {
  /** Sends a notification over another connection than the listening one. */
  readonly notify: Required<Notifications>["notify"];
  readonly makeNonce: () => string;
  readonly schedule: Schedule;
}

export type ProbeResult = "arrived" | "lost";

/** A notification that takes longer is considered lost. */
const probeTimeoutMs = 5000;

/** Sends one notification at a time, and waits for it to arrive. */
export class NotificationProbe {
  #expected: string | null = null;
  #onResult: (result: ProbeResult) => void = () => {};
  #cancelTimer: () => void = () => {};

  constructor(private readonly options: NotificationProbeOptions) {}

  /** Sends a notification. If that succeeds, `onResult` receives whether it arrives within 5 s. */
  async start(channel: string, onResult: (result: ProbeResult) => void): Promise<void> {
    this.cancel();
    this.#onResult = onResult;
    const { notify, makeNonce, schedule } = this.options;
    const payload = `svc-probe ${makeNonce()}`;
    this.#expected = payload;
    try {
      await notify(channel, payload);
    } catch {
      if (this.#expected === payload) this.cancel();
      return;
    }
    // The probe needs no timer if it ended before `notify` resolved.
    if (this.#expected !== payload) return;
    this.#cancelTimer = schedule(() => this.#end("lost"), probeTimeoutMs);
  }

  arrived(payload: string): void {
    if (payload === this.#expected) this.#end("arrived");
  }

  #end(result: ProbeResult): void {
    const onResult = this.#onResult;
    this.cancel();
    onResult(result);
  }

  cancel(): void {
    this.#expected = null;
    this.#onResult = () => {};
    this.#cancelTimer();
    this.#cancelTimer = () => {};
  }
}

/** Returns the probe of a database; null if no pooler can lose notifications. */
export function notificationProbe({ notify }: Notifications): NotificationProbe | null {
  if (notify === undefined) return null;
  return new NotificationProbe({ notify, makeNonce: () => crypto.randomUUID(), schedule });
}
