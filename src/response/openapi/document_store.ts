/**
 * Documents that were written already, as bytes.
 *
 * @module
 */

/** Keeps what was made, up to a number of bytes; what was not used for longest goes first. */
export interface DocumentStore {
  get(key: string, make: () => Uint8Array): Uint8Array;
}

/** Room for the documents of one schema cache: as many roles as see different things. */
const roomBytes = 64 * 1024 * 1024;

/** Makes an empty store. */
export function documentStore(): DocumentStore {
  return createStore(roomBytes);
}

/** Makes an empty store with room for so many bytes; keys count by their length. */
export function createStore(room: number): DocumentStore {
  const documents = new Map<string, Uint8Array>();
  let used = 0;
  const remove = (key: string, bytes: Uint8Array) => {
    documents.delete(key);
    used -= sizeOf(key, bytes);
  };
  return {
    get(key, make) {
      const known = documents.get(key);
      if (known !== undefined) {
        documents.delete(key);
        documents.set(key, known);
        return known;
      }
      const made = make();
      documents.set(key, made);
      used += sizeOf(key, made);
      for (const [oldest, bytes] of documents) {
        if (used <= room) break;
        remove(oldest, bytes);
      }
      return made;
    },
  };
}

function sizeOf(key: string, bytes: Uint8Array): number {
  return key.length + bytes.length;
}
