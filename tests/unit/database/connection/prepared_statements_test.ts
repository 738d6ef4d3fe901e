import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import { PreparedStatements } from "../../../../src/database/connection/prepared_statements.ts";

function remember(prepared: PreparedStatements, context: string | null, text: string): string {
  const name = prepared.freshName();
  prepared.remember(context, text, name);
  return name;
}

Deno.test("PreparedStatements.use() returns the name of a text for the context that prepared it", () => {
  const prepared = new PreparedStatements(10);
  const one = remember(prepared, "one", "select f()");
  const login = remember(prepared, null, "select f()");
  strictEqual(prepared.use("one", "select f()")?.name, one);
  strictEqual(prepared.use(null, "select f()")?.name, login);
  strictEqual(prepared.use("other", "select f()"), undefined);
  strictEqual(prepared.use("one", "select g()"), undefined);
  strictEqual(prepared.size, 2);
});

Deno.test("PreparedStatements.remember() returns the name that it replaces", () => {
  const prepared = new PreparedStatements(10);
  strictEqual(prepared.remember(null, "a", prepared.freshName()), undefined);
  strictEqual(prepared.remember("one", "a", prepared.freshName()), undefined);
  strictEqual(prepared.remember(null, "a", prepared.freshName()), "s1");
  strictEqual(prepared.size, 2);
});

Deno.test("PreparedStatements.freshName() returns each name once, with the connection's prefix", () => {
  const prepared = new PreparedStatements(10, "svc_x_");
  const first = remember(prepared, null, "a");
  prepared.clear();
  const second = remember(prepared, null, "a");
  notStrictEqual(first, second);
  deepStrictEqual([first, second], ["svc_x_1", "svc_x_2"]);
});

const evictions: readonly (readonly [limit: number, statements: number, left: number])[] = [
  [10, 10, 10],
  [10, 11, 9],
  [10, 30, 9],
  [100, 101, 90],
  [4, 5, 3],
  [1, 2, 0],
];

for (const [limit, statements, left] of evictions) {
  Deno.test(`PreparedStatements.evict() leaves ${left} of ${statements} with a limit of ${limit}`, () => {
    const prepared = new PreparedStatements(limit);
    const names = Array.from(
      { length: statements },
      (_, index) => remember(prepared, null, `select ${index}`),
    );
    deepStrictEqual(prepared.evict(), names.slice(0, statements - left));
    strictEqual(prepared.size, left);
    deepStrictEqual(prepared.evict(), []);
  });
}

Deno.test("PreparedStatements.evict() keeps the most recently used statements", () => {
  const prepared = new PreparedStatements(3);
  for (const text of ["a", "b", "c", "d"]) remember(prepared, null, text);
  prepared.use(null, "a");
  deepStrictEqual(prepared.evict(), ["s2", "s3"]);
  strictEqual(prepared.use(null, "a")?.name, "s1");
  strictEqual(prepared.use(null, "b"), undefined);
  strictEqual(prepared.use(null, "d")?.name, "s4");
});

Deno.test("PreparedStatements keeps to its limit with many contexts", () => {
  const prepared = new PreparedStatements(50);
  const evicted = new Set<string>();
  for (let context = 0; context < 1000; context++) {
    remember(prepared, `context ${context}`, "select f()");
    for (const name of prepared.evict()) evicted.add(name);
  }
  strictEqual(prepared.size <= 50, true);
  strictEqual(evicted.size, 1000 - prepared.size);
  strictEqual(prepared.use("context 0", "select f()"), undefined);
  strictEqual(prepared.use("context 999", "select f()")?.name, "s1000");
});

Deno.test("PreparedStatements.clear() returns all names and forgets them", () => {
  const prepared = new PreparedStatements(10);
  for (const context of ["one", "other"]) remember(prepared, context, "select 1");
  deepStrictEqual(prepared.clear(), ["s1", "s2"]);
  strictEqual(prepared.size, 0);
  strictEqual(prepared.use("one", "select 1"), undefined);
});
