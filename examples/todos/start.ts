/**
 * Starts the todo list and prints what to try: `deno task start`. The same without the hints is
 * `deno run -A main.ts examples/todos/svc.conf`.
 *
 * @module
 */
import { runInWorker } from "../../src/server/main_thread.ts";

runInWorker(new URL("./program.ts", import.meta.url));
