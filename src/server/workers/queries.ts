/** Queries between threads, which are answered by messages. @module */
import { deferred } from "../../lib/deferred.ts";
import type { QueryReply, ThreadQuery } from "./messages.ts";

/** Queries of one thread that wait for their replies. */
export class Queries<Name extends string> {
  readonly #post: (query: ThreadQuery<Name>) => void;
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #last = 0;

  constructor(post: (query: ThreadQuery<Name>) => void) {
    this.#post = post;
  }

  /** Sends a query. Resolves with its reply, or with undefined once the queries are {@linkcode end}ed. */
  send(name: Name): Promise<unknown> {
    const { promise, resolve } = deferred<unknown>();
    const id = ++this.#last;
    this.#waiting.set(id, resolve);
    this.#post({ kind: "query", id, name });
    return promise;
  }

  /** Receives a reply. */
  settle({ id, value }: QueryReply): void {
    this.#waiting.get(id)?.(value);
    this.#waiting.delete(id);
  }

  /** Ends all queries, since the other thread has ended. */
  end(): void {
    for (const resolve of this.#waiting.values()) resolve(undefined);
    this.#waiting.clear();
  }
}
