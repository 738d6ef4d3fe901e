/** QUERY, and POST to `/<relation>/$query`: reads whose parameters come in the body. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answer, answers, errorBody, type Row } from "../support/handler/rows.ts";

const config = {
  dbSchemas: ["api", "other"],
  dbAnonRole: "anon",
  serverQueryMethod: true,
} as const;
const suite = serviceSuite("query_method", config, { title: "QUERY" });

const form = "application/x-www-form-urlencoded";
const formQuery = `"${form}"`;
const anyQuery = `${formQuery}, "application/json"`;

const send = (body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}) => ({
  body,
  headers: { "Content-Type": form, ...headers },
});

suite.rows("QUERY reads a relation", [
  ["QUERY /tools", send("select=id&id=in.(1,3)&order=id"), 200, [{ id: 1 }, { id: 3 }], {
    Location: "/tools?id=in.%281%2C3%29&order=id&select=id",
    "Content-Location": null,
    "Accept-Query": formQuery,
    "Content-Range": "0-1/*",
    "Content-Type": "application/json; charset=utf-8",
  }],
  ["QUERY /tools?select=id", send("select=name&id=eq.2"), 200, [{ id: 2 }], {
    Location: "/tools?id=eq.2&select=id&select=name",
  }],
  ["QUERY /tools?id=gt.1&limit=2", send("limit=1&order=id&select=id"), 200, [{ id: 2 }]],
  ["QUERY /tools?select=id&order=id", send(""), 200, [{ id: 1 }, { id: 2 }, { id: 3 }], {
    Location: "/tools?order=id&select=id",
  }],
  ["QUERY /tools", send("select=id&order=id;limit=1"), 200, [{ id: 1 }]],
  ["QUERY /tools?id=gt.1", send("select=id&id=lt.3&order"), 200, [{ id: 2 }], {
    Location: "/tools?id=gt.1&id=lt.3&order&select=id",
  }],
  ["QUERY /tools", send("name=eq.s%61w&select=name,makers(name)"), 200, [
    { name: "saw", makers: { name: "Bosk" } },
  ]],
  ...answers()`
    QUERY /tools {Content-Type: application/x-www-form-urlencoded; charset=UTF-8} {Range: 1-1}
      Prefer: count=exact
      Accept: text/csv
      with "select=id,name&order=id&makers.name=eq.Bosk"
      400 SVC108 | 'makers' is not an embedded resource in this request |  | Verify that 'makers' is included in the 'select' query parameter.
    QUERY /tools {Content-Type: Application/X-WWW-Form-Urlencoded;charset=UTF-8} {Range: 1-1}
      Prefer: count=exact
      Accept: text/csv
      with "select=id,name&order=id"
      206 "id,name\n2,drill"
      Content-Range: 1-1/3
      Preference-Applied: count=exact
    QUERY /tools {Content-Type: application/x-www-form-urlencoded} {Accept-Profile: other}
      Content-Profile: nope
      with "select=name"
      200 [{"name":"other"}]
      Content-Profile: other
  `,
  ["QUERY /a%20b%2Fc", send("select=id"), 200, [{ id: 4 }], { Location: "/a%20b%2Fc?select=id" }],
  ["QUERY /tools", send("id=eq.1&select=id", { Accept: "application/vnd.svc.object+json" }), 200, {
    id: 1,
  }],
]);

suite.rows("POST to $query reads a relation", [
  ["POST /tools/$query", send("select=id&id=in.(1,3)&order=id"), 200, [{ id: 1 }, { id: 3 }], {
    "Content-Location": "/tools?id=in.%281%2C3%29&order=id&select=id",
    Location: null,
    "Accept-Query": formQuery,
  }],
  [
    "POST /tools/%24query?limit=1",
    send("select=id&order=id.desc", { "Content-Type": "text/plain" }),
    200,
    [{ id: 3 }],
    { "Content-Location": "/tools?limit=1&order=id.desc&select=id" },
  ],
  ...answers({ headers: { "Content-Type": "application/x-www-form-urlencoded" } })`
    POST /%74ools/$query with "select=id&id=eq.1" | 200 [{"id":1}]
    POST /tools/$query {Accept-Profile: other} with "select=name" | 200 [{"name":"other"}]
    POST /$query/$query with "select=id" | 200 [{"id":5}]
    // A form with a method for a proxy changes nothing: the path decides.
    POST /tools/$query {X-HTTP-Method-Override: POST} {X-HTTP-Method: DELETE}
      with "select=id&id=eq.1"
      200 [{"id":1}]
  `,
]);

suite.rows("QUERY calls a function", [
  ...answers()`
    QUERY /rpc/named {Content-Type: application/x-www-form-urlencoded} with "prefix=s&select=id"
      200 [{"id":1}]
      Location: /rpc/named?prefix=s&select=id
      no Content-Location
      Accept-Query: "application/x-www-form-urlencoded", "application/json"
    QUERY /rpc/named?select=id with {"prefix":"s","ids":[3]}
      200 [{"id":1},{"id":3}]
      no Location
      no Content-Location
      Accept-Query: "application/x-www-form-urlencoded", "application/json"
    QUERY /rpc/named?select=id&id=gt.1&order=id.desc with {"prefix":"","ids":[]}
      200 [{"id":3},{"id":2}]
    QUERY /rpc/named?select=id {Range: 1-1} {Prefer: count=exact} with {"prefix":""}
      206 [{"id":2}]
      Content-Range: 1-1/3
    POST /rpc/named/$query?select=id with {"prefix":"d"}
      200 [{"id":2}]
      no Content-Location
      Accept-Query: "application/x-www-form-urlencoded", "application/json"
  `,
  ["POST /rpc/named/$query", send("prefix=d&select=id"), 200, [{ id: 2 }], {
    "Content-Location": "/rpc/named?prefix=d&select=id",
    Location: null,
  }],
  ["QUERY /rpc/request_line", send(""), 200, "QUERY /rpc/request_line on"],
  ["POST /rpc/request_line/$query", send(""), 200, "POST /rpc/request_line/$query on"],
  ["POST /rpc/request_line/$query", { body: {} }, 200, "POST /rpc/request_line/$query on"],
  ["QUERY /rpc/nothing", send(""), 204, undefined, { "Accept-Query": anyQuery }],
  // `/rpc/$query` is a function of that name.
  ["POST /rpc/$query", { body: {} }, 200, "called"],
  ["QUERY /rpc/$query", send(""), 200, "called"],
  ["POST /rpc/$query/$query", send(""), 200, "called"],
]);

const readOnly = errorBody("25006 | cannot execute INSERT in a read-only transaction");

suite.rows("QUERY never writes", [
  ["QUERY /rpc/add_tool", { as: "writer", body: { name: "x" } }, 405, readOnly],
  ["QUERY /rpc/add_tool", { as: "writer", ...send("name=x") }, 405, readOnly],
  ["POST /rpc/add_tool/$query", { as: "writer", body: { name: "x" } }, 405, readOnly],
  ["POST /rpc/add_tool/$query", { as: "writer", ...send("name=x") }, 405, readOnly],
  ...answers({ as: "writer", ...send("select=id&id=eq.9", { Prefer: "return=representation" }) })`
    POST /tools/$query | 200 []
  `,
]);

const unsupported = (type: string) => errorBody(`SVC107 | Content-Type not acceptable: ${type}`);
const acceptForm = { "Accept-Query": formQuery };
const acceptAny = { "Accept-Query": anyQuery };

suite.rows("QUERY refuses other content types", [
  ["QUERY /tools", { body: "select=id" }, 415, unsupported("none"), acceptForm],
  ["QUERY /tools", {}, 415, unsupported("none"), acceptForm],
  ["QUERY /tools", { body: {} }, 415, unsupported("application/json"), acceptForm],
  ...answers()`
    QUERY /tools {Content-Type: text/plain} with "select=id"
      415 SVC107 | Content-Type not acceptable: text/plain
      Accept-Query: "application/x-www-form-urlencoded"
    POST /tools/$query with {}
      415 SVC107 | Content-Type not acceptable: application/json
      Accept-Query: "application/x-www-form-urlencoded"
    QUERY /rpc/named {Content-Type: text/csv} with "prefix=s"
      415 SVC107 | Content-Type not acceptable: text/csv
      Accept-Query: "application/x-www-form-urlencoded", "application/json"
  `,
]);

const unreadable = errorBody("SVC178 | The query cannot be read");
const parameters = (count: number) => `select=id&order=id&limit=1${"&id=lt.9".repeat(count - 3)}`;

suite.rows("QUERY refuses hostile bodies", [
  ["QUERY /tools", send(Uint8Array.from([0x69, 0x64, 0x3d, 0xff])), 400, unreadable],
  ["QUERY /tools", send(Uint8Array.from([0xc3])), 400, unreadable],
  ["QUERY /tools", send("name=eq.%00"), 400, unreadable],
  ["QUERY /tools", send("name=eq.\0"), 400, unreadable],
  ...answers({ headers: { "Content-Type": "application/x-www-form-urlencoded" } })`
    QUERY /tools?name=eq.%00 with "select=id"
      400 SVC100 | "failed to parse query parameter (eq.%00)" (line 1, column 4) | unexpected "%00": PostgreSQL has no text with the character U+0000
  `,
  ["QUERY /tools", send("name=eq.%2500&select=id"), 200, []],
  ["QUERY /tools", send("name=eq.%FF&select=id"), 200, []],
  ["QUERY /tools", send("\uFEFFselect=id&id=eq.1"), 200, [{ id: 1 }]],
  ["QUERY /tools", send(parameters(1_000)), 200, [{ id: 1 }]],
  [
    "QUERY /tools",
    send(parameters(10_001)),
    ...answer("400 SVC177 | The query is too complex | More than 10000 parameters"),
  ],
  ...([
    [`and=(${"id.gt.1,".repeat(10_000)}id.lt.9)`, "10000 conditions"],
    [`having=(${"id.max().gt.1,".repeat(10_000)}id.lt.9)`, "10000 conditions"],
    ["or=(id.gt.1,id.lt.9)&".repeat(1_001), "1000 groups of conditions"],
    [`select=${"id,".repeat(10_000)}id`, "10000 items of 'select'"],
    [`select=${"makers(),".repeat(1_000)}makers()`, "1000 embeds"],
    [`order=${"id,".repeat(200_000)}id`, "10000 terms of 'order'"],
    // The rest of the text is not read.
    [`select=${"id,".repeat(10_000)}id,(`, "10000 items of 'select'"],
    [`order=${"id,".repeat(10_000)}id,(`, "10000 terms of 'order'"],
    [`or=(${"id.gt.1,".repeat(10_000)}id.lt.9,(`, "10000 conditions"],
    [`select=id${"->a".repeat(10_001)}(`, "10000 steps into JSON"],
    [`columns=${"id,".repeat(10_000)}id,(`, "10000 names of 'columns'"],
    [`distinct=${"id,".repeat(32)}id,(`, "32 terms of 'distinct'"],
  ] as const).map(([body, things]) =>
    [
      "QUERY /tools",
      send(body),
      400,
      errorBody(`SVC177 | The query is too complex | More than ${things}`),
    ] as const
  ),
  [
    "QUERY /tools",
    send(`limit=${"9".repeat(500_000)}`),
    400,
    errorBody(`22003 | value "${"9".repeat(1000)}" is out of range for type bigint`),
  ],
  ["QUERY /tools", send(`select=id&order=id&limit=${"0".repeat(2000)}1`), 200, [{ id: 1 }]],
  [
    "QUERY /rpc/named",
    send('{"prefix":', { "Content-Type": "application/json" }),
    ...answer("400 SVC102 | Empty or invalid json | The text ends early"),
  ],
  ...answers({ headers: { "Content-Type": "application/x-www-form-urlencoded" } })`
    QUERY /tools with "select=id&id=eq.(1" | 400 22P02 | invalid input syntax for type integer: "(1"
    QUERY /tools with "having=(x.eq.1"
      400 SVC100 | a ) is missing | "failed to parse logic tree ((x.eq.1)" (line 1, column 8): unexpected end of input expecting "," or ")"
  `,
]);

suite.rows("other methods and paths stay as they are", [
  ...answers()`
    GET /tools/$query | 405 SVC117 | Unsupported HTTP method: GET
  `,
  ...["PUT", "PATCH", "DELETE", "QUERY"].map((method) =>
    [
      `${method} /tools/$query`,
      send("id=eq.1"),
      405,
      { code: "SVC117", details: null, hint: null, message: `Unsupported HTTP method: ${method}` },
    ] as Row
  ),
  ...answers()`
    GET /rpc/named/$query | 405 SVC101 | Cannot use the GET method on RPC
  `,
  ["query /tools", send("select=id"), ...answer("405 SVC117 | Unsupported HTTP method: query")],
  ["QUERY /", send("select=id"), ...answer("405 SVC117 | Unsupported HTTP method: QUERY")],
  ...["/tools//$query", "/a/tools/$query", "//$query", "/tools/$query/", "/tools/$query/$query"]
    .map((path) =>
      [
        `POST ${path}`,
        send(""),
        ...answer("404 SVC125 | Invalid path specified in request URL"),
      ] as Row
    ),
  ...answers({ headers: { "Content-Type": "application/x-www-form-urlencoded" } })`
    POST /nope/$query with "select=id"
      404 SVC205 | Could not find the table 'api.nope' in the schema cache
    // No header changes the method of a request.
    POST /tools?select=id {X-HTTP-Method-Override: QUERY} {Prefer: return=representation} as writer
      with "id=9&name=x"
      201 [{"id":9}]
  `,
  ["GET /$query", {}, 200, [{ id: 5 }]],
]);

suite.rows("OPTIONS lists QUERY", [
  ["OPTIONS /tools", {}, 200, undefined, {
    Allow: "OPTIONS,GET,HEAD,QUERY,POST,PUT,PATCH,DELETE",
    ...acceptForm,
  }],
  ["OPTIONS /rpc/named", {}, 200, undefined, {
    Allow: "OPTIONS,GET,HEAD,QUERY,POST",
    ...acceptAny,
  }],
  ["OPTIONS /rpc/add_tool", {}, 200, undefined, { Allow: "OPTIONS,POST", "Accept-Query": null }],
  ["OPTIONS /", {}, 200, undefined, { Allow: "OPTIONS,GET,HEAD", "Accept-Query": null }],
  ["OPTIONS /tools/$query", {}, 200, undefined, { Allow: "OPTIONS,POST", ...acceptForm }],
  ["OPTIONS /rpc/named/$query", {}, 200, undefined, { Allow: "OPTIONS,POST", ...acceptAny }],
  ...answers()`
    OPTIONS /nope/$query | 404 SVC205 | Could not find the table 'api.nope' in the schema cache
    OPTIONS /tools {Origin: http://a.example} {Access-Control-Request-Method: QUERY}
      200
      Access-Control-Allow-Methods: GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD, QUERY
    OPTIONS /tools {Origin: http://a.example} {Access-Control-Request-Method: GET}
      200
      Access-Control-Allow-Methods: GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD
  `,
]);

suite.rows("a query has cursors in its URL, and its body is sent with each link", [
  ["QUERY /tools?after=", send("select=id&limit=2&order=id.desc"), 200, [{ id: 3 }, { id: 2 }], {
    Link: '<?after=>; rel="first", <?after=WzEsIjI0MTMzZDYxIixbIjIiXV0>; rel="next", ' +
      '<?before=>; rel="last"',
  }],
  ["POST /tools/$query?before=", send("select=id&limit=1&order=id"), 200, [{ id: 3 }], {
    Link: '<?after=>; rel="first", <?before=WzEsIjhhNThhZGQ1IixbIjMiXV0>; rel="prev", ' +
      '<?before=>; rel="last"',
  }],
  ["QUERY /tools", send("select=id&limit=2&order=id.desc&after="), 200, [{ id: 3 }, { id: 2 }], {
    Link: null,
  }],
]);

suite.test("a page of another origin sees Accept-Query", async (api) => {
  const response = await api("QUERY /tools", send("id=eq.1", { Origin: "http://a.example" }));
  strictEqual(
    response.headers.get("Access-Control-Expose-Headers")!.split(", ").at(-1),
    "Accept-Query",
  );
  const read = await api("GET /tools?id=eq.1", { headers: { Origin: "http://a.example" } });
  strictEqual(read.headers.get("Access-Control-Expose-Headers")!.includes("Accept-Query"), false);
});

suite.test("50,000 ids arrive as one parameter, and the answer names no URL", async (api) => {
  const ids = Array.from({ length: 50_000 }, (_, index) => index + 1);
  const body = send(`select=id&order=id&id=in.(${ids})`);
  const query = await api("QUERY /tools", body);
  deepStrictEqual(await query.json(), [{ id: 1 }, { id: 2 }, { id: 3 }]);
  strictEqual(query.headers.get("Location"), null);
  const post = await api("POST /tools/$query", body);
  strictEqual(post.status, 200);
  strictEqual(post.headers.get("Content-Location"), null);
  deepStrictEqual(await post.json(), [{ id: 1 }, { id: 2 }, { id: 3 }]);
});

suite.test("a compressed body is a query, too", async (api) => {
  const stream = new Blob(["select=id&id=eq.2"]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  const body = new Uint8Array(await new Response(stream).arrayBuffer());
  const response = await api("QUERY /tools", send(body, { "Content-Encoding": "gzip" }));
  deepStrictEqual(await response.json(), [{ id: 2 }]);
});

suite.test("requests of one shape share a plan, and no values", async (api) => {
  for (const id of [1, 2, 3, 1, 2]) {
    const [get, query, post, call] = await Promise.all([
      api(`GET /tools?select=id&id=eq.${id}`),
      api("QUERY /tools", send(`select=id&id=eq.${id}`)),
      api("POST /tools/$query", send(`select=id&id=eq.${id}`)),
      api("QUERY /rpc/named?select=id", { body: { prefix: "none", ids: [id] } }),
    ]);
    for (const response of [get, query, post, call]) {
      deepStrictEqual(await response.json(), [{ id }]);
    }
    const url = `/tools?id=eq.${id}&select=id`;
    strictEqual(get.headers.get("Content-Location"), url);
    strictEqual(query.headers.get("Location"), url);
    strictEqual(post.headers.get("Content-Location"), url);
    strictEqual(get.headers.get("Accept-Query"), null);
  }
});

const limited = serviceSuite("query_method", {
  ...config,
  serverMaxQueryBody: 100,
  serverMaxBodySize: 120,
}, { title: "QUERY of limited length" });

const tooLong = (length: number | null, limit = 100) => ({
  code: limit === 100 ? "SVC176" : "SVC130",
  details: length === null ? null : `The body has ${length} bytes`,
  hint: null,
  message: `The query has more than ${limit} bytes`,
});

limited.rows("server-max-query-body bounds bodies", [
  ["QUERY /tools", send(`select=id&id=in.(${"1".padStart(82, "0")})`), 200, [{ id: 1 }]],
  [
    "QUERY /tools",
    send(`select=id&id=in.(${"1".padStart(83, "0")})`, { "Content-Length": "101" }),
    413,
    tooLong(101),
  ],
  ["POST /tools/$query", send(`select=id&id=in.(${"1".padStart(90, "0")})`), 413, tooLong(null)],
  ["QUERY /rpc/named", { body: { prefix: "s".repeat(100) } }, 413, tooLong(null)],
  ["POST /tools", { as: "writer", body: { id: 9, name: "x".repeat(90) } }, 201, undefined],
]);

const lower = serviceSuite("query_method", { ...config, serverMaxBodySize: 10 }, {
  title: "QUERY under server-max-body-size",
});

lower.rows("the lower limit counts", [
  [
    "QUERY /tools",
    send("select=id&id=eq.1"),
    ...answer("413 SVC130 | Request body too large | At most 10 bytes are accepted"),
  ],
]);

const counted = serviceSuite("query_method", {
  ...config,
  rateLimits: "reads: 2/1d by all on GET /tools; writes: 1/1d by all on POST /tools",
}, { title: "QUERY and rate-limits" });

counted.test("policies of GET count queries, and those of POST do not", async (api) => {
  const statuses: number[] = [];
  for (const line of ["QUERY /tools", "POST /tools/%24query", "POST /tools/$query", "GET /tools"]) {
    const parts = line.startsWith("GET") ? {} : send("select=id&limit=1");
    statuses.push((await api(line, parts)).status);
  }
  deepStrictEqual(statuses, [200, 200, 429, 429]);
  const inserted = await api("POST /tools", { as: "writer", body: { id: 9 } });
  strictEqual(inserted.status, 201);
});

const withCookies = serviceSuite("query_method", { ...config, jwtCookieName: "token" }, {
  title: "QUERY from other sites",
});

withCookies.answers("a page of another site cannot post with cookies", {
  headers: { "Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site" },
})`
  POST /tools/$query {Origin: http://evil.example} with "select=id"
    403 SVC313 | Cross-origin request refused |  | Send the token in the Authorization header
  POST /tools/$query as writer with "select=id&id=eq.1" | 200 [{"id":1}]
`;

const off = serviceSuite("query_method", { ...config, serverQueryMethod: false }, {
  title: "QUERY switched off",
});

off.rows("QUERY is no method", [
  ["QUERY /tools", send("select=id"), ...answer("405 SVC117 | Unsupported HTTP method: QUERY")],
  ...answers()`
    QUERY /rpc/named with {"prefix":"s"} | 405 SVC101 | Cannot use the QUERY method on RPC
    POST /tools/$query {Content-Type: application/x-www-form-urlencoded} with "select=id"
      404 SVC125 | Invalid path specified in request URL
    OPTIONS /tools
      200
      Allow: OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE
      no Accept-Query
    OPTIONS /tools {Origin: http://a.example} {Access-Control-Request-Method: QUERY}
      200
      no Access-Control-Allow-Methods
  `,
]);

const pgrst = serviceSuite("query_method", { ...config, dialect: "pgrst" }, {
  title: "QUERY in pgrst",
});

pgrst.rows("OPTIONS stays PostgREST's", [
  ["QUERY /tools", send("select=id&id=eq.1"), 200, [{ id: 1 }], { ...acceptForm }],
  ["QUERY /tools", { body: {} }, 415, { ...unsupported("application/json"), code: "PGRST107" }, {
    ...acceptForm,
  }],
  ["OPTIONS /tools", {}, 200, undefined, {
    Allow: "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE",
    "Accept-Query": null,
  }],
]);
