/** PATCH by documents: JSON Merge Patch (RFC 7396), JSON Patch (RFC 6902) and further operations. */
import { deepStrictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, linesOf, type Row } from "../support/handler/rows.ts";

const config = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;
const suite = serviceSuite("patches", config, { title: "patch documents" });

const merge = "application/merge-patch+json";
const json = "application/json-patch+json";
const extended = "application/vnd.svc.patch+json";

type Document = object | null | string | number;

/** A request that changes row 1, and the columns of the row afterwards. */
const changes = (type: string, document: Document, after: object): Row => [
  `PATCH /docs?id=eq.1&select=${Object.keys(after).join(",")}`,
  {
    body: JSON.stringify(document),
    headers: { "Content-Type": type, Prefer: "return=representation" },
  },
  200,
  [after],
];

const refuses = (type: string, document: Document, code: string, details: string): Row => [
  "PATCH /docs?id=eq.1",
  { body: JSON.stringify(document), headers: { "Content-Type": type } },
  code === "150" ? 409 : 400,
  {
    code: `SVC${code}`,
    details,
    hint: null,
    message: code === "150" ? "Patch does not apply" : "Invalid patch document",
  },
];
/** Reads rows of `document | columns of the row afterwards`. */
const changed = (type: string) => (table: TemplateStringsArray) =>
  linesOf(table).map((line) => {
    const [document = "", after = ""] = line.split(" | ");
    return changes(type, JSON.parse(document), JSON.parse(after));
  });

/** Reads rows of `document | details`. */
const refused = (type: string, code = "149") => (table: TemplateStringsArray) =>
  linesOf(table).map((line) => {
    const [document = "", details = ""] = line.split(" | ");
    return refuses(type, JSON.parse(document), code, details);
  });

suite.rows("a merge patch changes members of JSON columns", [
  ...changed(merge)`
    {"extra":{"a":{"b":null,"c":2}}} | {"extra":{"a":{"k":2,"c":2},"list":[1,2,3],"num":1.5}}
    {"extra":{"list":[9],"num":{"x":{"y":1,"z":null}}}} | {"extra":{"a":{"b":1,"k":2},"list":[9],
      +"num":{"x":{"y":1}}}}
    {"extra":null,"title":"new","n":6} | {"extra":null,"title":"new","n":6}
    {"extra":5} | {"extra":5}
    {"extra":{}} | {"extra":{"a":{"b":1,"k":2},"list":[1,2,3],"num":1.5}}
    {"notes":{"y":[1]},"checked":{"z":1}} | {"notes":{"x":1,"y":[1]},"checked":{"z":1}}
    {"tags":["a","b"],"spot":{"y":5},"mood":"glad"} | {"tags":["a","b"],"spot":{"x":1,"y":5},
      +"mood":"glad"}
    // An object for a column without parts is a value as in any body.
    {"title":{"a":1}} | {"title":"{\"a\": 1}"}
    {"price":99.999} | {"price":100}
  `,
  // Numbers keep their digits.
  [
    "PATCH /docs?id=eq.1&select=big::text,extra->>d",
    {
      body: '{"big": 123456789012345678901234567890.5, "extra": {"d": 1.10e400}}',
      headers: { "Content-Type": merge, Prefer: "return=representation", Accept: "text/csv" },
    },
    200,
    `big,d\n123456789012345678901234567890.5,11${"0".repeat(399)}`,
  ],
  ...answers({ headers: { "Content-Type": merge, Prefer: "return=representation" } })`
    PATCH /docs?id=eq.2&select=extra,notes,spot
      with "{\"extra\":{\"a\":{\"b\":1}},\"notes\":{\"a\":null},\"spot\":{\"x\":1}}"
      200 [{"extra":{"a":{"b":1}},"notes":{},"spot":{"x":1,"y":null}}]
    PATCH /docs?id=gt.0&select=id,extra&order=id with "{\"extra\":{\"only\":null}}"
      200 [{"id":1,"extra":{"a":{"b":1,"k":2},"list":[1,2,3],"num":1.5}},{"id":2,"extra":{}},
        +{"id":3,"extra":{}}]
    PATCH /docs?id=gt.0&order=id&limit=1&select=id with "{\"n\":1}" | 200 [{"id":1}]
    PATCH /shown_docs?id=eq.1&select=extra->a with "{\"extra\":{\"a\":1}}" | 200 [{"a":1}]
  `,
  ...answers()`
    PATCH /docs?id=eq.1 {Content-Type: application/merge-patch+json} with "{}"
      204
      Content-Range: */*
    PATCH /docs?id=eq.1 {Content-Type: application/merge-patch+json; charset=utf-8} with "{\"n\":1}"
      204
      Content-Range: 0-0/*
  `,
]);

