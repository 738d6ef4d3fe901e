/**
 * Starts the todo list and says what to try: `deno task start`. The same without the hints is
 * `deno run -A main.ts examples/todos/svc.conf`.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { SignJWT } from "jose";
import { loadConfig } from "../../src/config/load.ts";

const main = fileURLToPath(new URL("../../main.ts", import.meta.url));
const configFile = fileURLToPath(new URL("svc.conf", import.meta.url));

Deno.exit(await start());

/** Gives the exit code of the service. */
async function start(): Promise<number> {
  const service = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", main, configFile],
    stdin: "null",
    stderr: "piped",
  }).spawn();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => service.kill(signal));
  }
  let start = "";
  for await (const text of service.stderr.pipeThrough(new TextDecoderStream())) {
    await Deno.stderr.write(new TextEncoder().encode(text));
    if (isListening(start)) continue;
    start += text;
    if (isListening(start)) console.log(await hints());
  }
  return (await service.status).code;
}

function isListening(log: string): boolean {
  return /API server listening on .*\n/.test(log);
}

async function hints(): Promise<string> {
  const { serverPort, jwtSecret } = loadConfig({
    file: { path: configFile, text: await Deno.readTextFile(configFile) },
    environment: Deno.env.toObject(),
    readFile: Deno.readFileSync,
  });
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
