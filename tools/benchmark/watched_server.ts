/** The service's entry for benchmarks: the same program, with a monitor of its event loop. @module
 */
import { runInWorker } from "../../src/server/main_thread.ts";

runInWorker(new URL("./watched_program.ts", import.meta.url));