suite.rows("a JSON patch changes columns and their parts", [
  ...changed(json)`
    [{"op":"add","path":"/title","value":"x"},{"op":"remove","path":"/n"}] | {"title":"x","n":null}
    [{"op":"replace","path":"/n","value":null}] | {"n":null}
    [{"op":"copy","from":"/extra/a/b","path":"/extra/list/0"}] | {"extra":{"a":{"b":1,"k":2},
      +"list":[1,1,2,3],"num":1.5}}
    [{"op":"copy","from":"/extra/a","path":"/extra"}] | {"extra":{"b":1,"k":2}}
    [{"op":"move","from":"/extra/list","path":"/extra"}] | {"extra":[1,2,3]}
    [{"op":"copy","from":"/notes","path":"/notes/y"}] | {"notes":{"x":1,"y":{"x":1}}}
    [{"op":"move","from":"/extra/a/b","path":"/extra/list/-"}] | {"extra":{"a":{"k":2},
      +"list":[1,2,3,1],"num":1.5}}
    // Each operation sees what those before it did.
    [{"op":"add","path":"/extra/new","value":{"x":1}},{"op":"test","path":"/extra/new/x","value":1},
      +{"op":"replace","path":"/extra/new/x","value":[]},
      +{"op":"add","path":"/extra/new/x/-","value":"end"},{"op":"remove","path":"/extra/list/1"}] |
      + {"extra":{"a":{"b":1,"k":2},"list":[1,3],"num":1.5,"new":{"x":["end"]}}}
    [{"op":"add","path":"/tags/1","value":"green"}] | {"tags":["red","green","blue"]}
    [{"op":"remove","path":"/tags/0"}] | {"tags":["blue"]}
    [{"op":"replace","path":"/spot/x","value":8}] | {"spot":{"x":8,"y":2}}
    [{"op":"add","path":"/notes/y~1~0","value":1}] | {"notes":{"x":1,"y/~":1}}
    [{"op":"add","path":"/notes/","value":1}] | {"notes":{"x":1,"":1}}
    [{"op":"test","path":"/day","value":"2024-01-31"},{"op":"add","path":"/n","value":1}] | {"n":1}
  `,
  ...answers({ headers: { "Content-Type": json } })`
    // With tests alone, nothing is written.
    PATCH /docs?id=eq.1 with "[{\"op\":\"test\",\"path\":\"/n\",\"value\":5}]"
      204
      Content-Range: */*
    PATCH /docs?id=eq.1 with "[]" | 204
    // No row, no failure.
    PATCH /docs?id=eq.99 with "[{\"op\":\"test\",\"path\":\"/n\",\"value\":6}]" | 204
  `,
]);

suite.rows("the further operations compute from the value of the row", [
  ...changed(extended)`
    [{"op":"incr","path":"/n","value":10}] | {"n":15}
    [{"op":"incr","path":"/price","value":1.25},{"op":"incr","path":"/price","value":-10}] |
      + {"price":1.75}
    [{"op":"incr","path":"/day","value":1}] | {"day":"2024-02-01"}
    [{"op":"incr","path":"/at","value":"1 day"}] | {"at":"2024-01-02T00:00:00+00:00"}
    [{"op":"incr","path":"/extra/a/b","value":1.5}] | {"extra":{"a":{"b":2.5,"k":2},"list":[1,2,3],
      +"num":1.5}}
    [{"op":"set","path":"/extra/z","value":1},{"op":"set","path":"/extra/list/0","value":9}] |
      + {"extra":{"a":{"b":1,"k":2},"list":[9,2,3],"num":1.5,"z":1}}
    [{"op":"append","path":"/tags","value":"vip"},{"op":"append","path":"/title","value":"!"},
      +{"op":"append","path":"/extra/list","value":4}] | {"tags":["red","blue","vip"],
      +"title":"one!","extra":{"a":{"b":1,"k":2},"list":[1,2,3,4],"num":1.5}}
    [{"op":"pull","path":"/tags","value":"red"},{"op":"pull","path":"/extra/list","value":2}] |
      + {"tags":["blue"],"extra":{"a":{"b":1,"k":2},"list":[1,3],"num":1.5}}
  `,
  ...changed("application/vnd.pgrst.patch+json")`
    [{"op":"incr","path":"/n","value":1}] | {"n":6}
  `,
  ...answers({ headers: { "Content-Type": extended, Prefer: "return=representation" } })`
    PATCH /docs?id=eq.2&select=n,tags,title
      with "[{\"op\":\"incr\",\"path\":\"/n\",\"value\":1},
        +{\"op\":\"append\",\"path\":\"/tags\",\"value\":\"a\"},
        +{\"op\":\"append\",\"path\":\"/title\",\"value\":\"a\"}]"
      200 [{"n":null,"tags":["a"],"title":null}]
  `,
]);

