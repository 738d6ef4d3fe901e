/**
 * The prepared statements of one connection: (role, text) → name.
 *
 * @module
 */

/** A prepared statement. */
interface PreparedStatement {
  readonly role: string | null;
  readonly text: string;
  readonly name: string;
  /** Value of the use counter at the last use. */
  lastUse: number;
}

/** Share of the limit that an eviction leaves, so that it runs once for many new statements. */
const shareAfterEviction = 0.9;

/**
 * Names of prepared statements of one connection, at most `limit`; the least recently used ones are
 * evicted. A role is part of a statement's identity: PostgreSQL checks EXECUTE on functions that it
 * inlines when it plans, and a plan serves every role that uses the statement afterwards.
 */
export class PreparedStatements {
  readonly #byRole = new Map<string | null, Map<string, PreparedStatement>>();
  readonly #limit: number;
  readonly #prefix: string;
  #size = 0;
  #nameCounter = 0;
  #useCounter = 0;

  /** `limit` is the number of statements kept on the server; names begin with `prefix`. */
  constructor(limit: number, prefix = "s") {
    this.#limit = limit;
    this.#prefix = prefix;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Returns the name under which a text is prepared for a role, and marks it as used; undefined as well
   * where that statement is older than `since`, a number of {@linkcode numberOf}.
   */
  use(role: string | null, text: string, since = 0): string | undefined {
    const prepared = this.#byRole.get(role)?.get(text);
    if (prepared === undefined || this.numberOf(prepared.name) < since) return undefined;
    prepared.lastUse = ++this.#useCounter;
    return prepared.name;
  }

  /** Returns the place of a name in the order in which the names were made. */
  numberOf(name: string): number {
    return Number(name.slice(this.#prefix.length));
  }

  /** Returns a name that was never used on this connection. */
  freshName(): string {
    return this.#prefix + ++this.#nameCounter;
  }

  /**
   * Records a statement whose preparation the server has confirmed. Returns the name that it replaces,
   * or undefined.
   */
  remember(role: string | null, text: string, name: string): string | undefined {
    let texts = this.#byRole.get(role);
    if (texts === undefined) this.#byRole.set(role, texts = new Map());
    const replaced = texts.get(text)?.name;
    if (replaced === undefined) this.#size++;
    texts.set(text, { role, text, name, lastUse: ++this.#useCounter });
    return replaced;
  }

  /** Forgets the least recently used statements once there are more than the limit; returns their names. */
  evict(): readonly string[] {
    if (this.#size <= this.#limit) return noNames;
    const surplus = this.#size - Math.floor(this.#limit * shareAfterEviction);
    const oldest = this.#all().sort((a, b) => a.lastUse - b.lastUse).slice(0, surplus);
    for (const { role, text } of oldest) {
      const texts = this.#byRole.get(role)!;
      texts.delete(text);
      if (texts.size === 0) this.#byRole.delete(role);
    }
    this.#size -= oldest.length;
    return oldest.map(({ name }) => name);
  }

  /** Forgets everything and returns the names. */
  clear(): readonly string[] {
    const names = this.#all().map(({ name }) => name);
    this.#byRole.clear();
    this.#size = 0;
    return names;
  }

  #all(): PreparedStatement[] {
    return [...this.#byRole.values()].flatMap((texts) => [...texts.values()]);
  }
}

const noNames: readonly string[] = [];
