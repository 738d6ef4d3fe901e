/** Serves HTTP with Deno's server. @module */
import { hasBody } from "../../base/errors/http_text.ts";
import { systemClock } from "../../base/lib/clock.ts";
import { turn } from "../../base/lib/timers.ts";
import type { ClientInfo, HttpServer, HttpServerOptions } from "./http_server.ts";
import {
  denoServeConnection,
  type ServeConnection,
  serveConnections,
} from "./serve_connections.ts";

/** Starts a server. Rejects with Deno's error if it cannot bind the address. */
export function start(options: HttpServerOptions): Promise<HttpServer> {
  const isLimited = options.limits !== null && canListen(options.address);
  const serveConnection = isLimited ? denoServeConnection() : null;
  return Promise.resolve(
    serveConnection === null ? serveAll(options) : serveEach(options, serveConnection),
  );
}

/** Returns whether `Deno.listen` can listen on the address. To share a port, it needs the flag
 * `--unstable-net`, which `Deno.serve` does not need. */
function canListen(address: HttpServerOptions["address"]): boolean {
  return address.kind === "unix" || !address.reusePort || "listenDatagram" in Deno;
}

/** Serves all connections by `Deno.serve`, which has no limits. */
function serveAll({ address, handler, onError, limits, observe }: HttpServerOptions): HttpServer {
  if (limits !== null && limits.keys.length > 0) {
    observe({ kind: "limits-unavailable", keys: limits.keys });
  }
  const options = {
    onListen() {},
    onError,
    handler: (request: Request, info: Deno.ServeHandlerInfo) => {
      const response = handler(request, new ConnectedClient(info));
      return request.method === "HEAD" ? response.then(headResponse) : response;
    },
  };
  if (address.kind === "unix") {
    return { port: null, ...bound(Deno.serve({ ...options, path: address.path })) };
  }
  const { hostname, port, reusePort } = address;
  const server = Deno.serve({ ...options, hostname, port, reusePort });
  return { port: server.addr.port, ...bound(server) };
}

/** Accepts and serves connections within limits. */
function serveEach(
  { address, handler, onError, limits, observe }: HttpServerOptions,
  serveConnection: ServeConnection,
): HttpServer {
  const listener = address.kind === "unix"
    ? Deno.listen({ transport: "unix", path: address.path })
    : Deno.listen({ hostname: address.hostname, port: address.port, reusePort: address.reusePort });
  const { addr } = listener;
  const server = serveConnections({
    listener,
    serveConnection,
    limits: limits!,
    observe,
    clock: systemClock,
    onError,
    handlerOf: ({ remoteAddr }, connection) => {
      const client = addressOf(remoteAddr);
      const info = { client, setsContentLength: true, ...connection } as const;
      return (request) => {
        const response = handler(request, info);
        return request.method === "HEAD" ? response.then(headResponse) : response;
      };
    },
  });
  return { port: "port" in addr ? addr.port : null, ...server };
}

function bound(server: Pick<Deno.HttpServer, "finished" | "shutdown">) {
  const shutdown = () => {
    server.shutdown().catch(() => {});
    // The runtime closes the socket in its next turn. Until then, clients could connect again.
    return turn();
  };
  return { finished: server.finished, shutdown, breaksBodies: true } as const;
}

/** A client whose address is read at first use, because most requests do not need it. */
class ConnectedClient implements ClientInfo {
  readonly setsContentLength = true as const;
  readonly #info: Deno.ServeHandlerInfo;

  constructor(info: Deno.ServeHandlerInfo) {
    this.#info = info;
  }

  get client(): string | null {
    return addressOf(this.#info.remoteAddr);
  }
}

function addressOf(address: Deno.Addr): string | null {
  return "hostname" in address ? address.hostname : null;
}

/** Returns a response to HEAD with a stream as body. Otherwise Deno would set the length 0. */
function headResponse(response: Response): Response {
  if (response.headers.has("Content-Length") || !hasBody(response.status)) return response;
  return new Response(new ReadableStream({ start: (controller) => controller.close() }), response);
}
