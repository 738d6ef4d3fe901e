import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";

const config = { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: "commit" } as const;
const suite = serviceSuite("overrides", config);

const query = (parts: Record<string, string>) => new URLSearchParams(parts).toString();
const headersOf = (...list: readonly unknown[]) => query({ headers: JSON.stringify(list) });

const invalidStatus = errorBody("SVC112 | response.status guc must be a valid status code");
const invalidHeaders = errorBody(
  "SVC111 | response.headers guc must be a JSON array composed of objects with a single key and a string value",
);

suite.rows("response.status", [
  ["GET /rpc/respond", {}, 200, "done"],
  ["GET /rpc/respond?status=201", {}, 201, "done"],
  ["GET /rpc/respond?status=0418", {}, 418, "done"],
  ["GET /rpc/respond?status=599", {}, 599, "done"],
  ["HEAD /rpc/respond?status=202", {}, 202, undefined],
  ["GET /rpc/respond_void?status=202", {}, 202, undefined, { "Content-Type": null }],
  ["HEAD /rpc/respond_void?status=202", {}, 202, undefined],
  ["GET /rpc/respond_rows?status=203&limit=1&select=id", {}, 203, [{ id: 1 }]],
  ...[204, 205, 304].map((status): Row => [
    `GET /rpc/respond?status=${status}`,
    {},
    status,
    undefined,
    { "Content-Type": null, "Content-Length": null },
  ]),
  ["POST /logged", { body: { id: 11, status: "202", headers: null } }, 202, undefined, {
    "Content-Length": "0",
  }],
  ["PATCH /logged?id=eq.1", { body: { status: "202", headers: null } }, 202, undefined],
  ["PUT /logged?id=eq.1", { body: { id: 1, status: "202", headers: null } }, 202, undefined],
]);

suite.rows("response.status that is none", [
  ...["abc", "-1", "+200", " 404", "99", "100", "199", "600", "20000", "99999999999999999999"].map((
    status,
  ): Row => [
    `GET /rpc/respond?${query({ status })}`,
    {},
    500,
    invalidStatus,
    { "Proxy-Status": "SVC; error=SVC112" },
  ]),
  // The status is looked at first.
  [`GET /rpc/respond?${query({ status: "abc", headers: "nonsense" })}`, {}, 500, invalidStatus],
]);

suite.rows("response.headers", [
  [`GET /rpc/respond?${headersOf({ "X-One": "1" })}`, {}, 200, "done", { "X-One": "1" }],
  [`HEAD /rpc/respond?${headersOf({ "X-One": "1" })}`, {}, 200, undefined, { "X-One": "1" }],
  [`GET /rpc/respond_void?${headersOf({ "X-One": "1" })}`, {}, 204, undefined, { "X-One": "1" }],
  [`GET /rpc/respond_rows?select=id&id=eq.1&${headersOf({ "X-One": "1" })}`, {}, 200, [{ id: 1 }], {
    "X-One": "1",
  }],
  [`GET /rpc/respond?headers=[]`, {}, 200, "done", {
    Vary: "Accept, Prefer, Range, Authorization, Origin",
  }],
  ...answers()`
    GET /rpc/respond?headers=%5B%7B%22vary%22%3A%22Cookie%22%7D%2C%7B%22content-range%22%3A%22x%22
      +%7D%2C%7B%22server%22%3A%22mine%22%7D%5D
      200 "done"
      Vary: Cookie, Authorization, Origin
      Content-Range: x
      Server: mine
    GET /rpc/respond?headers=%5B%7B%22Preference-Applied%22%3A%22own%22%7D%5D {Prefer: count=exact}
      200 "done"
      Preference-Applied: own
    // Nothing of the client's or the database's can end the head or the body early.
    GET /rpc/respond?headers=%5B%7B%22Content-Length%22%3A%221%22%7D%2C%7B%22Connection%22%3A%22cl
      +ose%22%7D%2C%7B%22Upgrade%22%3A%22h2c%22%7D%2C%7B%22transfer-encoding%22%3A%22chunked%22%7D
      +%2C%7B%22X%22%3A%22%22%7D%2C%7B%22Y%22%3A%22%C3%A9%22%7D%5D
      200 "done"
      Content-Length: 6
      no Connection
      no Upgrade
      no Transfer-Encoding
      no X
      Y: Ã©
    GET /rpc/respond?headers=%5B%7B%22Vary%22%3A%22%22%7D%5D
      200 "done"
      Vary: Authorization, Origin
    POST /logged {Prefer: return=headers-only}
      with {"id":12,"status":null,"headers":"[{\"Location\": \"/elsewhere\"}]"}
      201
      Location: /elsewhere
    PATCH /logged?id=eq.1 {Prefer: return=representation}
      with {"status":null,"headers":"[{\"X-One\": \"1\"}]"}
      200 [{"id":1,"status":null,"headers":"[{\"X-One\": \"1\"}]"}]
      X-One: 1
  `,
]);

suite.rows(
  "response.headers that are none",
  [
    "nonsense",
    "{}",
    "5",
    "null",
    '["a"]',
    "[null]",
    "[[]]",
    '[["a"]]',
    "[{}]",
    '[{"a":"b","c":"d"}]',
    '[{"a":1}]',
    '[{"a":null}]',
    '[{"a b":"c"}]',
    '[{"":"c"}]',
    '[{"a":"b\\r\\nSet-Cookie: c=d"}]',
    '[{"a\\r\\n":"b"}]',
    '[{"a":"\\u0000"}]',
  ].map((headers): Row => [
    `GET /rpc/respond?${query({ headers })}`,
    {},
    500,
    invalidHeaders,
    { "Proxy-Status": "SVC; error=SVC111", "Set-Cookie": null },
  ]),
);

suite.test("a repeated header is sent as often", async (api) => {
  const list = headersOf({ "Set-Cookie": "a=1" }, { "Set-Cookie": "b=2" });
  const response = await api(`GET /rpc/respond?${list}`);
  deepStrictEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
});

suite.test("errors and plain OPTIONS carry nothing of it", async (api) => {
  const failed = await api("POST /rpc/fail", { body: { state: "no" } });
  strictEqual(failed.status, 404);
  strictEqual(failed.headers.get("X-Lost"), null);
});

suite.test("what cannot be answered is not written", async (api) => {
  const count = async () =>
    (await api("GET /notes", { headers: { Prefer: "count=exact" } }))
      .headers.get("Content-Range");
  const before = await count();
  for (const given of [{ status: "abc" }, { headers: "nonsense" }, { headers: "[[]]" }]) {
    const response = await api("POST /rpc/respond_writing", { body: given });
    strictEqual(response.status, 500);
  }
  strictEqual(await count(), before);
});

suite.test("a body that is not sent leaves the connection free", async (api) => {
  for (let turn = 0; turn < 12; turn++) {
    const response = await api("GET /rpc/long_body?status=204");
    strictEqual(response.status, 204);
  }
  strictEqual((await api("GET /notes?select=id&limit=1")).status, 200);
});
