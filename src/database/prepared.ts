/**
 * Which statements a connection has prepared: text → name.
 *
 * @module
 */

/** A prepared statement. */
interface Prepared {
  readonly name: string;
  /** What the clock showed when it was used last. */
  used: number;
}

/** Names of prepared statements of one connection, bounded. */
export class PreparedStatements {
  readonly #prepared = new Map<string, Prepared>();
  readonly #limit: number;
  readonly #prefix: string;
  #counter = 0;
  #clock = 0;

  /** `limit` is the number of statements kept on the server; names begin with `prefix`. */
  constructor(limit: number, prefix = "s") {
    this.#limit = limit;
    this.#prefix = prefix;
  }

  get size(): number {
    return this.#prepared.size;
  }

  /** The name under which a text is prepared, if it is; marks it as used. */
  use(text: string): string | undefined {
    const prepared = this.#prepared.get(text);
    if (prepared === undefined) return undefined;
    prepared.used = ++this.#clock;
    return prepared.name;
  }

  /** A name that was never used on this connection. */
  freshName(): string {
    return this.#prefix + ++this.#counter;
  }

  /** Records what the server has confirmed. */
  remember(text: string, name: string): void {
    this.#prepared.set(text, { name, used: ++this.#clock });
  }

  /** Forgets the statements above the limit, least recently used first, and returns their names. */
  evict(): readonly string[] {
    const surplus = this.#prepared.size - this.#limit;
    if (surplus <= 0) return none;
    const oldest = [...this.#prepared].sort(([, a], [, b]) => a.used - b.used).slice(0, surplus);
    for (const [text] of oldest) this.#prepared.delete(text);
    return oldest.map(([, { name }]) => name);
  }

  /** Forgets everything and returns the names. */
  clear(): readonly string[] {
    const names = Array.from(this.#prepared.values(), ({ name }) => name);
    this.#prepared.clear();
    return names;
  }
}

const none: readonly string[] = [];
