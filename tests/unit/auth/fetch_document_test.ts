import { strictEqual } from "node:assert/strict";
import { maxAgeOf } from "../../../src/auth/fetch_document.ts";

Deno.test("maxAgeOf() reads max-age within bounds", () => {
  const rows: readonly (readonly [header: string | null, seconds: number])[] = [
    [null, 600],
    ["", 600],
    ["no-cache", 600],
    ["public, max-age=300", 300],
    ["MAX-AGE=300", 300],
    ['max-age="300", private', 300],
    ["max-age=0", 60],
    ["max-age=59", 60],
    ["max-age=86401", 86_400],
    ["max-age=99999999999999999999999", 86_400],
    ["max-age=-1", 600],
    ["max-age=x", 600],
    ["s-maxage=300", 600],
    ["x-max-age=300", 600],
    ["no-store,max-age=120", 120],
  ];
  for (const [header, seconds] of rows) strictEqual(maxAgeOf(header), seconds, String(header));
});
