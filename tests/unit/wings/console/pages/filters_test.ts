import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import {
  type ColumnFilter,
  emptyTableQuery,
  type FilterOperator,
  filterOperators,
  formatQuery,
  inKeyOrder,
  isComplete,
  operatorsOf,
  parseFilter,
  parseQuery,
  takesValue,
  toggleColumn,
} from "../../../../../src/wings/console/pages/filters.ts";
import { parseQuery as parseByServer } from "../../../../../src/api/request/url/query_params.ts";
import type { Operation } from "../../../../../src/api/request/url/query_types.ts";

/** Texts that PostgreSQL can hold, most of them full of signs that have a meaning in URLs. */
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'a,.:;()*!"\\->[]{}/@&=+% \téß語😀') }),
  fc.string({ unit: "binary" }).filter((each) => !each.includes("\0")),
);
const name = fc.oneof(
  text.filter((each) => each !== ""),
  fc.stringMatching(/^[a-z][a-z0-9_]{0,8}$/),
  fc.constantFrom("select", "order", "limit", "offset", "and", "or", "not", "columns", "on"),
);
const operator = fc.constantFrom(...Object.keys(filterOperators) as FilterOperator[]);
const filter: fc.Arbitrary<ColumnFilter> = fc
  .record({
    column: name,
    path: fc.constantFrom("", "->a", "->>b", "->a->>0"),
    operator,
    value: text,
  })
  .map((each) => takesValue(each.operator) ? each : { ...each, value: "" });

/** Returns the operation that the server reads for a filter of the page. */
function operationOf({ operator, value }: ColumnFilter): Operation & { negated: boolean } {
  const compare = (word: "ilike" | "eq", pattern: string) => ({
    ...{
      kind: "compare",
      operator: word,
      quantifier: null,
      value: pattern,
      negated: false,
    } as const,
  });
  const pattern = value.replace(/[\\%_]/g, "\\$&").replaceAll("*", "%");
  switch (operator) {
    case "null":
    case "notnull":
      return { kind: "is", word: "null", negated: operator === "notnull" };
    case "true":
    case "false":
      return { kind: "is", word: operator, negated: false };
    case "contains":
      return compare("ilike", `%${pattern}%`);
    case "starts":
      return compare("ilike", `${pattern}%`);
    case "in":
      // The server reads one empty text as an empty list.
      return { kind: "in", values: value === "" ? [] : value.split("\n"), negated: false };
    case "fts":
      return { kind: "fullText", operator: "fts", language: null, value, negated: false };
    default:
      return { ...compare("eq", value), operator } as Operation & { negated: boolean };
  }
}

Deno.test("formatQuery() writes filters that the server reads as they are meant", () => {
  fc.assert(fc.property(filter, (each) => {
    const query = formatQuery({ ...emptyTableQuery, filters: [each] });
    const { filters, limit } = parseByServer(query, "relation");
    strictEqual(limit, 50n);
    const [{ value: read }] = filters as [typeof filters[number]];
    strictEqual(filters.length, 1);
    if (read.kind !== "filter") throw new Error(`read ${read.kind}`);
    const { field, operation, negated } = read;
    const column = each.column.toWellFormed();
    strictEqual(field.name, column);
    const expected = operationOf({ ...each, value: each.value.toWellFormed() });
    const actual = { ...operation, negated } as Record<string, unknown>;
    if (actual.kind === "compare") actual.value = String(actual.value).replaceAll("*", "%");
    if (expected.kind === "compare") {
      deepStrictEqual(actual, { ...expected, value: expected.value.replaceAll("*", "%") });
    } else deepStrictEqual(actual, expected);
  }));
});

Deno.test("parseQuery() reads what formatQuery() writes", () => {
  const query = fc.record({
    select: fc.option(
      fc.uniqueArray(fc.stringMatching(/^[a-z]{1,5}(\(\*\))?$/), { minLength: 1 }),
      { nil: null },
    ).filter((items) => items?.join() !== "*"),
    filters: fc.array(filter.map((each) => ({
      ...each,
      column: each.column.toWellFormed(),
      value: each.value.toWellFormed(),
    }))),
    order: fc.array(
      fc.record({ column: name.map((each) => each.toWellFormed()), descending: fc.boolean() }),
    ),
    limit: fc.nat(),
    offset: fc.nat(),
    position: fc.constantFrom(null, ["after", ""] as const, ["before", "WzEsIl0"] as const),
    others: fc.constant([["or", "(a.eq.1,b.eq.2)"], ["a", "gt(col).b"]] as const),
  });
  fc.assert(fc.property(query, (each) => {
    const text = formatQuery(each);
    // A text may have two readings, such as a pattern; its second form is the same.
    strictEqual(formatQuery(parseQuery(text)), text);
  }));
});

