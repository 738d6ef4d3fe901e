/** Receives the results of statements with `use: "held"`, one after the other. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";
import type { BodyFraming, HeldResult, ResultColumns } from "../transaction.ts";
import { BodyReceiver, type BodyReceiverOptions } from "./body_receiver.ts";

/** The held results of one transaction. All of them together have at most `maxBytes`. */
export class HeldResults {
  #bytes = 0;
  #columns: ResultColumns = [];
  #receiver: BodyReceiver | null = null;

  constructor(
    private readonly options: BodyReceiverOptions,
    private readonly maxBytes = Infinity,
  ) {}

  get receiver(): BodyReceiver {
    return this.#receiver ??= new BodyReceiver({ ...this.options, mayStream: false });
  }

  /** Begins the first row, whose last column has this length. Returns `141` if the limit is
   * exceeded, else null. */
  start(
    columns: ResultColumns,
    { length, framing }: { readonly length: number | null; readonly framing: BodyFraming | null },
  ): ServiceError | null {
    const bytes = columns.reduce((sum, text) => sum + (text?.length ?? 0), length ?? 0);
    const error = this.#count(bytes);
    if (error !== null) return error;
    this.#columns = columns;
    this.receiver.start(length, framing);
    return null;
  }

  /** Adds the next bytes of the last column. Returns `141` if the limit is exceeded, else null. */
  push(bytes: Uint8Array): ServiceError | null {
    const { receiver } = this;
    // Only further rows are counted here. The first row was counted at its start.
    const error = receiver.isContinued ? this.#count(bytes.length) : null;
    if (error === null) receiver.push(bytes);
    return error;
  }

  /** Returns the finished result. The next result can begin. */
  take(): HeldResult {
    const result = { columns: this.#columns, body: this.receiver.take() };
    this.#columns = [];
    this.#receiver = null;
    return result;
  }

  #count(bytes: number): ServiceError | null {
    this.#bytes += bytes;
    return this.#bytes > this.maxBytes ? errors.batchTooLarge("results", this.maxBytes) : null;
  }
}
