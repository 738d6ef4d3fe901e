import { strictEqual } from "node:assert/strict";
import { RouteNames } from "../../../../src/api/handler/route_names.ts";
import type { SchemaCache } from "../../../../src/state/schema_cache/schema_cache.ts";

const names: Readonly<Record<string, readonly string[]>> = {
  api: ["items", "a b", "grün", "a/b", "rpc"],
  other: ["more"],
  hidden: ["secret"],
};
const cache = {
  relationNames: (schema: string) => names[schema] ?? [],
  routineNames: (schema: string) => schema === "api" ? ["f", "g h"] : [],
} as unknown as SchemaCache;
const routes = new RouteNames(cache, { dbSchemas: ["api", "other"], serverQueryMethod: true });

const rows: readonly (readonly [path: string, route: string])[] = [
  ["/", "/"],
  ["/items", "/items"],
  ["/it%65ms", "/items"],
  ["/more", "/more"],
  ["/a%20b", "/a b"],
  ["/gr%C3%BCn", "/grün"],
  ["/a%2Fb", "/a/b"],
  ["/rpc", "/rpc"],
  ["/rpc/f", "/rpc/f"],
  ["/rpc/g%20h", "/rpc/g h"],
  ["/rp%63/f", "/rpc/f"],
  ["/secret", "_unknown"],
  ["/nothing", "_unknown"],
  ["/rpc/items", "_unknown"],
  ["/rpc%2Ff", "/rpc/f"],
  ["/f", "_unknown"],
  ["/items/", "_unknown"],
  ["/items/1", "_unknown"],
  ["/a/b/%63", "_unknown"],
  ["/%ff", "_unknown"],
  ["/%", "_unknown"],
  ["", "_unknown"],
  ["//", "_unknown"],
  ["/constructor", "_unknown"],
  ["/_other", "_unknown"],
  ["/items/$query", "/items"],
  ["/it%65ms/%24query", "/items"],
  ["/rpc/f/$query", "/rpc/f"],
  ["/rpc/$query", "_unknown"],
  ["/$query", "_unknown"],
  ["//$query", "_unknown"],
  ["/items/$query/$query", "_unknown"],
];

for (const [path, route] of rows) {
  Deno.test(`RouteNames.of() of ${path} is ${route}`, () => strictEqual(routes.of(path), route));
}

Deno.test("RouteNames.of() knows only the root without a schema cache", () => {
  const empty = new RouteNames(null, { dbSchemas: ["api"], serverQueryMethod: true });
  strictEqual(empty.of("/"), "/");
  strictEqual(empty.of("/items"), "_unknown");
});

Deno.test("RouteNames.of() of /items/$query is _unknown if QUERY is off", () => {
  const without = new RouteNames(cache, { dbSchemas: ["api"], serverQueryMethod: false });
  strictEqual(without.of("/items"), "/items");
  strictEqual(without.of("/items/$query"), "_unknown");
});
