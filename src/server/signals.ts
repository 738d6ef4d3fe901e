/**
 * What signals ask of the process.
 *
 * @module
 */
import type { Observation } from "../observe/observation.ts";
import type { Service } from "../service/service.ts";

/** Resolves with the first signal that asks the process to end; further ones change nothing. */
export function stopSignal(observe: (event: Observation) => void): Promise<void> {
  let asked = false;
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      Deno.addSignalListener(signal, () => {
        if (!asked) observe({ kind: "terminating", signal });
        asked = true;
        resolve();
      });
    }
  });
}

/** What a signal reloads: the method of the service that does it. */
type Reload = "reloadSchema" | "reloadConfig";

const reloadOf = {
  SIGUSR1: "reloadSchema",
  SIGHUP: "reloadSchema",
  SIGUSR2: "reloadConfig",
} as const satisfies Partial<Record<Deno.Signal, Reload>>;

/** Listens for the signals that ask for a reload, from its construction on. */
export class ReloadSignals {
  readonly #service = Promise.withResolvers<Pick<Service, Reload>>();
  readonly #listeners = Object.entries(reloadOf).map(([signal, reload]) => ({
    signal: signal as keyof typeof reloadOf,
    listener: () => void this.#service.promise.then((service) => service[reload]()),
  }));

  constructor() {
    for (const { signal, listener } of this.#listeners) Deno.addSignalListener(signal, listener);
  }

  /** Names the service to reload. The reloads of signals that came earlier begin now. */
  connect(service: Pick<Service, Reload>): void {
    this.#service.resolve(service);
  }

  /** Stops listening. */
  close(): void {
    for (const { signal, listener } of this.#listeners) Deno.removeSignalListener(signal, listener);
  }
}
