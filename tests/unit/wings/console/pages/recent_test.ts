import { deepStrictEqual, strictEqual } from "node:assert/strict";

// Modules of the pages read the address and the storage of the page when they are loaded.
const stubs = { location: { hash: "" }, localStorage: { getItem: () => null } };
for (const [name, value] of Object.entries(stubs)) {
  Object.defineProperty(globalThis, name, { value, configurable: true });
}
const { memorable, withRequest }:
  typeof import("../../../../../src/wings/console/pages/recent.ts") = await import(
    `${"../../../../../src/wings/console/pages"}/recent.ts`
  );
for (const name of Object.keys(stubs)) Reflect.deleteProperty(globalThis, name);

/** The query of a table's page, and the address to list; null for a page without conditions. */
const rows: readonly (readonly [query: string, href: string | null])[] = [
  ["order=id.asc&limit=50&after=", null],
  ["limit=20&offset=40", null],
  ["", null],
  [
    "rating=eq.PG&order=id.asc&limit=50&after=W1",
    "#/table/api/film?rating=eq.PG&order=id.asc&limit=50",
  ],
  ["select=id&limit=50", "#/table/api/film?select=id&limit=50"],
];

for (const [query, href] of rows) {
  Deno.test(`the address of ${query || "no query"} is ${href}`, () => {
    strictEqual(memorable({ schema: "api", name: "film", view: "rows" }, query), href);
  });
}

Deno.test("the newest twenty addresses are listed, and all that are kept", () => {
  let list = withRequest([], "#/0").map((each) => ({ ...each, isKept: true }));
  for (let n = 1; n <= 30; n++) list = [...withRequest(list, `#/${n}`)];
  deepStrictEqual(list.map(({ href }) => href).slice(0, 3), ["#/30", "#/29", "#/28"]);
  strictEqual(list.length, 21);
  deepStrictEqual(list.at(-1), { href: "#/0", isKept: true });
  deepStrictEqual(withRequest(list, "#/0")[0], { href: "#/0", isKept: true });
  strictEqual(withRequest(list, "#/20").length, 21);
});
