import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { casesOf, loadSets } from "../../../tools/benchmark/cases.ts";
import { makeUsers } from "../../../tools/benchmark/fixture.ts";
import { templateParts } from "../../../tools/benchmark/template.ts";

const users = await makeUsers();

Deno.test("casesOf() gives eleven plain cases and seven under row level security", () => {
  deepStrictEqual(loadSets.map((set) => [set, casesOf(set, users).length]), [
    ["plain", 11],
    ["token", 2],
    ["rls", 7],
  ]);
});

Deno.test("casesOf() gives names that differ", () => {
  const names = loadSets.flatMap((set) => casesOf(set, users).map(({ name }) => name));
  strictEqual(new Set(names).size, names.length);
});

for (const { name, request, floor } of loadSets.flatMap((set) => casesOf(set, users))) {
  Deno.test(`the floor of "${name}" has the placeholders of its request`, () => {
    const inRequest = luaOf([request.line]);
    deepStrictEqual(luaOf(floor.params), inRequest);
    strictEqual(floor.params.every((_, index) => floor.text.includes(`$${index + 1}`)), true);
  });
}

function luaOf(texts: readonly string[]): readonly string[] {
  return texts.flatMap(templateParts).flatMap((part) => part.kind === "text" ? [] : [part.lua]);
}
