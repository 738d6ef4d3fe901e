import { deepStrictEqual, throws } from "node:assert/strict";
import {
  nameOfOwned,
  pickOwned,
  pickRelations,
  pickSchemas,
  splitNames,
} from "../../../../../src/wings/audit/init/choices.ts";
import type { RelationFacts } from "../../../../../src/wings/audit/init/facts.ts";

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
  schema: "public",
  name,
  label: name,
  sql: name,
  isWritable: true,
  sequences: [],
  ownerColumns: [{
    name: "owner",
    sql: "owner",
    type: "uuid",
    hasDefault: false,
    refersToUser: true,
  }],
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
  const refusals = [
    ["film.ower", relations, /^"film\.ower" is not table\.column .+; did you mean film\.owner\?$/],
    ["film", relations, /^"film" is not table\.column .+; did you mean film\.owner\?$/],
    ["y", relations, /^"y" is not table\.column .+ without policies$/],
  ] as const;
  for (const [text, granted, message] of refusals) {
    throws(() => pickOwned(text, granted), { message });
  }
});

Deno.test("pickOwned() takes a table without its schema, if one schema has it", () => {
  const labelled = relations.map((each, at) => ({ ...each, label: `s${at}.${each.name}` }));
  const pick = (text: string) => pickOwned(text, labelled).map(nameOfOwned);
  deepStrictEqual(pick("film.owner"), ["s0.film.owner"]);
  deepStrictEqual(pick("s1.all.owner"), ["s1.all.owner"]);
  const twice = [...labelled, { ...labelled[0]!, label: "s2.film" }];
  throws(() => pickOwned("film.owner", twice), /is not table\.column/);
});

Deno.test("pickRelations() and pickSchemas() prefer names in the same case", () => {
  const cased = ["Film", "film", "Actor"]
    .map((name) => ({ ...relations[0]!, name, label: name }));
  const names = (text: string) => pickRelations(text, cased).map(({ name }) => name);
  deepStrictEqual(names("film"), ["film"]);
  deepStrictEqual(names("actor"), ["Actor"]);
  deepStrictEqual(names("act*"), ["Actor"]);
  deepStrictEqual(pickSchemas("sales,HR", ["Sales", "hr", "HR"]), ["Sales", "HR"]);
});

Deno.test("pickRelations() reads names with their schemas", () => {
  const several = [["a", "film"], ["b", "film"], ["b", "actor"]].map(([schema, name]) => ({
    ...relations[0]!,
    schema: schema!,
    name: name!,
    label: `${schema}.${name}`,
  }));
  const labels = (text: string) => pickRelations(text, several).map(({ label }) => label);
  deepStrictEqual(labels("a.film,actor"), ["a.film", "b.actor"]);
  deepStrictEqual(labels("b.*"), ["b.film", "b.actor"]);
  deepStrictEqual(labels("fil*"), ["a.film", "b.film"]);
  throws(() => labels("film"), /^Error: "film" is in several schemas: write a\.film or b\.film$/);
  throws(() => labels("a.flim"), /of the schemas; did you mean a\.film\?$/);
});

const schemaLists: readonly (readonly [text: string, expected: readonly string[] | RegExp])[] = [
  ["a", ["a"]],
  [" b , a,b", ["b", "a"]],
  ["new", ["new"]],
  ["of two words", ["of two words"]],
  ["a b", /^Error: the schema "a b" does not exist; several schemas have .+ between them: a,b$/],
  ["a,", /^Error: the name of the schema is empty$/],
  ["a<b", /^Error: db-schemas cannot name the schema "a<b"$/],
  ["pg_toast", /^Error: schema "pg_toast" belongs to PostgreSQL$/],
];

for (const [text, expected] of schemaLists) {
  Deno.test(`pickSchemas() reads ${JSON.stringify(text)}`, () => {
    const pick = () => pickSchemas(text, ["a", "b", "of two words"]);
    if (expected instanceof RegExp) throws(pick, expected);
    else deepStrictEqual(pick(), expected);
  });
}
