import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { renderRows } from "../../../../src/api/query/read.ts";
import type { LogicTree, SelectItem } from "../../../../src/api/request/url/query_types.ts";
import { compile } from "../../../../src/base/sql/fragment.ts";
import {
  at,
  column,
  embed,
  filter,
  group,
  isNotNull,
  isNull,
  planOf,
} from "../../../support/handler/reading.ts";

Deno.test("renderRows() returns equal texts for equal shapes", () => {
  const text = (value: string, first: bigint) =>
    compile(renderRows(planOf("tools", {
      select: [column("name"), embed("makers", [column("name")])],
      filters: [at("", filter("name", ["eq", value]))],
    }, { bounds: { first, last: first + 9n } }))).text;
  strictEqual(text("a", 10n), text("'; drop table tools; --", 4000n));
});

/** Length of the statement for nested embeds of people, each filtered by the next. */
function lengthAt(depth: number, tests: readonly LogicTree[]): number {
  let select: readonly SelectItem[] = [column("id")];
  for (let level = 0; level < depth; level++) {
    select = [column("id"), embed("people", select, { join: "inner" })];
  }
  const logic = tests.length === 0 ? [] : Array.from(
    { length: depth },
    (_, level) => at(Array<string>(level).fill("people").join("."), group("or", tests)),
  );
  return compile(
    renderRows(planOf("people", { select, logic }, { bounds: { first: 20n, last: 29n } })),
  ).text.length;
}

Deno.test("renderRows() returns statements of linear length in the depth of embeds", () => {
  for (const tests of [[], [isNull("people"), isNotNull("people"), isNull("id")]]) {
    const [short, long] = [lengthAt(40, tests), lengthAt(80, tests)];
    deepStrictEqual(long < 2.2 * short, true, `${short} and ${long} characters`);
  }
});
