/** Listens on a TCP address or a Unix socket and passes requests to a handler. @module */
import type { Observation } from "../observe/observation.ts";
import { bind, type BoundServer, type ServerKind } from "./bind.ts";
import type { ListenAddress } from "./listen_address.ts";
import { type ConnectionLimits, noLimits } from "./connection_table.ts";
import { discardBody, endAfterBody, mayHaveUnreadBody } from "./discard_body.ts";
import { Drain } from "./drain.ts";
import { wait } from "../lib/time_limits.ts";
import { turn } from "../lib/timers.ts";
import type { ClientInfo, RequestHandler } from "./http_server.ts";

/** Options of {@linkcode listen} apart from the address. */
export interface ListenOptions {
  readonly what: ServerKind;
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
  /**
   * Holds responses until {@linkcode shutdown}. Resolves when no more requests arrive, with the number of
   * those since the start.
   */
  hold(): Promise<number>;
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
    limits: options.limits ?? noLimits,
    // Connections of the admin server are not counted.
    observe: what === "api" ? observe : () => {},
  };
  const bound = await bind(listenAddress, { what, serveOptions });
  observe({ kind: "listening", what, address: bound.address });
  return keepListening(bound, { drain, observe });
}

/** A server that has failed is no longer open: Deno's ends without a file descriptor. */
function keepListening(
  { address, server, isReachable }: BoundServer,
  { drain, observe }: { readonly drain: Drain } & Pick<ListenOptions, "observe">,
): Listening {
  let isOpen = true;
  server.finished.catch((error) => {
    isOpen = false;
    observe({ kind: "unexpected-error", error });
  });
  let held: Promise<void> | null = null;
  const hold = () => {
    isOpen = false;
    return held = drain.hold();
  };
  let closed: Promise<void> | undefined;
  const closeSocket = async () => {
    await (held ?? hold());
    await (closed ??= server.shutdown());
  };
  return {
    address,
    isOpen: () => isOpen && isReachable(),
    closeConnections: () => drain.closeConnections(),
    hold: async () => {
      await hold();
      return drain.requests;
    },
    closeSocket,
    shutdown: async () => {
      await closeSocket();
      drain.release();
      await server.finished.catch(() => {});
    },
  };
}

/** Waits, and lets the server receive what arrived meanwhile: on a busy machine a timer may end late. */
async function waitAndReceive(milliseconds: number): Promise<void> {
  await wait(milliseconds);
  await turn();
  await turn();
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
