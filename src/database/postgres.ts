/**
 * PostgreSQL over a socket. `npm:pg` opens, encrypts and authenticates the connection; from then on
 * the frames on it are ours.
 *
 * @module
 */
import pg from "pg";
import { parse as parseConnectionUri } from "pg-connection-string";
import { version } from "../version.ts";
import type { Database } from "./database.ts";
import { createPool } from "./pool.ts";
import { parseKeywords } from "./keywords.ts";
import type { Transport, TransportEvents } from "./transport.ts";
import { createUnpooled } from "./unpooled.ts";
import { cancelFrame } from "./wire.ts";
import { pausable } from "./worker_socket.ts";

/** Whether connections are kept in a pool, or opened for each request and closed with it. */
export type Connections = "pooled" | "per-request";

/** How to reach and use a database. Times in seconds. */
export interface PostgresOptions {
  readonly uri: string;
  readonly applicationName: string;
  /** The application name is told for connection strings of keywords, too. */
  readonly namesKeywords: boolean;
  readonly poolSize: number;
  readonly acquisitionTimeout: number;
  readonly maxIdleTime: number;
  readonly maxLifetime: number;
  readonly prepare: boolean;
  /** `per-request` keeps no connection for later. */
  readonly connections: Connections;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const preparedLimit = 500;

/** Opens a database; no connection is made before it is needed. */
export function openPostgres(options: PostgresOptions): Database {
  const settings = connectionSettings(options);
  if (options.connections === "per-request") return createUnpooled(() => connect(settings));
  return createPool({
    max: Math.max(1, options.poolSize),
    acquisitionTimeout: options.acquisitionTimeout * 1000,
    maxIdleTime: options.maxIdleTime * 1000,
    maxLifetime: options.maxLifetime * 1000,
    prepare: options.prepare,
    preparedLimit,
    now: options.now,
    connect: () => connect(settings),
  });
}

/** What `pg` takes. */
type Settings = Readonly<Record<string, unknown>>;

/** The socket as `pg` leaves it: a Node socket, or the look-alike of another runtime. */
interface Socket {
  on(event: "data", listener: (chunk: Uint8Array) => void): this;
  on(event: "error", listener: (error: Error) => void): this;
  on(event: "close", listener: () => void): this;
  removeAllListeners(event?: string): this;
  write(chunk: Uint8Array): boolean;
  cork?(): void;
  uncork?(): void;
  pause(): void;
  resume(): void;
  end(chunk?: Uint8Array): void;
  destroy(): void;
}

/** The parts of `pg.Client` that are used; some of them are not in its published types. */
interface Client {
  connect(): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): this;
  readonly connection: { readonly stream: Socket };
  readonly host: string;
  readonly port: number;
  readonly ssl: unknown;
  readonly processID: number | null;
  readonly secretKey: number | null;
}

interface Connection {
  connect(port: number | string, host?: string): void;
  on(event: "connect" | "sslconnect" | "error" | "end", listener: () => void): this;
  requestSsl(): void;
  readonly stream: Socket;
}

function connectionSettings(options: PostgresOptions): Settings {
  const isUri = /^postgres(ql)?:\/\//.test(options.uri);
  const named = isUri || options.namesKeywords;
  return {
    keepAlive: true,
    enableChannelBinding: true,
    connectionTimeoutMillis: options.acquisitionTimeout * 1000,
    ...(named ? { fallback_application_name: `${options.applicationName} ${version}` } : {}),
    ...defined(
      isUri
        ? parseConnectionUri(options.uri, { useLibpqCompat: true })
        : parseKeywords(options.uri),
    ),
  };
}

function defined(settings: object): Settings {
  return Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== null && value !== undefined),
  );
}

async function connect(settings: Settings): Promise<Transport> {
  const client = new (pg as unknown as { Client: new (settings: Settings) => Client }).Client(
    settings,
  );
  // After the hand-over nobody else listens to the client; an error there is told by the socket.
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (error) {
    throw new Error(reasonOf(error));
  }
  return new SocketTransport(client);
}

/** An error of several attempts (one per address) has its texts in `errors`. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) {
    return error.errors.map(reasonOf).filter((reason) => reason !== "").join("; ");
  }
  return error instanceof Error ? error.message : "connecting failed";
}

const terminate = new Uint8Array([0x58, 0, 0, 0, 4]);

class SocketTransport implements Transport {
  readonly #client: Client;
  readonly #socket: Socket;
  #closed: ((reason: string) => void) | null = null;

  constructor(client: Client) {
    this.#client = client;
    this.#socket = pausable(client.connection.stream);
  }

  listen(events: TransportEvents): void {
    const socket = this.#socket;
    for (const event of ["data", "error", "close", "end"]) socket.removeAllListeners(event);
    this.#closed = (text) => {
      this.#closed = null;
      events.closed(text);
    };
    socket.on("data", (chunk) => events.data(chunk));
    socket.on("error", (error) => this.#closed?.(error.message));
    socket.on("close", () => this.#closed?.("connection closed by the server"));
  }

  write(chunks: readonly Uint8Array[]): void {
    if (chunks.length === 1) {
      this.#socket.write(chunks[0]!);
      return;
    }
    for (const chunk of chunks) this.#socket.write(chunk);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  cancel(): void {
    const { host, port, ssl, processID, secretKey } = this.#client;
    if (processID === null || secretKey === null) return;
    const connection = new (pg as unknown as {
      Connection: new (settings: { ssl: unknown }) => Connection;
    }).Connection({ ssl });
    const ask = () => connection.stream.end(cancelFrame(processID, secretKey));
    connection.on("error", () => connection.stream.destroy());
    connection.on("connect", () => ssl ? connection.requestSsl() : ask());
    connection.on("sslconnect", ask);
    if (host.startsWith("/")) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  }

  end(): void {
    this.#closed = null;
    this.#socket.end(terminate);
  }

  destroy(): void {
    this.#socket.destroy();
    this.#closed?.("connection given up");
  }
}
