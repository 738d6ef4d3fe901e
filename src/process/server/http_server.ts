/** The port to the runtime's HTTP server. `serve_deno.ts` and `serve_node.ts` implement it. @module
 */

import type { Observation } from "../../base/observe/observation.ts";
import type { ConnectionLimits } from "./connection_table.ts";

/** The client that sent a request. */
export interface ClientInfo {
  /** Address without port; null for a Unix socket. */
  readonly client: string | null;
  /** The server sets `Content-Length` if the whole body is in memory. */
  readonly setsContentLength: true;
  /**
   * Closes the connection soon after its responses were sent; absent where the runtime does. Where it is
   * present, the runtime receives no more of a request's body once the response has ended.
   */
  readonly close?: () => void;
  /** Returns true while other clients wait for a connection; absent if they never do. */
  readonly isContended?: () => boolean;
  /** Called when the whole body has arrived. Default: the response tells it. */
  readonly bodyReceived?: () => void;
}

/** Responds to a request of a client. */
export type RequestHandler = (request: Request, client: ClientInfo) => Promise<Response>;

export interface HttpServerOptions {
  readonly address:
    | {
      readonly kind: "tcp";
      readonly hostname: string;
      /** 0 selects a free port. */
      readonly port: number;
      readonly reusePort: boolean;
    }
    | { readonly kind: "unix"; readonly path: string };
  readonly handler: RequestHandler;
  /** Returns the response to a request whose handler rejects. */
  readonly onError: (error: unknown) => Response;
  /** Null if no limit is set. */
  readonly limits: ConnectionLimits | null;
  readonly observe: (event: Observation) => void;
}

export interface HttpServer {
  /** Port that the server listens on; null for a Unix socket. */
  readonly port: number | null;
  /** Whether its shutdown breaks off bodies that arrive. Default: false. */
  readonly breaksBodies?: true;
  /** Resolves when the server has ended, and rejects if it fails. */
  readonly finished: Promise<void>;
  /** Closes the socket, and ends when all requests have a response. Resolves when the socket is closed. */
  shutdown(): Promise<void>;
}

/** Starts a server. Rejects with the runtime's error if it cannot bind the address. */
export type StartServer = (options: HttpServerOptions) => Promise<HttpServer>;
