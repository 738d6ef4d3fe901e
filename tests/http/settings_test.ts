import { strictEqual } from "node:assert/strict";
import { apiSuite, serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody } from "../support/handler/rows.ts";

const base = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;

/** The value of a setting in a request's transaction. */
const setting = (name: string) => `GET /rpc/setting?name=${name}`;

const suite = apiSuite("settings", {
  ...base,
  dbPreRequest: { schema: "internal", name: "check_request" },
  appSettings: [["app.settings.region", "eu"], ["app.settings.empty", ""]],
});

suite.rows("settings of the role", [
  [setting("statement_timeout"), { as: "settings_clerk" }, 200, "10s"],
  [setting("work_mem"), { as: "settings_clerk" }, 200, "5MB"],
  [setting("datestyle"), { as: "settings_boss" }, 200, "SQL, DMY"],
  [setting("statement_timeout"), { as: 'Settings "Odd"' }, 200, "11s"],
  [setting("statement_timeout"), {}, 200, "0"],
  [setting("statement_timeout"), { as: "settings_boss" }, 200, "0"],
  [setting("nobody.knows"), { as: "settings_clerk" }, 200, null],
  [setting("log_min_duration_sample"), { as: "settings_boss" }, 200, "8s"],
]);

suite.rows(
  "a SECURITY DEFINER function has the rights of its owner, and the claims of the caller",
  [
    ["GET /rpc/rights_of_owner", { as: { role: "settings_clerk", sub: "x" } }, 200, {
      isOwner: true,
      role: "settings_clerk",
      sub: "x",
    }],
  ],
);

suite.rows("isolation of the role, and of the function before it", [
  [setting("transaction_isolation"), { as: "settings_clerk" }, 200, "repeatable read"],
  [setting("transaction_isolation"), { as: "settings_boss" }, 200, "read committed"],
  ["GET /rpc/isolated", { as: "settings_clerk" }, 200, "serializable"],
]);

suite.rows("settings of the function go before those of the role", [
  ["GET /rpc/timed?name=statement_timeout", { as: "settings_clerk" }, 200, "4s"],
  ["POST /rpc/timed", { body: { name: "statement_timeout" } }, 200, "4s"],
]);

suite.rows("app.settings", [
  [setting("APP.SETTINGS.region"), { as: "settings_clerk" }, 200, "eu"],
  [setting("app.settings.empty"), {}, 200, ""],
]);

suite.rows("the request", [
  [setting("request.jwt.claim.sub"), { as: { role: "settings_clerk", sub: "x" } }, 200, null],
  ["GET /rpc/s%65tting?name=request.path", {}, 200, "/rpc/s%65tting"],
  [
    setting("request.headers"),
    { headers: { "X-One": "a, b", "Accept": "*/*", "Cookie": "a=1" } },
    200,
    '{"accept":"*/*","x-one":"a, b"}',
  ],
  [setting("request.header.accept"), {}, 200, null],
]);

const noPrivilege = errorBody("42501 | insufficient_privilege |  | account closed");

suite.rows("db-pre-request", [
  [setting("x"), { headers: { "X-Check": "refuse" } }, 401, noPrivilege, {
    "WWW-Authenticate": "Bearer",
  }],
  ...answers()`
    GET /rpc/setting?name=x {X-Check: refuse} as settings_clerk
      403 42501 | insufficient_privilege |  | account closed
      no WWW-Authenticate
      Proxy-Status: SVC; error=42501
    GET /rpc/setting?name=x {X-Check: plain} | 400 P0001 | Disabled |  | h
  `,
  [setting("role"), { headers: { "X-Check": "headers" } }, 200, "anon", { "X-Checked": "yes" }],
  [setting("role"), { headers: { "X-Check": "boss" }, as: "settings_clerk" }, 200, "settings_boss"],
  ["OPTIONS /rpc/setting", { headers: { "X-Check": "refuse" } }, 200, undefined],
]);

const legacy = serviceSuite("settings", {
  ...base,
  jwtClaimSettings: true,
  dbPreRequest: { schema: "internal", name: "check_request" },
}, { title: "settings by claim" });

const claims = {
  role: "settings_clerk",
  sub: 'a "b" é',
  n: 12345678901234,
  list: [1, { a: null }],
  nothing: null,
  "http://x/y": true,
  "a.b": "dotted",
  "x'; select 1; --": "no name",
};

legacy.rows("each claim with a possible name is a setting of its own", [
  [setting("request.jwt.claim.sub"), { as: claims }, 200, 'a "b" é'],
  [setting("request.jwt.claim.role"), { as: claims }, 200, "settings_clerk"],
  [setting("request.jwt.claim.n"), { as: claims }, 200, "12345678901234"],
  [setting("request.jwt.claim.list"), { as: claims }, 200, '[1,{"a":null}]'],
  [setting("request.jwt.claim.a.b"), { as: claims }, 200, null],
  [setting("request.jwt.claim.role"), {}, 200, "anon"],
  [setting("app.seen"), { as: claims, headers: { "X-Check": "claim" } }, 200, 'a "b" é'],
]);

legacy.test("claims of one request are not those of the next", async (api) => {
  await api(setting("request.jwt.claim.sub"), { as: claims });
  const response = await api(setting("request.jwt.claim.sub"));
  strictEqual(await response.json() || null, null);
});

const hoisted = serviceSuite("settings", { ...base, dbHoistedTxSettings: ["work_mem"] }, {
  title: "settings that are hoisted",
});

hoisted.rows("db-hoisted-tx-settings names the functions' settings that count", [
  ["GET /rpc/timed?name=work_mem", {}, 200, "6MB"],
]);

const without = serviceSuite("settings", { ...base, dbConfig: false }, {
  title: "without db-config",
});

without.rows("db-config = false leaves the roles' settings alone", [
  [setting("statement_timeout"), { as: "settings_clerk" }, 200, "0"],
  [setting("transaction_isolation"), { as: "settings_clerk" }, 200, "read committed"],
]);

// PGlite has no timers of its own.
const timed = serviceSuite("settings", base, { title: "statement timeout" });

timed.answers("of a function ends its call")`
  GET /rpc/timeout_of_statement
    500 57014 | canceling statement due to statement timeout
    Content-Type: application/json; charset=utf-8
    Proxy-Status: SVC; error=57014
    no Retry-After
`;
