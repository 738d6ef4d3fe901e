/** Writes descriptions of the API in slices, and caches them: long ones compressed. @module */
import { slicer } from "../../lib/slices.ts";
import { contentTag } from "../conditional.ts";

/** An object of a document whose members are made while they are written. */
export class ObjectMembers {
  constructor(readonly entries: () => Iterable<readonly [name: string, value: unknown]>) {}

  toJSON(): unknown {
    return Object.fromEntries(this.entries());
  }
}

export interface StoredDocument {
  readonly length: number;
  /** Entity tag without its quotes. */
  readonly tag: string;
  readonly content: () => Uint8Array | ReadableStream<Uint8Array>;
  readonly storedBytes: number;
}

/** LRU cache of documents with a limit in bytes. Requests for the same key share one document. */
export interface DocumentStore {
  get(key: string, make: () => Promise<StoredDocument>): Promise<StoredDocument>;
}

/** Limit for the documents of one schema cache; roles with different privileges have their own. */
const maxStoreBytes = 64 * 1024 * 1024;
/** Shorter documents are not compressed. A request without compression then reads them as they are. */
const minCompressedBytes = 1024 * 1024;
/** Characters of a piece that is encoded, compressed and decompressed at once. */
const pieceLength = 128 * 1024;

export function documentStore(): DocumentStore {
  return createStore(maxStoreBytes);
}

/** Makes an empty store. It makes one document at a time. Keys count by their length in characters. */
export function createStore(maxBytes: number): DocumentStore {
  const documents = new Map<string, Promise<StoredDocument>>();
  let used = 0;
  let last: Promise<unknown> = Promise.resolve();
  const sizes = new Map<string, number>();
  const remove = (key: string) => {
    documents.delete(key);
    used -= sizes.get(key) ?? 0;
    sizes.delete(key);
  };
  const add = async (key: string, make: () => Promise<StoredDocument>) => {
    try {
      const made = await make();
      sizes.set(key, key.length + made.storedBytes);
      used += key.length + made.storedBytes;
      for (const oldest of sizes.keys()) {
        if (used <= maxBytes) break;
        remove(oldest);
      }
      return made;
    } catch (error) {
      documents.delete(key);
      throw error;
    }
  };
  return {
    get(key, make) {
      const cached = documents.get(key);
      if (cached !== undefined) {
        const size = sizes.get(key);
        if (size !== undefined && sizes.delete(key)) sizes.set(key, size);
        return cached;
      }
      const document = last.then(() => add(key, make));
      documents.set(key, document);
      last = document.catch(() => {});
      return document;
    },
  };
}

export async function writeDocument(document: ObjectMembers): Promise<StoredDocument> {
  const isCompressible = "CompressionStream" in globalThis;
  let length = 0;
  const plain: Uint8Array<ArrayBuffer>[] = [];
  const zipped: Uint8Array<ArrayBuffer>[] = [];
  for await (const bytes of bytesOf(document)) {
    length += bytes.length;
    plain.push(bytes);
    while (isCompressible && length >= minCompressedBytes && plain.length > 0) {
      zipped.push(await bytesThrough(new CompressionStream("gzip"), plain.shift()!));
    }
  }
  const stored = await bytesOfBody(new Blob(zipped.length === 0 ? plain : zipped));
  const tag = await contentTag(stored);
  if (zipped.length === 0) return { length, tag, content: () => stored, storedBytes: length };
  return { length, tag, content: () => unzipped(zipped), storedBytes: stored.length };
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

/** Decompresses one piece at a time, when the reader wants it. */
function unzipped(
  pieces: readonly Uint8Array<ArrayBuffer>[],
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const pause = slicer();
  let next = 0;
  return new ReadableStream({
    async pull(controller) {
      const piece = pieces[next++];
      if (piece === undefined) return controller.close();
      await pause();
      controller.enqueue(await bytesThrough(new DecompressionStream("gzip"), piece));
    },
  }, { highWaterMark: 0 });
}

async function bytesThrough(
  transform: CompressionStream | DecompressionStream,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  return await bytesOfBody(new Blob([bytes]).stream().pipeThrough(transform));
}

async function bytesOfBody(
  body: Blob | ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(body).arrayBuffer());
}