const noTarget = (number: number) => `Operation ${number} finds no target, or its test fails`;

/** Documents of which the first operation does not apply. */
const unfit = `
  [{"op":"test","path":"/n","value":6}]
  [{"op":"test","path":"/extra/a/b","value":2}]
  [{"op":"replace","path":"/extra/nope","value":1}]
  [{"op":"remove","path":"/extra/nope"}]
  [{"op":"add","path":"/extra/nope/x","value":1}]
  [{"op":"add","path":"/extra/num/x","value":1}]
  [{"op":"add","path":"/spot/z","value":1}]
  [{"op":"set","path":"/spot/z","value":1}]
  [{"op":"copy","from":"/spot/x","path":"/spot/z"}]
  [{"op":"move","from":"/spot/x","path":"/spot/z"}]
  [{"op":"set","path":"/spots/0/z","value":1}]
  [{"op":"add","path":"/extra/list/4","value":1}]
  [{"op":"add","path":"/extra/list/01","value":1}]
  [{"op":"replace","path":"/extra/list/01","value":1}]
  [{"op":"replace","path":"/extra/list/-1","value":1}]
  [{"op":"replace","path":"/extra/list/-","value":1}]
  [{"op":"copy","from":"/extra/nope","path":"/extra/x"}]
  [{"op":"copy","from":"/extra/nope","path":"/extra"}]
  [{"op":"move","from":"/extra/nope","path":"/extra/x"}]
  [{"op":"move","from":"/extra/num/x","path":"/extra/x"}]
  [{"op":"move","from":"/extra/list/x","path":"/extra/x"}]
  [{"op":"move","from":"/extra/list/9","path":"/extra/x"}]
  [{"op":"move","from":"/tags/x","path":"/tags/0"}]
  [{"op":"copy","from":"/extra/list/01","path":"/extra/x"}]
  [{"op":"incr","path":"/extra/list","value":1}]
  [{"op":"incr","path":"/extra/num","value":"1"}]
  [{"op":"append","path":"/extra/num","value":1}]
  [{"op":"pull","path":"/extra/num","value":1}]
`.trim().split("\n").map((line) => JSON.parse(line));

suite.rows("what does not apply to a row changes no row", [
  ...unfit.map((document) => refuses(extended, document, "150", noTarget(1))),
  refuses(
    extended,
    [{ op: "add", path: "/n", value: 1 }, { op: "test", path: "/n", value: 5 }],
    "150",
    noTarget(2),
  ),
  ...answers({ headers: { "Content-Type": json } })`
    // One of the rows is enough.
    PATCH /docs?id=gt.0
      with "[{\"op\":\"test\",\"path\":\"/n\",\"value\":5},
        +{\"op\":\"add\",\"path\":\"/title\",\"value\":\"lost\"}]"
      409 SVC150 | Patch does not apply | Operation 1 finds no target, or its test fails
  `,
  ...refused(json, "150")`
    [{"op":"add","path":"/title/x","value":1}] | Column 'title' has no parts
    [{"op":"add","path":"/mood/x","value":1}] | Column 'mood' has no parts
    [{"op":"copy","path":"/title/y","from":"/title/x"}] | Column 'title' has no parts
  `,
]);

const extra = { a: { b: 1, k: 2 }, list: [1, 2, 3], num: 1.5 };
const copied = { op: "copy", from: "/extra/list", path: "/extra/copy" };
const names = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`c${n}`, n]));
const operations = (count: number, path = "/n") => Array(count).fill({ op: "add", path, value: 1 });
const longPath = [{ op: "remove", path: "/extra".repeat(65) }];

