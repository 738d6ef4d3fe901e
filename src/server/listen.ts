/**
 * Listens on a TCP address or a Unix socket and passes requests to a handler.
 *
 * @module
 */
import process from "node:process";
import { lookup } from "node:dns/promises";
import { chmodSync, lstatSync, renameSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import type { Observation } from "../observe/observation.ts";
import { addressesOf, addressText, type ListenAddress } from "./listen_address.ts";
import type { ConnectionLimits } from "./connection_table.ts";
import { discardBody, mayHaveUnreadBody } from "./discard_body.ts";
import { endAfterBody } from "./end_after_body.ts";
import { Drain } from "./drain.ts";
import { errorCode } from "../lib/error_code.ts";
import { findNextPort, isFreePort } from "../cli/quick/free_ports.ts";
import { errorMessage } from "../cli/output.ts";
import { wait } from "../lib/deadline.ts";
import { turn } from "../lib/timers.ts";
import type {
  ClientInfo,
  HttpServer,
  HttpServerOptions,
  RequestHandler,
  StartServer,
} from "./http_server.ts";

/** Options of {@linkcode listen} apart from the address. */
export interface ListenOptions {
  readonly what: "api" | "admin";
  /** Value of the `Server` header of responses that `serve` does not make. */
  readonly server: string;
  readonly serve: RequestHandler;
  /** Default: no limits. */
  readonly limits?: ConnectionLimits | null;
  readonly observe: (event: Observation) => void;
}

/** A listening server. */
export interface Listening {
  /** Address and port, or the path of the Unix socket. */
  readonly address: string;
  /** False after shutdown or a failure, or if another process removed the Unix socket's file. */
  isOpen(): boolean;
  /** Closes each connection after its next response, from now on. */
  closeConnections(): void;
  /** Holds responses until {@linkcode shutdown}. Resolves when no more requests arrive. */
  hold(): Promise<void>;
  /** Holds, then closes the socket and idle connections. */
  closeSocket(): Promise<void>;
  /** Accepts no more connections and resolves when the server has responded to all requests. */
  shutdown(): Promise<void>;
}

/** Begins to listen. Rejects with an `Error` that names the address if it cannot be bound. */
export async function listen(
  listenAddress: ListenAddress,
  options: ListenOptions,
): Promise<Listening> {
  const { what, observe } = options;
  const drain = new Drain(waitAndReceive);
  const serveOptions = {
    handler: drainingHandler(drain, options),
    onError: errorResponder(options),
    limits: options.limits ?? null,
    observe,
  };
  const bound = listenAddress.kind === "unix"
    ? await bindUnix(listenAddress, serveOptions)
    : await bindTcp(listenAddress, { what, serveOptions });
  observe({ kind: "listening", what, address: bound.address });
  return keepListening(bound, { drain, observe });
}

/** A TCP address to listen on. */
export type TcpAddress = Extract<ListenAddress, { readonly kind: "tcp" }>;

/**
 * Returns the port of an address that can be bound, and binds it only for a moment. Rejects with an `Error`
 * that names the address.
 */
export async function findPort(address: TcpAddress, what: ListenOptions["what"]): Promise<number> {
  const respond = () => new Response(null, { status: 503 });
  const serveOptions: ServeOptions = {
    handler: () => Promise.resolve(respond()),
    onError: respond,
    limits: null,
    observe: () => {},
  };
  const { port, server } = await bindTcp(address, { what, serveOptions });
  await server.shutdown();
  return port!;
}

type ServeOptions = Omit<HttpServerOptions, "address">;

/** A server that has bound its address. */
interface BoundServer {
  readonly address: string;
  /** Null for a Unix socket. */
  readonly port: number | null;
  readonly server: HttpServer;
  /** Listens on the same address again, after a failure. */
  readonly restart: () => Promise<HttpServer>;
  /** Whether new connections reach the socket. */
  readonly isReachable: () => boolean;
}

/**
 * Restarts the server after a failure. Deno's server ends if it cannot accept a connection, for
 * instance if the process has no file descriptor left. Node's continues.
 */
function keepListening(
  bound: BoundServer,
  { drain, observe }: { readonly drain: Drain } & Pick<ListenOptions, "observe">,
): Listening {
  let server: HttpServer | null = bound.server;
  let stopping = false;
  const restartUntilOpen = async () => {
    while (!stopping && server === null) {
      await wait(restartDelayMs);
      if (!stopping) server = await attempt(bound.restart);
    }
    if (server !== null) watch(server);
  };
  const watch = (watched: HttpServer) => {
    watched.finished.catch((error) => {
      observe({ kind: "unexpected-error", error });
      server = null;
      if (!stopping) restartUntilOpen();
    });
  };
  watch(bound.server);
  let held: Promise<void> | null = null;
  const hold = () => {
    stopping = true;
    return held ??= drain.hold();
  };
  let closed: Promise<void> | undefined;
  const closeSocket = async () => {
    await hold();
    closed ??= server?.shutdown();
    // The runtime closes the socket in its next turn. Until then, clients could connect again.
    await turn();
  };
  return {
    address: bound.address,
    isOpen: () => !stopping && server !== null && bound.isReachable(),
    closeConnections: () => drain.closeConnections(),
    hold,
    closeSocket,
    shutdown: async () => {
      await closeSocket();
      drain.release();
      await closed;
    },
  };
}

/** Waits, and lets the server receive what arrived meanwhile: on a busy machine a timer may end late. */
async function waitAndReceive(milliseconds: number): Promise<void> {
  await wait(milliseconds);
  await turn();
  await turn();
}

/** Milliseconds before each attempt to listen again. */
const restartDelayMs = 100;

async function attempt(start: () => Promise<HttpServer>): Promise<HttpServer | null> {
  try {
    return await start();
  } catch {
    return null;
  }
}

function drainingHandler(drain: Drain, { serve }: ListenOptions): RequestHandler {
  return async function handle(request, client) {
    drain.countRequest();
    let response = withLength(await serve(request, client));
    if (mayHaveUnreadBody(request, response)) {
      response = await respondBeforeBody(request, response, client);
    }
    return drain.isDraining ? await drain.pass(response) : response;
  };
}

/** Returns the response to a request whose body may still arrive. */
async function respondBeforeBody(
  request: Request,
  response: Response,
  { close }: ClientInfo,
): Promise<Response> {
  // A client that stalled would let the server wait again.
  const isLate = response.status === requestTimeout;
  if (close === undefined) {
    if (!isLate) void discardBody(request);
    return response;
  }
  // Deno leaves such a connection open if the body never ends.
  const closes = response.headers.get("connection") === "close";
  const held = isLate ? response : await endAfterBody(request, response);
  if (closes) close();
  return held;
}

const requestTimeout = 408;

/** Returns the response, or a 204 in place of a 205, which Deno sends without its length. */
function withLength(response: Response): Response {
  if (response.status !== 205) return response;
  return new Response(null, { status: 204, headers: response.headers });
}

function errorResponder({ observe, server }: ListenOptions) {
  return (error: unknown) => {
    observe({ kind: "unexpected-error", error });
    const headers = { "Server": server };
    return new Response("Something went wrong", { status: 500, headers });
  };
}

/** Starts the runtime's server. Only that server's module is loaded. */
const startServer: StartServer = async (options) => {
  const { start } =
    await ("Deno" in globalThis ? import("./serve_deno.ts") : import("./serve_node.ts"));
  return await start(options);
};

/** Listens on the first address that can be bound. Fails at once if the port is in use. */
async function bindTcp(
  { host, port, reusePort }: TcpAddress,
  { what, serveOptions }: Pick<ListenOptions, "what"> & { readonly serveOptions: ServeOptions },
): Promise<BoundServer> {
  const at = (options: { readonly hostname: string; readonly port: number }) =>
    startServer({ ...serveOptions, address: { kind: "tcp", ...options, reusePort } });
  let failure: unknown = new Error("the name has no address");
  for (const hostname of await addressesOf(host, resolve).catch(throwListenError(host, port))) {
    try {
      const server = await at({ hostname, port });
      const bound = { hostname, port: server.port ?? port };
      const restart = () => at(bound);
      return {
        address: addressText(bound),
        port: bound.port,
        server,
        restart,
        isReachable: () => true,
      };
    } catch (error) {
      failure = error;
      if (errorCode(error) === "EADDRINUSE") break;
    }
  }
  if (errorCode(failure) === "EADDRINUSE") failure = await inUse(what, port, failure);
  return throwListenError(host, port)(failure);
}

/** Returns an error that names the next free port of the loopback address. */
async function inUse(what: ListenOptions["what"], port: number, cause: unknown): Promise<Error> {
  const free = await findNextPort(port, isFreePort);
  const advice = `give another port, such as ${portFlags[what]}=${free > 65_535 ? 0 : free}`;
  return new Error(`address already in use; stop the other server, or ${advice}`, { cause });
}

const portFlags = { api: "--port", admin: "--admin-server-port" } as const;

async function resolve(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

function throwListenError(host: string, port: number): (cause: unknown) => never {
  return (cause) => {
    const address = addressText({ hostname: host, port });
    throw new Error(`cannot listen on ${address}: ${listenProblem(cause)}`, { cause });
  };
}

/** Reasons and next steps by the system's code, since each runtime words them differently. */
const listenProblems: ReadonlyMap<unknown, string> = new Map([
  ["EADDRINUSE", "address already in use"],
  ["EADDRNOTAVAIL", "the machine does not have this address"],
  ["EACCES", "permission denied; give a port above 1023"],
]);

function listenProblem(cause: unknown): string {
  return listenProblems.get(errorCode(cause)) ?? errorMessage(cause);
}

/**
 * Listens on a temporary name in the same folder, sets the file's mode and renames it to the path.
 * Clients therefore never find a socket that is not ready. When the server ends, the runtime
 * removes the temporary name only. The file at the path remains; a new server may already have replaced it.
 */
async function bindUnix(
  { path, mode }: Extract<ListenAddress, { kind: "unix" }>,
  serveOptions: ServeOptions,
): Promise<BoundServer> {
  let own: number | null = null;
  const start = async () => {
    checkSocketFile(path);
    const temporary = join(dirname(path), `.${process.pid}`);
    const address = { kind: "unix", path: temporary } as const;
    const server = await startServer({ ...serveOptions, address });
    chmodSync(temporary, mode);
    own = inodeOf(temporary);
    renameSync(temporary, path);
    return server;
  };
  try {
    const server = await start();
    return {
      address: path,
      port: null,
      server,
      restart: start,
      isReachable: () => inodeOf(path) === own,
    };
  } catch (cause) {
    throw new Error(`cannot listen on ${path}: ${listenProblem(cause)}`, { cause });
  }
}

/** Throws unless the path is free or holds a socket, which a new server may replace. */
function checkSocketFile(path: string): void {
  const found = statOf(path);
  if (found !== null && !found.isSocket()) throw new Error("file exists and is not a socket");
}

function inodeOf(path: string): number | null {
  return statOf(path)?.ino ?? null;
}

function statOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}
