import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { parseQuery, type QueryMode } from "../../../../src/api/request/url/query_params.ts";
import type {
  LogicGroup,
  LogicTree,
  Operation,
  OrderTerm,
  QueryParams,
  SelectField,
  SelectItem,
} from "../../../../src/api/request/url/query_types.ts";
import type {
  Field,
  Operand,
  PathStep,
  ValueStep,
} from "../../../../src/api/request/url/value_types.ts";
import { query as queryOf } from "../../../support/handler/reading.ts";
import { refusalOf } from "../../../support/handler/refusal.ts";

function parse(query: string, mode: QueryMode = "relation"): QueryParams {
  return parseQuery(query, mode);
}

/** Encodes what would divide a query string, and nothing else. */
function value(text: string): string {
  return text.replace(/[%&;+]/g, encodeURIComponent);
}

const key = (arrow: PathStep["arrow"], name: string): PathStep => ({
  arrow,
  operand: { kind: "key", key: name },
});
const index = (arrow: PathStep["arrow"], digits: string): PathStep => ({
  arrow,
  operand: { kind: "index", index: digits },
});
const place = (name: string, ...path: readonly PathStep[]): Field => ({ name, path });
const column = (name: string, parts: Partial<SelectField> = {}): SelectField => ({
  kind: "field",
  field: place(name),
  alias: null,
  cast: null,
  ...parts,
});
const call = (name: string): ValueStep => ({ kind: "call", name, arguments: [] });
const castTo = (type: string): ValueStep => ({ kind: "cast", type });
const valueItem = (
  name: string,
  steps: readonly ValueStep[],
  alias: string | null = null,
): SelectItem => ({ kind: "value", value: { field: place(name), steps }, alias });
const plain = { alias: null, hint: null, join: null };
const compare = (
  operator: Extract<Operation, { kind: "compare" }>["operator"],
  value: string,
  quantifier: "any" | "all" | null = null,
): Operation => ({ kind: "compare", operator, quantifier, value });
const where = (name: string, operation: Operation, negated = false): LogicTree => ({
  kind: "filter",
  field: place(name),
  negated,
  operation,
});

Deno.test("parseQuery reads no query string as all rows and columns", () => {
  const expected = queryOf();
  for (const query of ["", "&", ";;&"]) deepStrictEqual(parse(query), expected, query);
  for (const name of ["flag", "select"]) {
    const unused = [{ name, why: "has no value" }];
    deepStrictEqual(parse(name), { ...expected, unused, canonical: `${name}=` });
  }
});

Deno.test("parseQuery reads other spellings of select than are printed", () => {
  const rows: [text: string, items: SelectItem[]][] = [
    [" id ,\tname ", [column("id"), column("name")]],
    ["Unit Price", [column("Unit Price")]],
    ["$a_1,Größe,𝒳", [column("$a_1"), column("Größe"), column("𝒳")]],
    ["a-b, a - b", [column("a-b"), column("a-b")]],
    ['"a,b"," a ","q\\"\\\\\\x"', [column("a,b"), column(" a "), column('q"\\x')]],
    ["a:id", [column("id", { alias: "a" })]],
    ['a b:"x.y"::double precision', [column("x.y", { alias: "a b", cast: "double precision" })]],
    ["data->0x", [column("data", { field: place("data", key("->", "0x")) })]],
    ["data->>-1::int", [column("data", { field: place("data", index("->>", "-1")), cast: "int" })]],
    ["data->a-b->1->>2", [
      column("data", {
        field: place("data", key("->", "a-b"), index("->", "1"), index("->>", "2")),
      }),
    ]],
    ['data->" k.\\""->> a b ', [
      column("data", { field: place("data", key("->", ' k."'), key("->>", "a b")) }),
    ]],
    ["count()", [{ kind: "value", value: { field: null, steps: [] }, alias: null }]],
    ["count,count:id", [column("count"), column("id", { alias: "count" })]],
    ["price.sum()", [valueItem("price", [call("sum")])]],
    ["t:price::int.max()::text", [
      valueItem("price", [castTo("int"), call("max"), castTo("text")], "t"),
    ]],
    ["makers( * , id )", [
      { kind: "relation", target: "makers", ...plain, select: [{ kind: "all" }, column("id")] },
    ]],
    ["makers!inner!fk()", [
      { kind: "relation", target: "makers", alias: null, hint: "fk", join: "inner", select: [] },
    ]],
    ["makers!one!two()", [
      { kind: "relation", target: "makers", alias: null, hint: "one", join: null, select: [] },
    ]],
    ['makers!"left_fk"!left()', [{
      kind: "relation",
      target: "makers",
      alias: null,
      hint: "left_fk",
      join: "left",
      select: [],
    }]],
  ];
  for (const [text, items] of rows) {
    deepStrictEqual(parse(`select=${value(text)}`).select, items, text);
  }
});

