/**
 * Listens for notifications that ask for reloads, over a connection of its own, and gets it back when
 * it is lost.
 *
 * @module
 */
import type { Observation } from "../../observe/observation.ts";
import { nextBackoff, type Schedule } from "../../lib/timers.ts";
import type { Subscribe, Subscription } from "../database.ts";
import type { NotificationProbe } from "./notification_probe.ts";

/** What a {@linkcode Listener} works with. */
export interface ListenerOptions {
  readonly subscribe: Subscribe;
  /** Checks that notifications arrive; null where they cannot be lost. */
  readonly probe: NotificationProbe | null;
  /** Told what a notification asks for. */
  readonly onReloadRequested: (what: "schema" | "config") => void;
  /** Told when the connection is there again, and notifications may have been missed meanwhile. */
  readonly onMissed: () => void;
  /** Whether a failure is followed by another attempt; `reason` is what is said of it. */
  readonly isRetried: (reason: string) => boolean;
  /** Told when notifications of a channel that is listened to do not arrive. */
  readonly onLost: (channel: string) => void;
  /** The server cannot read its queue of notifications; asking for the queue's usage may help. */
  readonly onBrokenQueue: () => void;
  readonly observe: (event: Observation) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** What the payloads ask for; others ask for nothing. */
const payloads: ReadonlyMap<string, "schema" | "config"> = new Map([
  ["", "schema"],
  ["reload schema", "schema"],
  ["reload config", "config"],
]);

/** What servers say of a queue whose transactions they have forgotten. */
const brokenQueue = "could not access status of transaction";

/** Milliseconds that the end waits for a connection that is being opened or closed. */
const longestFarewell = 500;

/** Keeps one subscription. Nothing is listened to before {@linkcode Listener.configure}. */
export class Listener {
  readonly #options: ListenerOptions;
  #channel: string | null = null;
  #subscription: Subscription | null = null;
  /** What belongs to an earlier turn is not listened to any more. */
  #turn = 0;
  #pause = 1;
  #retry: { readonly at: number; readonly cancel: () => void } | null = null;
  /** Whether there was a time at which a notification would not have been heard. */
  #missed = false;
  #isConfigured = false;
  #isStopped = false;
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Whether there is a channel to listen to. */
  get hasChannel(): boolean {
    return this.#channel !== null;
  }

  get isConnected(): boolean {
    return this.#subscription !== null;
  }

  /** Whole seconds, at least 1, until the next attempt; null when none is planned. */
  secondsLeft(): number | null {
    if (this.#retry === null) return null;
    return Math.max(1, Math.ceil((this.#retry.at - this.#options.now()) / 1000));
  }

  /** Listens to this channel from now on; to none for null. */
  configure(channel: string | null): void {
    const changed = channel !== this.#channel;
    if (this.#isStopped || (this.#isConfigured && !changed)) return;
    if (this.#isConfigured || channel === null) this.#missed = true;
    this.#isConfigured = true;
    this.#channel = channel;
    this.#leave();
    this.#pause = 1;
    if (channel !== null) this.#connect(channel);
  }

  /** Ends for good; resolves when nothing is open any more, or soon if that does not come about. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#channel = null;
    this.#leave();
    if (this.#leaving.size === 0) return;
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#options.schedule(resolve, longestFarewell);
    });
    await Promise.race([Promise.all(this.#leaving), late]);
    cancel();
  }

  #connect(channel: string): void {
    const turn = ++this.#turn;
    this.#retry = null;
    const missed = this.#missed;
    this.#missed = true;
    const connecting: Promise<void> = this.#options.subscribe(channel, {
      notified: (payload) => this.#notified(turn, channel, payload),
      lost: (reason) => this.#failed(turn, channel, reason),
    }).then(
      (subscription) =>
        turn === this.#turn
          ? this.#connected(channel, subscription, missed)
          : this.#close(subscription),
      (error: unknown) =>
        this.#failed(turn, channel, error instanceof Error ? error.message : String(error)),
    ).finally(() => void this.#leaving.delete(connecting));
    this.#leaving.add(connecting);
  }

  #connected(channel: string, subscription: Subscription, missed: boolean): void {
    this.#subscription = subscription;
    this.#pause = 1;
    const { version, place } = subscription;
    this.#options.observe({ kind: "listener-connected", version, place, channel });
    if (missed) this.#options.onMissed();
    this.#check(channel);
  }

  #check(channel: string): void {
    const { probe, onLost } = this.#options;
    if (probe === null) return;
    const sending: Promise<void> = probe.start(channel, () => onLost(channel)).finally(() =>
      void this.#leaving.delete(sending)
    );
    this.#leaving.add(sending);
  }

  #notified(turn: number, channel: string, payload: string): void {
    if (turn !== this.#turn) return;
    this.#options.probe?.arrived(payload);
    const what = payloads.get(payload);
    if (what === undefined) return;
    this.#options.observe({ kind: "reload-requested", what, channel });
    this.#options.onReloadRequested(what);
  }

  #failed(turn: number, channel: string, reason: string): void {
    if (turn !== this.#turn) return;
    this.#turn++;
    this.#subscription = null;
    this.#options.probe?.cancel();
    const { observe, isRetried, onBrokenQueue, now, schedule } = this.#options;
    observe({ kind: "listener-failed", channel, reason });
    if (reason.includes(brokenQueue)) {
      observe({ kind: "notification-queue-broken" });
      onBrokenQueue();
    }
    if (!isRetried(reason)) return;
    const seconds = this.#pause;
    this.#pause = nextBackoff(seconds);
    observe({ kind: "listener-retrying", seconds });
    const cancel = schedule(() => this.#connect(channel), seconds * 1000);
    this.#retry = { at: now() + seconds * 1000, cancel };
  }

  /** Gives up what there is: the connection, the attempt, the plan of one. */
  #leave(): void {
    this.#turn++;
    this.#options.probe?.cancel();
    this.#retry?.cancel();
    this.#retry = null;
    const subscription = this.#subscription;
    this.#subscription = null;
    if (subscription === null) return;
    const closing: Promise<void> = this.#close(subscription).finally(() =>
      void this.#leaving.delete(closing)
    );
    this.#leaving.add(closing);
  }

  async #close(subscription: Subscription): Promise<void> {
    try {
      await subscription.close();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.observe({ kind: "listener-cleanup-failed", reason });
    }
  }
}
