/** Interface to the HTTP server of the runtime. `serve_deno.ts` and `serve_node.ts` implement it. @module */

import type { Observation } from "../../base/observe/observation.ts";
import type { ConnectionLimits } from "./connection_table.ts";

/** The client that sent a request. */
export interface ClientInfo {
  /** Address without port; null for a Unix socket. */
  readonly client: string | null;
  /** Whether the server sets `Content-Length` if the whole body is in memory. */
  readonly setsContentLength: true;
  /**
   * Closes the connection soon after its responses are sent. If present, the runtime stops reading
   * a request's body when the response has ended. Absent if the runtime closes connections itself.
   */
  readonly close?: () => void;
  /** Returns whether other clients wait for a connection. Absent if no client ever waits. */
  readonly isContended?: () => boolean;
  /** Called when the whole body has arrived. Default: the end of the response shows the arrival. */
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
  /** Returns the response for a request whose handler rejects. */
  readonly onError: (error: unknown) => Response;
  /** Null if no limit is set. */
  readonly limits: ConnectionLimits | null;
  readonly observe: (event: Observation) => void;
}

export interface HttpServer {
  /** Port that the server listens on; null for a Unix socket. */
  readonly port: number | null;
  /** Whether shutdown interrupts bodies that are arriving. Default: false. */
  readonly breaksBodies?: true;
  /** Resolves when the server has ended. Rejects if it fails. */
  readonly finished: Promise<void>;
  /** Closes the socket, and ends after all responses. Resolves when the socket is closed. */
  shutdown(): Promise<void>;
}

/** Starts a server. Rejects with the runtime's error if it cannot bind the address. */
export type StartServer = (options: HttpServerOptions) => Promise<HttpServer>;