Deno.test("parseQuery tells the default select from a chosen one", () => {
  const rows: [query: string, isDefault: boolean][] = [
    ["", true],
    ["select", true],
    ["select=", false],
    ["select=*", true],
    ["select&select=id", true],
    ["select=*,id", false],
    ["select=id", false],
    ["select=*,rel()", false],
  ];
  for (const [query, isDefault] of rows) {
    strictEqual(parse(query).defaultSelect, isDefault, query);
  }
});

Deno.test("parseQuery reads filters", () => {
  const rows: [text: string, negated: boolean, operation: Operation][] = [
    ["eq.5", false, compare("eq", "5")],
    ["eq.", false, compare("eq", "")],
    ['not.eq."x",(y)', true, compare("eq", '"x",(y)')],
    ["is.NOT_null", false, { kind: "is", word: "not_null" }],
    ["not.is.UnKnown!", true, { kind: "is", word: "unknown" }],
    ["is.trueish", false, { kind: "is", word: "true" }],
    ["wfts( english ).x", false, {
      kind: "fullText",
      operator: "wfts",
      language: "english",
      value: "x",
    }],
  ];
  for (const [text, negated, operation] of rows) {
    deepStrictEqual(parse(`c=${value(text)}`).filters, [
      { path: [], value: { kind: "filter", field: place("c"), negated, operation } },
    ], text);
  }
});

Deno.test("parseQuery reads lists", () => {
  const rows: [text: string, values: string[]][] = [
    ["(1,2)", ["1", "2"]],
    ['(a,"b,c",d e)', ["a", "b,c", "d e"]],
    ['("x\\"y","p\\\\q","\\z")', ['x"y', "p\\q", "z"]],
    ['(")', ['"']],
    ["(\\)", ["\\"]],
    ["( 1, 2 )", ["1", " 2 "]],
    [" (1)", ["1"]],
    ['("a"b,"c" )', ['"a"b', '"c" ']],
    ['(a, "b")', ["a", ' "b"']],
    ["(a(b,c)d", ["a(b", "c"]],
    ["(,3)", ["", "3"]],
    ["()", []],
    ["(   )", []],
    ['("")', []],
    ['("","")', ["", ""]],
    ["({1},\\,)", ["{1}", "\\", ""]],
  ];
  for (const [text, values] of rows) {
    deepStrictEqual(
      parse(`c=in.${value(text)}`).filters[0]?.value.operation,
      { kind: "in", values },
      text,
    );
    if (text.endsWith(")d")) continue;
    deepStrictEqual(
      parse(`and=(c.in.${value(text)})`).logic[0]?.value.children,
      [where("c", { kind: "in", values })],
      text,
    );
  }
});

Deno.test("parseQuery reads which column of which level is filtered", () => {
  const rows: [name: string, path: string[], field: Field][] = [
    ["makers.city", ["makers"], place("city")],
    ["a.b.c", ["a", "b"], place("c")],
    ['"a.b".c', ["a.b"], place("c")],
    ['"a.b"', [], place("a.b")],
    ["a.b->c.d", ["a"], place("b", key("->", "c"))],
    ["spec->w->>kg", [], place("spec", key("->", "w"), key("->>", "kg"))],
    ["tags->>0", [], place("tags", index("->>", "0"))],
    ["a::int", [], place("a")],
    ["a,b", [], place("a")],
    ['"order"', [], place("order")],
    ["Ünïcode", [], place("Ünïcode")],
    ["select.x", ["select"], place("x")],
    ["x.select", ["x"], place("select")],
  ];
  for (const [name, path, field] of rows) {
    const { filters, filterNames } = parse(`${name}=eq.1`);
    deepStrictEqual(filters, [
      { path, value: { kind: "filter", field, negated: false, operation: compare("eq", "1") } },
    ], name);
    deepStrictEqual(filterNames, [name]);
  }
});

