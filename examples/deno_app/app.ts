/**
 * A Deno app that serves the API under `/api`, beside the app's own routes:
 *
 *     SVC_DB_URI=postgres://… SVC_DB_SCHEMAS=api SVC_DB_ANON_ROLE=anon deno run -A examples/deno_app/app.ts
 *
 * The app is `program.ts`. It runs in a worker, so that SIGUSR1 never opens Deno's debugger.
 *
 * @module
 */
import { runInWorker } from "../../src/process/server/main_thread.ts";

runInWorker(new URL("./program.ts", import.meta.url));
