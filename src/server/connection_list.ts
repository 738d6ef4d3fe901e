/**
 * A linked list of connections in the order in which they entered it. Each is in one list at most, and
 * any may be removed in constant time.
 *
 * @module
 */

/** A member of a {@linkcode ConnectionList}. */
export interface ListMember<Item extends ListMember<Item>> {
  /** When it entered its list, in milliseconds of the table's clock. */
  since: number;
  list: ConnectionList<Item> | null;
  previous: Item | null;
  next: Item | null;
}

/** Holds the longest member first. */
export class ConnectionList<Item extends ListMember<Item>> {
  #first: Item | null = null;
  #last: Item | null = null;

  /** The member that entered first; null if the list is empty. */
  get first(): Item | null {
    return this.#first;
  }

  add(item: Item, now: number): void {
    item.list = this;
    item.since = now;
    item.previous = this.#last;
    item.next = null;
    if (this.#last === null) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
  }

  remove(item: Item): void {
    const { previous, next } = item;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    item.list = null;
    item.previous = null;
    item.next = null;
  }
}
