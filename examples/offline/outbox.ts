/**
 * Writes that wait while the network is away, for collections of TanStack DB:
 *
 *     const outbox = new Outbox({ origin, fetch, storage: localStorage, merge });
 *     createCollection(electricCollectionOptions({ shapeOptions, getKey, ...outbox.handlers("orders") }));
 *     addEventListener("online", () => outbox.flush());
 *
 * The network can lose a request or its response: each write has an Idempotency-Key, so that it can be
 * sent again. An update has the entity tag of its row, so that it overwrites no change of another device.
 *
 * @module
 */

type Row = Readonly<Record<string, unknown>>;

/** A request that is sent until a response arrives. */
interface Attempt {
  readonly body: Row | null;
  readonly tag: string | null;
}

interface QueuedWrite {
  /** The Idempotency-Key. */
  readonly id: string;
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** The row before the change, as the user saw it; null for an insert. */
  readonly original: Row | null;
  readonly changes: Row;
  attempt: Attempt | null;
}

interface Mutation {
  readonly key: unknown;
  readonly original: object;
  readonly modified: object;
  readonly changes: object;
}

export interface OutboxOptions {
  /** URL of the API, without a slash at the end. */
  readonly origin: string;
  /** Adds the token. */
  readonly fetch: (request: Request) => Promise<Response>;
  readonly storage: Pick<Storage, "getItem" | "setItem">;
  /** Returns the changes for a row that is no longer as the user saw it. */
  readonly merge: (changes: Row, original: Row, current: Row) => Row;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #queue: QueuedWrite[];
  readonly #waiting = new Map<string, (txid: Promise<number> | number) => void>();
  #sending: Promise<void> | null = null;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#queue = JSON.parse(options.storage.getItem("outbox") ?? "[]");
  }

  /** Number of writes without a response. */
  get size(): number {
    return this.#queue.length;
  }

  /** Returns the handlers of a collection, whose rows have the primary key `id`. */
  handlers(relation: string) {
    const each =
      (add: (mutation: Mutation) => Promise<number>) =>
      async ({ transaction }: { transaction: { mutations: readonly Mutation[] } }) => ({
        txid: await Promise.all(transaction.mutations.map(add)),
        timeout: 60_000,
      });
    const path = ({ key }: Mutation) => `/${relation}?id=eq.${encodeURIComponent(String(key))}`;
    return {
      onInsert: each(({ modified }) => this.#add("POST", `/${relation}`, null, modified)),
      onUpdate: each((one) => this.#add("PATCH", path(one), one.original, one.changes)),
      onDelete: each((one) => this.#add("DELETE", path(one), one.original, {})),
    };
  }

  /** Sends the writes in their order, until none is left or the network is away. */
  flush(): Promise<void> {
    return this.#sending ??= this.#send().finally(() => this.#sending = null);
  }

  /** Resolves with the transaction of the write. */
  #add(method: QueuedWrite["method"], path: string, original: object | null, changes: object) {
    const write = { method, path, original, changes, id: crypto.randomUUID(), attempt: null };
    this.#queue.push(write as QueuedWrite);
    this.#save();
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#waiting.set(write.id, resolve);
    void this.flush();
    return promise;
  }

  #save(): void {
    this.#options.storage.setItem("outbox", JSON.stringify(this.#queue));
  }

  async #send(): Promise<void> {
    for (let write = this.#queue[0]; write !== undefined; write = this.#queue[0]) {
      const response = await this.#try(write).catch(() => null);
      // Without a response, without a valid token, and while the server is busy: a later flush sends it.
      if (response === null || response.status >= 500 || response.status === 401) return;
      if (response.headers.has("Retry-After")) return;
      // The row has changed, and the write had no effect.
      if (response.status === 412) write.attempt = null;
      else this.#end(write, response);
      this.#save();
    }
  }

  async #try(write: QueuedWrite): Promise<Response> {
    const { fetch, origin } = this.#options;
    const { method, path, id } = write;
    write.attempt ??= await this.#prepare(write);
    // It is kept first: only an equal request with the same key has no second effect.
    this.#save();
    const { body, tag } = write.attempt;
    const headers = new Headers({ "Idempotency-Key": id, "Content-Type": "application/json" });
    if (tag !== null) headers.set("If-Match", tag);
    const json = body && JSON.stringify(body);
    return await fetch(new Request(origin + path, { method, headers, body: json }));
  }

  async #prepare({ path, original, changes, method }: QueuedWrite): Promise<Attempt> {
    if (original === null) return { body: changes, tag: null };
    const { fetch, origin, merge } = this.#options;
    const response = await fetch(new Request(origin + path));
    const [current] = await response.json();
    const tag = response.headers.get("ETag");
    if (method === "DELETE") return { body: null, tag };
    const isSeen = Object.keys(original).every((name) => original[name] === current?.[name]);
    return { body: isSeen ? changes : merge(changes, original, current ?? original), tag };
  }

  #end({ id }: QueuedWrite, response: Response): void {
    this.#queue.shift();
    const txid = Number(response.headers.get("electric-txid"));
    const refused = () => Promise.reject(new Error(`The write was refused: ${response.status}`));
    this.#waiting.get(id)?.(response.ok ? txid : refused());
    this.#waiting.delete(id);
  }
}
