/** Runs SQL texts of operators by the simple query protocol. Results are held in memory. @module */
import { concat } from "../protocol/decoder.ts";
import { backend, readFields } from "../protocol/messages.ts";
import type { Transport } from "../transport.ts";
import { printable } from "../../base/lib/printable.ts";
import { failurePlace } from "../../base/sql/statements.ts";

export interface StatementResult {
  /** Null if the statement returns no rows. */
  readonly columns: readonly string[] | null;
  readonly rows: readonly (readonly (string | null)[])[];
  /** Output of COPY TO STDOUT; empty for others. */
  readonly copied: string;
  /** `SELECT 5` */
  readonly tag: string;
}

export interface StatementFailure {
  readonly message: string;
  readonly detail: string | null;
  readonly hint: string | null;
  /** Number of a character of the text, from 1; null if PostgreSQL gives none. */
  readonly position: number | null;
}

/** Result of a text. A failure rolls back what is before it, unless the text ends its transaction. */
export interface TextResult {
  /** Results of the statements before the one that failed. */
  readonly results: readonly StatementResult[];
  readonly failure: StatementFailure | null;
  /** `NOTICE: …` */
  readonly notices: readonly string[];
}

/** Reports that the connection is lost; the message is the reason. */
export class ConnectionClosedError extends Error {}

export class SqlSession {
  #received: Uint8Array = new Uint8Array(0);
  #running: RunningText | null = null;
  #closedReason: string | null = null;

  constructor(private readonly transport: Transport) {
    transport.listen({
      data: (chunk) => this.#receive(chunk),
      closed: (reason) => {
        this.#closedReason = reason;
        this.#running?.reject(new ConnectionClosedError(reason));
      },
    });
  }

  /** Runs a text. Rejects with {@linkcode ConnectionClosedError} if the connection is lost. */
  run(text: string): Promise<TextResult> {
    return new Promise((resolve, reject) => {
      if (this.#closedReason !== null) {
        return reject(new ConnectionClosedError(this.#closedReason));
      }
      this.#running = new RunningText(resolve, reject);
      this.transport.write([queryFrame(text)]);
    });
  }

  close(): void {
    this.transport.end();
  }

  #receive(chunk: Uint8Array): void {
    const bytes = concat([this.#received, chunk], this.#received.length + chunk.length);
    const reader = frames(bytes);
    let next = reader.next();
    for (; !next.done; next = reader.next()) this.#take(next.value);
    this.#received = bytes.subarray(next.value);
  }

  #take([type, payload]: Frame): void {
    if (type === backend.copyIn) {
      this.transport.write([copyFailFrame("COPY FROM STDIN has no input here")]);
    } else if (this.#running?.take(type, payload)) this.#running = null;
  }
}

const copyData = 0x64;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

class RunningText {
  readonly #results: StatementResult[] = [];
  readonly #notices: string[] = [];
  #failure: StatementFailure | null = null;
  #columns: readonly string[] | null = null;
  #rows: (readonly (string | null)[])[] = [];
  #copied = "";

  constructor(
    private readonly resolve: (result: TextResult) => void,
    readonly reject: (error: Error) => void,
  ) {}

  take(type: number, payload: Uint8Array): boolean {
    switch (type) {
      case backend.rowDescription:
        this.#columns = readColumnNames(payload);
        return false;
      case backend.dataRow:
        this.#rows.push(readRow(payload));
        return false;
      case copyData:
        this.#copied += decoder.decode(payload);
        return false;
      case backend.commandComplete:
        this.#complete(readTag(payload));
        return false;
      case backend.error:
        this.#failure ??= failureOf(readFields(payload));
        return false;
      case backend.notice:
        this.#notices.push(noticeText(readFields(payload)));
        return false;
      case backend.ready:
        this.resolve({
          results: this.#results,
          failure: this.#failure,
          notices: this.#notices,
        });
        return true;
      default:
        return false;
    }
  }

  #complete(tag: string): void {
    this.#results.push({ columns: this.#columns, rows: this.#rows, copied: this.#copied, tag });
    this.#columns = null;
    this.#rows = [];
    this.#copied = "";
  }
}

function failureOf(fields: ReadonlyMap<string, string>): StatementFailure {
  const position = fields.get("P");
  return {
    message: fields.get("M") ?? "",
    detail: fields.get("D") ?? null,
    hint: fields.get("H") ?? null,
    position: position === undefined ? null : Number(position),
  };
}

function noticeText(fields: ReadonlyMap<string, string>): string {
  return `${fields.get("S") ?? "NOTICE"}: ${fields.get("M") ?? ""}`;
}

/** Returns the lines of a failure: its place and message, detail and hint. */
export function failureLines(
  { results, failure }: TextResult,
  { text, name }: { readonly text: string; readonly name: string },
): readonly string[] {
  if (failure === null) return [];
  const { message, detail, hint, position } = failure;
  const place = failurePlace(text, { position, completed: results.length });
  return [
    `${name}:${place}: ${printable(message)}`,
    ...(detail === null ? [] : [`DETAIL: ${printable(detail)}`]),
    ...(hint === null ? [] : [`HINT: ${printable(hint)}`]),
  ];
}

/** One backend message. The payload is a view of the received bytes. */
type Frame = readonly [type: number, payload: Uint8Array];

function queryFrame(text: string): Uint8Array {
  return textFrame(0x51, text);
}

function copyFailFrame(reason: string): Uint8Array {
  return textFrame(0x66, reason);
}

function textFrame(type: number, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const frame = new Uint8Array(bytes.length + 6);
  frame[0] = type;
  new DataView(frame.buffer).setInt32(1, bytes.length + 5);
  frame.set(bytes, 5);
  return frame;
}

/** Lists the complete messages of a text of bytes. Returns the length of their bytes. */
function* frames(bytes: Uint8Array): Generator<Frame, number> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at + 5 <= bytes.length) {
    const end = at + 1 + view.getInt32(at + 1);
    if (end > bytes.length) break;
    yield [bytes[at]!, bytes.subarray(at + 5, end)];
    at = end;
  }
  return at;
}

function readColumnNames(payload: Uint8Array): readonly string[] {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const names: string[] = [];
  let at = 2;
  for (let column = 0; column < view.getInt16(0); column++) {
    const zero = payload.indexOf(0, at);
    names.push(decoder.decode(payload.subarray(at, zero)));
    at = zero + 19;
  }
  return names;
}

/** Reads a DataRow whose values are texts; null for SQL NULL. */
function readRow(payload: Uint8Array): readonly (string | null)[] {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const values: (string | null)[] = [];
  let at = 2;
  for (let column = 0; column < view.getInt16(0); column++) {
    const length = view.getInt32(at);
    at += 4;
    values.push(length < 0 ? null : decoder.decode(payload.subarray(at, at + length)));
    at += Math.max(length, 0);
  }
  return values;
}

/** Reads the text of a CommandComplete: `INSERT 0 1`. */
function readTag(payload: Uint8Array): string {
  return decoder.decode(payload.subarray(0, -1));
}
