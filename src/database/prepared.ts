/**
 * Which statements a connection has prepared: text → name, least recently used first.
 *
 * @module
 */

/** Names of prepared statements of one connection, bounded. */
export class PreparedStatements {
  readonly #names = new Map<string, string>();
  readonly #limit: number;
  readonly #prefix: string;
  #counter = 0;

  /** `limit` is the number of statements kept on the server; names begin with `prefix`. */
  constructor(limit: number, prefix = "s") {
    this.#limit = limit;
    this.#prefix = prefix;
  }

  get size(): number {
    return this.#names.size;
  }

  /** The name under which a text is prepared, if it is; marks it as used. */
  use(text: string): string | undefined {
    const name = this.#names.get(text);
    if (name !== undefined) {
      this.#names.delete(text);
      this.#names.set(text, name);
    }
    return name;
  }

  /** A name that was never used on this connection. */
  freshName(): string {
    return this.#prefix + ++this.#counter;
  }

  /** Records what the server has confirmed. */
  remember(text: string, name: string): void {
    this.#names.set(text, name);
  }

  /** Forgets the statements above the limit, oldest first, and returns their names. */
  evict(): readonly string[] {
    const evicted: string[] = [];
    for (const [text, name] of this.#names) {
      if (this.#names.size <= this.#limit) break;
      this.#names.delete(text);
      evicted.push(name);
    }
    return evicted;
  }

  /** Forgets everything and returns the names. */
  clear(): readonly string[] {
    const names = [...this.#names.values()];
    this.#names.clear();
    return names;
  }
}
