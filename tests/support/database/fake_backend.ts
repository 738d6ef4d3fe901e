/** A replacement of PostgreSQL for a transport: answers transactions as a test scripts them.
 * @module */
import type { Transport, TransportEvents } from "../../../src/database/transport.ts";

const utf8 = new TextEncoder();
const decoder = new TextDecoder();

/** A backend message. */
export function frame(type: string, ...parts: readonly (Uint8Array | readonly number[])[]) {
  const payload = parts.flatMap((part) => [...part]);
  return new Uint8Array([type.charCodeAt(0), ...int32(payload.length + 4), ...payload]);
}

export function int32(value: number): readonly number[] {
  return [value >>> 24 & 255, value >>> 16 & 255, value >>> 8 & 255, value & 255];
}

export function cstring(text: string): readonly number[] {
  return [...utf8.encode(text), 0];
}

export const parseComplete = frame("1");
export const bindComplete = frame("2");
export const closeComplete = frame("3");

export function complete(tag: string): Uint8Array {
  return frame("C", cstring(tag));
}

export function ready(status: "I" | "T" | "E"): Uint8Array {
  return frame("Z", [status.charCodeAt(0)]);
}

export function row(...columns: readonly (string | null)[]): Uint8Array {
  const cells = columns.flatMap((column) => {
    if (column === null) return int32(-1);
    const bytes = utf8.encode(column);
    return [...int32(bytes.length), ...bytes];
  });
  return frame("D", [columns.length >>> 8, columns.length & 255], cells);
}

/** Fields of an ErrorResponse in addition to its code and message. */
export interface FailureParts {
  /** Default: ERROR, without the field that is not translated. */
  readonly severity?: "ERROR" | "FATAL";
  /** The position in PostgreSQL's code that raised it; default: not said, as by poolers. */
  readonly routine?: string;
  /** Where the error was raised; default: not in a function. */
  readonly context?: string;
}

export function failure(
  sqlstate: string,
  message: string,
  { severity, routine, context }: FailureParts = {},
): Uint8Array {
  const fields = [`S${severity ?? "ERROR"}`, `C${sqlstate}`, `M${message}`];
  if (severity !== undefined) fields.push(`V${severity}`);
  if (routine !== undefined) fields.push(`R${routine}`);
  if (context !== undefined) fields.push(`W${context}`);
  return frame("E", ...fields.map(cstring), [0]);
}

/** What PostgreSQL sends when an administrator terminates a connection. */
export const terminated = failure(
  "57P01",
  "terminating connection due to administrator command",
  { severity: "FATAL", routine: "ProcessInterrupts" },
);

/** The beginning of a row whose one column has so many bytes, which follow. */
export function longRow(bytes: number): Uint8Array {
  return new Uint8Array([0x44, ...int32(4 + 2 + 4 + bytes), 0, 1, ...int32(bytes)]);
}

/** The replies to a statement that is prepared and executed. */
export function executed(tag: string, ...rows: readonly Uint8Array[]): Uint8Array {
  return join(parseComplete, bindComplete, ...rows, complete(tag));
}

export function join(...chunks: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(chunks.flatMap((chunk) => [...chunk]));
}

/** A frontend message as a test wants to see it. */
export interface Sent {
  readonly type: string;
  /** Statement name of Parse, Bind and Close. */
  readonly name?: string;
  /** SQL of Parse and Query. */
  readonly text?: string;
}

/** Cuts what was written into messages. */
export function readSent(bytes: Uint8Array): readonly Sent[] {
  const sent: Sent[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const type = String.fromCharCode(bytes[at]!);
    const end = at + 1 + view.getInt32(at + 1);
    const strings = decoder.decode(bytes.subarray(at + 5, end)).split("\0");
    if (type === "P") sent.push({ type, name: strings[0]!, text: strings[1]! });
    else if (type === "B") sent.push({ type, name: strings[1]! });
    else if (type === "Q") sent.push({ type, text: strings[0]! });
    else if (type === "C") sent.push({ type, name: strings[0]!.slice(1) });
    else sent.push({ type });
    at = end;
  }
  return sent;
}

