import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { atOnce } from "../../../support/timing/at_once.ts";
import { readPieces, schemaPieces } from "../../../../src/state/schema_cache/pieces.ts";
import type { SchemaCacheData } from "../../../../src/state/schema_cache/schema_cache.ts";

const data = {
  relations: Array.from({ length: 1001 }, (_, index) => ({ schema: "api", name: `r${index}` })),
  relationships: [],
  routines: [{ schema: "api", name: "f" }],
  representations: [],
  mediaHandlers: [],
  volatileFunctions: null,
} as unknown as SchemaCacheData;

Deno.test("readPieces() reads the data of schemaPieces(), and pauses after each piece", async () => {
  const pieces = atOnce(schemaPieces(data));
  let pauses = 0;
  const read = await readPieces(pieces, () => Promise.resolve(void pauses++));
  deepStrictEqual(read, data);
  deepStrictEqual(Object.keys(read), Object.keys(data));
  strictEqual(pauses, pieces.length);
  ok(pieces.length >= 3 + 5);
});
