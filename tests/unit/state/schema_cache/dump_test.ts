import { deepStrictEqual } from "node:assert/strict";
import { dumpSchemaCache, readSchemaCache } from "../../../../src/state/schema_cache/dump.ts";
import { cache } from "../../../support/handler/reading.ts";

Deno.test("readSchemaCache() returns what dumpSchemaCache() wrote", () => {
  const distance = { schema: "ext", name: "<->", left: "ext.cube", right: "ext.cube" };
  const searchOperators = { distances: [distance], similarity: [], domains: [] };
  const data = {
    ...cache.data,
    rowFunctions: [{ name: "rank", relation: { schema: "api", name: "films" } }],
    volatileFunctions: ["f"],
    stableWithoutArguments: [{ schema: "api", name: "check" }],
    primaryFunctions: ["balance"],
  };
  deepStrictEqual(readSchemaCache(JSON.parse(dumpSchemaCache({ ...data, searchOperators }))).data, {
    ...data,
    searchOperators,
  });
  deepStrictEqual(readSchemaCache(JSON.parse(dumpSchemaCache(data))).data, data);
});

Deno.test("readSchemaCache() takes all relations for volatile when a dump lacks the member", () => {
  const dump = JSON.parse(dumpSchemaCache(cache.data));
  delete dump.dbVolatileFunctions;
  for (const [, relation] of dump.dbTables) delete relation.volatile;
  const { data } = readSchemaCache(dump);
  deepStrictEqual(data.volatileFunctions, null);
  deepStrictEqual(
    data.relations,
    cache.data.relations.map((relation) => ({ ...relation, volatile: true })),
  );
});
