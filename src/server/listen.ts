/**
 * Listens on a TCP address or a Unix socket and passes requests to a handler.
 *
 * @module
 */
import { lookup } from "node:dns/promises";
import { dirname, join } from "node:path";
import { hasBody } from "../errors/http_text.ts";
import type { Observation } from "../observe/observation.ts";
import { addressesOf, addressText, type ListenAddress } from "./listen_address.ts";
import { Drain } from "./drain.ts";
import { errorMessage } from "../cli/output.ts";
import { wait } from "../lib/deadline.ts";

/** Responds to a request of a client. */
export type ServeRequest = (request: Request, info: ClientInfo) => Promise<Response>;

/** The client that sent a request. */
export interface ClientInfo {
  /** Address without port; null for a Unix socket. */
  readonly client: string | null;
  /** Deno sets `Content-Length` if the whole body is in memory. */
  readonly setsContentLength: true;
}

/** Options of {@linkcode listen} apart from the address. */
export interface ListenOptions {
  readonly what: "api" | "admin";
  /** Value of the `Server` header of responses that `serve` does not make. */
  readonly server: string;
  readonly serve: ServeRequest;
  readonly observe: (event: Observation) => void;
}

/** A listening server. */
export interface Listening {
  /** False after shutdown or a failure, or if another process removed the Unix socket's file. */
  isOpen(): boolean;
  /** Accepts no more connections and resolves when the server has responded to all requests. */
  shutdown(): Promise<void>;
}

/** Begins to listen. Rejects with an `Error` that names the address if it cannot be bound. */
export async function listen(
  listenAddress: ListenAddress,
  options: ListenOptions,
): Promise<Listening> {
  const { what, observe } = options;
  const drain = new Drain(wait);
  const serveOptions = {
    handler: drainingHandler(drain, options),
    onError: errorResponder(options),
  };
  const bound = listenAddress.kind === "unix"
    ? bindUnix(listenAddress, serveOptions)
    : await bindTcp(listenAddress, serveOptions);
  observe({ kind: "listening", what, address: bound.address });
  return keepListening(bound, { drain, observe });
}

type DenoServeOptions = Pick<Deno.ServeOptions, "onError"> & {
  readonly handler: Deno.ServeHandler;
};

type Server = Pick<Deno.HttpServer, "finished" | "shutdown">;

/** A server that has bound its address. */
interface BoundServer {
  readonly address: string;
  readonly server: Server;
  /** Listens on the same address again, after a failure. */
  readonly restart: () => Server;
  /** Whether new connections reach the socket. */
  readonly isReachable: () => boolean;
}

/**
 * Restarts the server after a failure. Deno's server ends if it cannot accept a connection, for
 * instance if the process has no file descriptor left.
 */
function keepListening(
  bound: BoundServer,
  { drain, observe }: { readonly drain: Drain } & Pick<ListenOptions, "observe">,
): Listening {
  let server: Server | null = bound.server;
  let stopping = false;
  const restartUntilOpen = async () => {
    while (!stopping && server === null) {
      await wait(restartDelayMs);
      if (!stopping) server = attempt(bound.restart);
    }
    if (server !== null) watch(server);
  };
  const watch = (watched: Server) => {
    watched.finished.catch((error) => {
      observe({ kind: "unexpected-error", error });
      server = null;
      if (!stopping) restartUntilOpen();
    });
  };
  watch(bound.server);
  return {
    isOpen: () => !stopping && server !== null && bound.isReachable(),
    shutdown: async () => {
      stopping = true;
      await drain.hold();
      const closed = server?.shutdown();
      drain.release();
      await closed;
    },
  };
}

/** Milliseconds before each attempt to listen again. */
const restartDelayMs = 100;

function attempt(start: () => Server): Server | null {
  try {
    return start();
  } catch {
    return null;
  }
}

function drainingHandler(drain: Drain, { serve }: ListenOptions): Deno.ServeHandler {
  return async function handle(request, info) {
    drain.countRequest();
    const response = sendable(request, await serve(request, new ConnectedClient(info)));
    return drain.isDraining ? await drain.pass(response) : response;
  };
}

