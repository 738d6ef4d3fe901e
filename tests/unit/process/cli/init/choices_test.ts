import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  likelySchema,
  nameOfOwned,
  pickOwned,
  pickRelations,
  splitNames,
} from "../../../../../src/process/cli/init/choices.ts";
import type { RelationFacts, SchemaFacts } from "../../../../../src/process/cli/init/facts.ts";

const lists: readonly (readonly [text: string, names: readonly string[]])[] = [
  ["film", ["film"]],
  [" film , actor ,", ["film", "actor"]],
  ['"a,b",c', ["a,b", "c"]],
  ['"say ""hi""",two words', ['say "hi"', "two words"]],
];

for (const [text, names] of lists) {
  Deno.test(`splitNames() splits ${text}`, () => deepStrictEqual(splitNames(text), names));
}

const relations = ["film", "all"].map((name): RelationFacts => ({
  name,
  sql: name,
  isWritable: true,
  sequences: [],
  ownerColumns: [{ name: "owner", sql: "owner", type: "uuid", hasDefault: false }],
}));

Deno.test("pickRelations() reads none, all and quoted names", () => {
  const names = (text: string) => pickRelations(text, relations).map(({ name }) => name);
  deepStrictEqual(names("none"), []);
  deepStrictEqual(names("all"), ["film", "all"]);
  deepStrictEqual(names('"all"'), ["all"]);
  deepStrictEqual(names("all except fil*"), ["all"]);
  deepStrictEqual(names("*l*"), ["film", "all"]);
  throws(() => names("*x*"), /^Error: "\*x\*" is not a relation of the schema/);
  throws(
    () => names("flim"),
    /^Error: "flim" is not a relation of the schema; did you mean film\?$/,
  );
});

Deno.test("pickOwned() reads table.column", () => {
  deepStrictEqual(pickOwned("none", relations), []);
  deepStrictEqual(pickOwned("film.owner", relations).map(nameOfOwned), ["film.owner"]);
  throws(
    () => pickOwned("film.ower", relations),
    /^Error: "film\.ower" is not table\.column .+; did you mean film\.owner\?$/,
  );
});

const schema = (name: string, relations: number): SchemaFacts => ({
  name,
  relations,
  functions: 0,
});

const schemas: readonly (readonly [schemas: readonly SchemaFacts[], expected: string])[] = [
  [[], "api"],
  [[schema("public", 0)], "api"],
  [[schema("public", 3), schema("api", 1)], "api"],
  [[schema("api", 0), schema("public", 3), schema("shop", 9)], "public"],
  [[schema("public", 0), schema("shop", 9)], "shop"],
];

for (const [found, expected] of schemas) {
  const title = found.map(({ name, relations }) => `${name} ${relations}`).join(", ");
  Deno.test(`likelySchema() of ${title || "none"} is ${expected}`, () => {
    strictEqual(likelySchema(found), expected);
  });
}
