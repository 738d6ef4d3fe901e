/**
 * The process's entry. The program runs in a worker, so that SIGUSR1 never opens Deno's debugger.
 *
 * @module
 */
import { runInWorker } from "./src/process/server/main_thread.ts";

runInWorker(new URL("./src/process/cli/program.ts", import.meta.url));
