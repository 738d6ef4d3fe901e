/** `Idempotency-Key`: a write takes effect once, and repeated requests get its answer. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { createHandler } from "../../mod.ts";
import { type Api, apiSuite, serviceSuite } from "../support/handler/api.ts";
import { engines } from "../support/database/engines.ts";
import { holdLock } from "../support/database/held_lock.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";
import { testSecret } from "../support/handler/token.ts";

const config = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit-allow-override",
  batchMaxOperations: 10,
  idempotencyTable: { schema: "svc", name: "idempotency_keys" },
} as const;
const roles = ["anon", "writer", "clerk"];
const suite = apiSuite("idempotency", config, { title: "idempotency", roles });
const pgrst = serviceSuite("idempotency", { ...config, dialect: "pgrst" }, {
  title: "idempotency, pgrst",
  roles,
});

let keys = 0;

/** Returns a key that no other test uses. */
function freshKey(): string {
  return `key-${++keys}`;
}

function keyed(key: string, { headers, ...parts }: RequestParts = {}): RequestParts {
  return { ...parts, headers: { ...headers, "Idempotency-Key": key } };
}

const representation = { Prefer: "return=representation" } as const;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function answerOf(response: Response): Promise<Answer> {
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, body: await response.text(), headers };
}

async function errorOf(response: Response): Promise<string> {
  return `${response.status} ${(await response.json()).code}`;
}

async function ordersOf(api: Api, customer: string): Promise<number> {
  const response = await api(`GET /orders?customer=eq.${customer}&select=id`);
  return (await response.json()).length;
}

/** Sends a request twice, and checks that the second answer is the first one. */
async function sendTwice(api: Api, line: string, parts: RequestParts): Promise<Answer> {
  const request = keyed(freshKey(), parts);
  const first = await answerOf(await api(line, request));
  const second = await answerOf(await api(line, request));
  ok(first.status < 300, first.body);
  strictEqual(first.headers["idempotent-replayed"], undefined);
  deepStrictEqual(second, {
    ...first,
    headers: { ...first.headers, "idempotent-replayed": "true" },
  });
  return first;
}

const repeated: readonly (readonly [line: string, parts: RequestParts, status: number])[] = [
  ["POST /orders", { body: { customer: "Eve" } }, 201],
  ["POST /orders", { body: { customer: "Eve" }, headers: representation }, 201],
  ["POST /orders", { body: { customer: "Eve" }, headers: { Prefer: "return=headers-only" } }, 201],
  ["POST /orders?select=customer", { body: [{ customer: "Eve" }], headers: representation }, 201],
  ["POST /orders", { body: "customer\né", headers: { "Content-Type": "text/csv" } }, 201],
  ["PATCH /orders?id=eq.1", { body: { customer: "Eve" } }, 204],
  ["PATCH /orders?id=eq.1", { body: { customer: "Eve" }, headers: representation }, 200],
  [
    "PATCH /orders?id=eq.1",
    {
      body: '[{"op":"append","path":"/customer","value":"!"}]',
      headers: { "Content-Type": "application/vnd.svc.patch+json", ...representation },
    },
    200,
  ],
  ["PUT /orders?id=eq.2", { body: { id: 2, customer: "Fay", note: null } }, 204],
  ["DELETE /orders?id=eq.2", { headers: representation }, 200],
  ["DELETE /orders?id=eq.2", {}, 204],
  ["POST /rpc/count_call", { body: {} }, 200],
  ["POST /rpc/count_call", {}, 200],
  [
    "POST /rpc/count_call",
    { body: "label=a", headers: { "Content-Type": "application/x-www-form-urlencoded" } },
    200,
  ],
  ["POST /rpc/reverse_text", { body: "abc", headers: { "Content-Type": "text/plain" } }, 200],
  [
    "POST /rpc/reverse_bytes",
    {
      body: new Uint8Array([0, 255, 1]),
      headers: { "Content-Type": "application/octet-stream", Accept: "application/octet-stream" },
    },
    200,
  ],
];

for (const [line, parts, status] of repeated) {
  for (const each of [suite, pgrst]) {
    each.test(`a repeated ${line} ${JSON.stringify(parts)} gets the first answer`, async (api) => {
      const first = await sendTwice(api, line, parts);
      strictEqual(first.status, status);
    });
  }
}

suite.test("a repeated request has no effect, with and without a cached plan", async (api) => {
  for (let time = 1; time <= 4; time++) {
    await sendTwice(api, "POST /orders", { body: { customer: "Gil" } });
    strictEqual(await ordersOf(api, "Gil"), time);
  }
});