suite.rows("what is no patch document is refused", [
  ...refused(merge)`
    [] | A merge patch is an object
    5 | A merge patch is an object
  `,
  ...refused(json)`
    {} | A JSON patch is an array of operations
    [5] | Operation 1: an operation is an object
    [{"op":"set","path":"/n","value":1}] | Operation 1: 'op' is no known operation
    [{"path":"/n"}] | Operation 1: 'op' is no known operation
    [{"op":"remove"}] | Operation 1: 'path' is no text
    [{"op":"remove","path":""}] | Operation 1: 'path' names no column
    [{"op":"remove","path":"n"}] | Operation 1: 'path' is no JSON Pointer
    [{"op":"remove","path":"/~2"}] | Operation 1: 'path' is no JSON Pointer
    [{"op":"add","path":"/n"}] | Operation 1: 'value' is missing
    [{"op":"move","path":"/extra/x","from":"/notes/x"}] | Operation 1: 'from' is in another column
    [{"op":"copy","path":"/n"}] | Operation 1: 'from' is no text
    [{"op":"move","from":"/extra/a","path":"/extra/a/b"}] |
      + Operation 1: a value cannot be moved into itself
  `,
  ...refused(extended)`
    [{"op":"incr","path":"/title","value":1}] | Operation 1: 'title' cannot be increased
    [{"op":"incr","path":"/n","value":"1"}] | Operation 1: 'value' is no number
    [{"op":"incr","path":"/at","value":1}] | Operation 1: 'value' is no string
    [{"op":"append","path":"/n","value":1}] | Operation 1: 'n' is no array
    [{"op":"pull","path":"/n","value":1}] | Operation 1: 'n' is no array
    [{"op":"append","path":"/title","value":1}] | Operation 1: 'value' is no string
  `,
  refuses(json, Array(5).fill(copied), "149", "More than 4 copies"),
  changes(json, Array(4).fill(copied), { extra: { ...extra, copy: [1, 2, 3] } }),
  refuses(json, [names(17)], "149", "More than 16 members"),
  refuses(merge, names(10_001), "149", "More than 10000 members"),
  refuses(merge, { extra: names(10_001) }, "149", "More than 10000 members"),
  refuses(json, operations(1001), "149", "More than 1000 operations"),
  changes(json, operations(1000), { n: 1 }),
  refuses(json, operations(101, "/extra/x"), "149", "More than 100 operations inside of 'extra'"),
  refuses(json, longPath, "149", "Operation 1: a pointer has more than 64 segments"),
  ...answers({ headers: { "Content-Type": merge } })`
    PATCH /docs?id=eq.1&columns=n with "{\"title\":\"x\"}"
      400 SVC149 | Invalid patch document | 'columns' does not name 'title'
    PATCH /docs?on=id with "{\"title\":\"x\"}"
      400 SVC145 | Rows cannot be matched by 'id' | 'on' cannot be combined with a patch document
    PATCH /docs?id=eq.1 with "{\"nope\":\"x\"}"
      400 SVC204 | Could not find the 'nope' column of 'docs' in the schema cache
    PATCH /docs?id=eq.1 with "{\"n\":" | 400 SVC102 | Empty or invalid json | The text ends early
  `,
  ...answers({ headers: { "Content-Type": extended } })`
    PATCH /docs?id=eq.1 with "[{\"op\":\"incr\",\"path\":\"/n\",\"value\":2147483647}]"
      400 22003 | integer out of range
  `,
]);

const acceptPatch = {
  "Accept-Patch": "application/json, application/merge-patch+json, application/json-patch+json, " +
    "application/vnd.svc.patch+json, application/x-ndjson, text/csv, application/x-www-form-urlencoded",
};
const notAcceptable = (type: string) => errorBody(`SVC107 | Content-Type not acceptable: ${type}`);

suite.answers("only PATCH of relations takes patch documents")`
  PATCH /docs?id=eq.1 {Content-Type: text/x} with "x"
    415 SVC107 | Content-Type not acceptable: text/x
    Accept-Patch: application/json, application/merge-patch+json, application/json-patch+json,
      + application/vnd.svc.patch+json, application/x-ndjson, text/csv,
      + application/x-www-form-urlencoded
  POST /docs {Content-Type: application/merge-patch+json} with "{}"
    415 SVC107 | Content-Type not acceptable: application/merge-patch+json
    no Accept-Patch
`;

const pgrst = serviceSuite("patches", { ...config, dialect: "pgrst" }, {
  title: "patch documents, pgrst",
});
pgrst.rows("the dialect of PostgREST takes them, too", [
  changes(merge, { extra: { list: null } }, { extra: { a: { b: 1, k: 2 }, num: 1.5 } }),
  ["PATCH /docs?id=eq.1", { body: "x", headers: { "Content-Type": "text/x" } }, 400, {
    ...notAcceptable("text/x"),
    code: "PGRST102",
  }, acceptPatch],
]);

const stored = serviceSuite("patches", { ...config, dbTxEnd: "commit" }, {
  title: "patch documents, the examples of the standards",
});

