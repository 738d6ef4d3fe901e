/**
 * A stand-in for PostgreSQL behind a transport: answers batches as a test scripts them.
 *
 * @module
 */
import type { Transport, TransportEvents } from "../../src/database/transport.ts";

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

export function failure(sqlstate: string, message: string): Uint8Array {
  return frame("E", cstring(`SERROR`), cstring(`C${sqlstate}`), cstring(`M${message}`), [0]);
}

export function join(...chunks: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(chunks.flatMap((chunk) => [...chunk]));
}

/** A frontend message as a test wants to see it. */
export interface Sent {
  readonly type: string;
  /** Statement name of Parse, Bind and Close. */
  readonly name?: string;
  /** SQL of Parse. */
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
  #events: TransportEvents | null = null;
  /** Called with each write's messages; what it returns is told as one chunk, soon. */
  reply: (sent: readonly Sent[]) => Uint8Array | null = () => null;
  /** The server's process, as it was told when connecting. */
  process = 42;

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

  isWith(process: number): boolean {
    return process === this.process;
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

/** Answers a batch as PostgreSQL would: every statement succeeds; `answer` is the row of the main. */
export function wellBehaved(answer: Uint8Array, isMain: (text: string) => boolean) {
  const texts = new Map<string, string>();
  let open = false;
  return (sent: readonly Sent[]): Uint8Array => {
    const chunks: Uint8Array[] = [];
    let current = "";
    for (const { type, name, text } of sent) {
      if (type === "P") {
        texts.set(name!, text!);
        chunks.push(parseComplete);
      } else if (type === "C") {
        texts.delete(name!);
        chunks.push(closeComplete);
      } else if (type === "B") {
        current = texts.get(name!) ?? "";
        chunks.push(bindComplete);
      } else if (type === "E") {
        if (current.startsWith("begin")) open = true;
        if (current === "commit" || current === "rollback") open = false;
        if (isMain(current)) chunks.push(answer);
        chunks.push(complete("SELECT 1"));
      } else if (type === "S") {
        chunks.push(ready(open ? "T" : "I"));
      }
    }
    return join(...chunks);
  };
}
