/** The results of a transaction: the result of its main statement, and the rows of other statements.
 * @module */
import type { ServiceError } from "../../base/errors/service_error.ts";
import { joinText } from "../protocol/messages.ts";
import type {
  BodyFraming,
  HeldResult,
  ResultBody,
  ResultColumns,
  ResultUse,
  Statement,
  Transaction,
  TransactionResult,
} from "../transaction.ts";
import { BodyReceiver, type BodyReceiverOptions } from "./body_receiver.ts";
import { HeldResults } from "./held_results.ts";

/** A statement whose rows arrive. */
export interface ReturningStatement {
  readonly use: ResultUse;
  readonly parse?: Statement["parse"];
  readonly framing?: BodyFraming | undefined;
}

type TextRow = readonly (string | null)[];

const noRows: TextRow[] = [];
/** The empty body of a result whose statements return no body. */
const noBody: ResultBody = { length: null, content: new Uint8Array(0) };

/** Receives rows of the statement that the server executes. */
export class TransactionResults {
  body: BodyReceiver;
  readonly #options: BodyReceiverOptions;
  readonly #held: HeldResults;
  #columns: ResultColumns = [];
  #isBodyTaken = false;
  #rows: TextRow[][];
  /** The row that is arriving, without its last column. Null if the result keeps no rows. */
  #row: (string | null)[] | null = null;
  #lastColumn: Uint8Array[] | null = null;

  constructor(options: BodyReceiverOptions, { statements, maxHeldBytes }: Transaction) {
    this.#options = options;
    this.body = new BodyReceiver(options);
    this.#held = new HeldResults(options, maxHeldBytes);
    this.#rows = statements.map(() => noRows);
  }

  /** Begins the results of further statements, in place of the results so far. */
  beginStep(statements: readonly Statement[]): void {
    this.#columns = [];
    this.#rows = statements.map(() => noRows);
  }

  /** Returns the receiver of the body of a statement. */
  receiverOf({ use }: ReturningStatement): BodyReceiver {
    return use === "held" ? this.#held.receiver : this.body;
  }

  /** Begins a row, whose last column has this length. Returns `141` if the results are too large,
   * else null. */
  startRow(
    { use, framing }: ReturningStatement,
    head: TextRow,
    length: number | null,
  ): ServiceError | null {
    if (use === "held") return this.#held.start(head, { length, framing: framing ?? null });
    if (use === "result") {
      this.#columns = head;
      if (this.#isBodyTaken) this.body = new BodyReceiver(this.#options);
      this.#isBodyTaken = false;
      this.body.start(length, framing ?? null);
      return null;
    }
    this.#row = [...head];
    this.#lastColumn = length === null ? null : [];
    return null;
  }

  /** Adds the next bytes of the last column. Returns `141` if the results are too large, else null. */
  push({ use }: ReturningStatement, bytes: Uint8Array): ServiceError | null {
    if (this.#row !== null) this.#lastColumn?.push(bytes.slice());
    else if (use === "held") return this.#held.push(bytes);
    else this.body.push(bytes);
    return null;
  }

  /** Ends a row. Returns it if the result keeps rows, else null. `position` is the statement's. */
  endRow(statement: ReturningStatement, position: number): TextRow | null {
    const row = this.#row;
    if (row === null) {
      if (statement.framing === undefined) this.receiverOf(statement).end();
      return null;
    }
    const text = this.#lastColumn === null ? null : joinText(this.#lastColumn);
    const { parse } = statement;
    row.push(text === null || parse === undefined ? text : parse(text) as string);
    if (this.#rows[position] === noRows) this.#rows[position] = [];
    this.#rows[position]?.push(row);
    this.#row = null;
    this.#lastColumn = null;
    return row;
  }

  /** Returns the finished result of a statement with `use: "held"`. */
  takeHeld(): HeldResult {
    return this.#held.take();
  }

  /** Returns the results so far. The body is returned once. */
  take(): Pick<TransactionResult, "body" | "columns" | "rows"> {
    const body = this.#isBodyTaken ? noBody : this.body.take();
    this.#isBodyTaken = true;
    return { columns: this.#columns, body, rows: this.#rows };
  }
}
