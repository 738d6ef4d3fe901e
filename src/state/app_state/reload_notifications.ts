/** Listens for notifications that request reloads, and tests whether they arrive. @module */
import {
  Listener,
  type ListenerOptions,
  type ReloadTarget,
} from "../../database/notifications/listener.ts";
import {
  notificationProbe,
  type ProbeResult,
} from "../../database/notifications/notification_probe.ts";
import { schedule } from "../../base/lib/timers.ts";
import type { AppStateBase } from "./app_state_base.ts";

interface ReloadNotificationParts extends Pick<ListenerOptions, "onBrokenQueue" | "onMissed"> {
  readonly state: AppStateBase;
  /** Called for the reloads that notifications request, after a delay. */
  readonly onRequested: (what: ReloadTarget) => void;
}

/** Longest delay of a reload in ms. */
const maxDelayMs = 250;

/** Receives notifications for a service. Without a connection that stays open, none arrive. */
export class ReloadNotifications {
  readonly #parts: ReloadNotificationParts;
  readonly #listener: Listener | null;
  readonly #requested = new Set<ReloadTarget>();
  /** Whether the last probe was lost, so that notifications do not arrive. */
  #isLost = false;
  #isStarted = false;

  constructor(parts: ReloadNotificationParts) {
    this.#parts = parts;
    this.#listener = this.#makeListener();
  }

  /** Whether the listening connection is open; null without a channel. */
  get isConnected(): boolean | null {
    return this.#listener?.hasChannel === true ? this.#listener.isConnected : null;
  }

  /** Milliseconds since the listening connection was lost; 0 while it is open. */
  get lostForMs(): number {
    return this.#listener?.lostForMs ?? 0;
  }

  ask(): Promise<void> | null {
    return this.#listener?.ask() ?? null;
  }

  /** Makes the next attempt to connect now, if one is scheduled. Resolves when it has ended. */
  async retryNow(): Promise<void> {
    await this.#listener?.retryNow();
  }

  /** Whether each notification reaches the service. */
  get arrive(): boolean {
    return this.isConnected === true && !this.#isLost;
  }

  /** Returns whole seconds until the next attempt to connect; null if none is scheduled. */
  secondsLeft(): number | null {
    return this.#listener?.secondsLeft() ?? null;
  }

  start(): void {
    this.#isStarted = true;
    this.configure();
  }

  /** Listens to the channel of the current configuration, or stops listening if there is no channel. */
  configure(): void {
    if (!this.#isStarted) return;
    const { dbCapabilities, dbChannel, dbChannelEnabled } = this.#parts.state.snapshot.config;
    const isUsed = dbChannelEnabled && !dbCapabilities.includes("-notify");
    this.#listener?.configure(isUsed ? dbChannel : null);
  }

  /** Closes the listening connection. */
  async stop(): Promise<void> {
    this.#isStarted = false;
    await this.#listener?.stop();
  }

  #makeListener(): Listener | null {
    const { state, onBrokenQueue, onMissed } = this.#parts;
    const { database: { notifications }, failurePolicy, now, observe } = state;
    if (notifications === undefined) return null;
    return new Listener({
      notifications,
      isRetried: (reason) => !failurePolicy.exitOnListenerFailure(reason),
      onBrokenQueue,
      onMissed,
      observe,
      now,
      probe: notificationProbe(notifications),
      onReloadRequested: (what) => this.#request(what),
      onProbed: (result, channel) => this.#recordProbe(result, channel),
      schedule,
    });
  }

  /** Records the result of a probe. If `db-schema-watch` is `auto`, polling replaces lost
   * notifications. If the option is `poll`, the service needs no notifications. */
  #recordProbe(result: ProbeResult, channel: string): void {
    this.#isLost = result === "lost";
    const { dbSchemaWatch } = this.#parts.state.snapshot.config;
    if (result === "arrived" || dbSchemaWatch === "poll") return;
    const effect = dbSchemaWatch === "notify" ? "no reload" : "polls";
    this.#parts.state.observeFinding({ kind: "notifications-lost", channel, effect });
  }

  /**
   * Merges requests and delays them by up to 250 ms, so that instances do not reload at the same
   * time. Does not delay a reload of revocations, because revoked tokens are accepted until it ends.
   */
  #request(what: ReloadTarget): void {
    const { onRequested } = this.#parts;
    if (what === "revocations") return onRequested(what);
    if (this.#requested.has(what)) return;
    this.#requested.add(what);
    schedule(() => {
      this.#requested.delete(what);
      if (this.#isStarted) onRequested(what);
    }, Math.random() * maxDelayMs);
  }
}
