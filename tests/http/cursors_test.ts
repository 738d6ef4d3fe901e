/** Pages by cursors: rows, headers and refusals. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { writeCursor } from "../../src/api/request/url/cursor_text.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";
import { linksOf, walk } from "../support/server/links.ts";

const suite = serviceSuite("cursors", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
}, { title: "cursors" });

const exact = { headers: { Prefer: "count=exact" } };
const firstAndLast = '<?order=price&after=>; rel="first", <?order=price&before=>; rel="last"';

function refusal(code: string, message: string, details: string | null, hint: string | null) {
  return { code, message, details, hint };
}
const conflict = (other: string) =>
  refusal("SVC171", `A cursor cannot be combined with ${other}`, null, null);
const noKey = (relation: string) =>
  refusal(
    "SVC170",
    `Rows of '${relation}' have no known key`,
    null,
    "Declare one: a comment with @primaryKey",
  );
const otherCursor = refusal(
  "SVC169",
  "The cursor belongs to another order of rows",
  null,
  "Begin with an empty 'after'",
);
const invalid = refusal("SVC168", "Invalid cursor", null, null);

suite.rows("pages", [
  ["GET /tools?select=id&limit=2&after=", {}, 200, [{ id: 1 }, { id: 2 }], {
    "Content-Range": "*/*",
    Link: '<?select=id&limit=2&after=>; rel="first", ' +
      '<?select=id&limit=2&after=WzEsIjhhNThhZGQ1IixbIjIiXV0>; rel="next", ' +
      '<?select=id&limit=2&before=>; rel="last"',
  }],
  ["GET /tools?select=id&limit=2&before=", exact, 206, [{ id: 5 }, { id: 6 }], {
    "Content-Range": "*/6",
  }],
  ["GET /tools?select=id,price&order=price.desc.nullslast&limit=2&after=", {}, 200, [
    { id: 2, price: 99 },
    { id: 3, price: 45 },
  ]],
  ["GET /tools?select=id&limit=2&after=", { headers: { Range: "0-0" } }, 200, [{ id: 1 }], {
    "Content-Range": "*/*",
  }],
  ["HEAD /tools?select=id&limit=2&after=", { headers: { Range: "1-1" } }, 200, undefined, {
    "Content-Range": "*/*",
  }],
  ["GET /tools?select=id&order=price&after=&price=gt.50", exact, 200, [{ id: 2 }], {
    "Content-Range": "*/1",
  }],
  ["GET /tools?order=price&select=&after=&id=eq.9", exact, 200, [], {
    "Content-Range": "*/0",
    Link: firstAndLast.replaceAll("price&", "price&select=&id=eq.9&"),
  }],
]);

const cursor = writeCursor({ fingerprint: "8a58add5", keys: ["2"] });

suite.rows("no hidden columns", [
  ...answers()`
    GET /tools?select=name&limit=2&order=price.desc&after= {Accept: text/csv}
      200 "name\nrelic\nawl"
    GET /tools?select=name&limit=2&after= {Accept: application/x-ndjson}
      200 "{\"name\":\"saw\"}\n{\"name\":\"drill\"}\n"
    GET /tools?limit=2&after= {Accept: application/x-names} | 200 "saw;drill;"
    GET /tools?select=name&limit=1&after= {Accept: application/vnd.svc.object+json}
      200 {"name":"saw"}
  `,
  ["HEAD /tools?select=name&limit=2&after=", exact, 206, undefined, {
    "Content-Range": "*/6",
    Link: '<?select=name&limit=2&after=>; rel="first", ' +
      `<?select=name&limit=2&after=${cursor}>; rel="next", ` +
      '<?select=name&limit=2&before=>; rel="last"',
  }],
  ...answers()`
    // More rows than a single value holds.
    GET /tools?select=id&limit=2000&after= {Accept: text/csv} | 200 "id\n1\n2\n3\n4\n5\n6"
    GET /tools?select=id&after= {Accept: application/x-ndjson}
      200 "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n{\"id\":4}\n{\"id\":5}\n{\"id\":6}\n"
  `,
]);

suite.rows("columns of other features", [
  ["GET /tools?select=*,-price,-bought,-maker_id&limit=1&after=", {}, 200, [
    { id: 1, name: "saw" },
  ]],
]);

