/** Starts the servers that are measured. @module */
import { join } from "node:path";
import { collectLines } from "../../tests/support/server/lines.ts";
import { freePort } from "../../tests/support/server/free_port.ts";
import { configText, type FileConfig } from "../../tests/support/server/process.ts";

/** The service, or another server of the same interface. */
export type ServerName = "service" | "peer";

/** A server under measurement. Disposing of it stops it. */
export interface BenchServer extends AsyncDisposable {
  readonly name: ServerName;
  readonly pid: number;
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
}

const main = new URL("../../main.ts", import.meta.url).pathname;

/** Command that starts the service from this checkout. */
export const ownCommand = `${Deno.execPath()} run -A ${main} {conf}`;

/** Starts a server and waits until it answers `probe` with a status of 200. */
export async function startServer(
  name: ServerName,
  command: string,
  { config, probe = "/items?limit=1" }: { readonly config: FileConfig; readonly probe?: string },
): Promise<BenchServer> {
  await using resources = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "svc_bench_" });
  resources.defer(() => Deno.remove(folder, { recursive: true }));
  const port = freePort();
  const path = join(folder, "server.conf");
  await Deno.writeTextFile(path, configText({ ...config, "server-port": port }));
  const began = performance.now();
  const child = new Deno.Command("sh", {
    args: ["-c", `exec ${command.replaceAll("{conf}", path)}`],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const stderr = collectLines(child.stderr);
  resources.defer(async () => {
    if (!ended) child.kill("SIGTERM");
    await child.status;
    await stderr.ended;
  });
  let ended = false;
  child.status.then(() => ended = true);
  const origin = `http://127.0.0.1:${port}`;
  while (!await answers(origin + probe)) {
    if (ended || performance.now() - began > startLimit) {
      throw new Error(`${name} does not answer ${probe}:\n${stderr.all.slice(0, 9).join("\n")}`);
    }
  }
  const owned = resources.move();
  return {
    name,
    pid: child.pid,
    origin,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Maximum milliseconds until a server answers. */
const startLimit = 60_000;

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.body?.cancel();
    if (response.status === 200) return true;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  return false;
}