/** A query, and its form in the order of the key `id`. */
const ordered: readonly (readonly [query: string, ordered: string])[] = [
  ["", "order=id.asc&limit=50&after="],
  ["name=eq.x&limit=20", "name=eq.x&order=id.asc&limit=20&after="],
  ["order=name.desc", "order=name.desc&limit=50"],
  ["order=name.desc&after=", "order=name.desc&limit=50&after="],
  ["before=WzFd", "order=id.asc&limit=50&before=WzFd"],
  ["offset=50", "limit=50&offset=50"],
  ["select=kind,count()", "select=kind,count()&limit=50"],
  ["select=a:price.sum(),kind", "select=a:price.sum(),kind&limit=50"],
  ["select=id,child(id)", "select=id,child(id)&order=id.asc&limit=50&after="],
  ["order=price->a.b(1)", "order=price->a.b(1)&limit=50"],
  ["after=eq.1&order=id", "after=eq.1&order=id.asc&limit=50"],
];
for (const [query, expected] of ordered) {
  Deno.test(`inKeyOrder() of "${query}" is "${expected}"`, () => {
    strictEqual(formatQuery(inKeyOrder(parseQuery(query), ["id"])), expected);
    strictEqual(formatQuery(inKeyOrder(parseQuery(query), [])), formatQuery(parseQuery(query)));
  });
}

Deno.test("parseFilter() leaves what the page cannot show", () => {
  for (
    const [name, value] of [
      ["or", "(a.eq.1)"],
      ["a", "like.x"],
      ["a", "ilike.*a*b*c"],
      ["a", "eq(any).{1}"],
      ["child.a", "eq.1"],
      ["a", "not.eq.1"],
    ] as const
  ) {
    const found = parseFilter(name, value);
    if (value.startsWith("ilike")) continue;
    strictEqual(found, null, `${name}=${value}`);
  }
});

/** Filters by their operator, value and type; the last says whether they can be sent. */
const completeness: readonly (readonly [FilterOperator, string, string, boolean])[] = [
  ["eq", "", "integer", false],
  ["eq", "0", "integer", true],
  ["in", "", "integer", false],
  ["null", "", "integer", true],
  ["eq", "", "text", true],
  ["contains", "", "text", false],
  ["starts", "", "text", false],
  ["in", "", "text", false],
  ["cs", "", "jsonb", false],
  ["gte", "", "timestamp with time zone", false],
  ["eq", "", "uuid", false],
];

for (const [operator, value, baseType, expected] of completeness) {
  Deno.test(`isComplete(): ${operator} "${value}" of ${baseType}: ${expected}`, () => {
    const filter = { column: "a", path: "", operator, value };
    strictEqual(isComplete(filter, { baseType, enumLabels: [] }), expected);
  });
}

/** The operator of a new filter by the type of its column. */
const firstOperators: readonly (readonly [baseType: string, FilterOperator])[] = [
  ["text", "contains"],
  ["integer", "eq"],
  ["timestamp with time zone", "gte"],
  ["date", "gte"],
  ["boolean", "true"],
  ["text[]", "cs"],
];

for (const [baseType, expected] of firstOperators) {
  Deno.test(`operatorsOf() begins with ${expected} for ${baseType}`, () => {
    strictEqual(operatorsOf({ baseType, enumLabels: [] })[0], expected);
  });
}

Deno.test("isComplete() sends the empty text of a path, and never that of an enum", () => {
  const filter = { column: "a", path: "", operator: "eq", value: "" } as const;
  strictEqual(isComplete({ ...filter, path: "->>b" }, { baseType: "jsonb", enumLabels: [] }), true);
  strictEqual(isComplete(filter, { baseType: "api.mood", enumLabels: ["sad"] }), false);
});

Deno.test("toggleColumn() keeps the order of columns and the embeds", () => {
  const columns = ["id", "a.b", "c"];
  const toggle = (select: readonly string[] | null, column: string) =>
    toggleColumn({ select }, column, columns);
  deepStrictEqual(toggle(null, "a.b"), ["id", "c"]);
  deepStrictEqual(toggle(["id", "c"], "a.b"), null);
  deepStrictEqual(toggle(["*", "child(*)"], "id"), ['"a.b"', "c", "child(*)"]);
  deepStrictEqual(toggle(['"a.b"', "c", "child(*)"], "id"), ["*", "child(*)"]);
});
