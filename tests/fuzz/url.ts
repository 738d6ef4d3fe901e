/** Properties of the URL grammar. @module */
import { deepStrictEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { parseQuery, type QueryMode } from "../../src/api/request/url/query_params.ts";
import { equivalentQuery } from "../../src/api/request/url/query_string.ts";
import type { QueryParams } from "../../src/api/request/url/query_types.ts";
import { assertLinearTime } from "../support/timing/linear_time.ts";
import { printGroup, printOrder, printSelect } from "../unit/api/request/print_query.ts";
import { group, items, term, wellFormed } from "../unit/api/request/query_arbitraries.ts";
import { type FuzzTarget, fuzzTarget, texts, unlessRefused } from "./fuzz_target.ts";

const examples = [
  "select=a,b:c->d->>0::text,*,-e,count(),t.sum()::int",
  "select=**,x:rel!hint!inner(a,...s(b,c)),p.round(1)::int",
  'select="a,b":"c.d"->"e\\"f"->-1',
  'a=eq.1&b=not.in.(1,"2,3","\\"")&c=is.not_null&d=like(any).{a,"b"}',
  "a->>b=gt(col).c&d.e=fts(english).x&f=isdistinct.&g=sim.x",
  'or=(a.eq.1,not.and(b.is.null,c.in.(1,2)),"d.e".neq."x,y")',
  "rel.or=(a.lt.1,b.gt.2)&rel.limit=3&rel.offset=4&limit=5&offset=0",
  "order=a.asc.nullslast,b->c.desc,rel(d).nullsfirst,p.abs(q).asc",
  "columns=a,b,rel(c)&on_conflict=a,b&on_conflict.columns=c&on=id&lock=skip&limit=1",
  "having=(n.gt.1)&distinct=a,b&rel.any=(a.eq.1)&@p=x&after=WzFd",
  "a=eq.%41%2C%22%C3%A9+%F0%9F%98%80&n=cs.{1,2}&p.mod(2)=eq.0",
];

const words =
  "eq. not. in.( is.null and or=( select= order= limit= columns= having= distinct= -> " +
  "->> :: ... (col). (any). .asc .nullslast !inner count() %FF %00 %22 %C3%A9 \ud800 &a=eq.";
const tokens = [..."abn .,:;()*!\"\\->{}=&+%@'0é", ...words.split(" ")];

const modes = "relation insert update delete call-get call-post".split(" ") as QueryMode[];

const printable = fc.record({
  select: items,
  order: fc.array(term, { minLength: 1, maxLength: 3 }).map((value) => [{ path: [], value }]),
  logic: group.map((value) => [{ path: [], value }]),
}).map(wellFormed);

function reread(parameter: string, text: string): QueryParams {
  return parseQuery(`${parameter}=${encodeURIComponent(text)}`, "relation");
}

/** Compares what was read with what its text says, in the one spelling that tests print. */
function checkPrinted(
  { select, order, logic }: Pick<QueryParams, "select" | "order" | "logic">,
): void {
  deepStrictEqual(reread("select", printSelect(select)).select, select);
  for (const { value } of order) {
    deepStrictEqual(reread("order", printOrder(value)).order, [{ path: [], value }]);
  }
  for (const { value } of logic) {
    const name = `${value.negated ? "not." : ""}${value.operator}`;
    deepStrictEqual(reread(name, printGroup(value.children)).logic, [{ path: [], value }]);
  }
}

/** Leaves the order of the parameters out, and the first of those that are ignored. */
function unordered({ unused: _, ...params }: QueryParams): unknown {
  const text = (value: unknown) =>
    Deno.inspect(value, { depth: Infinity, strAbbreviateSize: Infinity });
  return Object.entries(params).map(([name, value]) =>
    Array.isArray(value) ? [name, value.map(text).sort()] : [name, value]
  );
}

export const urlTargets: readonly FuzzTarget[] = [
  fuzzTarget({
    name: "query strings are read or refused",
    runs: 20_000,
    values: fc.tuple(texts(examples, tokens), fc.constantFrom(...modes)),
    check: ([query, mode]) => {
      const parse = (text: string) => parseQuery(text, mode, equivalentQuery);
      const params = unlessRefused(() => parse(query));
      if (params === undefined) return;
      const again = unlessRefused(() => parse(params.canonical));
      ok(again !== undefined, "the equivalent query is refused");
      deepStrictEqual(unordered(again), unordered(params));
      checkPrinted(params);
    },
  }),
  fuzzTarget({
    name: "query strings say what was printed",
    runs: 5000,
    values: printable,
    check: checkPrinted,
  }),
  fuzzTarget({
    name: "query strings take linear work",
    runs: 150,
    values: fc.tuple(
      fc.constantFrom("", "select=", "order=", "or=(", "a=in.(", 'a=eq."', "columns="),
      fc.string({
        unit: fc.oneof(fc.constantFrom(...',(".'), fc.constantFrom(...tokens)),
        minLength: 1,
        maxLength: 4,
      }),
    ),
    check: ([before, piece]) =>
      assertLinearTime(`parseQuery of ${before}${piece}`, {
        size: 20_000,
        make: (size) => before + piece.repeat(Math.ceil(size / piece.length)),
        run: (query) => void unlessRefused(() => parseQuery(query, "relation")),
      }),
  }),
];
