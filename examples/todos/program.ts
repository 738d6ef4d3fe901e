/**
 * Serves the todo list; prints requests to try when the API listens.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { SignJWT } from "jose";
import type { Config } from "../../src/config/options.ts";
import { configReader } from "../../src/cli/config_files.ts";
import { openLog } from "../../src/cli/log.ts";
import { serve } from "../../src/server/serve.ts";
import { ReloadSignals } from "../../src/server/signals.ts";

const file = fileURLToPath(new URL("svc.conf", import.meta.url));

/** Resolves with the exit code of the service. */
export async function main(): Promise<number> {
  const reloads = new ReloadSignals();
  const reader = configReader({ file, flags: new Map() });
  const text = await hints(reader.config);
  const log = openLog(reader.config.logLevel);
  const code = await serve({
    reader,
    reloads,
    log: {
      ...log,
      observe: (event) => {
        log.observe(event);
        if (event.kind === "listening" && event.what === "api") console.log(text);
      },
    },
  });
  await log.flush();
  return code;
}

async function hints({ serverPort, jwtSecret }: Config): Promise<string> {
  const token = await new SignJWT({ role: "todo_user", sub: "ada" })
    .setProtectedHeader({ alg: "HS256" })
    .sign(jwtSecret ?? new Uint8Array());
  return `
Read the list, without a token:

  curl 'http://localhost:${serverPort}/todos?done=is.false&order=due.asc'

Write to it, as ada:

  curl http://localhost:${serverPort}/todos -H 'Content-Type: application/json' \\
    -H 'Prefer: return=representation' -d '{"task":"learn SQL"}' \\
    -H 'Authorization: Bearer ${token}'

Call the function:

  curl 'http://localhost:${serverPort}/rpc/remaining?owner=ada'

Stop with Ctrl-C.
`;
}
