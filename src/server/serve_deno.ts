/**
 * Serves HTTP with Deno's server.
 *
 * @module
 */
import { hasBody } from "../errors/http_text.ts";
import type { ClientInfo, HttpServer, HttpServerOptions } from "./http_server.ts";

/** Starts a server. Rejects with Deno's error if it cannot bind the address. */
export function start({ address, handler, onError }: HttpServerOptions): Promise<HttpServer> {
  const options = {
    onListen() {},
    onError,
    handler: (request: Request, info: Deno.ServeHandlerInfo) => {
      const response = handler(request, new ConnectedClient(info));
      return request.method === "HEAD" ? response.then(headResponse) : response;
    },
  };
  if (address.kind === "unix") {
    const { finished, shutdown } = bound(Deno.serve({ ...options, path: address.path }));
    return Promise.resolve({ port: null, finished, shutdown });
  }
  const { hostname, port, reusePort } = address;
  const server = Deno.serve({ ...options, hostname, port, reusePort });
  return Promise.resolve({ port: server.addr.port, ...bound(server) });
}

function bound(server: Pick<Deno.HttpServer, "finished" | "shutdown">) {
  return { finished: server.finished, shutdown: () => server.shutdown() };
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
 * Returns a response to HEAD that Deno sends correctly: unless its body is a stream, Deno sets the
 * length 0.
 */
function headResponse(response: Response): Response {
  if (response.headers.has("Content-Length") || !hasBody(response.status)) return response;
  return new Response(new ReadableStream({ start: (controller) => controller.close() }), response);
}
