/** A client of a live query, which changes its connection at random and looks at each message. @module */
import { delay } from "../../../support/timing/delay.ts";
import { applyMessage, type LiveMessageText } from "../../../support/clients/live_client.ts";
import type { Random } from "../../../support/timing/random.ts";
import { accountsQuery } from "./queries.ts";

export interface Identity {
  readonly role: string;
  readonly sub: string;
  readonly realm: number;
  readonly token: string;
}

/** Counts over all subscribers. */
export interface SubscriberCounts {
  readonly byStatus: Record<string, number>;
  messages: number;
  batches: number;
  refetches: number;
  /** Connections that the subscriber, the service or a fault has ended. */
  cuts: number;
}

export interface SubscriberOptions {
  readonly identity: Identity;
  readonly query: string;
  readonly random: Random;
  readonly counts: SubscriberCounts;
  readonly problems: Set<string>;
  /** Returns the origin of any service. */
  readonly origin: () => string;
  readonly client: Deno.HttpClient;
}

type Transport = "events" | "poll" | "changes";
const transports: readonly Transport[] = ["events", "poll", "changes"];

export class Subscriber {
  readonly rows = new Map<string, unknown>();
  readonly options: SubscriberOptions;
  readonly path: string;
  readonly #transport: Transport;
  #offset: string | null = null;
  #handle: string | null = null;
  #xmax = 0n;
  #isStopped = false;
  #abort = new AbortController();

  constructor(options: SubscriberOptions) {
    this.options = options;
    this.path = options.query.replace("{sub}", options.identity.sub);
    this.#transport = options.random.pick(transports);
  }

  get name(): string {
    const { identity: { role, sub, realm } } = this.options;
    return `${role} ${sub} ${realm} ${this.#transport} ${this.path}`;
  }

  /** The rows as texts, in an order of their own. */
  content(): string {
    return contentOf([...this.rows.values()]);
  }

  /** Reads until `stop`. */
  async run(): Promise<void> {
    while (!this.#isStopped) {
      await this.#connect().catch(() => {
        this.options.counts.cuts++;
        return delay(20);
      });
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#abort.abort();
  }

  async #connect(): Promise<void> {
    const { identity, client, counts, origin } = this.options;
    this.#abort = new AbortController();
    const response = await fetch(`${origin()}/live${this.path}${this.#parameters()}`, {
      headers: {
        Authorization: `Bearer ${identity.token}`,
        ...(this.#transport === "events" ? { Accept: "text/event-stream" } : {}),
        ...(this.#transport === "events" && this.#offset !== null
          ? { "Last-Event-ID": this.#offset }
          : {}),
      },
      signal: this.#abort.signal,
      client,
    });
    const { status } = response;
    const isStream = response.headers.get("content-type") === "text/event-stream";
    const text = isStream ? "" : await response.text();
    const code = status < 400 || status === 409 ? "" : ` ${JSON.parse(text).code}`;
    const key = `${status}${code}`;
    counts.byStatus[key] = (counts.byStatus[key] ?? 0) + 1;
    if (status !== 200 && status !== 409) {
      if (status !== 503) this.#problem(`answered ${key}: ${text}`);
      return await delay(20);
    }
    if (isStream) return await this.#read(response.body!);
    if (status === 409) counts.refetches++;
    for (const message of JSON.parse(text) as readonly LiveMessageText[]) this.#receive(message);
    this.#handle = response.headers.get("electric-handle");
    this.#setOffset(status === 409 ? null : response.headers.get("electric-offset"));
  }

  #parameters(): string {
    if (this.#transport === "events") return "";
    if (this.#offset === null) {
      return `&offset=-1${this.#handle === null ? "" : `&handle=${this.#handle}`}`;
    }
    const stream = this.#transport === "changes" ? "&live_sse=true" : "";
    return `&offset=${this.#offset}&handle=${this.#handle}&live=true${stream}`;
  }

  /** Reads events, and leaves at random. */
  async #read(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    let text = "";
    for await (const piece of body.pipeThrough(new TextDecoderStream())) {
      text += piece;
      const events = text.split("\n\n");
      text = events.pop()!;
      for (const event of events) this.#event(event);
      if (this.options.random.below(50) === 0) {
        this.options.counts.cuts++;
        this.#abort.abort();
      }
    }
  }

  #event(event: string): void {
    const data = /^data: (.*)$/m.exec(event)?.[1];
    if (data === undefined) return;
    const message: LiveMessageText = JSON.parse(data);
    const { counts } = this.options;
    if (message.headers.control === "must-refetch") {
      counts.refetches++;
      // A stream of Electric's client begins anew by itself.
      if (this.#transport === "changes") this.#offset = null;
    }
    const id = /^id: (.*)$/m.exec(event)?.[1];
    this.#receive(message);
    if (id !== undefined) this.#setOffset(id);
  }

  #setOffset(offset: string | null): void {
    this.#offset = offset;
    if (offset === null) return;
    const xmax = BigInt(offset.split("_")[0]!) >> 112n;
    if (xmax < this.#xmax) this.#problem(`shows an older state: ${xmax} after ${this.#xmax}`);
    this.#xmax = xmax;
  }

  #receive(message: LiveMessageText): void {
    const { counts, query } = this.options;
    counts.messages++;
    if (message.headers.operation !== "delete") this.#check(message.value);
    applyMessage(this.rows, message);
    if (message.headers.control !== "up-to-date") return;
    counts.batches++;
    if (query !== accountsQuery) return;
    const balances = [...this.rows.values()].map((row) => (row as { balance: number }).balance);
    const sum = balances.reduce((a, b) => a + b, 0);
    if (sum !== 0) this.#problem(`shows half a transaction: ${balances}`);
  }

  /** Looks at the marks of a row and of its embeds. */
  #check(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    const { role, sub, realm } = this.options.identity;
    const expected: Readonly<Record<string, unknown>> = {
      realm,
      hidden: false,
      viewer: `${role} ${sub} ${realm}`,
    };
    for (const [key, each] of Object.entries(value)) {
      if (Object.hasOwn(expected, key) && each !== expected[key]) {
        this.#problem(`held ${JSON.stringify(value)}`);
      }
      this.#check(each);
    }
  }

  #problem(text: string): void {
    if (this.options.problems.size < 20) this.options.problems.add(`${this.name} ${text}`);
  }
}

/** Returns rows as sorted texts. Equal rows without a key count once. */
export function contentOf(rows: readonly unknown[]): string {
  return [...new Set(rows.map((row) => JSON.stringify(row)))].sort().join("\n");
}