const others: readonly (readonly [line: string, parts: RequestParts])[] = [
  ["POST /orders", { body: { customer: "Ike" } }],
  ["POST /orders?select=id", { body: { customer: "Hal" } }],
  ["POST /pairs", { body: { customer: "Hal" } }],
  ["PATCH /orders", { body: { customer: "Hal" } }],
  ["POST /orders", { body: { customer: "Hal" }, headers: representation }],
  ["POST /orders", { body: { customer: "Hal" }, headers: { Accept: "text/csv" } }],
  [
    "POST /orders",
    { body: { customer: "Hal" }, headers: { "Content-Type": "application/json; charset=utf-8" } },
  ],
  ["POST /orders", { body: { customer: "Hal" }, headers: { "Content-Profile": "api" } }],
  ["POST /orders", { body: { customer: "Hal" }, headers: { "If-Match": '"a"' } }],
  ["POST /orders", { body: { customer: "Hal" }, headers: { "If-None-Match": "*" } }],
];

for (const each of [suite, pgrst]) {
  const prefix = each === suite ? "SVC" : "PGRST";
  each.test("a key of another request is refused", async (api) => {
    const key = freshKey();
    const first = { body: { customer: "Hal" } };
    strictEqual((await api("POST /orders", keyed(key, first))).status, 201);
    for (const [line, parts] of others) {
      const response = await api(line, keyed(key, parts));
      // A request that cannot be planned has an error of its own.
      const expected = line === "POST /pairs" ? `400 ${prefix}204` : `422 ${prefix}154`;
      strictEqual(await errorOf(response), expected, line);
    }
    strictEqual((await api("POST /orders?", keyed(key, first))).status, 201);
  });
}

suite.test("equivalent queries are one request", async (api) => {
  const key = freshKey();
  const parts = { body: { customer: "Jim" } };
  await api("PATCH /orders?id=eq.1&note=eq.x", keyed(key, parts));
  const second = await api("PATCH /orders?note=eq.%78&id=eq.1", keyed(key, parts));
  strictEqual(second.headers.get("Idempotent-Replayed"), "true");
});

suite.test("roles and subjects have keys of their own", async (api) => {
  const key = freshKey();
  const body = { customer: "Kim" };
  const callers = [undefined, "writer", { role: "writer", sub: "a" }, { role: "clerk", sub: "a" }];
  for (const as of [...callers, { role: "writer", sub: "b" }]) {
    const parts = as === undefined ? { body } : { body, as };
    const first = await api("POST /orders", keyed(key, parts));
    deepStrictEqual([first.status, first.headers.get("Idempotent-Replayed")], [201, null]);
    const second = await api("POST /orders", keyed(key, parts));
    deepStrictEqual([second.status, second.headers.get("Idempotent-Replayed")], [201, "true"]);
  }
  strictEqual(await ordersOf(api, "Kim"), 5);
});

suite.test("issuers have keys of their own", async (api) => {
  const key = freshKey();
  for (const iss of ["https://a.example", "https://b.example"]) {
    const as = { role: "writer", iss, sub: "a" };
    const response = await api("POST /orders", keyed(key, { as, body: { customer: "Kit" } }));
    deepStrictEqual([response.status, response.headers.get("Idempotent-Replayed")], [201, null]);
  }
});

const privileged: readonly (readonly [line: string, body: unknown])[] = [
  ["POST /grants", { id: 1 }],
  ["POST /rpc/granted_call", {}],
  ["POST /", { requests: [{ method: "POST", url: "/grants", body: { id: 2 } }] }],
];

for (const [line, body] of privileged) {
  suite.test(`a repeated ${line} needs the privilege anew`, async (api) => {
    const request = keyed(freshKey(), { body, as: "clerk" });
    const grant = (granted: boolean) => api("POST /rpc/grant_clerk", { body: { granted } });
    await grant(true);
    ok((await api(line, request)).status < 300);
    strictEqual((await api(line, request)).headers.get("Idempotent-Replayed"), "true");
    await grant(false);
    strictEqual(await errorOf(await api(line, request)), "403 42501");
    await grant(true);
    strictEqual((await api(line, request)).headers.get("Idempotent-Replayed"), "true");
  });
}

