/** Writes API descriptions in slices, and caches them. @module */
import { deferred } from "../../../base/lib/deferred.ts";
import { collectGarbage } from "../../../base/lib/garbage.ts";
import { sha256 } from "../../../base/lib/sha256.ts";
import { slicer } from "../../../base/lib/slices.ts";
import { contentTag } from "../conditional.ts";
import type { Reply } from "../reply.ts";

/** An object of a document whose members are created during writing. */
export class ObjectMembers {
  constructor(readonly entries: () => Iterable<readonly [name: string, value: unknown]>) {}

  toJSON(): unknown {
    return Object.fromEntries(this.entries());
  }
}

export interface StoredDocument {
  /** Bytes that the store keeps. */
  readonly keptBytes: number;
  readonly length: number;
  /** Entity tag without its quotes. */
  readonly tag: string;
  /** Returns the content. A document that is not stored is written again, at the pace of the
   * reader. */
  readonly open: () => Pick<Reply, "content" | "ended">;
}

/** An LRU cache of documents with a limit in bytes. Concurrent requests for a key share one document. */
export interface DocumentStore {
  get(key: string, make: () => Promise<StoredDocument>): Promise<StoredDocument>;
}

/** Maximum size of the documents of one schema cache. Roles with different privileges have
 * different documents. */
const maxStoreBytes = 32 * 1024 * 1024;
/** Maximum size of a document whose bytes are stored. */
const maxKeptBytes = 4 * 1024 * 1024;
/** Number of characters that are encoded at a time. */
const chunkLength = 128 * 1024;
/** Number of chunks after which a garbage collection is requested. */
const chunksPerCollection = 128;

export function documentStore(): DocumentStore {
  return createStore(maxStoreBytes);
}

/** Creates an empty store. It writes one document at a time. The length of keys is part of the size. */
export function createStore(maxBytes: number): DocumentStore {
  /** Documents, the least recently used one first. The size of a document is 0 until it is written. */
  const entries = new Map<string, { readonly document: Promise<StoredDocument>; size: number }>();
  let used = 0;
  let last: Promise<unknown> = Promise.resolve();
  const add = async (key: string, make: () => Promise<StoredDocument>) => {
    try {
      const made = await make();
      used += entries.get(key)!.size = key.length + made.keptBytes;
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

/** Writes a document to get its length and tag. Returns its bytes if it has at most `maxBytes`. The
 * description of 20,000 tables has 80 MB in version 2.0, and 214 MB in version 3.1. */
export async function writeDocument(
  make: () => ObjectMembers,
  maxBytes = maxKeptBytes,
): Promise<StoredDocument> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const digests: Uint8Array[] = [];
  let length = 0;
  for await (const bytes of bytesOf(make())) {
    length += bytes.length;
    digests.push(await sha256(bytes));
    if (length <= maxBytes) chunks.push(bytes);
    else chunks.length = 0;
  }
  const tag = await contentTag(await joined(digests));
  if (length > maxBytes) {
    return { keptBytes: 0, length, tag, open: () => streamOf(bytesOf(make())) };
  }
  const content = await joined(chunks);
  return { keptBytes: length, length, tag, open: () => ({ content }) };
}

async function joined(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

function streamOf(chunks: AsyncIterator<Uint8Array>): Pick<Reply, "content" | "ended"> {
  const { promise: ended, resolve: end } = deferred<void>();
  const content = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next().catch((error) => {
        end();
        throw error;
      });
      if (!done) return controller.enqueue(value);
      controller.close();
      end();
    },
    cancel: () => end(),
  }, { highWaterMark: 0 });
  return { content, ended };
}

async function* bytesOf(document: ObjectMembers): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const pause = slicer();
  const encoder = new TextEncoder();
  let text = "";
  let written = 0;
  for (const chunk of jsonChunks(document)) {
    text += chunk;
    if (text.length >= chunkLength) {
      yield encoder.encode(text);
      text = "";
      if (++written % chunksPerCollection === 0) collectGarbage();
    }
    const pausing = pause();
    if (pausing !== undefined) await pausing;
  }
  yield encoder.encode(text);
}

function* jsonChunks(value: unknown): Generator<string> {
  if (!(value instanceof ObjectMembers)) return yield JSON.stringify(value);
  let before = "{";
  for (const [name, member] of value.entries()) {
    if (member === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* jsonChunks(member);
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}
