/** Names of the prepared statements of one connection, by context and text. @module */
import { getOrMake } from "../../base/lib/group_by.ts";

interface PreparedStatement {
  readonly context: string | null;
  readonly text: string;
  readonly name: string;
  /** Statements that were prepared later have a higher number. */
  readonly rank: number;
  lastUse: number;
}

/** An eviction leaves this share of the limit. So one eviction serves many new statements. */
const shareAfterEviction = 0.9;

/**
 * Names of prepared statements of one connection, at most `limit`; the least recently used ones are
 * evicted. A text and the context that it is planned in identify a statement: see `Transaction.planContext`.
 */
export class PreparedStatements {
  readonly #byContext = new Map<string | null, Map<string, PreparedStatement>>();
  #size = 0;
  #nameCounter = 0;
  #useCounter = 0;

  /** `limit` is the number of statements kept on the server; names begin with `prefix`. */
  constructor(private readonly limit: number, private readonly prefix = "s") {}

  get size(): number {
    return this.#size;
  }

  use(context: string | null, text: string): PreparedStatement | undefined {
    const prepared = this.#byContext.get(context)?.get(text);
    if (prepared !== undefined) prepared.lastUse = ++this.#useCounter;
    return prepared;
  }

  /** Returns a name that was never used on this connection. */
  freshName(): string {
    return this.prefix + ++this.#nameCounter;
  }

  /** Records a statement that the server has confirmed. Returns the name that it replaces. */
  remember(context: string | null, text: string, name: string): string | undefined {
    const texts = getOrMake(this.#byContext, context, () => new Map());
    const replaced = texts.get(text)?.name;
    if (replaced === undefined) this.#size++;
    const rank = ++this.#useCounter;
    texts.set(text, { context, text, name, rank, lastUse: rank });
    return replaced;
  }

  /** Forgets the least recently used statements above the limit. Returns their names. */
  evict(): readonly string[] {
    if (this.#size <= this.limit) return [];
    const surplus = this.#size - Math.floor(this.limit * shareAfterEviction);
    const oldest = this.#all().sort((a, b) => a.lastUse - b.lastUse).slice(0, surplus);
    for (const { context, text } of oldest) {
      const texts = this.#byContext.get(context)!;
      texts.delete(text);
      if (texts.size === 0) this.#byContext.delete(context);
    }
    this.#size -= oldest.length;
    return oldest.map(({ name }) => name);
  }

  clear(): readonly string[] {
    const names = this.#all().map(({ name }) => name);
    this.#byContext.clear();
    this.#size = 0;
    return names;
  }

  #all(): PreparedStatement[] {
    return [...this.#byContext.values()].flatMap((texts) => [...texts.values()]);
  }
}
