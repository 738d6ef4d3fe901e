/**
 * Caches serialized documents.
 *
 * @module
 */

/** LRU cache of documents with a limit in bytes. */
export interface DocumentStore {
  get(key: string, make: () => Uint8Array): Uint8Array;
}

/** Limit for the documents of one schema cache; roles with different privileges have their own. */
const maxStoreBytes = 64 * 1024 * 1024;

/** Makes an empty store. */
export function documentStore(): DocumentStore {
  return createStore(maxStoreBytes);
}

/** Makes an empty store. Keys count by their length in characters. */
export function createStore(maxBytes: number): DocumentStore {
  const documents = new Map<string, Uint8Array>();
  let used = 0;
  const remove = (key: string, bytes: Uint8Array) => {
    documents.delete(key);
    used -= sizeOf(key, bytes);
  };
  return {
    get(key, make) {
      const cached = documents.get(key);
      if (cached !== undefined) {
        documents.delete(key);
        documents.set(key, cached);
        return cached;
      }
      const made = make();
      documents.set(key, made);
      used += sizeOf(key, made);
      for (const [oldest, bytes] of documents) {
        if (used <= maxBytes) break;
        remove(oldest, bytes);
      }
      return made;
    },
  };
}

function sizeOf(key: string, bytes: Uint8Array): number {
  return key.length + bytes.length;
}
