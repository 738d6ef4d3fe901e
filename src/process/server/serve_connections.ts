/**
 * Accepts connections and serves each one separately, so that it can be closed. `Deno.serve` has
 * neither timeouts nor a limit of connections (denoland/deno#3515).
 *
 * Deno serves one connection by an internal function, which is also used by `Deno.serve`. Only this
 * file uses it; see docs/decisions/accepting-connections.md.
 *
 * @module
 */
import type { Clock } from "../../base/lib/clock.ts";
import { deferred } from "../../base/lib/deferred.ts";
import { turn } from "../../base/lib/timers.ts";
import {
  ConnectionTable,
  type ConnectionTableOptions,
  type OpenConnection,
} from "./connection_table.ts";

/** Responds to a request. `completed` settles when the response is sent, or cannot be sent. */
export type ConnectionHandler = (
  request: Request,
  info: { readonly completed: Promise<void> },
) => Promise<Response>;

interface ServedConnection {
  /** Settles when the connection has ended. */
  readonly finished: Promise<void>;
  /** Ends the connection after its open requests. */
  shutdown(): Promise<void>;
}

/** Deno's internal function. It takes ownership of the connection. */
export type ServeConnection = (
  connection: Deno.Conn,
  signal: AbortSignal,
  handler: ConnectionHandler,
  onError: (error: unknown) => Response,
  onListen: () => void,
) => ServedConnection;

/** Returns Deno's function that serves one connection; null if this version of Deno lacks it. */
export function denoServeConnection(
  runtime: { readonly internal?: unknown } = Deno as { readonly internal?: unknown },
): ServeConnection | null {
  const { internal: key } = runtime;
  if (typeof key !== "symbol") return null;
  const functions = Reflect.get(runtime, key) as Record<string, unknown> | undefined;
  const candidate = functions?.["serveHttpOnConnection"];
  return typeof candidate === "function" ? candidate as ServeConnection : null;
}

/** The functions by which a handler controls its connection. */
export interface ConnectionControl {
  /** Ends the connection after its responses. */
  readonly close: () => void;
  /** Returns whether other clients wait for a connection; absent if there is no limit. */
  readonly isContended?: () => boolean;
}

export interface ConnectionServerOptions extends ConnectionTableOptions {
  readonly listener: Pick<Deno.Listener, "accept" | "close">;
  readonly serveConnection: ServeConnection;
  /** Returns the handler for the requests of a connection. */
  readonly handlerOf: (connection: Deno.Conn, control: ConnectionControl) => ConnectionHandler;
  readonly onError: (error: unknown) => Response;
  readonly clock: Clock;
  /** Yields to pending work. Default: one turn of the event loop. */
  readonly pause?: () => Promise<void>;
}

export interface ConnectionServer {
  /** Resolves when the server has ended, and rejects if the listener fails. */
  readonly finished: Promise<void>;
  /** Accepts the connections that are waiting, then closes the listener. Resolves when it is closed. */
  shutdown(): Promise<void>;
}

/** Milliseconds before the next attempt if the process has no free descriptor. */
const retryDelayMs = 100;

export function serveConnections(options: ConnectionServerOptions): ConnectionServer {
  const table = new ConnectionTable(options);
  const served = new Set<TrackedConnection>();
  let stopping = false;
  let accepted = 0;
  const isStopping = () => stopping;
  const end = (connection: TrackedConnection) => shutDown(connection, table, options.clock);
  const accepting = acceptAll(options, table, {
    isStopping,
    serve: (connection) => {
      accepted++;
      const tracked = serveOne(connection, options, { table, served, isStopping });
      if (stopping && tracked !== null) end(tracked);
    },
  });
  const finished = accepting.then(() => ended(served));
  finished.catch(() => {});
  return {
    finished,
    shutdown: async () => {
      await untilQuiet(() => accepted, options.pause);
      stopping = true;
      options.listener.close();
      served.forEach(end);
    },
  };
}

/** A connection that the table lists. */
interface TrackedConnection {
  readonly server: ServedConnection;
  readonly open: OpenConnection;
}

/** Maximum number of turns that {@linkcode untilQuiet} waits. */
const maxTurns = 50;

/** Resolves after a turn without a new connection. When a listener closes, the kernel resets the
 * connections that wait to be accepted. */
async function untilQuiet(count: () => number, pause = turn): Promise<void> {
  for (let turns = 0, before = -1; turns < maxTurns && before !== count(); turns++) {
    before = count();
    await pause();
  }
}

