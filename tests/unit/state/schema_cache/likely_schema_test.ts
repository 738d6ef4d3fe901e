import { strictEqual } from "node:assert/strict";
import { likelySchema, type SchemaSize } from "../../../../src/state/schema_cache/likely_schema.ts";

const schema = (name: string, relations: number, functions = 0): SchemaSize => ({
  name,
  relations,
  functions,
});

const rows: readonly (readonly [schemas: readonly SchemaSize[], expected: string | null])[] = [
  [[], null],
  [[schema("public", 0)], null],
  [[schema("public", 3), schema("api", 1)], "api"],
  [[schema("api", 0), schema("public", 3), schema("shop", 9)], "shop"],
  [[schema("musicbrainz", 375), schema("public", 0, 1)], "musicbrainz"],
  [[schema("public", 0), schema("shop", 9)], "shop"],
  [[schema("app", 2), schema("public", 2)], "public"],
  [[schema("b", 0, 1), schema("c", 0, 2)], "c"],
];

for (const [found, expected] of rows) {
  const title = found.map(({ name, relations }) => `${name} ${relations}`).join(", ");
  Deno.test(`likelySchema() of ${title || "none"} is ${expected}`, () => {
    strictEqual(likelySchema(found), expected);
  });
}
