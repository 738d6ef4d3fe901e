/** Which of several errors is answered, and what the errors' headers and bodies have in common. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";

const base = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;
const suite = serviceSuite("dialect", base, { title: "errors" });

type Parts = Row[1];

const badToken: Parts = { headers: { Authorization: "Bearer x" } };
const badProfile: Parts = { headers: { "Accept-Profile": "nope", "Content-Profile": "nope" } };
const badJson: Parts = { body: "{", headers: { "Content-Type": "application/json" } };
const badMedia: Parts = { headers: { Accept: "image/png" } };
const badPreference: Parts = { headers: { Prefer: "handling=strict, x=y" } };
const both = (...parts: readonly Parts[]): Parts => ({
  ...Object.assign({}, ...parts),
  headers: Object.assign({}, ...parts.map(({ headers }) => headers)),
});

/** What is wrong with a request in several ways, and which of them is told. */
const priorities: readonly (readonly [line: string, parts: Parts, status: number, code: string])[] =
  [
    ["GET /a/b/c", badToken, 401, "SVC301"],
    ["OPTIONS /nothing", badToken, 401, "SVC301"],
    ["PROPFIND /nothing", badToken, 401, "SVC301"],
    ["GET /a/b/c", badProfile, 404, "SVC125"],
    ["PROPFIND /nothing", badProfile, 406, "SVC106"],
    ["GET /nothing", badProfile, 406, "SVC106"],
    ["PROPFIND /nothing", {}, 405, "SVC117"],
    ["DELETE /rpc/fail?x=", {}, 405, "SVC101"],
    ["GET /nothing?select=(", {}, 400, "SVC100"],
    ["GET /nothing?limit=-1&select=(", {}, 400, "SVC100"],
    ["GET /nothing?limit=-1", {}, 416, "SVC103"],
    ["POST /nothing", badJson, 400, "SVC102"],
    ["POST /nothing", both(badJson, badPreference, badMedia), 400, "SVC102"],
    ["POST /nothing", { body: "x", headers: { "Content-Type": "image/png" } }, 415, "SVC107"],
    ["POST /nothing?columns=x", { body: {} }, 404, "SVC205"],
    ["GET /nothing?select=rel(*)", {}, 404, "SVC205"],
    ["GET /rpc/nothing?select=rel(*)", {}, 404, "SVC202"],
    ["GET /items?select=rel(*)&nope.id=eq.1", {}, 400, "SVC108"],
    ["GET /items?select=rel(*)&order=other(x)", {}, 400, "SVC200"],
    ["GET /items?select=rel(*),id.sum()", {}, 400, "SVC200"],
    ["GET /items?select=id.sum()", badMedia, 400, "SVC123"],
    ["GET /items", both(badMedia, badPreference), 406, "SVC107"],
    ["PUT /items?name=eq.x", { body: { nope: 1 } }, 405, "SVC105"],
    ["PUT /items?id=eq.1", both({ body: { id: 1, nope: 1 } }, badPreference), 400, "SVC204"],
    ["PATCH /items", both({ body: { nope: 1 } }, badPreference), 400, "SVC204"],
    ["PATCH /items", both({ body: { name: "x" } }, badPreference, badMedia), 400, "SVC122"],
    ["PATCH /items", both({ body: { name: "x" } }, badMedia), 406, "SVC107"],
    ["PATCH /items", { body: { name: "x" } }, 401, "42501"],
    [
      "GET /items?id=eq.x",
      { as: "nobody_at_all", headers: { Prefer: "timezone=Nowhere" } },
      400,
      "22023",
    ],
  ];

for (const [line, parts, status, code] of priorities) {
  suite.test(`of several errors the first is told: ${line} ${JSON.stringify(parts)}`, async (api) => {
    const response = await api(line, parts);
    const body = await response.json();
    deepStrictEqual([response.status, body.code], [status, code]);
    strictEqual(response.headers.get("Proxy-Status"), `SVC; error=${code}`);
    strictEqual(response.headers.get("Content-Type"), "application/json; charset=utf-8");
    deepStrictEqual(Object.keys(body), ["code", "details", "hint", "message"]);
    deepStrictEqual(
      ["Content-Range", "Preference-Applied", "Server-Timing", "Vary"].map((name) =>
        response.headers.get(name)
      ),
      [null, null, null, "Accept, Prefer, Range, Authorization, Origin"],
    );
  });
}

