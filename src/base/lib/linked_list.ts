/**
 * A doubly linked list, whose members contain the links. A member is in at most one list, and is
 * removed in constant time. A `Set` with many changes would rehash often. Its old tables would keep
 * members in memory until a full garbage collection. @module
 */

export interface ListMember<Item extends ListMember<Item>> {
  /** The list that contains the member; null while no list does. */
  list: LinkedList<Item> | null;
  previous: Item | null;
  next: Item | null;
}

/** Members in the order in which they were added. */
export class LinkedList<Item extends ListMember<Item>> {
  #first: Item | null = null;
  #last: Item | null = null;
  #size = 0;

  /** Null if the list is empty. */
  get first(): Item | null {
    return this.#first;
  }

  /** Null if the list is empty. */
  get last(): Item | null {
    return this.#last;
  }

  get size(): number {
    return this.#size;
  }

  /** Inserts an item before `next`, or at the end if `next` is null. The item must not be in a list. */
  add(item: Item, next: Item | null = null): void {
    const previous = next === null ? this.#last : next.previous;
    item.list = this;
    item.previous = previous;
    item.next = next;
    if (previous === null) this.#first = item;
    else previous.next = item;
    if (next === null) this.#last = item;
    else next.previous = item;
    this.#size++;
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
    this.#size--;
  }

  /** Iterates from the first member. The loop may remove the current member. */
  *[Symbol.iterator](): Iterator<Item> {
    for (let item = this.#first; item !== null;) {
      const { next } = item;
      yield item;
      item = next;
    }
  }
}