suite.rows("refusals", [
  ["GET /tools?after=xyz", {}, 400, invalid],
  ["GET /tools?after=" + "A".repeat(4097), {}, 400, invalid],
  ["GET /tools?after=" + btoa('[2,"8a58add5",["2"]]').replaceAll("=", ""), {}, 400, invalid],
  ["GET /tools?after=" + btoa('[1,"8a58add5",[2]]').replaceAll("=", ""), {}, 400, invalid],
  ["GET /tools?after=" + writeCursor({ fingerprint: "8a58add5", keys: ["\0"] }), {}, 400, invalid],
  [
    `GET /tools?after=${cursor}&order=price.desc.nullslast,name`,
    {},
    400,
    otherCursor,
  ],
  [
    `GET /makers?after=${cursor}`,
    {},
    400,
    otherCursor,
  ],
  [
    `GET /rpc/dear_tools?price_from=1&after=${cursor}`,
    {},
    400,
    otherCursor,
  ],
  [
    "GET /tools?after=" + writeCursor({ fingerprint: "8a58add5", keys: ["2", "3"] }),
    {},
    400,
    otherCursor,
  ],
  [
    "GET /tools?after=" + writeCursor({ fingerprint: "8a58add5", keys: ["x"] }),
    {},
    400,
    refusal("22P02", 'invalid input syntax for type integer: "x"', null, null),
  ],
  ["GET /tools?after=" + writeCursor({ fingerprint: "8a58add5", keys: [null] }), {}, 200, []],
  ["GET /tools?offset=2&after=", {}, 400, conflict("an offset")],
  ["GET /tools?after=", { headers: { Range: "1-2" } }, 400, conflict("an offset")],
  ["GET /tools?after=&before=", {}, 400, conflict("another cursor")],
  ["GET /makers?select=id,tools(id)&tools.after=", {}, 400, conflict("an embed")],
  ["GET /tools?select=id,...makers(name)&makers.before=", {}, 400, conflict("an embed")],
  ["GET /unkeyed?after=", {}, 400, noKey("unkeyed")],
  ["GET /rpc/prices?after=", {}, 400, noKey("prices")],
  ["GET /rpc/amounts?after=", {}, 400, noKey("amounts")],
  ["GET /tools?select=maker_id,n:count()&before=", {}, 400, conflict("aggregates")],
  ["GET /tools?select=id,...makers(n:count())&after=", {}, 400, conflict("aggregates")],
  ["GET /tools?select=name&distinct=*&after=", {}, 400, conflict("'distinct'")],
  ...answers()`
    GET /rpc/prices?distinct=price&after= | 400 SVC171 | A cursor cannot be combined with 'distinct'
    DELETE /tools?after=&id=eq.1 as writer | 400 SVC160 | 'after' can only be used to read
    GET /secret_keys?select=name&after= | 401 42501 | permission denied for table secret_keys
    GET /secret_keys?select=name | 200 [{"name":"a"}]
  `,
  [
    `GET /tools?order=${Array.from({ length: 17 }, (_, n) => `price.add(${n})`).join()}&after=`,
    {},
    400,
    refusal("SVC177", "The query is too complex", "More than 16 keys in a cursor", null),
  ],
]);

suite.rows("embeds", [
  ["GET /tools?select=id,makers(name)&limit=1&before=", {}, 200, [{ id: 6, makers: null }]],
]);

/** Orders with ties and NULL at both ends. */
const orders = [
  "price.asc",
  "price.desc",
  "price.asc.nullsfirst",
  "price.desc.nullslast",
  "price.desc,bought.asc.nullsfirst",
  "bought,price.desc.nullslast,name.desc",
  "name.desc",
  "id.desc",
  "price,price.desc,id",
  "maker_id.desc.nullslast,price.asc.nullsfirst,bought.desc",
  "price.mod(2),name.left(1).desc",
  "makers(city).desc.nullslast",
  "makers(tools(count())),price",
];

for (const order of orders) {
  suite.test(`a walk lists each row once in the order ${order}, and back`, async (api) => {
    const target = `/tools?select=id,makers(city,tools(id))&order=${order}`;
    const all = await (await api(`GET ${target}${order.includes("id") ? "" : ",id"}`)).json();
    for (const limit of [1, 4]) {
      const page = `${target}&limit=${limit}`;
      deepStrictEqual((await walk(api, `${page}&after=`, "next")).flat(), all);
      deepStrictEqual((await walk(api, `${page}&before=`, "prev")).toReversed().flat(), all);
    }
  });
}

suite.test("a walk reads keys of many types, whatever DateStyle is set", async (api) => {
  const numbers = ["measure", "amount", "unit", "size", "raw"];
  const columns = ["at", "day", "days", "span", "long", "label", ...numbers];
  for (const column of columns) {
    for (const direction of ["asc", "desc"]) {
      const target = `/typed?select=id&order=${column}.${direction}`;
      const all = await (await api(`GET ${target},id`)).json();
      deepStrictEqual((await walk(api, `${target}&limit=2&after=`, "next")).flat(), all, column);
    }
  }
});