Deno.test("parseQuery reads an operand in a parameter's name beside the column", () => {
  const operand: Operand = {
    kind: "related",
    embed: "a",
    operand: {
      kind: "value",
      value: { field: place("b"), steps: [{ kind: "call", name: "sum", arguments: [] }] },
    },
  };
  const filter = { kind: "filter", negated: false, operation: compare("eq", "1") } as const;
  const deep = `${"a(".repeat(20)}b`;
  const rows: [name: string, path: string[], field: Field, operand?: Operand][] = [
    ["a(b.sum())", [], place("a"), operand],
    ["x.a(b.sum())", ["x"], place("a"), operand],
    ["a(b", [], place("a")],
    ["a()", [], place("a")],
    [deep, [], place("a")],
    ["a->b(c)", [], place("a", key("->", "b"))],
  ];
  for (const [name, path, field, operand] of rows) {
    const compared = operand === undefined
      ? { field }
      : { field, operand, prefersColumn: true } as const;
    deepStrictEqual(parse(`${name}=eq.1`).filters, [
      { path, value: { ...filter, ...compared } },
    ], name);
  }
});

Deno.test("parseQuery reads groups", () => {
  const one = where("a", compare("eq", "1"));
  const two = where("b", compare("lt", "2"), true);
  const rows: [query: string, path: string[], group: Omit<LogicGroup, "kind">][] = [
    ["or=(a.eq.1,b.not.lt.2)", [], { negated: false, operator: "or", children: [one, two] }],
    ["and=( a.eq.1)", [], { negated: false, operator: "and", children: [one] }],
    ["not.or=(a.eq.1)", [], { negated: true, operator: "or", children: [one] }],
    ["makers.or=(a.eq.1)", ["makers"], { negated: false, operator: "or", children: [one] }],
    ["x.y.not.and=(a.eq.1)", ["x", "y"], { negated: true, operator: "and", children: [one] }],
    ["not.x.and=(a.eq.1)", ["x"], { negated: true, operator: "and", children: [one] }],
    ["or=(a.eq.1)ignored", [], { negated: false, operator: "or", children: [one] }],
    ["or=(and(a.eq.1) , not.or( b.not.lt.2))", [], {
      negated: false,
      operator: "or",
      children: [
        { kind: "group", negated: false, operator: "and", children: [one] },
        { kind: "group", negated: true, operator: "or", children: [two] },
      ],
    }],
  ];
  for (const [query, path, group] of rows) {
    deepStrictEqual(parse(query).logic, [{ path, value: { kind: "group", ...group } }], query);
  }
});

Deno.test("parseQuery reads conditions of groups", () => {
  const rows: [text: string, tree: LogicTree][] = [
    ["or.eq.1", where("or", compare("eq", "1"))],
    ["and_x.eq.1", where("and_x", compare("eq", "1"))],
    ["not.eq.1", where("not", compare("eq", "1"))],
    ["not.not.eq.1", where("not", compare("eq", "1"), true)],
    ["order.eq.1", where("order", compare("eq", "1"))],
    ["a.eq.1 ", where("a", compare("eq", "1 "))],
    ["a.eq.", where("a", compare("eq", ""))],
    ['a.eq."b,)\\"(c"', where("a", compare("eq", 'b,)"(c'))],
    ['a.eq."b"c', where("a", compare("eq", '"b"c'))],
    ["a.cs.{b,c)}", where("a", compare("cs", "{b,c)}"))],
    ["a.eq(any).{1,2}", where("a", compare("eq", "{1,2}", "any"))],
    ['a.adj."[1,2)"', where("a", compare("adj", "[1,2)"))],
    ["a.is.null", where("a", { kind: "is", word: "null" })],
    ['a.in.(x,"y)")', where("a", { kind: "in", values: ["x", "y)"] })],
    ["a.isdistinct.{}", where("a", { kind: "isdistinct", value: "{}" })],
    ["a->b->>0.eq.1", {
      kind: "filter",
      field: place("a", key("->", "b"), index("->>", "0")),
      negated: false,
      operation: compare("eq", "1"),
    }],
    [
      "a.fts(english).x",
      where("a", { kind: "fullText", operator: "fts", language: "english", value: "x" }),
    ],
  ];
  for (const [text, tree] of rows) {
    const { logic } = parse(`and=(${value(text)},z.gt.0)`);
    deepStrictEqual(logic[0]?.value.children, [tree, where("z", compare("gt", "0"))], text);
  }
});

Deno.test("parseQuery reads order", () => {
  const term = (name: string, parts: Partial<OrderTerm> = {}): OrderTerm => ({
    relation: null,
    field: place(name),
    direction: null,
    nulls: null,
    ...parts,
  });
  const rows: [text: string, terms: OrderTerm[]][] = [
    ["a.desc, b.asc.nullsfirst,c.nullslast", [
      term("a", { direction: "desc" }),
      term("b", { direction: "asc", nulls: "first" }),
      term("c", { nulls: "last" }),
    ]],
    ["spec->w->>kg.desc", [
      term("spec", { field: place("spec", key("->", "w"), key("->>", "kg")), direction: "desc" }),
    ]],
    ["makers(name).desc.nullslast,id", [
      term("name", { relation: "makers", direction: "desc", nulls: "last" }),
      term("id"),
    ]],
    ["rel(a->0)", [term("a", { relation: "rel", field: place("a", index("->", "0")) })]],
    ['"asc".asc', [term("asc", { direction: "asc" })]],
    ["id ,name", [term("id"), term("name")]],
  ];
  for (const [text, terms] of rows) {
    deepStrictEqual(parse(`order=${value(text)}`).order, [{ path: [], value: terms }], text);
  }
});

