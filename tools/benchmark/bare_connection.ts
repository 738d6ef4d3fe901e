/** A connection to PostgreSQL that only pipelines prepared transactions, with the least processor
 * time. @module */
import type { Socket } from "node:net";
import pg from "pg";

/** The socket of a `pg.Client`, which the types of the package do not contain. */
interface Sockets {
  readonly connection: { readonly stream: Socket };
}

/** A connection. Disposing of it closes the socket. */
export interface BareConnection extends AsyncDisposable {
  /**
   * Sends messages, each of which ends with a Sync, until `next` returns null. At most `inFlight` of
   * them are unanswered. Returns the number of messages. Rejects with an error of PostgreSQL.
   */
  pipeline(next: () => Uint8Array | null, inFlight: number): Promise<number>;
  /** Returns a function that sends messages up to a Sync, and resolves when the Sync is answered. */
  asker(): (message: Uint8Array) => Promise<void>;
}

/** Connects and logs in. */
export async function openBareConnection(uri: string): Promise<BareConnection> {
  const client = new pg.Client({ connectionString: uri });
  await client.connect();
  const { stream } = (client as unknown as Sockets).connection;
  // The client has read all messages of the login, and leaves the socket to this module.
  stream.removeAllListeners("data");
  return {
    pipeline: (next, inFlight) => pipeline(stream, { next, inFlight }),
    asker: () => asker(stream),
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => stream.once("close", resolve));
      client.on("error", () => {});
      stream.destroy();
      await closed;
    },
  };
}

function pipeline(
  stream: Socket,
  { next, inFlight }: {
    readonly next: () => Uint8Array | null;
    readonly inFlight: number;
  },
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const counter = new ReadyCounter();
  let [sent, answered] = [0, 0];
  const send = (count: number) => {
    const messages: Uint8Array[] = [];
    for (let message; messages.length < count && (message = next()) !== null;) {
      messages.push(message);
    }
    sent += messages.length;
    if (messages.length > 0) stream.write(concat(messages));
  };
  const onData = (chunk: Uint8Array) => {
    try {
      const ready = counter.push(chunk);
      answered += ready;
      send(ready);
      if (answered === sent) resolve(answered);
    } catch (error) {
      reject(error);
    }
  };
  const onClose = () => reject(new Error("PostgreSQL closed the connection"));
  stream.on("data", onData);
  stream.once("close", onClose);
  send(inFlight);
  if (sent === 0) resolve(0);
  return promise.finally(() => {
    stream.off("data", onData);
    stream.off("close", onClose);
  });
}

function asker(stream: Socket): (message: Uint8Array) => Promise<void> {
  const counter = new ReadyCounter();
  const waiting: (() => void)[] = [];
  stream.on("data", (chunk) => {
    for (let ready = counter.push(chunk); ready > 0; ready--) waiting.shift()!();
  });
  return (message) =>
    new Promise((resolve) => {
      waiting.push(resolve);
      stream.write(message);
    });
}

/** Counts the ReadyForQuery messages that a server sends. */
export class ReadyCounter {
  #rest: Uint8Array = new Uint8Array();

  /** Returns the number of these messages that end in a chunk. Throws an `Error` for ErrorResponse. */
  push(chunk: Uint8Array): number {
    const bytes = this.#rest.length === 0 ? chunk : concat([this.#rest, chunk]);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let [count, at] = [0, 0];
    while (at + 5 <= bytes.length) {
      const end = at + 1 + view.getInt32(at + 1);
      if (end > bytes.length) break;
      if (bytes[at] === readyForQuery) count++;
      if (bytes[at] === errorResponse) {
        throw new Error(
          new TextDecoder().decode(bytes.subarray(at + 5, end)).replaceAll("\0", " "),
        );
      }
      at = end;
    }
    this.#rest = bytes.slice(at);
    return count;
  }
}

const readyForQuery = "Z".charCodeAt(0);
const errorResponse = "E".charCodeAt(0);

/** A Parse message: a statement under a name. */
export function parseMessage(name: string, text: string): Uint8Array {
  return message("P", [cString(name), cString(text), int16(0)]);
}

/** Bind and Execute messages: a prepared statement with parameters as text. */
export function executeMessages(name: string, params: readonly string[]): Uint8Array {
  const values = params.map((param) => new TextEncoder().encode(param));
  const bind = message("B", [
    cString(""),
    cString(name),
    int16(0),
    int16(values.length),
    ...values.flatMap((value) => [int32(value.length), value]),
    int16(0),
  ]);
  return concat([bind, message("E", [cString(""), int32(0)])]);
}

/** A Sync message. */
export const syncMessage = message("S", []);

/** Joins bytes. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function message(type: string, parts: readonly Uint8Array[]): Uint8Array {
  const body = concat(parts);
  return concat([new TextEncoder().encode(type), int32(body.length + 4), body]);
}

function cString(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}

function int16(number: number): Uint8Array {
  const bytes = new Uint8Array(2);
  new DataView(bytes.buffer).setInt16(0, number);
  return bytes;
}

function int32(number: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, number);
  return bytes;
}
