import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite, serviceSuite } from "../support/handler/api.ts";
import { answer, answers, errorBody, type Row } from "../support/handler/rows.ts";

const config = {
  dbSchemas: ["api"],
  dbExtraSearchPath: ["public", "other"],
  dbAnonRole: "anon",
} as const;
const suite = apiSuite("representations", config);

const accept = (Accept: string, more: Record<string, string> = {}) => ({
  headers: { Accept, ...more },
});
const none = (types: string) =>
  errorBody(`SVC107 | None of these media types are available: ${types}`);
const typed = (type: string | null) => ({ "Content-Type": type });
const json = typed("application/json; charset=utf-8");
const csv = typed("text/csv; charset=utf-8");
const plainJson = [{ id: 1, name: "x" }, { id: 2, name: null }];
const plainCsv = "id,name\n1,x\n2,";

suite.rows("built-in types of a relation", [
  ["GET /plain", accept("text/csv, application/json"), 200, plainCsv, csv],
  ["GET /plain", accept("application/json, text/csv"), 200, plainJson, json],
  ["GET /plain", accept("application/json;q=0.5, text/csv;q=0.7"), 200, plainCsv, csv],
  ["GET /plain", accept("text/csv;q=0"), 200, plainCsv, csv],
  ...answers()`
    GET /plain?id=eq.2 {Accept: application/vnd.svc.object+json; nulls="stripped"}
      200 {"id":2}
      Content-Type: application/vnd.svc.object+json;nulls=stripped; charset=utf-8
    GET /plain?id=eq.2 {Accept: application/vnd.pgrst.object+json}
      200 {"id":2,"name":null}
      Content-Type: application/vnd.pgrst.object+json; charset=utf-8
  `,
  ["HEAD /plain", accept("text/csv"), 200, undefined, csv],
]);

suite.rows("types that nobody makes", [
  ["GET /plain", accept(""), 406, none("")],
  ["GET /plain", accept("text/unknown"), 406, none("text/unknown")],
  ["GET /plain", accept("undefined"), 406, none("undefined")],
  ["GET /plain", accept("image/*"), 406, none("image/*")],
  ...answers()`
    GET /plain {Accept: text/plain;q=0.3, Image/PNG ;x=1, text/html}
      406 SVC107 | None of these media types are available: Image/PNG;x=1, text/html, text/plain
  `,
  ["GET /plain", accept("text/xml"), 406, none("text/xml")],
  ["GET /plain", accept("application/octet-stream"), 406, none("application/octet-stream")],
  ["GET /plain", accept("application/openapi+json"), 406, none("application/openapi+json")],
  ...answers()`
    GET /plain {Accept: application/vnd.svc.plan}
      406 SVC107 | None of these media types are available: application/vnd.svc.plan+text; for="application/json"
  `,
  ["GET /plain", accept("__proto__/constructor"), 406, none("__proto__/constructor")],
  ["HEAD /plain", accept("text/unknown"), 406, undefined],
  ["POST /plain", { body: { id: 9 }, ...accept("text/unknown") }, 406, none("text/unknown")],
  ["PATCH /plain", { body: { id: 9 }, ...accept("text/unknown") }, 406, none("text/unknown")],
  ["DELETE /plain", accept("text/unknown"), 406, none("text/unknown")],
  ["POST /rpc/silent", accept("text/unknown"), 406, none("text/unknown")],
  ["GET /rpc/count_items", accept("audio/mp3"), 406, none("audio/mp3")],
  ["GET /", accept("text/csv"), 406, none("text/csv")],
]);

