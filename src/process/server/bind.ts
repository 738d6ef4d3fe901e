/** Binds a TCP address or a Unix socket. @module */
import process from "node:process";
import { lookup } from "node:dns/promises";
import { chmodSync, lstatSync, renameSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { findNextPort, isFreePort } from "../../base/lib/free_ports.ts";
import { errorCode } from "../../base/lib/error_code.ts";
import type { HttpServer, HttpServerOptions, StartServer } from "./http_server.ts";
import { addressesOf, addressText, type ListenAddress } from "../listen_address.ts";
import { errorMessage } from "../../base/errors/error_message.ts";

export type ServerKind = "api" | "admin";

export type TcpAddress = Extract<ListenAddress, { readonly kind: "tcp" }>;

export type ServeOptions = Omit<HttpServerOptions, "address">;

/** A server that has bound its address. */
export interface BoundServer {
  readonly address: string;
  /** Null for a Unix socket. */
  readonly port: number | null;
  readonly server: HttpServer;
  /** Listens on the same address again, after a failure. */
  readonly restart: () => Promise<HttpServer>;
  /** Whether new connections can reach the socket. */
  readonly isReachable: () => boolean;
}

/** Binds an address. Rejects with an `Error` that names the address on failure. `what` selects the
 * advice in the message. */
export async function bind(
  listenAddress: ListenAddress,
  { what, serveOptions }: { readonly what: ServerKind; readonly serveOptions: ServeOptions },
): Promise<BoundServer> {
  return listenAddress.kind === "unix"
    ? await bindUnix(listenAddress, serveOptions)
    : await bindTcp(listenAddress, { what, serveOptions });
}

/** Returns the port of an address that can be bound. The port is bound only for a moment. Rejects
 * with an `Error` that names the address. */
export async function findPort(address: TcpAddress, what: ServerKind): Promise<number> {
  const respond = () => new Response(null, { status: 503 });
  const serveOptions: ServeOptions = {
    handler: () => Promise.resolve(respond()),
    onError: respond,
    limits: null,
    observe: () => {},
  };
  const { port, server } = await bindTcp(address, { what, serveOptions });
  await server.shutdown();
  await server.finished;
  return port!;
}

/** Starts the server of the runtime. Only the module for this runtime is loaded. */
const startServer: StartServer = async (options) => {
  const { start } =
    await ("Deno" in globalThis ? import("./serve_deno.ts") : import("./serve_node.ts"));
  return await start(options);
};

/** Listens on the first address that can be bound. Fails at once if the port is in use. */
async function bindTcp(
  { host, port, reusePort }: TcpAddress,
  { what, serveOptions }: { readonly what: ServerKind; readonly serveOptions: ServeOptions },
): Promise<BoundServer> {
  const at = (options: { readonly hostname: string; readonly port: number }) =>
    startServer({ ...serveOptions, address: { kind: "tcp", ...options, reusePort } });
  let failure: unknown = new Error("the name has no address");
  for (const hostname of await addressesOf(host, resolve).catch(throwListenError(host, port))) {
    try {
      const server = await at({ hostname, port });
      const bound = { hostname, port: server.port ?? port };
      return {
        address: addressText(bound),
        port: bound.port,
        server,
        restart: () => at(bound),
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
async function inUse(what: ServerKind, port: number, cause: unknown): Promise<Error> {
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

/** Reasons and advice by error code of the system, because runtimes word them differently. */
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
 * So clients never find a socket that is not ready. When the server ends, the runtime removes the
 * temporary name only. The file at the path remains; a new server may already have replaced it.
 */
async function bindUnix(
  { path, mode }: Extract<ListenAddress, { kind: "unix" }>,
  serveOptions: ServeOptions,
): Promise<BoundServer> {
  let inode: number | null = null;
  const start = async () => {
    checkSocketFile(path);
    const temporary = join(dirname(path), `.${process.pid}`);
    const address = { kind: "unix", path: temporary } as const;
    const server = await startServer({ ...serveOptions, address });
    chmodSync(temporary, mode);
    inode = inodeOf(temporary);
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
      isReachable: () => inodeOf(path) === inode,
    };
  } catch (cause) {
    throw new Error(`cannot listen on ${path}: ${listenProblem(cause)}`, { cause });
  }
}

/** Throws unless the path is free or is a socket, which a new server may replace. */
function checkSocketFile(path: string): void {
  const stats = statOf(path);
  if (stats !== null && !stats.isSocket()) throw new Error("file exists and is not a socket");
}

function inodeOf(path: string): number | null {
  return statOf(path)?.ino ?? null;
}

function statOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}
