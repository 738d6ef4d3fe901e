/** Serves HTTP with Node's server. The package srvx converts between its messages and `Request` and
 * `Response`. Node's own classes would take most of the time of a short request. @module */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { sendNodeResponse } from "srvx/node";
import { turn } from "../../base/lib/timers.ts";
import { deferred } from "../../base/lib/deferred.ts";
import { mayHaveUnreadBody } from "./discard_body.ts";
import type { HttpServer, HttpServerOptions, RequestHandler } from "./http_server.ts";
import { NodeServerRequest, NodeServerResponse } from "./node_messages.ts";

/** Starts a server. Rejects with Node's error if it cannot bind the address. */
export async function start(options: HttpServerOptions): Promise<HttpServer> {
  // The handler creates responses of this class, since Node's class is slow.
  globalThis.Response = NodeServerResponse as unknown as typeof Response;
  const server = createServer(settingsOf(options), listener(options));
  applyLimits(server, options);
  await bind(server, options.address);
  // A failure does not end the server, because Node continues to accept connections.
  server.on("error", (error) => void options.onError(error));
  const finished = deferred<void>();
  server.on("close", finished.resolve);
  const address = server.address();
  return {
    port: address === null || typeof address === "string" ? null : address.port,
    finished: finished.promise,
    shutdown: () => {
      server.close();
      return turn();
    },
  };
}

/** Settings with which Node's server behaves like Deno's. */
const serverSettings = {
  // An idle connection stays open: a proxy may just be about to use it.
  keepAliveTimeout: 0,
  // A request may take any time, because uploads may be long. Its head keeps Node's limit of 60 s.
  requestTimeout: 0,
  // The limit is high, because filters may be long. Deno's server has the same limit.
  maxHeaderSize: 400 * 1024,
};

/** Period of Node's check for late headers, in milliseconds. */
const connectionsCheckingInterval = 1000;

function settingsOf({ limits }: Pick<HttpServerOptions, "limits">): ServerOptions {
  if (limits === null) return serverSettings;
  const { headerTimeoutMs: headersTimeout, idleTimeoutMs: keepAliveTimeout } = limits;
  const ofHeader = headersTimeout === 0 ? {} : { headersTimeout, connectionsCheckingInterval };
  return { ...serverSettings, ...ofHeader, keepAliveTimeout };
}

/** Limits connections. Node closes those above the limit at once. */
function applyLimits(
  server: Server,
  { limits, observe }: Pick<HttpServerOptions, "limits" | "observe">,
): void {
  if (limits === null) return;
  if (limits.maxConnections > 0) server.maxConnections = limits.maxConnections;
  server.on("connection", (socket) => {
    observe({ kind: "connection-opened" });
    socket.once("close", () => observe({ kind: "connection-closed", reason: "client" }));
  });
  server.on("drop", () => {
    observe({ kind: "connection-opened" });
    observe({ kind: "connection-closed", reason: "limit" });
  });
}

/** Maximum length of the request target, the limit of Deno's server. */
const maxTargetLength = 65_534;

function bind(server: Server, address: HttpServerOptions["address"]): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      server.off("error", reject);
      resolve();
    });
    if (address.kind === "unix") server.listen({ path: address.path });
    else server.listen(tcpOptions(address));
  });
}

function tcpOptions(
  { hostname: host, port, reusePort }: Extract<HttpServerOptions["address"], { kind: "tcp" }>,
) {
  if (!reusePort) return { host, port };
  if (!canReusePort()) throw new Error("server-reuseport needs Node 22.12 or later");
  return { host, port, reusePort, exclusive: true };
}

/** Whether Node can share a port. It has the option from 22.12 and 23.1 on, and ignores it before. */
function canReusePort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 23 || major === 22 && minor >= 12 || major === 23 && minor >= 1;
}

function listener({ handler, onError }: HttpServerOptions) {
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if ((incoming.url ?? "").length > maxTargetLength) {
      outgoing.writeHead(400, { Connection: "close" }).end();
      return;
    }
    void respond(handler, incoming, outgoing).catch((error) => {
      const response = onError(error);
      // A response that has begun is cut off, so that the client notices the failure.
      if (outgoing.headersSent) outgoing.destroy();
      else void sendNodeResponse(outgoing, response).catch(() => outgoing.destroy());
    });
  };
}

async function respond(
  handler: RequestHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const client = incoming.socket.remoteAddress ?? null;
  const request = new NodeServerRequest({ req: incoming, res: outgoing });
  const response = await handler(request, { client, setsContentLength: true });
  if (!incoming.complete && mayHaveUnreadBody(request, response)) {
    // After 408, the connection is closed, because the rest of the body may never arrive.
    if (response.status === 408) outgoing.once("finish", () => incoming.socket.destroySoon());
    else endAfterBody(outgoing, incoming);
  }
  await sendNodeResponse(outgoing, response);
}

/**
 * Delays the end of a response until the rest of the request's body is discarded. Otherwise Node
 * would close the connection while the client still sends, and the client would lose the response.
 */
function endAfterBody(outgoing: ServerResponse, incoming: IncomingMessage): void {
  const end = outgoing.end.bind(outgoing);
  outgoing.end = ((...args: Parameters<typeof end>) => {
    if (incoming.complete || incoming.destroyed) return end(...args);
    incoming.once("close", () => void end(...args));
    return outgoing;
  }) as typeof outgoing.end;
}