const tabs = "text/tab-separated-values";
const tsv = '1\ta\n2\tb,"c"\n';
suite.rows("aggregates over a relation's rows", [
  ["GET /items?id=in.(1,2)", accept(tabs), 200, tsv, typed(tabs)],
  ["GET /items?id=in.(1,2)&select=*", accept(tabs), 200, tsv, typed(tabs)],
  ["GET /items?id=in.(1,2)", accept(`text/unknown, ${tabs}`), 200, tsv, typed(tabs)],
  ["GET /items?id=in.(1,2)&order=id.desc&limit=1", accept(tabs), 200, '2\tb,"c"\n'],
  ["GET /items?id=eq.9", accept(tabs), 200, undefined, { "Content-Length": "0", ...typed(tabs) }],
  ["HEAD /items", accept(tabs), 200, undefined, typed(tabs)],
  ["GET /items?select=id", accept(tabs), 406, none(tabs)],
  ["GET /items?select=id,name,note", accept(tabs), 406, none(tabs)],
  ["GET /plain", accept(tabs), 406, none(tabs)],
  ["GET /items", accept("TEXT/tab-separated-values"), 406, none("TEXT/tab-separated-values")],
  ["GET /items", accept(`${tabs};a=b`), 406, none(`${tabs};a=b`)],
  ["GET /rpc/items_from?first=1&limit=2", accept(tabs), 200, tsv, typed(tabs)],
  ["GET /rpc/first_item", accept(tabs), 200, "1\ta\n", typed(tabs)],
  ["GET /rpc/items_from?first=1&limit=2&select=id", accept(tabs), 406, none(tabs)],
  ...answers({ headers: { Accept: "text/tab-separated-values", Prefer: "return=representation" } })`
    POST /items with {"id":7,"name":"n"}
      201 "7\tn\n"
      Content-Type: text/tab-separated-values
    PATCH /items?id=eq.1 with {"name":"n"}
      200 "1\tn\n"
      Content-Type: text/tab-separated-values
    DELETE /items?id=eq.1 | 200 "1\ta\n"
  `,
  ["POST /items", { body: { id: 7 }, ...accept(tabs) }, 201, undefined, typed(null)],
  // The built-in types stay.
  ["GET /items?id=eq.1&select=id", {}, 200, [{ id: 1 }], json],
  ["GET /pictures", accept("image/png"), 200, undefined, {
    "Content-Length": "0",
    ...typed("Image/PNG"),
  }],
  ["GET /pictures", accept("application/octet-stream"), 200, "\u0000\ufffd\u0010", {
    "Content-Disposition": "attachment",
    "Content-Length": "3",
    ...typed("application/octet-stream"),
  }],
  ...answers({ headers: { Accept: "text/plain" } })`
    // Rows are not shown as JSON before the aggregate gets them.
    GET /todos?order=id
      200 "255;65280;-1;"
      Content-Type: text/plain; charset=utf-8
    POST /todos {Prefer: return=representation} with {"id":9,"label":"#000001"} | 201 "1;"
  `,
]);

suite.rows("handlers in place of built-in types", [
  ["GET /overridden", {}, 200, [{ id: 1 }, { id: 2 }], json],
  ["GET /overridden", accept("*/*"), 200, [{ id: 1 }, { id: 2 }], json],
  ["GET /overridden", accept("application/json"), 200, [1, 2], json],
  ["GET /overridden?select=id", accept("application/json"), 200, [{ id: 1 }, { id: 2 }], json],
  ["GET /overridden", accept("text/csv"), 200, "own [1, 2]", csv],
  ["GET /overridden?select=id", accept("text/csv"), 200, "id\n1\n2", csv],
  ["GET /overridden?id=eq.1", accept("application/vnd.svc.object+json"), 200, { id: 1 }],
]);

const any = "app/any-rows";
suite.rows("aggregates over any rows", [
  ["GET /plain", accept(any), 200, '{"id":1,"name":"x"};{"id":2,"name":null};', typed(any)],
  ["GET /plain?select=n:name&id=eq.1", accept(any), 200, '{"n":"x"};', typed(any)],
  ["GET /rpc/items_from?first=3&select=id", accept(any), 200, '{"id":3};', typed(any)],
]);

suite.rows("a relation that answers anything", [
  ["GET /anything", {}, 200, "sum 3", typed("application/octet-stream")],
  ["GET /anything", accept("text/html"), 200, "sum 3", typed("application/octet-stream")],
  ["GET /anything", accept("application/json"), 200, "sum 3", typed("application/octet-stream")],
  ["GET /anything", accept("app/named"), 200, "sum 3", typed("app/named")],
  ["GET /anything", accept("app/refused"), ...answer("415 PT415 | Not that")],
  ["GET /anything?select=id", {}, 200, [{ id: 1 }, { id: 2 }], json],
  ["GET /anything?id=eq.1", accept("application/vnd.svc.object+json"), 200, { id: 1 }],
  ["GET /anything?select=id", accept("text/html"), 406, none("text/html")],
]);

