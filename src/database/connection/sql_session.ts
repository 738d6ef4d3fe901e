/** Runs SQL texts of operators by the simple query protocol. Results are held in memory. @module */
import { FrameDecoder, type FrameSink } from "../protocol/decoder.ts";
import { FrameEncoder } from "../protocol/encoder.ts";
import { backend, joinText, readFields } from "../protocol/messages.ts";
import { readServerError } from "../protocol/server_error.ts";
import type { Transport } from "../transport.ts";
import type { DatabaseFailure } from "../../base/errors/service_error.ts";
import { printable } from "../../base/lib/printable.ts";
import { failurePlace } from "../../base/sql/statements.ts";

export interface StatementResult {
  /** Null if the statement returns no rows. */
  readonly columns: readonly string[] | null;
  readonly rows: readonly (readonly (string | null)[])[];
  /** Output of COPY TO STDOUT; empty otherwise. */
  readonly copied: string;
  /** `SELECT 5` */
  readonly tag: string;
}

export interface StatementFailure extends DatabaseFailure {
  /** Position of the error in the text, in characters from 1; null if PostgreSQL does not report it. */
  readonly position: number | null;
}

/** Result of a text. A failed statement rolls back all before it that the text did not commit. */
export interface TextResult {
  /** Results of the statements before the one that failed. */
  readonly results: readonly StatementResult[];
  readonly failure: StatementFailure | null;
  /** `NOTICE: …` */
  readonly notices: readonly string[];
}

/** Reports that the connection is lost; the message is the reason. */
export class ConnectionClosedError extends Error {}

/** Types of messages whose payload is skipped. Empty: tags, notices and column names are read. */
const noEvents = new Uint8Array(256);

export class SqlSession {
  readonly #decoder = new FrameDecoder(this.#sink(), noEvents);
  readonly #encoder = new FrameEncoder();
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
      this.#encoder.query(text);
      this.transport.write(this.#encoder.take());
    });
  }

  close(): void {
    this.transport.end();
  }

  #receive(chunk: Uint8Array): void {
    try {
      this.#decoder.push(chunk);
    } catch {
      this.transport.destroy();
    }
  }

  #sink(): FrameSink {
    return {
      event: () => {},
      message: (type, payload) => this.#message(type, payload),
      wantsRow: () => this.#running !== null,
      rowRun: () => null,
      rowStart: (head, length) => this.#running?.rowStart(head, length),
      rowBytes: (bytes) => this.#running?.rowBytes(bytes),
      rowEnd: () => this.#running?.rowEnd(),
    };
  }

  #message(type: number, payload: Uint8Array): void {
    if (type === backend.copyIn) {
      this.#encoder.copyFail("COPY FROM STDIN has no input here");
      this.transport.write(this.#encoder.take());
    } else if (this.#running?.take(type, payload)) this.#running = null;
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

class RunningText {
  readonly #results: StatementResult[] = [];
  readonly #notices: string[] = [];
  #failure: StatementFailure | null = null;
  #columns: readonly string[] | null = null;
  #rows: (readonly (string | null)[])[] = [];
  /** The row that is arriving, without its last column. */
  #row: readonly (string | null)[] = [];
  #lastColumn: Uint8Array[] | null = null;
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
      case backend.copyData:
        this.#copied += decoder.decode(payload);
        return false;
      case backend.commandComplete:
        this.#complete(readTag(payload));
        return false;
      case backend.error:
        this.#failure ??= failureOf(payload);
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

  rowStart(head: readonly (string | null)[], length: number | null): void {
    this.#row = head;
    this.#lastColumn = length === null ? null : [];
  }

  rowBytes(bytes: Uint8Array): void {
    this.#lastColumn?.push(bytes.slice());
  }

  rowEnd(): void {
    const last = this.#lastColumn === null ? null : joinText(this.#lastColumn);
    this.#rows.push(this.#columns?.length === 0 ? [] : [...this.#row, last]);
  }

  #complete(tag: string): void {
    this.#results.push({ columns: this.#columns, rows: this.#rows, copied: this.#copied, tag });
    this.#columns = null;
    this.#rows = [];
    this.#copied = "";
  }
}

function failureOf(payload: Uint8Array): StatementFailure {
  const { failure, position } = readServerError(payload);
  return { ...failure, position };
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

/** Reads the text of a CommandComplete: `INSERT 0 1`. */
function readTag(payload: Uint8Array): string {
  return decoder.decode(payload.subarray(0, -1));
}