suite.test("a request that fails leaves nothing", async (api) => {
  const key = freshKey();
  const taken = keyed(key, { body: { customer: "Lou", note: "taken" } });
  strictEqual(
    (await api("POST /orders", { body: { customer: "Max", note: "taken" } })).status,
    201,
  );
  strictEqual(await errorOf(await api("POST /orders", taken)), "409 23505");
  strictEqual((await api("DELETE /orders?customer=eq.Max")).status, 204);
  strictEqual((await api("POST /orders", taken)).status, 201);
  const again = await api("POST /orders", taken);
  deepStrictEqual([again.status, again.headers.get("Idempotent-Replayed")], [201, "true"]);
  strictEqual(await ordersOf(api, "Lou"), 1);
});

suite.test("a check of the result, or of a deferred constraint, leaves nothing", async (api) => {
  const key = freshKey();
  const object = { Accept: "application/vnd.svc.object+json", ...representation };
  const two = keyed(key, { body: [{ customer: "Ned" }, { customer: "Ned" }], headers: object });
  strictEqual(await errorOf(await api("POST /orders", two)), "406 SVC116");
  const dangling = keyed(key, { body: { id: 1, other: 2 } });
  strictEqual(await errorOf(await api("POST /pairs", dangling)), "409 23503");
  strictEqual(await ordersOf(api, "Ned"), 0);
  strictEqual((await api("POST /orders", keyed(key, { body: { customer: "Ned" } }))).status, 201);
});

suite.test("a request that is rolled back keeps nothing", async (api) => {
  const key = freshKey();
  const parts = keyed(key, { body: { customer: "Oda" }, headers: { Prefer: "tx=rollback" } });
  for (let time = 0; time < 2; time++) {
    const response = await api("POST /orders", parts);
    deepStrictEqual([response.status, response.headers.get("Idempotent-Replayed")], [201, null]);
  }
  strictEqual(await ordersOf(api, "Oda"), 0);
  ok(!(await (await api("GET /rpc/kept_keys")).json()).includes(key));
});

suite.test("an expired key is forgotten", async (api) => {
  const key = freshKey();
  const parts = keyed(key, { body: { customer: "Pam" } });
  await api("POST /orders", parts);
  const age = (time: string) => api("POST /rpc/age_key", { body: { which: key, age: time } });
  await age("23 hours");
  strictEqual((await api("POST /orders", parts)).headers.get("Idempotent-Replayed"), "true");
  await age("25 hours");
  strictEqual((await api("POST /orders", parts)).headers.get("Idempotent-Replayed"), null);
  strictEqual((await api("POST /orders", parts)).headers.get("Idempotent-Replayed"), "true");
  strictEqual(await ordersOf(api, "Pam"), 2);
});

const longest = "x".repeat(255);
const valid = [
  "a",
  longest,
  '"a b"',
  '"quote \\" and \\\\"',
  `"${"y".repeat(255)}"`,
  "a;b,c",
  "~!",
];
const invalid = [
  "",
  '""',
  "a b",
  '"a',
  'a"b',
  "a\\b",
  '"a\\b"',
  `${longest}x`,
  "é",
  '"é"',
  '"a";b=1',
  "a\x01b",
];

for (const key of valid) {
  suite.test(`the key ${key.slice(0, 20)} is valid`, async (api) => {
    const response = await api("POST /orders", keyed(key, { body: { customer: "Quin" } }));
    strictEqual(response.status, 201);
  });
}

for (const key of invalid) {
  suite.test(`the key ${JSON.stringify(key.slice(0, 20))} is invalid`, async (api) => {
    const response = await api("POST /orders", keyed(key, { body: { customer: "Rex" } }));
    strictEqual(await errorOf(response), "400 SVC153");
  });
}

suite.test("a key has the same meaning with and without quotes", async (api) => {
  const key = freshKey();
  const body = { customer: "Sue" };
  await api("POST /orders", keyed(key, { body }));
  const quoted = await api("POST /orders", keyed(`"${key}"`, { body }));
  strictEqual(quoted.headers.get("Idempotent-Replayed"), "true");
});

suite.rows("requests that cannot write ignore the header", [
  ["GET /orders?id=eq.0", keyed("not valid"), 200, []],
  ["HEAD /orders?id=eq.0", keyed("not valid"), 200, undefined],
  ["OPTIONS /orders", keyed("not valid"), 200, undefined],
  ["GET /rpc/kept_keys?limit=0", keyed("not valid"), 200, []],
]);

