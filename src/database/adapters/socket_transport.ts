/** The byte stream of a socket that `npm:pg` has opened. @module */
import pg from "pg";
import { schedule } from "../../base/lib/timers.ts";
import { type Connector, connectToFirst } from "../connect/hosts.ts";
import { type Client, openClient, type Socket } from "../connect/pg_client.ts";
import { isReadingSocket } from "../connect/reading_socket.ts";
import type { Targets } from "../connect/targets.ts";
import { Connection } from "../connection/connection.ts";
import { executeSingle, singleStatementOptions } from "../connection/single_statement.ts";
import { cancelFrame } from "../protocol/messages.ts";
import type { Transport, TransportEvents } from "../transport.ts";

interface CancelConnection {
  connect(port: number | string, host?: string): void;
  on(event: "connect" | "sslconnect" | "error" | "end", listener: () => void): this;
  requestSsl(): void;
  readonly stream: Socket;
}

/** Time that the server may take to close the connection of a cancel request. */
const cancelTimeoutMs = 5000;

const terminate = new Uint8Array([0x58, 0, 0, 0, 4]);

export class SocketTransport implements Transport {
  readonly parameters: ReadonlyMap<string, string>;
  readonly #client: Client;
  readonly #socket: Socket;
  #closed: ((reason: string) => void) | null = null;

  constructor(client: Client) {
    this.#client = client;
    this.parameters = client.parameters ?? new Map();
    this.#socket = pausable(client.connection.stream);
  }

  /** Null over a Unix socket. */
  get isEncrypted(): boolean | null {
    return this.#client.host.startsWith("/") ? null : Boolean(this.#client.ssl);
  }

  /** Host and port: `localhost:5432`. For a Unix socket, the host is the folder of the socket. */
  get place(): string {
    return `${this.#client.host}:${this.#client.port}`;
  }

  listen(events: TransportEvents): void {
    const socket = this.#socket;
    for (const event of ["data", "error", "close", "end"]) socket.removeAllListeners(event);
    this.#closed = (text) => {
      this.#closed = null;
      events.closed(text);
    };
    if (isReadingSocket(socket)) socket.readInto((chunk) => events.data(chunk));
    else socket.on("data", (chunk) => events.data(chunk));
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
      Connection: new (settings: { ssl: unknown }) => CancelConnection;
    }).Connection({ ssl });
    // The server closes the connection after the cancel. Closing it earlier makes some poolers fail.
    const sendCancel = () => void connection.stream.write(cancelFrame(processID, secretKey));
    const abandon = () => void connection.stream.destroy();
    connection.on("end", schedule(abandon, cancelTimeoutMs));
    connection.on("error", abandon);
    connection.on("connect", () => ssl ? connection.requestSsl() : sendCancel());
    connection.on("sslconnect", sendCancel);
    if (host.startsWith("/")) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  }

  /** Lets the process end while the socket is open. */
  unref(): void {
    this.#socket.unref?.();
  }

  end(): void {
    this.#closed = null;
    this.#socket.end(terminate);
  }

  destroy(): void {
    this.#socket.destroy();
    this.#closed?.("connection destroyed");
  }
}

/** Maximum time in which a server reports its state. */
const maxStateMs = 10_000;

const transports: Connector<SocketTransport> = {
  open: async (settings) => new SocketTransport(await openClient(settings)),
  state: async (transport) => {
    const text = "select pg_catalog.pg_is_in_recovery(), " +
      "pg_catalog.current_setting('transaction_read_only')";
    const connection = new Connection(transport, singleStatementOptions);
    const [row] = await executeSingle(text, { connection, maxMs: maxStateMs });
    return { inRecovery: row?.[0] === "t", readOnly: row?.[1] === "on" };
  },
  close: (transport) => transport.end(),
};

/** Opens one connection. Rejects with an `Error` if that fails. */
export function connect(targets: Targets): Promise<SocketTransport> {
  return connectToFirst(targets, transports);
}

/** A socket of `pg-cloudflare`, which reads in a loop and emits each chunk as `data`. */
interface LoopedSocket {
  _cfReader?: { read(): Promise<unknown> } | null;
  pause?(): void;
  resume?(): void;
}

/** Adds `pause` and `resume` to a socket. A read in progress may still emit a chunk. */
export function pausable<Socket extends object>(socket: Socket): Socket {
  const looped: LoopedSocket = socket;
  const reader = looped._cfReader;
  if (looped.pause !== undefined || !reader) return socket;
  const read = reader.read.bind(reader);
  let paused: Promise<void> | null = null;
  let open = () => {};
  reader.read = async () => {
    await paused;
    return await read();
  };
  looped.pause = () => void (paused ??= new Promise((resolve) => open = resolve));
  looped.resume = () => {
    paused = null;
    open();
  };
  return socket;
}
