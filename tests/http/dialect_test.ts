import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Observation } from "../../mod.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { type Row } from "../support/handler/rows.ts";

const config = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  serverTraceHeader: "X-Request-Id",
  openapiMode: "disabled",
} as const;

const svc = serviceSuite("dialect", { ...config, dialect: "svc" }, { title: "dialect svc" });
const pgrst = serviceSuite("dialect", { ...config, dialect: "pgrst" }, { title: "dialect pgrst" });

type Answer = readonly [
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string | null>>,
];

/** One request, and how each dialect answers it. */
type Difference = readonly [line: string, parts: Row[1], svc: Answer, pgrst: Answer];

const error = (code: string, message: string, rest: { details?: string; hint?: string } = {}) => ({
  code,
  details: rest.details ?? null,
  hint: rest.hint ?? null,
  message,
});

const fail = (state: string, message: string, detail?: string): Row[1] => ({
  body: { state, message, ...(detail === undefined ? {} : { detail }) },
});

const noTable = "Could not find the table 'api.nothing' in the schema cache";
const one = { id: 1, name: "one" };
const csv = { headers: { Accept: "text/csv" } };
const object = { headers: { Accept: "application/vnd.pgrst.object+json" } };
const shown = { headers: { Prefer: "return=representation" } };

/** The rows of `cells` as RFC 4180 has them. */
const exactCells =
  'id,note,data,tags\n1,,,\n2,"","\\x00ff",{}\n3,"NULL",,"{""a b"",NULL,""NULL""}"\n' +
  '4,"a,NULL,""\\",,{NULL}\n5,"line\nNULL",,{c}';
const copiedCells = exactCells.replaceAll(/\n([1-5],)/g, "\n1$1");
const cellsOf = (id: number) => `id,note\n${id},\n${id + 1},NULL\n${id + 2},""\n${id + 3},"NULL"`;

const parserTexts = [
  '"failed to parse select parameter (,id)" (line 1, column 1)',
  'unexpected "," expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"',
] as const;
const noSelect = error("SVC100", "a name is missing before ,id", {
  details: parserTexts.join(": "),
});
const parserNoSelect = error("PGRST100", parserTexts[0], { details: parserTexts[1] });