/** Results of functions, and keys other than primary ones: a target with its rows in order. */
const walks: readonly (readonly [target: string, rows: readonly unknown[]])[] = [
  ["/rpc/dear_tools?price_from=40&select=id&order=price", [{ id: 3 }, { id: 5 }, { id: 2 }]],
  ["/rpc/after_tools?after=4&select=id&limit=1", [{ id: 5 }]],
  ["/codes?select=code&order=note.desc.nullslast", [{ code: "a" }, { code: "b" }, { code: "c" }]],
  ["/keyed?select=id&order=name&id=lt.4", [{ id: 2 }, { id: 3 }, { id: 1 }]],
];

for (const [target, rows] of walks) {
  suite.test(`a walk lists the rows of ${target}`, async (api) => {
    if (target.includes("?after=")) {
      deepStrictEqual(await (await api(`GET ${target}`)).json(), rows);
      return;
    }
    const page = `${target}&limit=1`;
    deepStrictEqual((await walk(api, `${page}&after=`, "next")).flat(), rows);
    deepStrictEqual((await walk(api, `${page}&before=`, "prev")).toReversed().flat(), rows);
  });
}

suite.test("a cursor of another role shows no rows that a policy hides", async (api) => {
  const target = "/owned?select=id&limit=1&order=owner.desc";
  const ofWriter = linksOf(await api(`GET ${target}&after=`, { as: "writer" })).get("next")!;
  deepStrictEqual(await (await api(`GET /owned${ofWriter}`)).json(), [{ id: 1 }]);
  const ofAnon = linksOf(await api(`GET ${target}&after=`)).get("next")!;
  deepStrictEqual(await (await api(`GET /owned${ofAnon}`)).json(), [{ id: 3 }]);
  deepStrictEqual(await (await api(`GET /owned${ofAnon}`, { as: "writer" })).json(), []);
});

suite.test("links lead from an empty page to the other end", async (api) => {
  const behind = await api(
    "GET /tools?select=id&limit=2&after=" +
      writeCursor({ fingerprint: "8a58add5", keys: ["6"] }),
  );
  deepStrictEqual([...linksOf(behind).keys()], ["first", "prev", "last"]);
  strictEqual(linksOf(behind).get("prev"), "?select=id&limit=2&before=");
  const before = await api(
    "GET /tools?select=id&limit=2&before=" +
      writeCursor({ fingerprint: "8a58add5", keys: ["1"] }),
  );
  strictEqual(linksOf(before).get("next"), "?select=id&limit=2&after=");
  const none = await api("GET /tools?select=id&limit=0&after=");
  deepStrictEqual([...linksOf(none).keys()], ["first", "last"]);
});

suite.test("a last page has no next, and the first one no prev", async (api) => {
  const last = await api("GET /tools?select=id&limit=3&before=");
  deepStrictEqual([...linksOf(last).keys()], ["first", "prev", "last"]);
  const first = await api(
    "GET /tools?select=id&limit=3&before=" +
      writeCursor({ fingerprint: "8a58add5", keys: ["4"] }),
  );
  deepStrictEqual([...linksOf(first).keys()], ["first", "next", "last"]);
});

suite.test("links that are too long lack those to the ends first", async (api) => {
  const relations = async (length: number, parameters: string) => {
    const filter = `name=neq.${"a".repeat(length)}`;
    const page = await api(`GET /tools?select=id&limit=1&order=id&${filter}&${parameters}`);
    strictEqual(page.status, 200);
    return [...linksOf(page).keys()];
  };
  const behind = "after=" + writeCursor({ fingerprint: "8a58add5", keys: ["2"] });
  deepStrictEqual(await relations(900, behind), ["first", "prev", "next", "last"]);
  deepStrictEqual(await relations(1900, behind), ["prev", "next"]);
  deepStrictEqual(await relations(3900, "after="), ["next"]);
  deepStrictEqual(await relations(3900, behind), []);
});

suite.test("a response with links exposes them to pages of other origins", async (api) => {
  const headers = { Origin: "https://example.com" };
  const exposed = async (target: string) =>
    (await api(`GET ${target}`, { headers })).headers.get("Access-Control-Expose-Headers")!
      .split(", ").includes("Link");
  strictEqual(await exposed("/tools?after="), true);
  strictEqual(await exposed("/tools"), false);
});

const windows = serviceSuite("cursors", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  serverLinkHeader: "all",
  dbCommentTags: true,
  etagMode: "on",
}, { title: "links of windows" });

