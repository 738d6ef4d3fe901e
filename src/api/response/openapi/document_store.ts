/** Writes descriptions of the API in slices, and caches them. @module */
import { slicer } from "../../../base/lib/slices.ts";
import { contentTag } from "../conditional.ts";

/** An object of a document whose members are made while they are written. */
export class ObjectMembers {
  constructor(readonly entries: () => Iterable<readonly [name: string, value: unknown]>) {}

  toJSON(): unknown {
    return Object.fromEntries(this.entries());
  }
}

export interface StoredDocument {
  readonly content: Uint8Array;
  /** Entity tag without its quotes. */
  readonly tag: string;
}

/** LRU cache of documents with a limit in bytes. Requests for the same key share one document. */
export interface DocumentStore {
  get(key: string, make: () => Promise<StoredDocument>): Promise<StoredDocument>;
}

/** Limit for the documents of one schema cache; roles with different privileges have their own. */
const maxStoreBytes = 64 * 1024 * 1024;
/** Characters of a piece that is encoded at once. */
const pieceLength = 128 * 1024;

export function documentStore(): DocumentStore {
  return createStore(maxStoreBytes);
}

/** Makes an empty store. It makes one document at a time. Keys count by their length in characters. */
export function createStore(maxBytes: number): DocumentStore {
  /** Documents, the least recently used one first. The size is 0 while one is made. */
  const entries = new Map<string, { readonly document: Promise<StoredDocument>; size: number }>();
  let used = 0;
  let last: Promise<unknown> = Promise.resolve();
  const add = async (key: string, make: () => Promise<StoredDocument>) => {
    try {
      const made = await make();
      used += entries.get(key)!.size = key.length + made.content.length;
      for (const [oldest, { size }] of entries) {
        if (used <= maxBytes) break;
        if (size > 0) entries.delete(oldest);
        used -= size;
      }
      return made;
    } catch (error) {
      entries.delete(key);
      throw error;
    }
  };
  return {
    get(key, make) {
      const entry = entries.get(key) ?? { document: last.then(() => add(key, make)), size: 0 };
      if (!entries.delete(key)) last = entry.document.catch(() => {});
      entries.set(key, entry);
      return entry.document;
    },
  };
}

export async function writeDocument(document: ObjectMembers): Promise<StoredDocument> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const bytes of bytesOf(document)) pieces.push(bytes);
  const content = new Uint8Array(await new Blob(pieces).arrayBuffer());
  return { content, tag: await contentTag(content) };
}

async function* bytesOf(document: ObjectMembers): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const pause = slicer();
  const encoder = new TextEncoder();
  let text = "";
  for (const piece of jsonPieces(document)) {
    text += piece;
    if (text.length >= pieceLength) {
      yield encoder.encode(text);
      text = "";
    }
    await pause();
  }
  yield encoder.encode(text);
}

function* jsonPieces(value: unknown): Generator<string> {
  if (!(value instanceof ObjectMembers)) return yield JSON.stringify(value);
  let before = "{";
  for (const [name, member] of value.entries()) {
    if (member === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* jsonPieces(member);
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}