const differences: readonly Difference[] = [
  // Prefixes and names.
  [
    "GET /nothing",
    {},
    [404, error("SVC205", noTable), { "Proxy-Status": "SVC; error=SVC205" }],
    [404, error("PGRST205", noTable), { "Proxy-Status": "PostgREST; error=PGRST205" }],
  ],
  // The trace header of a request that has none.
  [
    "GET /groups?id=eq.1",
    {},
    [200, [one], { "X-Request-Id": null, "Range-Unit": "items", "Content-Range": "0-0/*" }],
    [200, [one], { "X-Request-Id": "", "Range-Unit": null, "Content-Range": "0-0/*" }],
  ],
  [
    "GET /groups?id=eq.1",
    { headers: { "X-Request-Id": "abc" } },
    [200, [one], { "X-Request-Id": "abc" }],
    [200, [one], { "X-Request-Id": "abc" }],
  ],
  ...(["40001", "40P01"] as const).map((state): Difference => [
    "POST /rpc/fail",
    fail(state, "deadlock detected"),
    [500, error(state, "deadlock detected", { hint: "Send the request again" })],
    [500, error(state, "deadlock detected")],
  ]),
  [
    "POST /rpc/fail",
    fail("XX000", "parse error - invalid geometry"),
    [
      500,
      error("XX000", "parse error - invalid geometry", {
        hint: "Send WKT such as POINT(1 2), hexadecimal WKB or GeoJSON",
      }),
    ],
    [500, error("XX000", "parse error - invalid geometry")],
  ],
  [
    "POST /rpc/fail",
    fail("PGRST", '{"code":"Q1","message":"Quota"}', '{"status":419,"headers":{"X-Left":"0"}}'),
    [419, error("Q1", "Quota"), { "X-Left": "0", "Proxy-Status": "SVC; error=Q1" }],
    [419, error("Q1", "Quota"), { "X-Left": "0", "Proxy-Status": "PostgREST; error=Q1" }],
  ],
  [
    "PATCH /items?limit=1&order=id&select=id",
    { as: "writer", body: { name: "x" }, headers: { Prefer: "return=representation" } },
    [200, [{ id: 1 }], { "Content-Range": "0-0/*" }],
    [200, [{ id: 1 }, { id: 2 }, { id: 3 }], { "Content-Range": "0-2/*", "Range-Unit": null }],
  ],
  // The column of results that are not row types.
  ["GET /rpc/answer", csv, [200, "svc_scalar\n42"], [200, "pgrst_scalar\n42"]],
  ["GET /rpc/answers?upto=2", csv, [200, "svc_scalar\n1\n2"], [200, "pgrst_scalar\n1\n2"]],
  // NULL, the empty text and the text NULL in CSV; backslashes.
  ["GET /cells?order=id", csv, [200, exactCells], [
    200,
    'id,note,data,tags\n1,,,\n2,"","\\\\x00ff",{}\n3,NULL,,"{""a b"",NULL,""NULL""}"\n' +
    '4,"a,NULL,""\\\\",,{NULL}\n5,"line\nNULL",,{c}',
  ]],
  // The CSV of a table, posted back, is the same rows.
  [
    "POST /cells",
    {
      as: "writer",
      body: copiedCells,
      headers: { "Content-Type": "text/csv", Accept: "text/csv", ...shown.headers },
    },
    [201, copiedCells],
    [
      400,
      error("22P02", 'malformed array literal: ""', {
        details: 'Array value must start with "{" or dimension information.',
      }),
    ],
  ],
  [
    "POST /cells?select=id,note",
    { as: "writer", body: cellsOf(6), headers: { "Content-Type": "text/csv", ...shown.headers } },
    [201, [{ id: 6, note: null }, { id: 7, note: null }, { id: 8, note: "" }, {
      id: 9,
      note: "NULL",
    }]],
    [201, [{ id: 6, note: "" }, { id: 7, note: null }, { id: 8, note: "" }, { id: 9, note: null }]],
  ],
  // A line that is one NULL would be empty, and readers skip empty lines.
  ["GET /cells?select=note&order=id&id=lt.4", csv, [200, 'note\nNULL\n""\n"NULL"'], [
    200,
    'note\n\n""\nNULL',
  ]],
  [
    "POST /papers?select=raw&columns=id,raw",
    {
      as: "writer",
      body: "id\n4\n5",
      headers: { "Content-Type": "text/csv", Accept: "text/csv", ...shown.headers },
    },
    [201, "raw\nNULL\nNULL"],
    [201, "raw\n\n"],
  ],
  // The text of JSON in CSV.
  [
    "POST /papers",
    {
      as: "writer",
      body: 'id,doc,raw\n1,"{""a"":[1]}",[2]\n2,null,"""NULL"""\n3,NULL,"""NULL"""\n',
      headers: { "Content-Type": "text/csv", ...shown.headers },
    },
    [201, [
      { id: 1, doc: { a: [1] }, raw: [2] },
      { id: 2, doc: null, raw: "NULL" },
      { id: 3, doc: null, raw: "NULL" },
    ]],
    [201, [
      { id: 1, doc: '{"a":[1]}', raw: "[2]" },
      { id: 2, doc: "null", raw: '"NULL"' },
      { id: 3, doc: null, raw: '"NULL"' },
    ]],
  ],
  ["GET /rpc/answer", object, [200, 42], [200, 42]],
  ["GET /rpc/answers?upto=1", object, [200, { svc_scalar: 1 }], [200, { pgrst_scalar: 1 }]],
  ["GET /rpc/answers?upto=3&svc_scalar=gt.1&order=svc_scalar.desc", {}, [200, [3, 2]], [
    400,
    error("42703", "column answers.svc_scalar does not exist"),
  ]],
  [
    "GET /rpc/answers?upto=3&pgrst_scalar=gt.1&select=pgrst_scalar&order=pgrst_scalar.desc",
    {},
    [400, error("42703", "column answers.pgrst_scalar does not exist")],
    [200, [3, 2]],
  ],
  // An empty `select` of a write.
  ...([
    ["POST /items?select=", { id: 9, name: "x" }, 201, { group_id: null }],
    ["PATCH /items?select=&id=eq.2", { name: "x" }, 200, { group_id: 1 }],
    ["PUT /items?select=&id=eq.2", { id: 2, name: "x" }, 200, { group_id: 1 }],
    ["DELETE /items?select=&id=eq.2", undefined, 200, { name: "b", group_id: 1 }],
  ] as const).map(([line, body, status, rest]): Difference => {
    const id = line.startsWith("POST") ? 9 : 2;
    return [
      line,
      { as: "writer", body, ...shown },
      [status, [{ id, name: "x", ...rest }]],
      [status, [{ id }]],
    ];
  }),
  [
    "POST /stays?select=",
    { as: "writer", body: { guest: 1, room: 2 }, ...shown },
    [201, [{ room: 2, guest: 1, note: null }]],
    [201, [{ guest: 1, room: 2 }]],
  ],
  [
    "POST /stays?select=",
    {
      as: "writer",
      body: { guest: 1, room: 2 },
      headers: { Prefer: "return=representation", Accept: "text/csv" },
    },
    [201, "room,guest,note\n2,1,"],
    [201, "guest,room\n1,2"],
  ],
  ...(["select=", "select"] as const).map((select): Difference => [
    `POST /notes?${select}`,
    { as: "writer", body: { note: "n" }, ...shown },
    [201, [{ note: "n" }]],
    [201, [{ note: "n" }]],
  ]),
  ["GET /groups?select=&id=eq.1", {}, [200, [one]], [200, [one]]],
  [
    "POST /stays?select=",
    { as: "writer", body: { guest: 1, room: 2 }, headers: { Prefer: "return=headers-only" } },
    [201, undefined, { Location: "/stays?room=eq.2&guest=eq.1" }],
    [201, undefined, { Location: "/stays?guest=eq.1&room=eq.2" }],
  ],
  // What both have in place of a quirk.
  [
    "POST /moments",
    {
      as: "writer",
      body: { at: "2024-01-02T03:04:05Z" },
      headers: { Prefer: "return=headers-only" },
    },
    [201, undefined, { Location: "/moments?at=eq.2024-01-02%2003%3A04%3A05%2B00" }],
    [201, undefined, { Location: "/moments?at=eq.2024-01-02%2003%3A04%3A05%2B00" }],
  ],
  ["GET /groups?select=,id", {}, [400, noSelect], [400, parserNoSelect]],
];