const link = (targets: Readonly<Record<string, string>>) => ({
  Link: Object.entries(targets).map(([relation, query]) => `<?${query}>; rel="${relation}"`)
    .join(", "),
});

windows.rows("windows", [
  ...answers()`
    GET /unkeyed?select=name&order=name.desc&limit=1&after= | 200 [{"name":"saw"}]
    GET /tools?select=id&limit=2&offset=2&order=id {Prefer: count=exact}
      206 [{"id":3},{"id":4}]
      Link: <?select=id&limit=2&order=id>; rel="first", <?select=id&limit=2&order=id>; rel="prev",
        + <?select=id&limit=2&order=id&offset=4>; rel="next",
        + <?select=id&limit=2&order=id&offset=4>; rel="last"
    GET /tools?select=id&limit=5&order=id {Prefer: count=exact}
      206 [{"id":1},{"id":2},{"id":3},{"id":4},{"id":5}]
      Link: <?select=id&limit=5&order=id>; rel="first",
        + <?select=id&limit=5&order=id&offset=5>; rel="next",
        + <?select=id&limit=5&order=id&offset=5>; rel="last"
    GET /tools?select=id&limit=3&offset=3&order=id
      200 [{"id":4},{"id":5},{"id":6}]
      Link: <?select=id&limit=3&order=id>; rel="first", <?select=id&limit=3&order=id>; rel="prev",
        + <?select=id&limit=3&order=id&offset=6>; rel="next"
    GET /tools?select=id&order=id {Range: 1-1}
      200 [{"id":2}]
      Link: <?select=id&order=id&limit=1>; rel="first", <?select=id&order=id&limit=1>; rel="prev",
        + <?select=id&order=id&limit=1&offset=2>; rel="next"
    GET /tools?select=id&offset=5&order=id
      200 [{"id":6}]
      no Link
    GET /tools?select=id&offset=7&limit=1 {Prefer: count=exact}
      416 SVC103 | Requested range not satisfiable | An offset of 7 was requested,
        + but there are only 6 rows.
      no Link
    GET /rpc/dear_tools?price_from=40&select=id&order=id&limit=2
      200 [{"id":2},{"id":3}]
      Link: <?price_from=40&select=id&order=id&limit=2>; rel="first",
        + <?price_from=40&select=id&order=id&limit=2&offset=2>; rel="next"
  `,
  [
    "GET /tools?select=id&limit=1&after=",
    {},
    200,
    [{ id: 1 }],
    link({
      first: "select=id&limit=1&after=",
      next: `select=id&limit=1&after=${writeCursor({ fingerprint: "8a58add5", keys: ["1"] })}`,
      last: "select=id&limit=1&before=",
    }),
  ],
]);

windows.test("a page that has not changed keeps its links", async (api) => {
  for (const target of ["/tools?select=id&limit=2&after=", "/tools?select=id&limit=2&order=id"]) {
    const page = await api(`GET ${target}`);
    const headers = { "If-None-Match": page.headers.get("ETag")! };
    const same = await api(`GET ${target}`, { headers });
    strictEqual(same.status, 304);
    ok(linksOf(same).has("next"));
    strictEqual(same.headers.get("Link"), page.headers.get("Link"));
  }
});

const limited = serviceSuite("cursors", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbMaxRows: 2,
  serverLinkHeader: "none",
}, { title: "cursors within db-max-rows" });

limited.rows("pages", [
  ["GET /tools?select=id&limit=2&order=id", exact, 206, [{ id: 1 }, { id: 2 }], { Link: null }],
  ["GET /tools?select=id&limit=5&after=" + cursor, exact, 206, [{ id: 3 }, { id: 4 }], {
    "Content-Range": "*/6",
    Link: null,
  }],
  ["GET /tools?select=id&before=", {}, 200, [{ id: 5 }, { id: 6 }], { Link: null }],
]);

suite.test("pages of a table with child tables have each row once", async (api) => {
  for (const order of ["", "&order=text.desc", "&order=id.desc"]) {
    const target = `/posts?select=text&limit=1${order}`;
    for (const [start, relation] of [["after", "next"], ["before", "prev"]] as const) {
      const pages = await walk(api, `${target}&${start}=`, relation);
      const texts = pages.flat().map(({ text }) => text);
      deepStrictEqual(texts.toSorted(), ["l1", "l3", "n1", "n2", "p1", "p2"], order);
    }
  }
  const ofFunction = await walk(api, "/rpc/some_posts?select=text&limit=1&after=", "next");
  deepStrictEqual(ofFunction.flat(), [{ text: "p1" }, { text: "p2" }]);
});