Deno.test("parseQuery takes the first order, the last limit, the first of other reserved names", () => {
  const { order, limits, limit, offset, select, columns, onConflict } = parse(
    "order=a&x.order=b&order=c&x.order=d&limit=1&offset=7&x.limit=1&limit=2&x.limit=2&x.y.offset=5" +
      "&select=a&select=b&columns=c&columns=d&on_conflict=e&on_conflict=f",
  );
  deepStrictEqual(order.map(({ path, value }) => [path, value.map(({ field }) => field.name)]), [
    [[], ["a"]],
    [["x"], ["b"]],
  ]);
  deepStrictEqual(limits, [
    { path: ["x"], value: { limit: 2n, offset: null } },
    { path: ["x", "y"], value: { limit: null, offset: 5n } },
  ]);
  deepStrictEqual([limit, offset], [2n, 7n]);
  deepStrictEqual(select, [column("a")]);
  deepStrictEqual([columns, onConflict], [["c"], ["e"]]);
});

Deno.test("parseQuery reads limit and offset as integers or not at all", () => {
  const rows: [text: string, count: bigint | null][] = [
    ["5", 5n],
    [" 007 ", 7n],
    ["0", 0n],
    ["-0", 0n],
    ["-3", -3n],
    ["", null],
    ["abc", null],
    ["5.0", null],
    ["1e3", null],
    ["%2B5", null],
    ["0x10", null],
    ["٣", null],
    ["- 5", null],
    ["99999999999999999999999", 99999999999999999999999n],
    ["-99999999999999999999999", -99999999999999999999999n],
  ];
  for (const [text, count] of rows) {
    const { limit, offset, limits } = parse(`limit=${text}&x.offset=${text}`);
    deepStrictEqual([limit, offset], [count, null], text);
    deepStrictEqual(limits, [{ path: ["x"], value: { limit: null, offset: count } }]);
  }
});

Deno.test("parseQuery notices limits of any level", () => {
  const rows: [query: string, hasLimits: boolean][] = [
    ["", false],
    ["limit", false],
    ["limits=eq.1", false],
    ["limit=", true],
    ["limit=abc", true],
    ["offset=0", true],
    ["a.b.limit=1", true],
  ];
  for (const [query, hasLimits] of rows) {
    strictEqual(parse(query).hasLimits, hasLimits, query);
  }
});

Deno.test("parseQuery keeps the root apart from a level with an empty name", () => {
  const { limit, limits, order } = parse('limit=1&"".limit=2&order=a&"".order=b');
  strictEqual(limit, 1n);
  deepStrictEqual(limits, [{ path: [""], value: { limit: 2n, offset: null } }]);
  deepStrictEqual(order.map(({ path }) => path), [[], [""]]);
});

Deno.test("parseQuery reads columns sorted and once, on_conflict in order", () => {
  const query = 'b, a,"x,y",b';
  deepStrictEqual(parse(`columns=${query}`).columns, ["a", "b", "x,y"]);
  deepStrictEqual(parse(`on_conflict=${query}`).onConflict, ["b", "a", "x,y", "b"]);
  for (const text of ["a->b", "a.b", "a)"]) throws(() => parse(`columns=${text}`), ServiceError);
  strictEqual(parse("columns&columns=a").columns, null);
});

Deno.test("parseQuery divides the query string before it decodes it", () => {
  const { filters, filterNames } = parse("a=eq.%26%3B%3D&b=eq.x=y;c+d=eq.%2B+%zz%C3%A9&é=eq.é&e");
  deepStrictEqual(filterNames, ["a", "b", "c d", "é"]);
  deepStrictEqual(filters.map(({ value: { operation } }) => operation), [
    compare("eq", "&;="),
    compare("eq", "x=y"),
    compare("eq", "+ %zzé"),
    compare("eq", "é"),
  ]);
});