/** Reads the client's address on first use, since most requests do not need it. */
class ConnectedClient implements ClientInfo {
  readonly setsContentLength = true as const;
  readonly #info: Deno.ServeHandlerInfo;

  constructor(info: Deno.ServeHandlerInfo) {
    this.#info = info;
  }

  get client(): string | null {
    const { remoteAddr } = this.#info;
    return "hostname" in remoteAddr ? remoteAddr.hostname : null;
  }
}

/**
 * Returns a response that Deno sends correctly. Deno omits the length of a 205, and clients wait for
 * it. Deno also gives a response to HEAD the length 0 unless its body is a stream. Other responses
 * are returned untouched, because Deno sends a response faster if its headers were not read.
 */
function sendable(request: Request, response: Response): Response {
  const { status } = response;
  if (status !== 205 && request.method !== "HEAD") return response;
  const { headers } = response;
  if (status === 205) return new Response(null, { status: 204, headers });
  if (headers.has("Content-Length") || !hasBody(status)) return response;
  return new Response(new ReadableStream({ start: (controller) => controller.close() }), response);
}

function errorResponder({ observe, server }: ListenOptions) {
  return (error: unknown) => {
    observe({ kind: "unexpected-error", error });
    const headers = { "Server": server };
    return new Response("Something went wrong", { status: 500, headers });
  };
}

const silent = { onListen() {} };

/** Listens on the first address that can be bound. Fails at once if the port is in use. */
async function bindTcp(
  { host, port, reusePort }: Extract<ListenAddress, { kind: "tcp" }>,
  serveOptions: DenoServeOptions,
): Promise<BoundServer> {
  const at = (options: { readonly hostname: string; readonly port: number }) =>
    Deno.serve({ ...silent, ...serveOptions, ...options, reusePort });
  let failure: unknown = new Error("the name has no address");
  for (const hostname of await addressesOf(host, resolve).catch(throwListenError(host, port))) {
    try {
      const server = at({ hostname, port });
      const { addr } = server;
      const restart = () => at({ hostname, port: addr.port });
      return { address: addressText(addr), server, restart, isReachable: () => true };
    } catch (error) {
      failure = error;
      if (error instanceof Deno.errors.AddrInUse) break;
    }
  }
  return throwListenError(host, port)(failure);
}

async function resolve(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

function throwListenError(host: string, port: number): (cause: unknown) => never {
  return (cause) => {
    const address = addressText({ hostname: host, port });
    throw new Error(`cannot listen on ${address}: ${errorMessage(cause)}`, { cause });
  };
}

/**
 * Listens on a temporary name in the same folder, sets the file's mode and renames it to the path.
 * Clients therefore never find a socket that is not ready. When the server ends, Deno removes the
 * temporary name only. The file at the path remains; a new server may already have replaced it.
 */
function bindUnix(
  { path, mode }: Extract<ListenAddress, { kind: "unix" }>,
  serveOptions: DenoServeOptions,
): BoundServer {
  let own: number | null = null;
  const start = () => {
    checkSocketFile(path);
    const temporary = join(dirname(path), `.${Deno.pid}`);
    const server = Deno.serve({ ...silent, ...serveOptions, path: temporary });
    Deno.chmodSync(temporary, mode);
    own = inodeOf(temporary);
    Deno.renameSync(temporary, path);
    return server;
  };
  try {
    const server = start();
    return { address: path, server, restart: start, isReachable: () => inodeOf(path) === own };
  } catch (cause) {
    throw new Error(`cannot listen on ${path}: ${errorMessage(cause)}`, { cause });
  }
}

/** Throws unless the path is free or holds a socket, which a new server may replace. */
function checkSocketFile(path: string): void {
  const found = statOf(path);
  if (found !== null && !found.isSocket) throw new Error("file exists and is not a socket");
}

function inodeOf(path: string): number | null {
  return statOf(path)?.ino ?? null;
}

function statOf(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
