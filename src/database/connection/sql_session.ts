/** Runs SQL texts of operators by simple queries. Results are held in memory. @module */
import { concat } from "../protocol/decoder.ts";
import { backend, readFields } from "../protocol/messages.ts";
import {
  copyFailFrame,
  type Frame,
  frames,
  queryFrame,
  readColumnNames,
  readRow,
  readTag,
} from "../protocol/simple_query.ts";
import type { Transport } from "../transport.ts";
import { printable } from "../../lib/printable.ts";
import { failurePlace } from "../../sql/statements.ts";

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
  readonly #transport: Transport;
  #received: Uint8Array = new Uint8Array(0);
  #running: RunningText | null = null;
  #closedReason: string | null = null;

  constructor(transport: Transport) {
    this.#transport = transport;
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
      this.#transport.write([queryFrame(text)]);
    });
  }

  close(): void {
    this.#transport.end();
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
      this.#transport.write([copyFailFrame("COPY FROM STDIN has no input here")]);
    } else if (this.#running?.take(type, payload)) this.#running = null;
  }
}

const copyData = 0x64;
const decoder = new TextDecoder();

class RunningText {
  readonly #resolve: (result: TextResult) => void;
  readonly reject: (error: Error) => void;
  readonly #results: StatementResult[] = [];
  readonly #notices: string[] = [];
  #failure: StatementFailure | null = null;
  #columns: readonly string[] | null = null;
  #rows: (readonly (string | null)[])[] = [];
  #copied = "";

  constructor(resolve: (result: TextResult) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.reject = reject;
  }

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
        this.#resolve({
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
