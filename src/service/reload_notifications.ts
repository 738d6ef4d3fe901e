/** Listens for notifications that ask for a reload, and knows whether they arrive. @module */
import type { Config } from "../config/options.ts";
import type { Database } from "../database/database.ts";
import {
  Listener,
  type ListenerOptions,
  type ReloadTarget,
} from "../database/notifications/listener.ts";
import {
  notificationProbe,
  type ProbeResult,
} from "../database/notifications/notification_probe.ts";
import { type Schedule, schedule } from "../lib/timers.ts";
import type { Observation } from "../observe/observation.ts";

interface ReloadNotificationOptions
  extends Pick<ListenerOptions, "isRetried" | "now" | "observe" | "onBrokenQueue" | "onMissed"> {
  readonly database: Pick<Database, "subscribe" | "notify">;
  /** Returns the current configuration. */
  readonly config: () => Config;
  /** Returns numbers from 0 to less than 1. Default: `Math.random`. */
  readonly random?: () => number;
  /** Called for the reloads that notifications request, after a delay. */
  readonly onRequested: (what: ReloadTarget) => void;
  /** Reports a finding if the log shows it. */
  readonly observeFinding: (finding: Observation) => void;
}

/** Notifications of a service; none arrive where no connection lives long enough to listen. */
export class ReloadNotifications {
  readonly #options: ReloadNotificationOptions;
  readonly #listener: Listener | null;
  readonly #jitter: ReloadJitter;
  /** Whether the last probe found that notifications do not arrive. */
  #isLost = false;
  #isStarted = false;

  constructor(options: ReloadNotificationOptions) {
    this.#options = options;
    this.#jitter = new ReloadJitter({
      reload: options.onRequested,
      random: options.random ?? Math.random,
      schedule,
    });
    this.#listener = this.#makeListener();
  }

  /** Whether the listening connection is open; null without a channel. */
  get isConnected(): boolean | null {
    return this.#listener?.hasChannel === true ? this.#listener.isConnected : null;
  }

  /** See {@linkcode Listener}. */
  get lostForMs(): number {
    return this.#listener?.lostForMs ?? 0;
  }

  ask(): Promise<void> | null {
    return this.#listener?.ask() ?? null;
  }

  retryNow(): void {
    this.#listener?.retryNow();
  }

  /** Whether the service learns of each notification. */
  get arrive(): boolean {
    return this.isConnected === true && !this.#isLost;
  }

  /** Returns whole seconds until the next attempt to connect; null if none is scheduled. */
  secondsLeft(): number | null {
    return this.#listener?.secondsLeft() ?? null;
  }

  /** Listens from now on. */
  start(): void {
    this.#isStarted = true;
    this.configure();
  }

  /** Listens to the channel of the current configuration, or not at all. */
  configure(): void {
    if (!this.#isStarted) return;
    const { dbCapabilities, dbChannel, dbChannelEnabled } = this.#options.config();
    const isUsed = dbChannelEnabled && !dbCapabilities.includes("-notify");
    this.#listener?.configure(isUsed ? dbChannel : null);
  }

  /** Closes the listening connection. */
  async stop(): Promise<void> {
    this.#jitter.stop();
    await this.#listener?.stop();
  }

  #makeListener(): Listener | null {
    const { database, ...others } = this.#options;
    const { subscribe } = database;
    if (subscribe === null) return null;
    return new Listener({
      subscribe,
      probe: notificationProbe(database),
      onReloadRequested: (what) => this.#jitter.request(what),
      onProbed: (result, channel) => this.#recordProbe(result, channel),
      isRetried: others.isRetried,
      onBrokenQueue: others.onBrokenQueue,
      onMissed: others.onMissed,
      observe: others.observe,
      now: others.now,
      schedule,
    });
  }

  /** `poll` needs no notifications to reload, `auto` polls then. */
  #recordProbe(result: ProbeResult, channel: string): void {
    this.#isLost = result === "lost";
    const { dbSchemaWatch } = this.#options.config();
    if (result === "arrived" || dbSchemaWatch === "poll") return;
    const effect = dbSchemaWatch === "notify" ? "no reload" : "polls";
    this.#options.observeFinding({ kind: "notifications-lost", channel, effect });
  }
}

/** Longest delay of a reload in ms. */
const maxDelayMs = 250;

interface ReloadJitterOptions {
  readonly reload: (what: ReloadTarget) => void;
  /** Returns numbers from 0 to less than 1. */
  readonly random: () => number;
  readonly schedule: Schedule;
}

/** Merges the requests of up to 250 ms, at random. */
export class ReloadJitter {
  readonly #options: ReloadJitterOptions;
  readonly #requested = new Set<ReloadTarget>();
  #cancel: (() => void) | null = null;

  constructor(options: ReloadJitterOptions) {
    this.#options = options;
  }

  /** Requests a reload. That of revocations is not delayed: until then, revoked tokens are valid. */
  request(what: ReloadTarget): void {
    if (what === "revocations") return this.#options.reload(what);
    this.#requested.add(what);
    const { random, schedule } = this.#options;
    this.#cancel ??= schedule(() => this.#reload(), random() * maxDelayMs);
  }

  /** Drops the requests that wait. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#requested.clear();
  }

  #reload(): void {
    const requested = [...this.#requested];
    this.stop();
    for (const what of requested) this.#options.reload(what);
  }
}
