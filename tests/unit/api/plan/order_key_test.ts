import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { orderKey } from "../../../../src/api/plan/read/order_key.ts";
import type { Relation, UniqueIndex } from "../../../../src/state/schema_cache/schema_cache.ts";

function relation(primaryKey: readonly string[], ...uniqueIndexes: UniqueIndex[]): Relation {
  const column = (name: string, nullable: boolean) => ({
    name,
    nullable,
    comment: null,
    declaredType: "integer",
    baseType: "integer",
    maxLength: null,
    default: null,
    generated: false,
    enumLabels: [],
  });
  return {
    schema: "api",
    name: "t",
    comment: null,
    isView: false,
    insertable: true,
    updatable: true,
    deletable: true,
    volatile: false,
    primaryKey,
    uniqueIndexes,
    columns: [column("a", false), column("b", false), column("n", true)],
  };
}

function index(columns: readonly string[] | null, predicate: string | null = null): UniqueIndex {
  return { name: "i", columns, expressions: [], predicate };
}

Deno.test("orderKey() returns the primary key before unique indexes", () => {
  deepStrictEqual(orderKey(relation(["b", "a"], index(["a"]))), ["b", "a"]);
});

Deno.test("orderKey() returns the shortest unique index without a primary key", () => {
  deepStrictEqual(orderKey(relation([], index(["a", "b"]), index(["b"]))), ["b"]);
});

Deno.test("orderKey() returns a key that the order contains", () => {
  const columns = new Set(["n", "a"]);
  deepStrictEqual(orderKey(relation(["b"], index(["a"])), columns), ["a"]);
});

Deno.test("orderKey() ignores indexes that do not identify each row", () => {
  const others = [index(["n"]), index(["a", "n"]), index(["a"], "a > 0"), index(null)];
  strictEqual(orderKey(relation([], ...others)), null);
});
