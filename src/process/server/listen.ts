/** Listens on a TCP address or a Unix socket, and passes requests to a handler. @module */
import type { Observation } from "../../base/observe/observation.ts";
import { bind, type BoundServer, type ServerKind } from "./bind.ts";
import type { ListenAddress } from "../listen_address.ts";
import type { ConnectionLimits } from "./connection_table.ts";
import { discardBody, endAfterBody, mayHaveBody, mayHaveUnreadBody } from "./discard_body.ts";
import { Drain } from "./drain.ts";
import { wait } from "../../base/lib/time_limits.ts";
import { turn } from "../../base/lib/timers.ts";
import type { ClientInfo, HttpServer, RequestHandler } from "./http_server.ts";

export interface ListenOptions {
  readonly what: ServerKind;
  /** Value of `Server` for responses that the runtime creates. */
  readonly server: string;
  readonly serve: RequestHandler;
  /** Default: no limits. */
  readonly limits?: ConnectionLimits | null;
  readonly observe: (event: Observation) => void;
}

export interface Listening {
  /** Address and port, or the path of the Unix socket. */
  readonly address: string;
  /** False after shutdown or failure, or if another process has removed the file of the Unix socket. */
  isOpen(): boolean;
  /** Closes each connection after its next response. */
  closeConnections(): void;
  /** Holds responses until {@linkcode shutdown}. Resolves when no more requests arrive, with the
   * number of requests so far. */
  hold(): Promise<number>;
  /** Holds responses, then closes the socket and idle connections. */
  closeSocket(): Promise<void>;
  /** Stops accepting connections. Resolves when all requests have a response. */
  shutdown(): Promise<void>;
}

/** Starts to listen. Rejects with an `Error` that names the address if it cannot be bound. */
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
  const bound = await bind(listenAddress, { what, serveOptions });
  observe({ kind: "listening", what, address: bound.address });
  return keepListening(bound, { drain, observe });
}

/** Restarts the server after a failure. Deno's server ends if it cannot accept a connection, for
 * example without a free file descriptor. Node's continues. */
class RestartedServer {
  /** Null between a failure and the restart. */
  current: HttpServer | null;
  isStopping = false;

  constructor(
    private readonly bound: BoundServer,
    private readonly observe: ListenOptions["observe"],
  ) {
    this.current = bound.server;
    this.#watch(bound.server);
  }

  async #restartUntilOpen(): Promise<void> {
    while (!this.isStopping && this.current === null) {
      await wait(restartDelayMs);
      if (!this.isStopping) this.current = await attempt(this.bound.restart);
    }
    if (this.current !== null) this.#watch(this.current);
  }

  #watch(watched: HttpServer): void {
    watched.finished.catch((error) => {
      this.observe({ kind: "unexpected-error", error });
      this.current = null;
      if (!this.isStopping) this.#restartUntilOpen();
    });
  }
}

function keepListening(
  bound: BoundServer,
  { drain, observe }: { readonly drain: Drain } & Pick<ListenOptions, "observe">,
): Listening {
  const server = new RestartedServer(bound, observe);
  let held: Promise<void> | null = null;
  const hold = () => {
    server.isStopping = true;
    return held = server.current?.breaksBodies ? drain.holdBetweenBodies() : drain.hold();
  };
  let closed: Promise<void> | undefined;
  const closeSocket = async () => {
    await (held ?? hold());
    await (closed ??= server.current?.shutdown());
  };
  return {
    address: bound.address,
    isOpen: () => !server.isStopping && server.current !== null && bound.isReachable(),
    closeConnections: () => drain.closeConnections(),
    hold: async () => {
      await hold();
      return drain.requests;
    },
    closeSocket,
    shutdown: async () => {
      await closeSocket();
      drain.release();
      await server.current?.finished;
    },
  };
}

/** Waits. Then lets the server receive the requests that have arrived, because a timer may be late. */
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
    const info = client.close === undefined && mayHaveBody(request)
      ? watched(client, drain.countBody())
      : client;
    let response: Response;
    try {
      response = withLength(await serve(request, info));
    } catch (error) {
      info.bodyReceived?.();
      throw error;
    }
    if (mayHaveUnreadBody(request, response)) {
      response = await respondBeforeBody(request, response, info);
    } else info.bodyReceived?.();
    return drain.isDraining ? await drain.pass(response) : response;
  };
}

/** Returns the client with a function that is called when the body has arrived. */
function watched(client: ClientInfo, bodyReceived: () => void): ClientInfo {
  return {
    setsContentLength: true,
    bodyReceived,
    get client() {
      return client.client;
    },
  };
}

/** Returns the response for a request whose body may still arrive. */
async function respondBeforeBody(
  request: Request,
  response: Response,
  { close, bodyReceived = () => {} }: ClientInfo,
): Promise<Response> {
  // The client has stalled, so the server does not wait for the rest of the body.
  const isLate = response.status === requestTimeout;
  if (close === undefined) {
    if (isLate) bodyReceived();
    else void discardBody(request).then(bodyReceived);
    return response;
  }
  // The server closes the connection itself: if the body never ends, Deno ignores the header.
  const closes = response.headers.get("connection") === "close";
  const held = isLate ? response : await endAfterBody(request, response);
  if (closes) close();
  return held;
}

const requestTimeout = 408;

/** Returns the response. A 205 becomes 204, because Deno would send it without its length. */
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
