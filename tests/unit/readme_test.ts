import { strictEqual } from "node:assert/strict";
import { renewed } from "../support/readme.ts";

/** Tables compare by their cells: the formatter decides about white space. */
function cells(text: string): string {
  return text.replace(/ *\| */g, "|").replace(/-{2,}/g, "--").replace(/\n{2,}/g, "\n\n");
}

Deno.test("README.md's generated tables are up to date", async () => {
  const text = await Deno.readTextFile(new URL("../../README.md", import.meta.url));
  strictEqual(cells(renewed(text)), cells(text), "run `deno task readme`");
});