/** A transport whose other end is the test. */
export class FakeTransport implements Transport {
  readonly writes: Uint8Array[] = [];
  readonly log: string[] = [];
  /** The messages of each write. */
  get sent(): readonly (readonly Sent[])[] {
    return this.writes.map(readSent);
  }

  #events: TransportEvents | null = null;
  /** Called with each write's messages; what it returns is told as one chunk, soon. */
  reply: (sent: readonly Sent[]) => Uint8Array | null = () => null;

  listen(events: TransportEvents): void {
    this.#events = events;
  }

  write(chunks: readonly Uint8Array[]): void {
    const bytes = join(...chunks);
    this.writes.push(bytes);
    const reply = this.reply(readSent(bytes));
    if (reply !== null) queueMicrotask(() => this.tell(reply));
  }

  tell(chunk: Uint8Array): void {
    this.#events?.data(chunk);
  }

  lose(reason: string): void {
    this.#events?.closed(reason);
  }

  pause(): void {
    this.log.push("pause");
  }

  resume(): void {
    this.log.push("resume");
  }

  cancel(): void {
    this.log.push("cancel");
  }

  end(): void {
    this.log.push("end");
  }

  destroy(): void {
    this.log.push("destroy");
    this.#events?.closed("destroyed");
  }
}

/** How a {@linkcode fakeServer} answers. */
export interface FakeServerOptions {
  /** Returns the rows of a statement; default: the row `1`, `x` of `select main`. */
  readonly rowsOf?: (text: string) => Uint8Array | null;
  /** Returns the error of a statement, or null; default: none fails. */
  readonly errorOf?: (text: string) => Uint8Array | null;
}

const mainRow = row("1", "x");

/**
 * Answers messages as PostgreSQL does: it knows the statements that were prepared, skips the messages
 * after an error up to the Sync, and refuses statements in a failed transaction.
 */
export function fakeServer(
  { rowsOf = (text) => text === "select main" ? mainRow : null, errorOf = () => null }:
    FakeServerOptions = {},
): (sent: readonly Sent[]) => Uint8Array {
  const texts = new Map<string, string>();
  let status: "I" | "T" | "E" = "I";
  let current = "";
  let isSkipping = false;
  const parse = (name: string, text: string) => {
    if (name !== "" && texts.has(name)) return failure("42P05", `${name} already exists`);
    texts.set(name, text);
    return parseComplete;
  };
  const bind = (name: string) => {
    const text = texts.get(name);
    if (text === undefined) return failure("26000", `${name} does not exist`);
    current = text;
    return bindComplete;
  };
  const execute = () => {
    if (status === "E" && current !== "rollback") return failure("25P02", "transaction is aborted");
    const error = errorOf(current);
    if (error !== null) return error;
    if (current.startsWith("begin")) status = "T";
    if (current === "commit" || current === "rollback") status = "I";
    return join(rowsOf(current) ?? new Uint8Array(), complete("SELECT 1"));
  };
  const answer = ({ type, name, text }: Sent): Uint8Array => {
    if (type === "S") return ready(status);
    if (type === "Q") return join(errorOf(text!) ?? complete("SET"), ready(status));
    if (type === "P") return parse(name!, text!);
    if (type === "B") return bind(name!);
    if (type === "E") return execute();
    texts.delete(name!);
    return closeComplete;
  };
  return (sent) => {
    const chunks: Uint8Array[] = [];
    for (const message of sent) {
      if (isSkipping && message.type !== "S") continue;
      const chunk = answer(message);
      isSkipping = message.type !== "Q" && chunk[0] === errorType;
      // An implicit transaction that fails leaves nothing open.
      if (isSkipping && status === "T") status = "E";
      chunks.push(chunk);
    }
    return join(...chunks);
  };
}

const errorType = 0x45;
