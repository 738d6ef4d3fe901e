/** `Map.groupBy` and `Map.getOrInsertComputed` for runtimes without them. @module */

/** Returns the items by their key, both in order of appearance. */
export function groupBy<Key, Item>(
  items: Iterable<Item>,
  keyOf: (item: Item) => Key,
): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    getOrMake(groups, keyOf(item), () => []).push(item);
  }
  return groups;
}

/** Returns the value of a key, which `make` makes when it is missing. */
export function getOrMake<Key, Value>(
  map: Map<Key, Value>,
  key: Key,
  make: (key: Key) => Value,
): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, value = make(key));
  return value;
}
