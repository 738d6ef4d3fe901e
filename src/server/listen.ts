/**
 * Listens on a TCP address or a Unix socket and hands requests on.
 *
 * @module
 */
import { lookup } from "node:dns/promises";
import { dirname, join } from "node:path";
import { hasBody } from "../errors/http_text.ts";
import type { Observation } from "../observe/observation.ts";
import { addressesOf, addressText, type Binding } from "./listen_address.ts";
import { Gate } from "./drain.ts";
import { textOf } from "./output.ts";
import { wait } from "./deadline.ts";

/** Answers a request of a client. */
export type ServeRequest = (request: Request, info: ClientInfo) => Promise<Response>;

/** What is known of a client. */
export interface ClientInfo {
  /** Its address without port; null when it came by a Unix socket. */
  readonly client: string | null;
  /** Deno says how long a body is when it has all of it. */
  readonly tellsLength: true;
}

/** What listening needs beside the place. */
export interface ListenOptions {
  readonly what: "api" | "admin";
  /** The value of the `Server` header of answers that `serve` does not make. */
  readonly server: string;
  readonly serve: ServeRequest;
  readonly observe: (event: Observation) => void;
}

/** A server that listens. */
export interface Listening {
  /** False when it was shut down, when it failed, or when the file of its Unix socket is gone. */
  isOpen(): boolean;
  /** Accepts nothing any more, answers what has come, and resolves when that is done. */
  shutdown(): Promise<void>;
}

/** Begins to listen. Rejects with an `Error` that names the address when that is not possible. */
export async function listen(binding: Binding, options: ListenOptions): Promise<Listening> {
  const { what, observe } = options;
  const gate = new Gate(wait);
  const serving = { handler: gatedHandler(gate, options), onError: errorResponder(options) };
  const bound = binding.kind === "unix"
    ? bindUnix(binding, serving)
    : await bindTcp(binding, serving);
  observe({ kind: "listening", what, address: bound.address });
  return keepListening(bound, { gate, observe });
}

type Serving = Pick<Deno.ServeOptions, "onError"> & { readonly handler: Deno.ServeHandler };

type Server = Pick<Deno.HttpServer, "finished" | "shutdown">;

/** A server, and how to start its like when it fails. */
interface Bound {
  readonly address: string;
  readonly server: Server;
  /** Begins to listen at the very same place. */
  readonly again: () => Server;
  /** Whether new connections find the socket. */
  readonly isReachable: () => boolean;
}

/**
 * Deno's server ends when it cannot accept a connection, as when there are no file descriptors left:
 * then it is started anew until that works.
 */
function keepListening(
  bound: Bound,
  { gate, observe }: { readonly gate: Gate } & Pick<ListenOptions, "observe">,
): Listening {
  let server: Server | null = bound.server;
  let stopping = false;
  const restart = async () => {
    while (!stopping && server === null) {
      await wait(retryAfter);
      if (!stopping) server = attempt(bound.again);
    }
    if (server !== null) watch(server);
  };
  const watch = (watched: Server) => {
    watched.finished.catch((error) => {
      observe({ kind: "unexpected-error", error });
      server = null;
      if (!stopping) restart();
    });
  };
  watch(bound.server);
  return {
    isOpen: () => !stopping && server !== null && bound.isReachable(),
    shutdown: async () => {
      stopping = true;
      await gate.close();
      const closed = server?.shutdown();
      gate.open();
      await closed;
    },
  };
}

/** Milliseconds between attempts to listen again. */
const retryAfter = 100;

function attempt(start: () => Server): Server | null {
  try {
    return start();
  } catch {
    return null;
  }
}

function gatedHandler(gate: Gate, { serve }: ListenOptions): Deno.ServeHandler {
  return async function handle(request, info) {
    gate.arrived();
    const response = sendable(request, await serve(request, new Client(info)));
    return gate.isClosing ? await gate.pass(response) : response;
  };
}

/** Looks for the address when it is asked for, which most requests do not. */
class Client implements ClientInfo {
  readonly tellsLength = true as const;
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
 * Makes of an answer one that Deno can send. Deno leaves out the length of a 205, for which clients
 * then wait; and it gives an answer to HEAD a length of 0 unless its body is a stream. It takes longer
 * to send an answer whose headers were looked at.
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

const quietly = { onListen() {} };

/** Listens at the first address that can be bound; a port that is taken is a failure at once. */
async function bindTcp(
  { host, port, reusePort }: Extract<Binding, { kind: "tcp" }>,
  serving: Serving,
): Promise<Bound> {
  const at = (options: { readonly hostname: string; readonly port: number }) =>
    Deno.serve({ ...quietly, ...serving, ...options, reusePort });
  let failure: unknown = new Error("the name has no address");
  for (const hostname of await addressesOf(host, resolve).catch(refuse(host, port))) {
    try {
      const server = at({ hostname, port });
      const { addr } = server;
      const again = () => at({ hostname, port: addr.port });
      return { address: addressText(addr), server, again, isReachable: () => true };
    } catch (error) {
      failure = error;
      if (error instanceof Deno.errors.AddrInUse) break;
    }
  }
  return refuse(host, port)(failure);
}

async function resolve(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

function refuse(host: string, port: number): (cause: unknown) => never {
  return (cause) => {
    const address = addressText({ hostname: host, port });
    throw new Error(`cannot listen on ${address}: ${textOf(cause)}`, { cause });
  };
}

/**
 * Listens at a name beside the path, gives the file its mode and moves it there, so that the path
 * never leads to a socket that is not ready. A server that ends removes the file that it listened
 * at, which is not there any more: the one at the path stays, or is that of a successor.
 */
function bindUnix({ path, mode }: Extract<Binding, { kind: "unix" }>, serving: Serving): Bound {
  let own: number | null = null;
  const start = () => {
    refuseOtherFile(path);
    const beside = join(dirname(path), `.${Deno.pid}`);
    const server = Deno.serve({ ...quietly, ...serving, path: beside });
    Deno.chmodSync(beside, mode);
    own = inodeOf(beside);
    Deno.renameSync(beside, path);
    return server;
  };
  try {
    const server = start();
    return { address: path, server, again: start, isReachable: () => inodeOf(path) === own };
  } catch (cause) {
    throw new Error(`cannot listen on ${path}: ${textOf(cause)}`, { cause });
  }
}

/** A socket that is left over may go, any other file may not. */
function refuseOtherFile(path: string): void {
  const found = statOf(path);
  if (found !== null && !found.isSocket) throw new Error("the file exists and is no socket");
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
