/** Runs the service without a worker, for a debugger: `deno run -A --inspect tests/support/debug.ts
 * svc.conf`. SIGUSR1 opens Deno's debugger here. @module */
import { main } from "../../src/process/cli/program.ts";

Deno.exit(await main(Deno.args));
