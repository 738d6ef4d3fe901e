/**
 * Runs a program in a worker while the main thread waits for its exit code.
 *
 * When a process receives SIGUSR1, the event loop of Deno's main thread opens a debugger on
 * 127.0.0.1:9229, which serves every user of the machine (denoland/deno#35738). Deno has no option
 * to prevent that. Here, the main thread blocks until the program ends, so its event loop never
 * runs, and the debugger never opens. The worker's signal listeners still work.
 *
 * @module
 */

/** A module that can run in a worker. */
export interface Program {
  /** Runs with the process's arguments. Resolves with the exit code. */
  readonly main: (argv: readonly string[]) => Promise<number>;
}

/** The message that starts the worker. */
export interface WorkerStart {
  /** URL of a module that is a {@linkcode Program}. */
  readonly program: string;
  /** One element: the exit code, or {@linkcode running}. */
  readonly exitCode: Int32Array;
}

/** Value of the exit code while the program runs. */
export const running = -1;

/** Signals for a reload. By default they would end the process, so the main thread ignores them
 * until the program listens. */
const reloadSignals = ["SIGUSR1", "SIGUSR2", "SIGHUP"] as const;

/** Milliseconds after the start of the process when Deno begins to listen for SIGUSR1. Until then, no
 * debugger is open. */
const debuggerDelayMs = 500;

/** Runs the module's `main` in a worker. Then ends the process with its exit code, or with 1 after
 * an uncaught error. Must be called first: code before it is not protected. */
export function runInWorker(program: URL): never {
  for (const signal of reloadSignals) Deno.addSignalListener(signal, () => {});
  const exitCode = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)).fill(
    running,
  );
  const worker = new Worker(new URL("./worker_thread.ts", import.meta.url), {
    type: "module",
    name: "program",
  });
  worker.postMessage({ program: program.href, exitCode } satisfies WorkerStart);
  if (performance.now() >= debuggerDelayMs) closeDebugger();
  while (Atomics.load(exitCode, 0) === running) Atomics.wait(exitCode, 0, running);
  Deno.exit(Atomics.load(exitCode, 0));
}

/** Closes the debugger, which would accept connections even while the main thread blocks. */
function closeDebugger(): void {
  // The module is loaded only here, because an import in every process would take 15 ms.
  process.getBuiltinModule("node:inspector").close();
}