suite.test("a call that only reads ignores the header", async (api) => {
  const response = await api("POST /rpc/last_call", keyed("not valid", { body: {} }));
  strictEqual(response.status, 200);
});

suite.test("an answer that sets a cookie, or is no success, is not kept", async (api) => {
  const answers = [
    ["", '[{"Set-Cookie":"a=b"}]', 200],
    ["404", "", 404],
    ["303", '[{"Location":"/there"}]', 303],
  ] as const;
  for (const [status, headers, expected] of answers) {
    const key = freshKey();
    for (let time = 0; time < 2; time++) {
      const response = await api("POST /rpc/respond", keyed(key, { body: { status, headers } }));
      strictEqual(response.status, expected);
      strictEqual(response.headers.get("Idempotent-Replayed"), null);
    }
    ok(!(await (await api("GET /rpc/kept_keys")).json()).includes(key));
  }
  strictEqual(await ordersOf(api, "response"), 6);
});

suite.test("headers of one exchange are not kept, others are", async (api) => {
  const headers = JSON.stringify([
    { "Server": "own" },
    { "Date": "own" },
    { "Server-Timing": "own" },
    { "Access-Control-Allow-Origin": "own" },
    { "Link": "</a>" },
    { "Link": "</b>" },
    { "X-Order": "7" },
  ]);
  const request = keyed(freshKey(), { body: { status: "202", headers } });
  const first = await api("POST /rpc/respond", request);
  deepStrictEqual([first.status, first.headers.get("Server")], [202, "own"]);
  const second = await api("POST /rpc/respond", request);
  strictEqual(second.status, 202);
  strictEqual(await second.text(), '"done"');
  strictEqual(second.headers.get("Link"), "</a>, </b>");
  strictEqual(second.headers.get("X-Order"), "7");
  for (const name of ["Server", "Date", "Server-Timing", "Access-Control-Allow-Origin"]) {
    ok(second.headers.get(name) !== "own", name);
  }
});

suite.test("a request that changes its claims is rolled back", async (api) => {
  const request = keyed(freshKey(), { body: { role: "other" } });
  strictEqual(await errorOf(await api("POST /rpc/become", request)), "500 SVCX00");
  strictEqual(await ordersOf(api, "becoming"), 0);
});

suite.test("requests at the same time have one effect", async (api) => {
  const request = keyed(freshKey(), { body: { customer: "Tim" }, headers: representation });
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => api("POST /orders", request)),
  );
  const bodies = new Set<string>();
  for (const response of responses) {
    const text = await response.text();
    if (response.status === 409) {
      strictEqual(JSON.parse(text).code, "SVC155");
      strictEqual(response.headers.get("Retry-After"), "1");
      continue;
    }
    strictEqual(response.status, 201);
    bodies.add(text);
  }
  strictEqual(bodies.size, 1);
  const news = responses.filter(({ status, headers }) =>
    status === 201 && !headers.has("Idempotent-Replayed")
  );
  strictEqual(news.length, 1);
  strictEqual(await ordersOf(api, "Tim"), 1);
  const later = await api("POST /orders", request);
  strictEqual(later.headers.get("Idempotent-Replayed"), "true");
});

suite.test("a body of several MB is kept whole", async (api) => {
  const rows = Array.from({ length: 60_000 }, (_, at) => ({ customer: "Una", note: `una ${at}` }));
  const text = JSON.stringify(rows) + " ".repeat(4 * 1024 * 1024);
  const headers = { "Content-Type": "application/json" };
  await sendTwice(api, "POST /orders", { body: text, headers });
  strictEqual(await ordersOf(api, "Una"), 60_000);
  await api("DELETE /orders?customer=eq.Una");
});

const checked = serviceSuite("idempotency", {
  ...config,
  dbPreRequest: { schema: "api", name: "check_request" },
}, { title: "idempotency with db-pre-request", roles });

checked.test("db-pre-request runs for a replay, and may refuse it", async (api) => {
  const request = keyed(freshKey(), { body: { customer: "Val" } });
  strictEqual((await api("POST /orders", request)).status, 201);
  const counted = async () =>
    Number(await (await api("POST /rpc/last_check", { body: {} })).text());
  const before = await counted();
  const replayed = await api("POST /orders", request);
  strictEqual(replayed.headers.get("Idempotent-Replayed"), "true");
  // Once with the insert of the key, once with the look-up, once with the count itself.
  strictEqual(await counted(), before + 3);
  const refused = keyed(`key-${keys}`, {
    body: { customer: "Val" },
    headers: { "X-Refused": "yes" },
  });
  strictEqual(await errorOf(await api("POST /orders", refused)), "401 42501");
});

