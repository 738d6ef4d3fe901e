/** Listens for notifications that request reloads, and reconnects. @module */
import type { Observation } from "../../base/observe/observation.ts";
import { withTimeout } from "../../base/lib/time_limits.ts";
import { nextBackoff, type Schedule } from "../../base/lib/timers.ts";
import type { Notifications, Subscription } from "../database.ts";
import type { NotificationProbe, ProbeResult } from "./notification_probe.ts";
import { errorMessage } from "../../base/errors/error_message.ts";

export type ReloadTarget = "schema" | "config" | "revocations";

export interface ListenerOptions {
  readonly notifications: Pick<Notifications, "subscribe">;
  /** Tests whether notifications arrive; null if they cannot be lost. */
  readonly probe: NotificationProbe | null;
  readonly onReloadRequested: (what: ReloadTarget) => void;
  /** Called after a reconnect: notifications may have been missed. */
  readonly onMissed: () => void;
  /** Whether to reconnect after a failure; `reason` is the message of the failure. */
  readonly isRetried: (reason: string) => boolean;
  readonly onProbed: (result: ProbeResult, channel: string) => void;
  /** Called when the server cannot read its notification queue. A query of the queue's usage may repair it. */
  readonly onBrokenQueue: () => void;
  readonly observe: (event: Observation) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

const payloads: ReadonlyMap<string, ReloadTarget> = new Map([
  ["", "schema"],
  ["reload schema", "schema"],
  ["reload config", "config"],
  ["reload revocations", "revocations"],
]);

/** Text of the server's error when the queue refers to transactions without a status. */
const brokenQueue = "could not access status of transaction";

/** How long `stop` waits for connections that are being opened or closed. */
const closeTimeoutMs = 500;

/** Maintains one subscription, from the first {@linkcode Listener.configure} on. */
export class Listener {
  #channel: string | null = null;
  #subscription: Subscription | null = null;
  #lostAt = -Infinity;
  /** Number of the current attempt. Events of earlier attempts are ignored. */
  #attempt = 0;
  #backoffSeconds = 1;
  #retry: { readonly at: number; readonly cancel: () => void } | null = null;
  /** Whether notifications may have been missed since the last connection. */
  #mayHaveMissed = false;
  #isConfigured = false;
  #isStopped = false;
  readonly #unsettled = new Set<Promise<void>>();

  constructor(private readonly options: ListenerOptions) {}

  get hasChannel(): boolean {
    return this.#channel !== null;
  }

  get isConnected(): boolean {
    return this.#subscription !== null;
  }

  /** Milliseconds since the connection was lost; 0 while one is open, `Infinity` before the first one. */
  get lostForMs(): number {
    return this.isConnected ? 0 : this.options.now() - this.#lostAt;
  }

  /** See `Subscription.ask`; null while there is no connection. */
  ask(): Promise<void> | null {
    return this.#subscription?.ask?.() ?? null;
  }

  /** Makes the next attempt to connect now, if one is scheduled. Resolves when it has ended. */
  async retryNow(): Promise<void> {
    if (this.#retry === null || this.#channel === null) return;
    this.#retry.cancel();
    await this.#connect(this.#channel);
  }

  /** Returns whole seconds, at least 1, until the next attempt; null when none is planned. */
  secondsLeft(): number | null {
    if (this.#retry === null) return null;
    return Math.max(1, Math.ceil((this.#retry.at - this.options.now()) / 1000));
  }

  /** Sets the channel to listen to; null stops listening. */
  configure(channel: string | null): void {
    const changed = channel !== this.#channel;
    if (this.#isStopped || (this.#isConfigured && !changed)) return;
    if (this.#isConfigured || channel === null) this.#mayHaveMissed = true;
    this.#isConfigured = true;
    this.#channel = channel;
    this.#disconnect();
    this.#backoffSeconds = 1;
    if (channel !== null) void this.#connect(channel);
  }

  /** Stops for good; resolves when all connections are closed, after 500 ms at the latest. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#channel = null;
    this.#disconnect();
    if (this.#unsettled.size === 0) return;
    await withTimeout(closeTimeoutMs, Promise.all(this.#unsettled), this.options.schedule);
  }

  #connect(channel: string): Promise<void> {
    const attempt = ++this.#attempt;
    this.#retry = null;
    const mayHaveMissed = this.#mayHaveMissed;
    this.#mayHaveMissed = true;
    const connecting = this.options.notifications.subscribe(channel, {
      notified: (payload) => this.#notified(attempt, channel, payload),
      lost: (reason) => this.#failed(attempt, channel, reason),
    }).then(
      (subscription) =>
        attempt === this.#attempt
          ? this.#connected(channel, subscription, mayHaveMissed)
          : this.#close(subscription),
      (error: unknown) => this.#failed(attempt, channel, errorMessage(error)),
    );
    this.#track(connecting);
    return connecting;
  }

  #connected(channel: string, subscription: Subscription, mayHaveMissed: boolean): void {
    this.#subscription = subscription;
    this.#backoffSeconds = 1;
    const { version, place } = subscription;
    this.options.observe({ kind: "listener-connected", version, place, channel });
    if (mayHaveMissed) this.options.onMissed();
    const { probe, onProbed } = this.options;
    if (probe === null) return;
    this.#track(probe.start(channel, (result) => onProbed(result, channel)));
  }

  /** Adds a promise to the promises for which {@linkcode stop} waits. */
  #track(started: Promise<void>): void {
    const tracked = started.finally(() => void this.#unsettled.delete(tracked));
    this.#unsettled.add(tracked);
  }

  #notified(attempt: number, channel: string, payload: string): void {
    if (attempt !== this.#attempt) return;
    this.options.probe?.arrived(payload);
    const what = payloads.get(payload);
    if (what === undefined) return;
    // Reloads of revocations are not reported here: they are frequent, and their load is reported.
    if (what === "schema" || what === "config") {
      this.options.observe({ kind: "reload-requested", what, channel });
    }
    this.options.onReloadRequested(what);
  }

  #failed(attempt: number, channel: string, reason: string): void {
    if (attempt !== this.#attempt) return;
    this.#attempt++;
    if (this.isConnected) this.#lostAt = this.options.now();
    this.#subscription = null;
    this.options.probe?.cancel();
    const { observe, isRetried, onBrokenQueue, now, schedule } = this.options;
    observe({ kind: "listener-failed", channel, reason });
    if (reason.includes(brokenQueue)) {
      observe({ kind: "notification-queue-broken" });
      onBrokenQueue();
    }
    if (!isRetried(reason)) return;
    const seconds = this.#backoffSeconds;
    this.#backoffSeconds = nextBackoff(seconds);
    observe({ kind: "listener-retrying", seconds });
    const cancel = schedule(() => void this.#connect(channel), seconds * 1000);
    this.#retry = { at: now() + seconds * 1000, cancel };
  }

  /** Ends the connection, the attempt in progress and the scheduled one. */
  #disconnect(): void {
    this.#attempt++;
    this.options.probe?.cancel();
    this.#retry?.cancel();
    this.#retry = null;
    const subscription = this.#subscription;
    this.#subscription = null;
    if (subscription === null) return;
    this.#track(this.#close(subscription));
  }

  async #close(subscription: Subscription): Promise<void> {
    try {
      await subscription.close();
    } catch (error) {
      const reason = errorMessage(error);
      this.options.observe({ kind: "listener-cleanup-failed", reason });
    }
  }
}
