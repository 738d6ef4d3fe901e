import { deepStrictEqual } from "node:assert/strict";
import { operatorWords } from "../../../../src/api/request/url/operators.ts";

Deno.test("docs/reference/url-syntax.md has each operator of filters in its table", async () => {
  const page = new URL("../../../../docs/reference/url-syntax.md", import.meta.url);
  // The first cell of each row.
  const cells = (await Deno.readTextFile(page)).match(/^\| [^|]*\|/gm) ?? [];
  const named = new Set(cells.flatMap((cell) => cell.match(/(?<=`)\w+(?=`)/g) ?? []));
  deepStrictEqual(operatorWords.filter((word) => !named.has(word)), []);
});
