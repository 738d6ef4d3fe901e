/** Clients of live queries: streams as an EventSource reads them, and polls. @module */
import { deferred } from "../../../src/base/lib/deferred.ts";

export interface LiveMessageText {
  readonly headers: {
    readonly operation?: "insert" | "update" | "delete";
    readonly control?: string;
    readonly [name: string]: unknown;
  };
  readonly key?: string;
  // deno-lint-ignore no-explicit-any -- rows of any table
  readonly value?: any;
}

/** Applies messages to rows by key, as each client does. */
export function applyMessage(
  rows: Map<string, unknown>,
  { headers, key, value }: LiveMessageText,
): void {
  if (headers.control === "must-refetch") rows.clear();
  else if (headers.operation === "delete") rows.delete(key!);
  else if (headers.operation !== undefined) rows.set(key!, value);
}

/** A stream, with the rows that its messages lead to. */
export class LiveStream implements AsyncDisposable {
  readonly response: Response;
  readonly messages: LiveMessageText[] = [];
  readonly rows = new Map<string, unknown>();
  /** Of the last event that has one. */
  lastId: string | null = null;
  /** Whether the stream has ended. */
  isEnded = false;
  readonly #reader: ReadableStreamDefaultReader<string> | null;
  readonly #reading: Promise<void>;
  #changed = deferred<void>();

  constructor(response: Response) {
    this.response = response;
    const isStream = response.headers.get("content-type") === "text/event-stream";
    this.#reader = isStream
      ? response.body!.pipeThrough(new TextDecoderStream()).getReader()
      : null;
    this.#reading = this.#read();
  }

  /** Resolves when the condition holds, which is tested after each `up-to-date`. Rejects at the end
   * of the stream. */
  async until(isDone: (stream: LiveStream) => boolean): Promise<void> {
    while (!isDone(this)) {
      if (this.isEnded) throw new Error("the stream has ended");
      await this.#changed.promise;
    }
  }

  /** Returns the messages up to the next `up-to-date`, without the controls. */
  async next(): Promise<readonly LiveMessageText[]> {
    const isLast = ({ headers }: LiveMessageText) => headers.control === "up-to-date";
    await this.until(({ messages }) => messages.some(isLast));
    const taken = this.messages.splice(0, this.messages.findIndex(isLast) + 1);
    return taken.filter(({ headers }) => headers.operation !== undefined);
  }

  /** Resolves at the end of the stream. */
  async ended(): Promise<void> {
    await this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader?.cancel().catch(() => {});
    await this.#reading;
  }

  async #read(): Promise<void> {
    let text = "";
    for (;;) {
      const { done, value } = await this.#reader?.read().catch(() => null) ??
        { done: true, value: "" };
      if (done) break;
      text += value;
      const events = text.split("\n\n");
      text = events.pop()!;
      for (const event of events) this.#receive(event);
    }
    this.isEnded = true;
    this.#wake();
  }

  #receive(event: string): void {
    for (const line of event.split("\n")) {
      if (line.startsWith("id: ")) this.lastId = line.slice(4);
      if (!line.startsWith("data: ")) continue;
      const message: LiveMessageText = JSON.parse(line.slice(6));
      this.messages.push(message);
      applyMessage(this.rows, message);
      if (message.headers.control !== undefined) this.#wake();
    }
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = deferred();
    resolve();
  }
}
