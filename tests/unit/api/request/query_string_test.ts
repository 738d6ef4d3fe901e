import { strictEqual } from "node:assert/strict";
import { withParams } from "../../../../src/api/request/url/query_string.ts";

const after = [
  { name: "offset", value: null },
  { name: "after", value: null },
  { name: "before", value: null },
  { name: "after", value: "c" },
];

Deno.test("withParams() replaces parameters of the root and keeps the others as sent", async (t) => {
  const rows: readonly (readonly [raw: string, expected: string])[] = [
    ["", "after=c"],
    ["after=b&select=id,%6Eame", "select=id,%6Eame&after=c"],
    ["offset=0;before=&order=a.desc", "order=a.desc&after=c"],
    ["%61fter=b&limit=2&&", "limit=2&after=c"],
    ["tools.after=b&flag", "tools.after=b&flag&after=c"],
    ["after=eq.1&before", "after=eq.1&after=c"],
    ['a=eq.<">\r\nX: y', "a=eq.%3C%22%3E%0D%0AX:%20y&after=c"],
    ["a=eq.ü\u{1f600}", "a=eq.%C3%BC%F0%9F%98%80&after=c"],
  ];
  for (const [raw, expected] of rows) {
    await t.step(JSON.stringify(raw), () => strictEqual(withParams(raw, after), expected));
  }
});