for (const [line, parts, ours, theirs] of differences) {
  svc.rows("as required", [[line, parts, ...ours]]);
  pgrst.rows("as PostgREST does", [[line, parts, ...theirs]]);
}

/** In every dialect the media types of the other one are understood, and answered as they were sent. */
const media: readonly Row[] = ["svc", "pgrst"].flatMap((vendor): Row[] => [
  [
    "GET /groups?id=eq.1",
    { headers: { Accept: `application/vnd.${vendor}.object+json` } },
    200,
    one,
    { "Content-Type": `application/vnd.${vendor}.object+json; charset=utf-8` },
  ],
  [
    "GET /items?id=eq.3",
    { headers: { Accept: `application/vnd.${vendor}.array+json;nulls=stripped` } },
    200,
    [{ id: 3, name: "c" }],
    { "Content-Type": `application/vnd.${vendor}.array+json;nulls=stripped; charset=utf-8` },
  ],
]);

for (const suite of [svc, pgrst]) suite.rows("vendor types of both", media);

for (const [suite, product] of [[svc, "svc"], [pgrst, "postgrest"]] as const) {
  suite.test("Server names the product", async (api) => {
    const response = await api("GET /groups");
    strictEqual(response.headers.get("Server")?.split("/")[0], product);
  });
}

for (const [dialect, logged] of [["svc", ["SVC112", "53100"]], ["pgrst", ["53100"]]] as const) {
  const events: Observation[] = [];
  const observed = serviceSuite(
    "dialect",
    { ...config, dialect, observe: (event) => void events.push(event) },
    { title: `log, ${dialect}` },
  );
  observed.test("the log shows failures beside the request", async (api) => {
    strictEqual((await api("GET /rpc/bad_status")).status, 500);
    strictEqual((await api("POST /rpc/fail", fail("53100", "disk full"))).status, 503);
    strictEqual((await api("POST /rpc/fail", fail("PT400", "no"))).status, 400);
    const codes = events.flatMap((event) =>
      event.kind === "request-failed" ? [event.error.code] : []
    );
    deepStrictEqual(codes, logged);
  });
}
