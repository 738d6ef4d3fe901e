/** Handles the signals that the process receives. @module */
import process from "node:process";
import { isatty } from "node:tty";
import type { Observation } from "../../base/observe/observation.ts";
import type { AppState } from "../../state/app_state/app_state.ts";
import { deferred } from "../../base/lib/deferred.ts";

/** SIGTERM and SIGINT that the process has received. Only the first two signals have an effect. */
export interface StopSignals {
  /** Resolves with the first signal. */
  readonly first: Promise<"SIGTERM" | "SIGINT">;
  readonly second: Promise<void>;
}

/** Listens for SIGTERM and SIGINT from now on. */
export function stopSignals(observe: (event: Observation) => void): StopSignals {
  const [first, second] = [deferred<"SIGTERM" | "SIGINT">(), deferred<void>()];
  let isTerminating = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (isTerminating) return second.resolve();
      isTerminating = true;
      observe({ kind: "terminating", signal });
      first.resolve(signal);
    });
  }
  return { first: first.promise, second: second.promise };
}

export type Reloadable = Pick<AppState, Reload>;

type Reload = "reloadSchema" | "reloadConfig";

const reloadOf = {
  SIGUSR1: "reloadSchema",
  SIGHUP: "reloadSchema",
  SIGUSR2: "reloadConfig",
} as const satisfies Partial<Record<NodeJS.Signals, Reload>>;

/** Descriptors of stdin and stderr. */
const standardStreams = [0, 2] as const;

/** Listens for reload signals from its construction on. A SIGHUP after the terminal was closed
 * stops the process instead. */
export class ReloadSignals {
  readonly #appState = deferred<Reloadable>();
  readonly #terminals = standardStreams.filter((descriptor) => isatty(descriptor));
  readonly #listeners = Object.entries(reloadOf).map(([signal, reload]) => ({
    signal: signal as keyof typeof reloadOf,
    listener: () => {
      if (signal === "SIGHUP" && this.#hasLostTerminal()) process.kill(process.pid, "SIGTERM");
      else this.request(reload);
    },
  }));

  constructor() {
    for (const { signal, listener } of this.#listeners) process.on(signal, listener);
  }

  /** Sets the service to reload. Signals that have arrived earlier cause a reload now. */
  connect(appState: Reloadable): void {
    this.#appState.resolve(appState);
  }

  /** Reloads in the same way as after a signal. */
  request(reload: Reload): void {
    void this.#appState.promise.then((appState) => appState[reload]());
  }

  /** Returns whether the terminal was closed: a descriptor that was a terminal at the start is not. */
  #hasLostTerminal(): boolean {
    return this.#terminals.some((descriptor) => !isatty(descriptor));
  }

  close(): void {
    for (const { signal, listener } of this.#listeners) process.off(signal, listener);
  }
}
