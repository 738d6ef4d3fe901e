import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { atOnce } from "../../../support/timing/at_once.ts";
import { readChunks, schemaChunks } from "../../../../src/state/schema_cache/schema_chunks.ts";
import type { SchemaCacheData } from "../../../../src/state/schema_cache/schema_cache.ts";

const data = {
  relations: Array.from({ length: 1001 }, (_, index) => ({ schema: "api", name: `r${index}` })),
  relationships: [],
  routines: [{ schema: "api", name: "f" }],
  representations: [],
  mediaHandlers: [],
  volatileFunctions: null,
} as unknown as SchemaCacheData;

Deno.test("readChunks() reads the data of schemaChunks(), and pauses after each chunk", async () => {
  const chunks = atOnce(schemaChunks(data));
  let pauses = 0;
  const read = await readChunks(chunks, () => Promise.resolve(void pauses++));
  deepStrictEqual(read, data);
  deepStrictEqual(Object.keys(read), Object.keys(data));
  strictEqual(pauses, chunks.length);
  ok(chunks.length >= 3 + 5);
});
