/**
 * The process's entry. The program runs in a worker, so that SIGUSR1 never opens Deno's debugger.
 *
 * @module
 */
import { runInWorker } from "./src/server/main_thread.ts";

runInWorker(new URL("./src/server/program.ts", import.meta.url));