async function patched(
  api: Api,
  { before, type, document }: { before: unknown; type: string; document: unknown },
): Promise<unknown> {
  const put = await api("PUT /any_docs?id=eq.1", { body: { id: 1, doc: before } });
  await put.body?.cancel();
  const response = await api("PATCH /any_docs?id=eq.1", {
    body: JSON.stringify(document),
    headers: { "Content-Type": type },
  });
  if (response.status >= 300) return (await response.json()).code;
  await response.body?.cancel();
  const rows = await (await api("GET /any_docs?id=eq.1&select=doc")).json();
  return rows[0].doc;
}

stored.test("RFC 7396, appendix A", async (api) => {
  // The rows whose patch is an object: others replace the column as a whole.
  const rows: [before: unknown, patch: unknown, after: unknown][] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [["a", "b"], ["c", "d"], ["c", "d"]],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [before, patch, after] of rows) {
    const document = { doc: patch };
    deepStrictEqual(
      await patched(api, { before, type: merge, document }),
      after,
      JSON.stringify(patch),
    );
  }
});

/** RFC 6902, appendix A: a value, the operations, and the value afterwards or the code of the error. */
const standard = linesOf`
  {"foo":"bar"} | [{"op":"add","path":"/baz","value":"qux"}] | {"baz":"qux","foo":"bar"}
  {"foo":["bar","baz"]} | [{"op":"add","path":"/foo/1","value":"qux"}] | {"foo":["bar","qux","baz"]}
  {"baz":"qux","foo":"bar"} | [{"op":"remove","path":"/baz"}] | {"foo":"bar"}
  {"foo":["bar","qux","baz"]} | [{"op":"remove","path":"/foo/1"}] | {"foo":["bar","baz"]}
  {"baz":"qux","foo":"bar"} | [{"op":"replace","path":"/baz","value":"boo"}] |
    + {"baz":"boo","foo":"bar"}
  {"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}} |
    + [{"op":"move","from":"/foo/waldo","path":"/qux/thud"}] |
    + {"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}
  {"foo":["all","grass","cows","eat"]} | [{"op":"move","from":"/foo/1","path":"/foo/3"}] |
    + {"foo":["all","cows","eat","grass"]}
  {"baz":"qux","foo":["a",2,"c"]} | [{"op":"test","path":"/baz","value":"qux"},
    +{"op":"test","path":"/foo/1","value":2}] | {"baz":"qux","foo":["a",2,"c"]}
  {"baz":"qux"} | [{"op":"test","path":"/baz","value":"bar"}] | "SVC150"
  {"foo":"bar"} | [{"op":"add","path":"/child","value":{"grandchild":{}}}] |
    + {"foo":"bar","child":{"grandchild":{}}}
  {"foo":"bar"} | [{"op":"add","path":"/baz","value":"qux","xyz":123}] | {"foo":"bar","baz":"qux"}
  {"foo":"bar"} | [{"op":"add","path":"/baz/bat","value":"qux"}] | "SVC150"
  {"/":9,"~1":10} | [{"op":"test","path":"/~01","value":10}] | {"/":9,"~1":10}
  {"/":9,"~1":10} | [{"op":"test","path":"/~01","value":"10"}] | "SVC150"
  {"foo":["bar"]} | [{"op":"add","path":"/foo/-","value":["abc","def"]}] |
    + {"foo":["bar",["abc","def"]]}
`;

stored.test("RFC 6902, appendix A", async (api) => {
  for (const line of standard) {
    const [before, operations, after] = line.split(" | ");
    const document = operations!.replaceAll(/"(path|from)":"/g, '"$1":"/doc');
    deepStrictEqual(
      await patched(api, {
        before: JSON.parse(before!),
        type: json,
        document: JSON.parse(document),
      }),
      JSON.parse(after!),
      line,
    );
  }
});

stored.test("increments at the same time all count", async (api) => {
  await (await api("PUT /any_docs?id=eq.7", { body: { id: 7, doc: { n: 0 } } })).body?.cancel();
  const increment = async () => {
    const response = await api("PATCH /any_docs?id=eq.7", {
      body: JSON.stringify([{ op: "incr", path: "/doc/n", value: 1 }]),
      headers: { "Content-Type": extended },
    });
    await response.body?.cancel();
    return response.status;
  };
  const statuses = await Promise.all(Array.from({ length: 100 }, increment));
  deepStrictEqual(statuses, Array.from({ length: 100 }, () => 204));
  deepStrictEqual(await (await api("GET /any_docs?id=eq.7&select=doc")).json(), [{
    doc: { n: 100 },
  }]);
});
