/** A list of the newest entries. @module */

/** An entry with its number, which counts from 1. */
export type Numbered<Entry> = Entry & { readonly id: number };

/** Keeps the newest entries and forgets older ones. */
export class Ring<Entry> {
  readonly #capacity: number;
  readonly #entries: Numbered<Entry>[] = [];
  #last = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Adds an entry. */
  add(entry: Entry): void {
    this.#entries[this.#last % this.#capacity] = { ...entry, id: ++this.#last };
  }

  /** Returns the kept entries with a number above `id`, oldest first. */
  after(id: number): readonly Numbered<Entry>[] {
    const start = this.#last % this.#capacity;
    return [...this.#entries.slice(start), ...this.#entries.slice(0, start)]
      .filter((entry) => entry.id > id);
  }
}