suite.test("HEAD gets an error's headers without its body", async (api) => {
  const get = await api("GET /nothing");
  const head = await api("HEAD /nothing");
  deepStrictEqual([...head.headers], [...get.headers]);
  strictEqual(await head.text(), "");
  strictEqual(head.headers.get("Content-Length"), String((await get.arrayBuffer()).byteLength));
});

const raise = (state: string, message: string, detail?: string): Parts => ({
  body: { state, message, ...(detail === undefined ? {} : { detail }) },
});

const told = (code: string, message: string, details: string | null = null) =>
  errorBody(`${code} | ${message} | ${details ?? ""}`);

suite.rows("raises", [
  ["POST /rpc/fail", raise("PT503", "Busy"), 503, told("PT503", "Busy"), { "Retry-After": "1" }],
  ["POST /rpc/fail", raise("PT999", "Odd"), 500, told("PT999", "Odd"), { "Retry-After": null }],
  ...answers()`
    POST /rpc/fail
      with {"state":"SVC00","message":"{\"code\":\"123\",\"message\":\"ABC\",\"details\":\"DEF\"
        +,\"hint\":\"XYZ\"}","detail":"{\"status\":432,\"status_text\":\"My Custom
        + Status\",\"headers\":{\"X-Header\":\"str\"}}"}
      432 123 | ABC | DEF | XYZ
      X-Header: str
      Proxy-Status: SVC; error=123
    POST /rpc/fail
      with {"state":"SVC00","message":"{\"code\":\"1\"}",
        +"detail":"{\"status\":401,\"headers\":{}}"}
      400 SVC121 | Could not parse JSON in the "RAISE SQLSTATE 'SVC'" error | Invalid JSON value for MESSAGE: '{"code":"1"}' | MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'.
  `,
]);

suite.test("PTnnn and full control say the reason phrase", async (api) => {
  strictEqual((await api("POST /rpc/fail", raise("PT402", "Pay now"))).statusText, "Pay now");
  const message = '{"code":"1","message":"m"}';
  const detail = '{"status":419,"status_text":"Page Expired","headers":{}}';
  strictEqual(
    (await api("POST /rpc/fail", raise("SVC00", message, detail))).statusText,
    "Page Expired",
  );
});

const minimal = serviceSuite("dialect", { ...base, clientErrorVerbosity: "minimal" }, {
  title: "client-error-verbosity = minimal",
});

minimal.rows("leaves code and message", [
  ...answers()`
    GET /nothing
      404 {"code":"SVC205","message":"Could not find the table 'api.nothing' in the schema cache"}
    POST /rpc/fail with {"state":"P0001","message":"I refuse!","detail":"d"}
      400 {"code":"P0001","message":"I refuse!"}
    GET /items?offset=99 {Prefer: count=exact}
      416 {"code":"SVC103","message":"Requested range not satisfiable"}
  `,
  ["GET /items", badToken, 401, { code: "SVC301", message: "Expected 3 parts in JWT; got 1" }],
]);

const closed = serviceSuite("dialect", { dbSchemas: ["api"], jwtSecret: null }, {
  title: "neither anonymous role nor secret",
});

closed.rows("says what is missing", [
  ["GET /items", {}, 401, told("SVC302", "Anonymous access is disabled"), {
    "WWW-Authenticate": "Bearer",
  }],
  ["GET /items", { as: "writer" }, 500, told("SVC300", "Server lacks JWT secret"), {
    "WWW-Authenticate": null,
  }],
  ...answers({ headers: { Authorization: "Bearer" } })`
    GET /items | 500 SVC300 | Server lacks JWT secret
  `,
]);