/** Milliseconds in which the first request of a connection may arrive during the shutdown. */
const firstRequestMs = 500;

/** Ends a connection after the responses to its requests. If `shutdown` were called earlier, the
 * runtime would interrupt bodies. */
function shutDown({ server, open }: TrackedConnection, table: ConnectionTable, clock: Clock): void {
  const shutdown = () => void server.shutdown().catch(() => {});
  if (open.open > 0) return table.closeSoon(open);
  if (!table.isUnused(open)) return shutdown();
  clock.scheduleAwaited(() => {
    if (table.isUnused(open)) shutdown();
  }, firstRequestMs);
}

async function ended(served: ReadonlySet<TrackedConnection>): Promise<void> {
  await Promise.allSettled(Array.from(served, ({ server }) => server.finished));
}

/** Accepts connections until the listener is closed. Rejects if the listener fails. */
async function acceptAll(
  { listener, clock }: ConnectionServerOptions,
  table: ConnectionTable,
  { isStopping, serve }: {
    readonly isStopping: () => boolean;
    readonly serve: (connection: Deno.Conn) => void;
  },
): Promise<void> {
  for (;;) {
    let connection: Deno.Conn;
    try {
      connection = await listener.accept();
    } catch (error) {
      if (isStopping()) return;
      if (error instanceof Deno.errors.BadResource) throw error;
      // No delay follows if the client has reset the connection before it was accepted.
      if (!isReset(error)) await delay(clock);
      continue;
    }
    await table.makeRoom();
    serve(connection);
  }
}

function isReset(error: unknown): boolean {
  const { NotConnected, ConnectionReset, ConnectionAborted } = Deno.errors;
  return [NotConnected, ConnectionReset, ConnectionAborted].some((kind) => error instanceof kind);
}

function delay({ scheduleAwaited }: Pick<Clock, "scheduleAwaited">): Promise<void> {
  const passed = deferred<void>();
  scheduleAwaited(passed.resolve, retryDelayMs);
  return passed.promise;
}

interface ServedConnections {
  readonly table: ConnectionTable;
  readonly served: Set<TrackedConnection>;
  readonly isStopping: () => boolean;
}

function serveOne(
  connection: Deno.Conn,
  { serveConnection, handlerOf, onError, limits }: ConnectionServerOptions,
  { table, served, isStopping }: ServedConnections,
): TrackedConnection | null {
  const abortion = new Abortion();
  const open = table.add(() => abortion.abort());
  const close = () => table.closeSoon(open);
  const isContended = () => table.isContended;
  const handle = handlerOf(connection, {
    close,
    ...(limits.maxConnections === 0 ? {} : { isContended }),
  });
  const handler = tracked(handle, open, {
    table,
    onRequest: ({ body }) => {
      if (!isStopping()) return;
      // The server tells a client of HTTP/2 to stop, because it would send more requests.
      if (body === null) server.shutdown().catch(() => {});
      else close();
    },
  });
  let server: ServedConnection;
  try {
    server = serveConnection(connection, abortion.signal, handler, onError, () => {});
  } catch {
    table.remove(open);
    return null;
  }
  const accepted = { server, open };
  served.add(accepted);
  const remove = () => {
    served.delete(accepted);
    table.remove(open);
  };
  // `finished` rejects if the connection was reset, and for bytes that are not HTTP.
  server.finished.then(remove, remove);
  return accepted;
}

/** Aborts a connection. The runtime's listener throws if the connection has ended or is being shut
 * down, and the uncaught error would end the process. */
class Abortion extends AbortController {
  constructor() {
    super();
    const { signal } = this;
    const add = signal.addEventListener.bind(signal) as EventTarget["addEventListener"];
    signal.addEventListener = (
      type: string,
      listener: unknown,
      options?: AddEventListenerOptions,
    ) => add(type, () => attempt(listener as () => void), options);
  }
}

function attempt(run: () => void): void {
  try {
    run();
  } catch {
    // The error is ignored, because the connection has ended.
  }
}

/** Returns a handler that records the start and end of requests in the table. */
function tracked(
  handler: ConnectionHandler,
  connection: OpenConnection,
  { table, onRequest }: {
    readonly table: ConnectionTable;
    readonly onRequest: (request: Request) => void;
  },
): ConnectionHandler {
  const ended = () => table.requestEnded(connection);
  return async function track(request, info) {
    table.requestBegan(connection);
    onRequest(request);
    info.completed.then(ended, ended);
    try {
      return await handler(request, info);
    } finally {
      table.responded(connection);
    }
  };
}
