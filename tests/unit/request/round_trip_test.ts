import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { parseQuery } from "../../../src/request/url/query_params.ts";
import { canonicalQuery, splitQuery } from "../../../src/request/url/query_string.ts";
import {
  printField,
  printGroup,
  printName,
  printOperation,
  printOrder,
  printSelect,
} from "./print_query.ts";
import { field, filter, group, items, name, term, text, wellFormed } from "./query_arbitraries.ts";

function parse(parameter: string, value: string) {
  const plus = (each: string) => encodeURIComponent(each).replaceAll("%20", "+");
  return parseQuery(`${plus(parameter)}=${plus(value)}`, "relation");
}

Deno.test("parseQuery reads every select that can be printed", () => {
  fc.assert(
    fc.property(items.map(wellFormed), (selected) => {
      deepStrictEqual(parse("select", printSelect(selected)).select, selected);
    }),
    { numRuns: 500 },
  );
});

Deno.test("parseQuery reads every filter that can be printed", () => {
  const path = fc.array(name, { maxLength: 2 });
  fc.assert(
    fc.property(path.map(wellFormed), filter.map(wellFormed), (path, expected) => {
      const level = path.map((each) => `${printName(each)}.`).join("");
      // A place whose last segment is reserved is no filter, unless it is in quotes.
      const parameter = `${level}${printField(expected.field)}`;
      if (/(?:^|\.)(?:select|columns|on_conflict|order|limit|offset|and|or)$/.test(parameter)) {
        return;
      }
      const value = printOperation(expected, (each) => each);
      deepStrictEqual(parse(parameter, value).filters, [{ path, value: expected }]);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("parseQuery reads every logic tree that can be printed", () => {
  fc.assert(
    fc.property(group.map(wellFormed), (expected) => {
      const parameter = `${expected.negated ? "not." : ""}${expected.operator}`;
      const { logic } = parse(parameter, printGroup(expected.children));
      deepStrictEqual(logic, [{ path: [], value: expected }]);
    }),
    { numRuns: 500 },
  );
});

Deno.test("parseQuery reads every clause that can be printed", () => {
  const fields = fc.array(field, { minLength: 1, maxLength: 4 }).map(wellFormed);
  fc.assert(
    fc.property(group.map(wellFormed), fields, ({ children }, fields) => {
      const having = { kind: "group", negated: false, operator: "and", children } as const;
      deepStrictEqual(parse("having", printGroup(children)).clauses, [
        { name: "having", path: [], value: { kind: "having", group: having } },
      ]);
      const test = { kind: "embedTest", embed: "b", quantifier: "none", children } as const;
      deepStrictEqual(parse("a.b.none", printGroup(children)).clauses, [
        { name: "none", path: ["a"], value: { kind: "embedTest", test } },
      ]);
      deepStrictEqual(parse("a.distinct", fields.map(printField).join()).clauses, [
        { name: "distinct", path: ["a"], value: { kind: "distinct", fields } },
      ]);
    }),
    { numRuns: 300 },
  );
});

Deno.test("parseQuery reads every order that can be printed", () => {
  const terms = fc.array(term, { minLength: 1, maxLength: 4 }).map(wellFormed);
  fc.assert(
    fc.property(terms, (expected) => {
      deepStrictEqual(parse("order", printOrder(expected)).order, [{ path: [], value: expected }]);
    }),
    { numRuns: 500 },
  );
});

Deno.test("parseQuery makes a canonical form that is its own", () => {
  const pair = fc.tuple(name, text).map(wellFormed);
  const pairs = fc.uniqueArray(pair, { selector: ([name]) => name });
  fc.assert(fc.property(pairs, (parameters) => {
    const raw = parameters.map((each) => each.map(encodeURIComponent).join("="));
    const canonical = canonicalQuery(splitQuery(raw.join("&")));
    strictEqual(canonicalQuery(splitQuery(canonical)), canonical);
    const sorted = parameters.toSorted(([one], [other]) => one < other ? -1 : 1);
    deepStrictEqual(splitQuery(canonical), sorted.map(([name, value]) => ({ name, value })));
  }));
});
