/** Routes of the admin server, and which clients may request them. @module */

/** The client side of a connection. */
export interface Peer {
  /** Address without port; null for a Unix socket; undefined if it is not known. */
  readonly client: string | null | undefined;
  /** Whether the program that runs the admin server has verified the client. Default: false. */
  readonly isTrusted?: boolean;
}

/**
 * Protection of a path. `open`: any client may request it. Other paths need access to inner paths.
 * `page`: a file of the console, which needs no `admin-token`. `inner`: data that any program may
 * request. `data`: data that only the console's page may request.
 */
export type Protection = "open" | "page" | "inner" | "data";

/** A path with its protection. */
export interface GuardedRoute {
  readonly protection: Protection;
  readonly respond: (request: Request, peer: Peer) => Promise<Response>;
}

/** Finds the route of a path; null for a path without a route. */
export type FindRoute = (path: string) => GuardedRoute | null;

export type AdminHandler = (request: Request, peer: Peer) => Promise<Response>;

export type Route = (request: Request) => Promise<Response> | Response;

/** Returns a route that any client may request. */
export function open(respond: Route): GuardedRoute {
  return { protection: "open", respond: async (request) => await respond(request) };
}

/** Returns an inner route. Browsers do not load its response into pages of other sites. */
export function guarded(respond: Route): GuardedRoute {
  return {
    protection: "inner",
    respond: async (request) => {
      const response = await respond(request);
      response.headers.set("X-Content-Type-Options", "nosniff");
      response.headers.set("Cross-Origin-Resource-Policy", "same-origin");
      return response;
    },
  };
}

/** Returns a response without a body. */
export function emptyResponse(status: number): Response {
  return new Response(null, { status });
}

/** Returns a response with a text. Default: plain text with status 200. */
export function textResponse(
  text: string,
  { type = "text/plain; charset=utf-8", status = 200 }: {
    readonly type?: string;
    readonly status?: number;
  } = {},
): Response {
  return new Response(text, { status, headers: { "Content-Type": type } });
}