suite.test("the OpenAPI 3.1 document names the header of writes", async (api) => {
  const accept = { Accept: "application/openapi+json;version=3.1" };
  const { paths, components } = await (await api("GET /", { headers: accept })).json();
  const isKeyed = (path: string, method: string) =>
    paths[path][method].parameters.some((parameter: { $ref?: string }) =>
      parameter.$ref === "#/components/parameters/shared.idempotencyKey"
    );
  strictEqual(components.parameters["shared.idempotencyKey"].name, "Idempotency-Key");
  for (const method of ["post", "put", "patch", "delete"]) ok(isKeyed("/orders", method), method);
  ok(isKeyed("/rpc/count_call", "post"));
  ok(!isKeyed("/orders", "get"));
  ok(!isKeyed("/rpc/last_call", "post"));
});

suite.test("an answer above 1 MiB is refused, and nothing is written", async (api) => {
  const key = freshKey();
  const body = Array.from({ length: 30_000 }, () => ({ customer: "Wes" }));
  const request = keyed(key, { body, headers: representation });
  const response = await api("POST /orders", request);
  strictEqual(response.status, 413);
  const { code, details, hint } = await response.json();
  strictEqual(code, "SVC156");
  ok(/^[0-9]+ bytes, at most 1048576$/.test(details), details);
  strictEqual(hint, "Use Prefer: return=minimal");
  strictEqual(await ordersOf(api, "Wes"), 0);
  const minimal = keyed(key, { body });
  strictEqual((await api("POST /orders", minimal)).status, 201);
  await api("DELETE /orders?customer=eq.Wes");
});

const off = serviceSuite("idempotency", { ...config, idempotencyTable: null }, {
  title: "no idempotency-table",
  roles,
});

off.test("without a table the header is ignored", async (api) => {
  for (const key of ["same", "same", "not valid"]) {
    const response = await api("POST /orders", keyed(key, { body: { customer: "Xia" } }));
    deepStrictEqual([response.status, response.headers.get("Idempotent-Replayed")], [201, null]);
  }
  strictEqual(await ordersOf(api, "Xia"), 3);
});

const limited = serviceSuite("idempotency", {
  ...config,
  dbMaxCost: 1_000_000,
  serverTraceHeader: "X-Trace",
}, { title: "idempotency with db-max-cost", roles });

limited.test("an accepted write is kept, without the header of its trace", async (api) => {
  const key = freshKey();
  const send = (trace: string) =>
    api("POST /orders", keyed(key, { body: { customer: "Yan" }, headers: { "X-Trace": trace } }));
  strictEqual((await send("one")).headers.get("X-Trace"), "one");
  const second = await send("two");
  strictEqual(second.headers.get("X-Trace"), "two");
  strictEqual(second.headers.get("Idempotent-Replayed"), "true");
  strictEqual(await ordersOf(api, "Yan"), 1);
});

const ungranted = serviceSuite("idempotency", config, {
  title: "idempotency without privileges",
  roles: [...roles, "outsider"],
});

ungranted.test("a role without privileges on the table is refused", async (api) => {
  const request = keyed(freshKey(), { as: "outsider", body: { customer: "Zoe" } });
  strictEqual(await errorOf(await api("POST /orders", request)), "403 42501");
  strictEqual(await ordersOf(api, "Zoe"), 0);
});

Deno.test("[pg] a request in progress holds its key, and others are refused at once", async () => {
  await using resources = new AsyncDisposableStack();
  const database = await engines.pg({ name: "idempotency", roles });
  resources.defer(() => database.remove());
  const handler = createHandler({ ...config, dbUri: database.uri, jwtSecret: testSecret });
  resources.defer(() => handler.close());
  const lock = resources.use(await holdLock(database.superuserUri!));
  const send = async (key: string) =>
    await handler(
      await buildRequest(
        { line: "POST /rpc/wait_for_lock", origin: "http://x" },
        keyed(key, { body: {} }),
      ),
    );
  const first = send("one");
  await lock.awaited();
  const second = await send("one");
  strictEqual(second.headers.get("Retry-After"), "1");
  strictEqual(await errorOf(second), "409 SVC155");
  await lock.release();
  strictEqual((await first).status, 204);
  const third = await send("one");
  deepStrictEqual([third.status, third.headers.get("Idempotent-Replayed")], [204, "true"]);
});
