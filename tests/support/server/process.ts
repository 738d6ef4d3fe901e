/**
 * Starts the service as a process, the way that its users do, for tests of sockets, signals, reload
 * and exit codes.
 *
 * ```ts ignore
 * await using service = await startService({ "db-uri": database.uri, "db-schemas": "api" });
 * await service.listening();
 * const response = await service.fetch("GET /tools?id=eq.1", { as: "writer" });
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { freePort } from "./free_port.ts";
import { collectLines, type Lines } from "./lines.ts";
import { programCommand } from "./program_command.ts";
import { buffered, buildRequest, type RequestParts } from "../handler/request.ts";

/** Configuration by the names of the configuration file. */
export type FileConfig = Readonly<Record<string, string | number | boolean>>;

export interface ServiceOptions {
  /** Environment in addition to the caller's. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the process may do, as Deno's arguments; everything unless told. */
  readonly permissions?: readonly string[];
  /** Arguments before the path of the configuration file. */
  readonly args?: readonly string[];
  /** Whole text of the configuration file, instead of one made of the configuration. */
  readonly configText?: string;
  /** What a pipe on the standard input gives; there is none unless told. */
  readonly stdin?: string;
  /** The working directory; the caller's unless told. */
  readonly cwd?: string;
}

/** A service that runs. Disposing of it kills it if need be. */
export interface ServiceProcess extends AsyncDisposable {
  readonly pid: number;
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly adminOrigin: string;
  /** A test may change it before it signals a reload. */
  readonly configPath: string;
  readonly stdout: Lines;
  readonly stderr: Lines;
  readonly status: Promise<Deno.CommandStatus>;
  /** Waits until the API and the admin server accept connections. */
  listening(): Promise<void>;
  signal(signal: Deno.Signal): void;
  /** Sends a request over TCP and reads the answer to its end. */
  fetch(line: string, parts?: RequestParts): Promise<Response>;
  /** The same to the admin server. */
  fetchAdmin(line: string): Promise<Response>;
  /** Stops the service, by SIGTERM unless told, and gives how it ended. */
  stop(signal?: Deno.Signal): Promise<Deno.CommandStatus>;
}

/** Starts the service on free ports unless the configuration names ports. */
export async function startService(
  config: FileConfig,
  options: ServiceOptions = {},
): Promise<ServiceProcess> {
  await using resources = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "svc_service_" });
  resources.defer(() => Deno.remove(folder, { recursive: true }));
  const full = { "server-port": freePort(), "admin-server-port": freePort(), ...config };
  const configPath = join(folder, "svc.conf");
  await Deno.writeTextFile(configPath, options.configText ?? configText(full));
  const child = resources.use(spawn(configPath, options));
  const client = resources.use(Deno.createHttpClient({ poolMaxIdlePerHost: 0 }));
  const origin = `http://127.0.0.1:${full["server-port"]}`;
  const adminOrigin = `http://127.0.0.1:${full["admin-server-port"]}`;
  const owned = resources.move();
  return {
    ...child,
    origin,
    adminOrigin,
    configPath,
    listening: async () => {
      await child.stderr.waitFor(/API server listening on/i);
      await child.stderr.waitFor(/Admin server listening on/i);
    },
    fetch: (line, parts) => send({ line, origin, client }, parts),
    fetchAdmin: (line) => send({ line, origin: adminOrigin, client }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The part of a service that is its process. */
export type DenoProcess =
  & Pick<ServiceProcess, "pid" | "stdout" | "stderr" | "status" | "signal" | "stop">
  & AsyncDisposable;

function spawn(configPath: string, options: ServiceOptions): DenoProcess {
  const { args = [], permissions } = options;
  return startCommand(programCommand([...args, configPath], permissions), options);
}

type StartOptions = Pick<ServiceOptions, "env" | "stdin" | "cwd">;

/** Starts Deno. Disposing of it kills it. */
export function startDeno(args: readonly string[], options?: StartOptions): DenoProcess {
  return startCommand([Deno.execPath(), ...args], options);
}

/** Starts a command. Disposing of it kills it. */
export function startCommand(
  [command, ...args]: readonly [command: string, ...args: string[]],
  { env = {}, stdin, cwd }: StartOptions = {},
): DenoProcess {
  const child = new Deno.Command(command, {
    args,
    env: { ...env },
    cwd,
    stdin: stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  if (stdin !== undefined) feed(child.stdin, stdin);
  const [stdout, stderr] = [collectLines(child.stdout), collectLines(child.stderr)];
  const signal = (name: Deno.Signal) => child.kill(name);
  const stop = async (name: Deno.Signal = "SIGTERM") => {
    signal(name);
    return await child.status;
  };
  const dispose = async () => {
    await kill(child);
    await Promise.all([stdout.ended, stderr.ended]);
  };
  const { pid, status } = child;
  return { pid, stdout, stderr, status, signal, stop, [Symbol.asyncDispose]: dispose };
}

/** A process that ends without reading it is no failure. */
function feed(stream: WritableStream<Uint8Array>, text: string): void {
  new Blob([text]).stream().pipeTo(stream).catch(() => {});
}

/** Writes a configuration file: `db-pool = 10`. */
export function configText(config: FileConfig): string {
  return Object.entries(config).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`).join(
    "",
  );
}

/** An error when the process has ended already is what is wanted. */
async function kill(child: Deno.ChildProcess): Promise<void> {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  await child.status;
}

async function send(
  { line, origin, client }: {
    readonly line: string;
    readonly origin: string;
    readonly client: Deno.HttpClient;
  },
  parts?: RequestParts,
): Promise<Response> {
  return await buffered(await fetch(await buildRequest({ line, origin }, parts), { client }));
}
