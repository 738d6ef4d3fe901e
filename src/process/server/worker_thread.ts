/** The worker that `main_thread.ts` starts. It runs the program and stores its exit code for the
 * main thread. @module */
import type { Program, WorkerStart } from "./main_thread.ts";

addEventListener("message", (event) => void start((event as MessageEvent<WorkerStart>).data), {
  once: true,
});

/** Runs the program. Uncaught errors end the process here, because the main thread cannot receive them. */
async function start({ program, exitCode }: WorkerStart): Promise<void> {
  const exit = (code: number) => {
    Atomics.store(exitCode, 0, code);
    Atomics.notify(exitCode, 0);
  };
  const crash = (error: unknown) => {
    Deno.stderr.writeSync(new TextEncoder().encode(`${Deno.inspect(error)}\n`));
    exit(1);
  };
  addEventListener("error", (event) => {
    event.preventDefault();
    crash(event.error);
  });
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    crash(event.reason);
  });
  try {
    const { main }: Program = await import(program);
    exit(await main(Deno.args));
  } catch (error) {
    crash(error);
  }
}
