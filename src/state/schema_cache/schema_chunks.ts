/** The schema cache as JSON texts for another thread, which parses each text in a few milliseconds.
 * A single text of ten thousand relations would stop the thread's requests for a third of a second.
 * @module */
import { mapSliced, type SlicedWork } from "../../base/lib/slices.ts";
import type { SchemaCacheData } from "./schema_cache.ts";

/** Number of entries per chunk. The JSON text of a chunk then has about a megabyte. */
const entriesPerChunk = 400;

export function schemaChunks(data: SchemaCacheData): SlicedWork<readonly string[]> {
  const parts = Object.entries(data).flatMap(([name, value]) =>
    Array.isArray(value) && value.length > 0
      ? slicesOf(value).map((slice) => ({ [name]: slice }))
      : [{ [name]: value }]
  );
  return mapSliced(parts, (part) => JSON.stringify(part));
}

function slicesOf(list: readonly unknown[]): readonly (readonly unknown[])[] {
  const count = Math.ceil(list.length / entriesPerChunk);
  return Array.from(
    { length: count },
    (_, index) => list.slice(index * entriesPerChunk, (index + 1) * entriesPerChunk),
  );
}

/** Reads the data of chunks. `pause` lets the thread do other work between two of them. */
export async function readChunks(
  chunks: readonly string[],
  pause: () => Promise<void>,
): Promise<SchemaCacheData> {
  const data: Record<string, unknown> = {};
  for (const chunk of chunks) {
    for (const [name, value] of Object.entries(JSON.parse(chunk))) {
      const list = data[name];
      if (Array.isArray(list) && Array.isArray(value)) list.push(...value);
      else data[name] = value;
    }
    await pause();
  }
  return data as unknown as SchemaCacheData;
}