const html = typed("text/html");
suite.rows("functions that return a media type", [
  ["GET /rpc/page", accept("text/html,image/png,*/*;q=0.8"), 200, "<p>é</p>", html],
  ["POST /rpc/page", accept("text/html"), 200, "<p>é</p>", html],
  ["HEAD /rpc/page", accept("text/html"), 200, undefined, html],
  // An overload that returns something else is not passed off as HTML.
  ["GET /rpc/page?n=5", accept("text/html"), 406, none("text/html")],
  ["GET /rpc/page?n=5", accept("text/html,*/*"), 200, 5, json],
  ["GET /rpc/png", accept("image/png"), 200, "\ufffdPNG\r\n\u0000\ufffd", {
    "Content-Length": "8",
    ...typed("Image/PNG"),
  }],
  ["GET /rpc/png", {}, 200, "\\x89504e470d0a00ff", json],
  ["GET /rpc/no_png", accept("image/png"), 200, undefined, { "Content-Length": "0" }],
  ["GET /rpc/words", accept("text/plain;charset=utf-8"), 200, "words"],
  ["GET /rpc/many_words", accept("text/plain"), 406, none("text/plain")],
  ["GET /rpc/many_words", {}, 200, ["a", "b"], json],
  // What PostgreSQL's output of xml drops: one line break, and the encoding.
  ...([
    ["\n<a/>", "<a/>"],
    ["\n\n <a/>\n", "\n <a/>\n"],
    ["  <a/>", "  <a/>"],
    ['<?xml version="1.0" encoding="UTF-8"?>\n<a>é</a>', "<a>é</a>"],
    ['<?xml version="1.0" standalone="yes"?><a/>', '<?xml version="1.0" standalone="yes"?><a/>'],
  ] as const).map(([content, shown]): Row => [
    `GET /rpc/markup_of?content=${encodeURIComponent(content)}`,
    accept("text/xml"),
    200,
    shown,
  ]),
  ["GET /marked?order=id", accept("text/xml"), 200, "<id>1</id>\n<id>2</id>"],
  ["GET /rpc/doc", accept("application/vnd.doc+json"), 200, { a: 1 }, {
    "Content-Length": "8",
    ...typed("application/vnd.doc+json"),
  }],
  ["GET /rpc/own_json", accept("application/json"), 200, { a: 1 }, {
    "Content-Length": "9",
    ...json,
  }],
  [
    "GET /rpc/openapi",
    accept("application/openapi+json"),
    200,
    {},
    typed("application/openapi+json; charset=utf-8"),
  ],
  ["GET /rpc/number", accept("app/number"), 200, "65", typed("app/number")],
  ["GET /rpc/whatever", {}, 200, "<p>", html],
  ["GET /rpc/whatever", accept("application/json"), 200, "<p>", html],
  ["GET /rpc/count_items", accept("text/csv"), 200, "svc_scalar\n3", csv],
  ["GET /rpc/silent", accept("text/csv"), 204, undefined, typed(null)],
]);

const point = (id: number, name: string, geometry: string) => ({
  type: "Feature",
  geometry,
  properties: { id, name },
});
const geojson = typed("application/geo+json; charset=utf-8");
suite.rows("GeoJSON", [
  ["GET /places?order=id", accept("application/geo+json"), 200, {
    type: "FeatureCollection",
    features: [point(1, "here", "[1,2]"), point(2, "there", "[3,4]")],
  }, geojson],
  ["GET /places?order=name.desc&limit=1&after=", accept("application/geo+json"), 200, {
    type: "FeatureCollection",
    features: [point(2, "there", "[3,4]")],
  }, geojson],
  ["GET /places?id=eq.9", accept("application/geo+json"), 200, {
    type: "FeatureCollection",
    features: [],
  }, geojson],
  ["GET /places?id=eq.1&select=name", accept("application/geo+json, */*"), 200, {
    type: "FeatureCollection",
    features: [{ type: "Feature", geometry: null, properties: { name: "here" } }],
  }],
  ...answers({ headers: { Accept: "application/geo+json" } })`
    POST /places {Prefer: return=representation} with {"id":5,"name":"new","geom":"[0,0]"}
      201 {"type":"FeatureCollection","features":[{"type":"Feature","geometry":"[0,0]",
        +"properties":{"id":5,"name":"new"}}]}
  `,
]);

suite.test("bodies are made as they are described", async (api) => {
  const texts: readonly (readonly [string, string, string])[] = [
    ["/rpc/own_json", "application/json", '{"a":  1}'],
    ["/rpc/doc", "application/vnd.doc+json", '{"a": 1}'],
    ["/places?id=eq.9", "application/geo+json", '{"type" : "FeatureCollection", "features" : []}'],
    ["/items?order=id", "text/csv", 'id,name,note\n1,a,\n2,"b,""c""",""\n3,"d\\e\nf","(x)"'],
    ["/plain?select=id", "application/vnd.svc.array;nulls=stripped", '[{"id":1},{"id":2}]'],
  ];
  for (const [path, type, text] of texts) {
    const response = await api(`GET ${path}`, accept(type));
    strictEqual(await response.text(), text, path);
  }
  const response = await api("GET /rpc/png", accept("image/png"));
  deepStrictEqual([...await response.bytes()], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x00, 0xff]);
});

const without = serviceSuite("representations", { ...config, dbExtraSearchPath: [] }, {
  title: "representations without PostGIS",
});
without.test("GeoJSON without PostGIS is an error of the database", async (api) => {
  const response = await api("GET /places", accept("application/geo+json"));
  strictEqual(response.status, 404);
  strictEqual((await response.json()).code, "42883");
});
