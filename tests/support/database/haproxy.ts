/** Starts HAProxy with the configuration of `examples/deploy`, where HAProxy is installed. @module
 */
import { join } from "node:path";
import { eventually } from "../timing/eventually.ts";
import { findProgram } from "../server/find_program.ts";
import { freePort } from "../server/free_port.ts";
import { guardedFolder } from "../runner/guarded_folder.ts";
import { collectLines } from "../server/lines.ts";

/** Ports of one server of HAProxy's backend. */
export interface ServerPorts {
  readonly api: number;
  readonly admin: number;
}

/** HAProxy's state of one server. */
export interface ServerState {
  /** `UP`, `DOWN`, or the way between them: `UP 1/2`. */
  readonly status: string;
  /** Requests that HAProxy has sent to the server. */
  readonly requests: number;
}

/** A running HAProxy. */
export interface Haproxy extends AsyncDisposable {
  readonly port: number;
  /** Returns the state of each server by its name. */
  servers(): Promise<ReadonlyMap<string, ServerState>>;
}

const example = new URL("../../../examples/deploy/haproxy.cfg", import.meta.url);

/** Returns the path of HAProxy, or null where it is not installed. */
export function findHaproxy(): string | null {
  return findProgram("haproxy");
}

const serverLine = /^( {2}server )(\w+) 127\.0\.0\.1:\d+ port \d+$/gm;

/** Returns the names of the servers in the example. */
export function exampleServers(): readonly string[] {
  return Array.from(Deno.readTextFileSync(example).matchAll(serverLine), ([, , name]) => name!);
}

/** Options of {@linkcode startHaproxy}. */
export interface HaproxyOptions {
  /** By the names of {@linkcode exampleServers}. */
  readonly servers: ReadonlyMap<string, ServerPorts>;
  /** Time between two checks of a server: `200ms`. */
  readonly checkInterval: string;
}

/** Starts HAProxy with the example, in which it replaces the ports only. */
export async function startHaproxy(
  program: string,
  { servers, checkInterval }: HaproxyOptions,
): Promise<Haproxy> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(await guardedFolder("svc_haproxy_"));
  const port = freePort();
  const [config, addition, socket] = ["haproxy.cfg", "addition.cfg", "socket"]
    .map((name) => join(folder.path, name));
  await Deno.writeTextFile(config!, withPorts(port, servers));
  await Deno.writeTextFile(addition!, `global\n  stats socket ${socket}\n`);
  const child = new Deno.Command(program, {
    args: ["-db", "-f", config!, "-f", addition!],
    env: { SVC_CHECK_INTERVAL: checkInterval },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const lines = collectLines(child.stderr);
  let isRunning = true;
  const status = child.status.finally(() => isRunning = false);
  resources.defer(async () => {
    if (isRunning) child.kill("SIGKILL");
    await Promise.all([status, lines.ended]);
  });
  await eventually("HAProxy answers", async () => {
    if (!isRunning) throw new Error(lines.all.join("\n"));
    return await readStates(socket!).then(() => true, () => false);
  });
  const owned = resources.move();
  return {
    port,
    servers: () => readStates(socket!),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function withPorts(port: number, servers: ReadonlyMap<string, ServerPorts>): string {
  return Deno.readTextFileSync(example)
    .replace("bind :8080", `bind 127.0.0.1:${port}`)
    .replace(serverLine, (_, start, name) => {
      const { api, admin } = servers.get(name)!;
      return `${start}${name} 127.0.0.1:${api} port ${admin}`;
    });
}

/** All proxies, their servers only. */
const command = new TextEncoder().encode("show stat -1 4 -1\n");

/** Reads HAProxy's statistics: CSV with a line of names. */
async function readStates(socket: string): Promise<ReadonlyMap<string, ServerState>> {
  using connection = await Deno.connect({ transport: "unix", path: socket });
  await connection.write(command);
  const text = await new Response(connection.readable).text();
  const [names = [], ...rows] = text.trim().split("\n").map((line) => line.split(","));
  const [name, status, requests] = ["svname", "status", "stot"].map((key) => names.indexOf(key));
  return new Map(rows.map((row) => [
    row[name!]!,
    { status: row[status!]!, requests: Number(row[requests!]) },
  ]));
}
