/**
 * What signals ask of the process.
 *
 * @module
 */
import inspector from "node:inspector";
import type { Observation } from "../observe/observation.ts";
import type { Service } from "../service.ts";

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

/** Reloads on signals; returns what ends that. */
export function watchSignals(service: Pick<Service, "reloadSchema" | "reloadConfig">): () => void {
  const keepShut = inspector.url() === undefined;
  const schema = () => {
    if (keepShut) shutInspector();
    service.reloadSchema();
  };
  const config = () => void service.reloadConfig();
  const listeners = [["SIGUSR1", schema], ["SIGHUP", schema], ["SIGUSR2", config]] as const;
  for (const [signal, listener] of listeners) Deno.addSignalListener(signal, listener);
  return () => {
    for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
  };
}

/**
 * Deno opens its debugger on a local port when SIGUSR1 arrives, whoever listens to the signal. It is
 * shut again, soon and once more in case it was slow.
 */
function shutInspector(): void {
  for (const milliseconds of [0, 20, 200]) setTimeout(() => inspector.close(), milliseconds);
}