Deno.test("parseQuery makes arguments of other parameters than filters, on GET of functions alone", () => {
  const { filters, callArguments } = parse(
    "id=5&id=gt.2&a.b->c=eqx&x=fts&n=note&e=&v=1&v=2&f&q=eq.&t=not",
    "call-get",
  );
  deepStrictEqual(filters.map(({ value: { field } }) => field.name), ["id", "q"]);
  deepStrictEqual(callArguments, [
    ["id", "5"],
    ["b", "eqx"],
    ["x", "fts"],
    ["n", "note"],
    ["e", ""],
    ["v", "1"],
    ["v", "2"],
    ["t", "not"],
  ]);
  for (const text of ["is.abc", "in.x", "not.abc", "not.in.x", "in.(1"]) {
    strictEqual(refusalOf(() => parse(`v=${text}`, "call-get")).code, "100", text);
  }
  deepStrictEqual(refusalOf(() => parse("name=Ann", "call-post")), {
    code: "100",
    status: 400,
    message: '"failed to parse filter (Ann)" (line 1, column 1)',
    details: 'unexpected "A" expecting "not" or operator (eq, gt, ...)',
  });
});

Deno.test("parseQuery writes the canonical query string", () => {
  const rows: [query: string, canonical: string][] = [
    ["b=eq.1&a=eq.1", "a=eq.1&b=eq.1"],
    ["id=eq.5", "id=eq.5"],
    ["select=id,name", "select=id%2Cname"],
    ["id=gt.1&id=lt.5", "id=gt.1,lt.5"],
    ["id=in.(1,2)", "id=in.%281%2C2%29"],
    ["z&a=eq.1;z", "a=eq.1&z=,"],
    ["a=eq.%41+%2b&&", "a=eq.A%20%2B"],
    ["a=eq.*'!~-_.", "a=eq.%2A%27%21~-_."],
    ["é=eq.%F0%9F%98%80", "%C3%A9=eq.%F0%9F%98%80"],
    ["a=eq.%FF", "a=eq.%EF%BF%BD"],
    ["a=eq.x=y", "a=eq.x%3Dy"],
    ["b=eq.2&a=eq.1&b=eq.1", "a=eq.1&b=eq.2,eq.1"],
  ];
  for (const [query, canonical] of rows) strictEqual(parse(query).canonical, canonical, query);
});

Deno.test("parseQuery reads columns of an insert as a tree", () => {
  const nested = (target: string, items: unknown, others = {}) => ({
    kind: "nested",
    target,
    alias: null,
    hint: null,
    items,
    ...others,
  });
  const named = (name: string) => ({ kind: "column", name });
  const trees: readonly (readonly [text: string, items: unknown, listEnd: string | null])[] = [
    ["a,b(c)", [named("a"), nested("b", [named("c")])], "b"],
    ["a,b()", [named("a"), nested("b", [])], "b"],
    ["*,b(*)", [{ kind: "all" }, nested("b", [{ kind: "all" }])], null],
    ["x:b!h(c, d)", [nested("b", [named("c"), named("d")], { alias: "x", hint: "h" })], "x"],
    ['"b,c"("d(")', [nested("b,c", [named("d(")])], "b,c"],
    ["b(c(d),e)", [nested("b", [nested("c", [named("d")]), named("e")])], "b"],
  ];
  for (const [text, items, listEnd] of trees) {
    const { columnTree } = parseQuery(`columns=${encodeURIComponent(text)}`, "insert");
    deepStrictEqual(columnTree, { items, listEnd }, text);
  }
  strictEqual(parseQuery("columns=a,b", "insert").columnTree, null);
  throws(() => parseQuery("columns=a,b(c)", "update"), ServiceError);
  for (const text of ["a(", "a:b", "a(b))", "a!b", "a(b,)"]) {
    const { columnTree, columns } = parseQuery(`columns=${text}`, "insert");
    strictEqual(columnTree?.items instanceof ServiceError, true, text);
    deepStrictEqual(columns, ["a"]);
  }
  throws(() => parseQuery("columns=*(a)", "insert"), ServiceError);
});

Deno.test("parseQuery reads how nested items resolve conflicts", () => {
  const { levelConflicts } = parseQuery(
    "a.on_conflict=x,y&a.b.resolution=ignore-duplicates&a.resolution=merge-duplicates&a.on_conflict=z",
    "insert",
  );
  deepStrictEqual(levelConflicts, [
    { path: ["a"], value: { onConflict: ["x", "y"], resolution: "merge-duplicates" } },
    { path: ["a", "b"], value: { onConflict: null, resolution: "ignore-duplicates" } },
  ]);
  // A value that is a filter stays one.
  const { filters, levelConflicts: none } = parseQuery("a.resolution=eq.1", "insert");
  deepStrictEqual([filters.length, none], [1, []]);
});
