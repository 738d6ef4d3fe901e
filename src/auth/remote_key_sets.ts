/** The key sets that a service fetches. A reload of the configuration keeps those that are still
 * named. @module */
import type { MetricRegistry, Sample } from "../observe/metric_registry.ts";
import { type KeyDependencies, type KeySetNames, RemoteKeySet } from "./remote_key_set.ts";

/** Milliseconds for which known keys serve while their source fails. */
const maxStaleMs = 86_400_000;

/** Creates key sets, and keeps those in use fresh. */
export class RemoteKeySets {
  readonly #dependencies: KeyDependencies;
  readonly #sets = new Map<string, RemoteKeySet>();
  #isStarted = false;

  /** Registers the metrics of the key sets. */
  constructor(
    { metricRegistry, ...dependencies }:
      & Omit<KeyDependencies, "fetches">
      & { readonly metricRegistry: MetricRegistry },
  ) {
    const fetches = metricRegistry.counter({
      name: "jwks_fetches_total",
      help: "The total number of fetches of an issuer's key set",
      labels: ["issuer", "result"],
    });
    metricRegistry.gauge({
      name: "jwks_age_seconds",
      help: "Seconds since the last successful fetch of an issuer's key set",
      labels: ["issuer"],
    }, () => this.#ages());
    this.#dependencies = { ...dependencies, fetches };
  }

  /** Returns the key set of an issuer, with the keys that are known of it. */
  get(names: KeySetNames): RemoteKeySet {
    const id = JSON.stringify(names);
    const set = this.#sets.get(id) ?? new RemoteKeySet(names, maxStaleMs, this.#dependencies);
    this.#sets.set(id, set);
    return set;
  }

  /** Ends the refreshes of all other key sets. */
  keep(used: ReadonlySet<RemoteKeySet>): void {
    for (const [id, set] of this.#sets) {
      if (used.has(set)) {
        if (this.#isStarted) set.start();
      } else {
        set.stop();
        this.#sets.delete(id);
      }
    }
  }

  /** Fetches the keys, and keeps them fresh by timers from now on. */
  start(): void {
    this.#isStarted = true;
    for (const set of this.#sets.values()) set.start();
  }

  /** Ends all refreshes. */
  stop(): void {
    this.#isStarted = false;
    for (const set of this.#sets.values()) set.stop();
  }

  #ages(): readonly Sample[] {
    return Array.from(this.#sets.values()).flatMap(({ label, ageSeconds }) =>
      ageSeconds === null ? [] : [[[label], ageSeconds] as const]
    );
  }
}
