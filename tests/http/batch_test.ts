/** `POST /`: several operations in one transaction. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { type Api, type ApiConfig, apiSuite, serviceSuite } from "../support/handler/api.ts";
import {
  batchOf,
  get,
  type Operation,
  patch,
  post,
  put,
  remove,
} from "../support/handler/batch.ts";
import type { RequestParts } from "../support/handler/request.ts";
import { answer, answers, errorBody } from "../support/handler/rows.ts";

const config = {
  dbSchemas: ["api", "other"],
  dbAnonRole: "anon",
  dbTxEnd: "commit-allow-override",
  batchMaxOperations: 20,
} as const;
const suite = apiSuite("batches", config, { title: "batches" });
const pgrst = serviceSuite("batches", { ...config, dialect: "pgrst" }, { title: "batches, pgrst" });
const off = serviceSuite("batches", { ...config, batchMaxOperations: 0 }, { title: "batches off" });

const media = "application/vnd.svc.batch+json";
const representation = { Prefer: "return=representation" } as const;

interface Entry {
  readonly id: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
}

/** Sends a batch that succeeds. */
async function send(
  api: Api,
  requests: readonly Operation[],
  parts?: RequestParts,
  others?: Operation,
): Promise<readonly Entry[]> {
  const response = await api("POST /", batchOf(requests, parts, others));
  const text = await response.text();
  strictEqual(response.status, 200, text);
  return JSON.parse(text).responses;
}

/** Sends a batch that fails, and returns its status, its code and the position of the operation. */
async function refusal(
  api: Api,
  requests: readonly Operation[],
  parts?: RequestParts,
): Promise<string> {
  const response = await api("POST /", batchOf(requests, parts));
  const { code, operation } = await response.json();
  return `${response.status} ${code} ${operation === null ? null : operation?.index}`;
}

async function rowsOf(api: Api, line: string): Promise<unknown> {
  return await (await api(`GET ${line}`)).json();
}

/** Returns the status and body of each entry. */
function outcomes(entries: readonly Entry[]): readonly unknown[] {
  return entries.map(({ status, body }) => body === undefined ? [status] : [status, body]);
}

suite.test("a batch runs its operations in order, and each sees the ones before", async (api) => {
  const entries = await send(api, [
    post("/notes", { id: 1, body: "first" }, { id: "note" }),
    patch("/notes?id=eq.1", { body: "second" }),
    get("/notes?id=eq.1&select=body"),
    remove("/notes?id=eq.1", { headers: representation }),
    { method: "HEAD", url: "/notes?id=eq.1" },
  ]);
  deepStrictEqual(entries, [
    { id: "note", status: 201, headers: { "Content-Range": "*/*", "Range-Unit": "items" } },
    { id: "1", status: 204, headers: { "Content-Range": "0-0/*", "Range-Unit": "items" } },
    {
      id: "2",
      status: 200,
      headers: {
        "Content-Range": "0-0/*",
        "Range-Unit": "items",
        "Content-Location": "/notes?id=eq.1&select=body",
        "Content-Type": "application/json; charset=utf-8",
        "Content-Profile": "api",
      },
      body: [{ body: "second" }],
    },
    {
      id: "3",
      status: 200,
      headers: {
        "Content-Range": "*/*",
        "Range-Unit": "items",
        "Content-Type": "application/json; charset=utf-8",
        "Content-Profile": "api",
        "Preference-Applied": "return=representation",
      },
      body: [{ id: 1, body: "second" }],
    },
    {
      id: "4",
      status: 200,
      headers: {
        "Content-Range": "*/*",
        "Range-Unit": "items",
        "Content-Location": "/notes?id=eq.1",
        "Content-Type": "application/json; charset=utf-8",
        "Content-Profile": "api",
      },
    },
  ]);
});

suite.test("a batch without operations has no responses", async (api) => {
  deepStrictEqual(await send(api, []), []);
});

for (const each of [suite, pgrst]) {
  const prefix = each === suite ? "SVC" : "PGRST";
  each.test("nothing of a batch that fails stays", async (api) => {
    const response = await api(
      "POST /",
      batchOf([
        post("/orders?columns=id", { id: 50 }, { id: "order" }),
        post("/lines", { order_id: 999, sku: "A" }),
      ]),
    );
    deepStrictEqual([response.status, await response.json()], [409, {
      code: "23503",
      details: 'Key (order_id)=(999) is not present in table "orders".',
      hint: null,
      message:
        'insert or update on table "lines" violates foreign key constraint "lines_order_id_fkey"',
      operation: { index: 1, id: "1", method: "POST", url: "/lines" },
    }]);
    deepStrictEqual(await rowsOf(api, "/orders?id=eq.50&select=id"), []);
  });

  each.test("the first operation that fails is the error, be it by a check or in the database", async (api) => {
    const singular = { Accept: "application/vnd.pgrst.object+json" };
    strictEqual(
      await refusal(api, [
        get("/customers?select=id", { headers: singular }),
        post("/customers", { id: 1, name: "taken" }),
      ]),
      `406 ${prefix}116 0`,
    );
    strictEqual(
      await refusal(api, [
        post("/customers", { id: 1, name: "taken" }),
        get("/customers?select=id", { headers: singular }),
      ]),
      "409 23505 0",
    );
  });

  each.test("a check that fails last rolls back", async (api) => {
    strictEqual(
      await refusal(api, [
        post("/customers", { id: 60, name: "Kim" }),
        patch("/customers?id=lt.3", { name: "X" }, {
          headers: { Prefer: "handling=strict, max-affected=1" },
        }),
      ]),
      `400 ${prefix}124 1`,
    );
    deepStrictEqual(await rowsOf(api, "/customers?or=(id.eq.60,name.eq.X)"), []);
  });

  each.test("a batch that is off is a method that / does not take", async (api) => {
    const response = await api("OPTIONS /");
    strictEqual(response.headers.get("Allow"), "OPTIONS,GET,HEAD,POST");
  });
}

off.rows("a batch that is off", [
  ["POST /", batchOf([]), ...answer("405 SVC117 | Unsupported HTTP method: POST")],
  ["OPTIONS /", {}, 200, undefined, { Allow: "OPTIONS,GET,HEAD" }],
]);

/** Documents that are no batches, and the details of the error. */
const documents: readonly (readonly [label: string, document: unknown, details: string])[] = [
  ["an array", [], "The document: expected a JSON object"],
  ["text", "x", "The document: expected a JSON object"],
  ["no requests", {}, "/requests: expected an array"],
  ["an unknown member", { requests: [], a: 1 }, "/a: expected one of isolation, requests"],
  [
    "an unknown isolation",
    { requests: [], isolation: "none" },
    '/isolation: expected "read committed", "repeatable read" or "serializable"',
  ],
  ["an operation that is a text", { requests: ["a"] }, "/requests/0: expected an object"],
  [
    "an id twice",
    { requests: [get("/a", { id: "1" }), get("/a")] },
    "/requests/1/id: expected an id that no other operation has",
  ],
];

const members = (count: number, name: (n: number) => string, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [name(n), value]));
const noUrl = "url: expected '/' and a relation, or '/rpc/' and a function";
const noHeader = "headers/Prefer: expected a string without control characters";
const withHeaders = (headers: Operation) => get("/a", { headers });

/** Operations that no batch has, and the details of the error behind `/requests/0/`. */
const operations: readonly (readonly [label: string, operation: Operation, details: string])[] = [
  [
    "an unknown member of an operation",
    get("/a", { "x/y": 1 }),
    "x~1y: expected one of id, method, url, headers, body, refs",
  ],
  [
    "an id with blanks",
    get("/a", { id: "a b" }),
    "id: expected 1 to 64 letters, digits, '_' and '-'",
  ],
  [
    "OPTIONS",
    { method: "OPTIONS", url: "/a" },
    'method: expected "GET", "HEAD", "POST", "PATCH", "PUT" or "DELETE"',
  ],
  ...["/", "/?a=1", "a", "//a", "/a#b", "http://localhost/a", ""].map((url) =>
    [`the URL '${url}'`, get(url), noUrl] as const
  ),
  ...[
    ...["Authorization", "cookie", "Host", "Idempotency-Key", "Content-Encoding", "origin"],
    ...["apikey", "X-Forwarded-For", "Forwarded", "X-Real-IP", "X-User", "If-Range", "__proto__"],
  ].map(
    (name) => {
      const details = `headers/${name}: expected in the header of the batch only`;
      return [`the header ${name}`, withHeaders({ [name]: "x" }), details] as const;
    },
  ),
  ...[
    "tx=rollback",
    "TX = rollback",
    "handling=strict, tx=commit",
    "count=exact,timezone=Asia/Tokyo",
  ].map(
    (preferences) => {
      const details = "headers/Prefer: expected tx and timezone in the header of the batch only";
      return [`its ${preferences}`, withHeaders({ Prefer: preferences }), details] as const;
    },
  ),
  ["a header with a line feed", withHeaders({ Prefer: "a\nb" }), noHeader],
  ["a header that is no string", withHeaders({ Prefer: { b: 1 } }), noHeader],
  [
    "an execution plan",
    withHeaders({ Accept: "application/vnd.pgrst.plan+json" }),
    "headers/Accept: expected no execution plan",
  ],
  [
    "CSV that is an object",
    post("/a", {}, { headers: { "Content-Type": "text/csv" } }),
    "body: expected a string",
  ],
  [
    "octets that are not base64url",
    post("/a", "a+b=", { headers: { "Content-Type": "application/octet-stream" } }),
    "body: expected base64url",
  ],
  [
    "too many references",
    get("/a", { refs: members(31, (n) => `/${n}`, "a#/b") }),
    "refs: expected at most 30 members",
  ],
  [
    "a URL that no request has",
    get(`/a?${"b".repeat(65_536)}`),
    "url: expected at most 65536 characters",
  ],
];

const malformed = [
  ...documents,
  ...operations.map(([label, operation, details]) =>
    [label, { requests: [operation] }, `/requests/0/${details}`] as const
  ),
];

for (const [label, document, details] of malformed) {
  suite.rows(`a batch is refused: ${label}`, [[
    "POST /",
    { headers: { "Content-Type": media }, body: JSON.stringify(document) },
    400,
    errorBody(`SVC140 | Invalid batch document | ${details}`),
  ]]);
}

suite.rows("a batch is refused", [
  ...answers()`
    POST / {Content-Type: application/vnd.svc.batch+json} with "{"
      400 SVC140 | Invalid batch document | The document: expected JSON: The text ends early
    POST / {Content-Type: text/csv} with "a" | 415 SVC107 | Content-Type not acceptable: text/csv
  `,
  [
    "POST /",
    { body: new TextEncoder().encode('{"requests":[]}') },
    ...answer("415 SVC107 | Content-Type not acceptable: application/octet-stream"),
  ],
  ...answers({ headers: { "Content-Type": "application/vnd.svc.batch+json" } })`
    POST / {Accept: text/csv} with "{\"requests\":[]}"
      406 SVC107 | None of these media types are available: text/csv
    POST / {Prefer: handling=strict, return=minimal} with "{\"requests\":[]}"
      400 SVC122 | Invalid preferences given with handling=strict | Invalid preferences:
        + return=minimal
  `,
  [
    "POST /",
    batchOf(Array(21).fill(get("/notes"))),
    ...answer("413 SVC141 | Batch is too large | More than 20 operations"),
  ],
  ["POST /", { headers: { "Content-Type": "application/json" }, body: '{"requests":[]}' }, 200, {
    responses: [],
  }],
]);

/** Operations that cannot be planned; the second of two is reported. */
const unplannable: readonly (readonly [label: string, operation: Operation, error: string])[] = [
  ["an unknown relation", get("/nope"), "404 SVC205 1"],
  ["an unknown function", post("/rpc/nope"), "404 SVC202 1"],
  ["an unknown path", get("/notes/1"), "404 SVC125 1"],
  [
    "a batch in a batch",
    post("/notes", "{}", { headers: { "Content-Type": media } }),
    "415 SVC107 1",
  ],
  ["a body that is malformed", post("/notes", [{ a: 1 }, 1]), "400 SVC102 1"],
  ["an unknown profile", get("/notes", { headers: { "Accept-Profile": "x" } }), "406 SVC106 1"],
];

for (const [label, operation, error] of unplannable) {
  suite.test(`an operation is refused before the database is used: ${label}`, async (api) => {
    const first = post("/customers", { id: 1, name: "taken" });
    const last = get("/also_unknown");
    strictEqual(await refusal(api, [first, operation, last]), error);
  });
}

suite.test("bodies keep the digits and the order that they were sent with", async (api) => {
  const response = await api("POST /", {
    headers: { "Content-Type": media },
    body: `{"requests": [ {"body" : {"id":70, "extra": {"b":1.10,"a":12345678901234567890} } ,
      "url":"/orders?select=extra,total", "method":"POST", "headers":{"Prefer":"return=representation"}}]}`,
  });
  const text = await response.text();
  ok(text.includes('{"b":1.10,"a":12345678901234567890}'), text);
});

suite.test("bodies and responses take the form of their media types", async (api) => {
  const csv = { "Content-Type": "text/csv", Accept: "text/csv", ...representation };
  const octets = { "Content-Type": "application/octet-stream", Accept: "application/octet-stream" };
  const entries = await send(api, [
    post("/notes?select=id,body", "id,body\n71,é\n72,b", { headers: csv }),
    post("/rpc/reverse_bytes", "AP_-", { headers: octets }),
    post("/rpc/nothing"),
    post("/rpc/broken", undefined, { headers: { Accept: "application/vnd.broken+json" } }),
    get("/customers?id=eq.1&select=id", {
      headers: { Accept: "application/vnd.pgrst.object+json" },
    }),
    get("/customers?select=id&order=id", { headers: { Accept: "application/x-ndjson" } }),
  ]);
  deepStrictEqual(outcomes(entries), [
    [201, "id,body\n71,é\n72,b"],
    [200, "AP_-_w"],
    [204],
    [200, '{"not":'],
    [200, { id: 1 }],
    [200, '{"id":1}\n{"id":2}\n'],
  ]);
});

suite.test("each operation has the settings that it has alone", async (api) => {
  const names = ["request.method", "request.path", "request.batch", "response.status", "timezone"];
  const url = `/rpc/read_settings?names=${
    [...names, "request.jwt.claims", "search_path", "svc.updated"].join("+")
  }`;
  const [, settings] = await send(api, [post("/rpc/leave_traces"), get(url)]);
  const { timezone: zone, "request.jwt.claims": claims, search_path, ...others } = settings!
    .body as Record<string, string>;
  ok(zone !== "Asia/Tokyo");
  strictEqual(JSON.parse(claims!).role, "anon");
  ok(search_path!.startsWith('"api"'));
  deepStrictEqual(others, {
    "request.method": "GET",
    "request.path": "/rpc/read_settings",
    "request.batch": "1/2",
    "response.status": "",
    "svc.updated": "",
  });
});

suite.test("an error shows the first 1,000 characters of a URL", async (api) => {
  const url = `/nope?a=eq.${"b".repeat(5000)}`;
  const response = await api("POST /", batchOf([get(url)]));
  const { operation } = await response.json();
  strictEqual(operation.url, `${url.slice(0, 1000)}…`);
});

suite.test("an operation has its own profile, and headers of the batch under its own", async (api) => {
  const [other, own, headers] = await send(api, [
    get("/notes?select=body", { headers: { "Accept-Profile": "other" } }),
    post("/notes?select=id", { id: 8 }, {
      headers: { "Content-Profile": "other", ...representation },
    }),
    get("/rpc/read_settings?names=request.headers", { headers: { "Range-Unit": "é" } }),
  ], { headers: { "X-Batch": "b", "Range-Unit": "batch", Accept: "application/json" } });
  deepStrictEqual(other!.body, [{ body: "other" }]);
  deepStrictEqual(own!.body, [{ id: 8 }]);
  const sent = JSON.parse((headers!.body as Record<string, string>)["request.headers"]!);
  deepStrictEqual(
    [sent["range-unit"], sent["x-batch"], sent["accept"], sent["content-type"]],
    ["é", "b", undefined, undefined],
  );
});

suite.test("settings of a function are not in force for the next operation", async (api) => {
  const [before, hoisted, after] = await send(api, [
    get("/rpc/read_settings?names=statement_timeout"),
    post("/rpc/hurry"),
    get("/rpc/read_settings?names=statement_timeout"),
  ]);
  strictEqual(hoisted!.body, "4321ms");
  deepStrictEqual(after!.body, before!.body);
});

suite.test("the strictest isolation level holds", async (api) => {
  const level = get("/rpc/read_settings?names=transaction_isolation");
  const levelOf = async (operations: readonly Operation[], others: Operation) => {
    const entries = await send(api, [...operations, level], {}, others);
    return (entries.at(-1)!.body as Record<string, string>)["transaction_isolation"];
  };
  strictEqual(await levelOf([], {}), "read committed");
  strictEqual(await levelOf([], { isolation: "repeatable read" }), "repeatable read");
  strictEqual(await levelOf([post("/rpc/strictly")], {}), "serializable");
});

suite.test("a batch that only reads cannot write, and a read among writes cannot either", async (api) => {
  const readOnly = get("/rpc/read_settings?names=transaction_read_only");
  const write = post("/notes", { body: "x" });
  const states = (entries: readonly Entry[]) =>
    entries.map(({ body }) =>
      (body as Record<string, string> | undefined)?.["transaction_read_only"]
    );
  deepStrictEqual(states(await send(api, [readOnly, readOnly])), ["on", "on"]);
  deepStrictEqual(
    states(await send(api, [readOnly, write, readOnly, write])),
    ["on", undefined, "on", undefined],
  );
  const secret = get("/rpc/write_secretly");
  strictEqual(await refusal(api, [write, secret]), "405 25006 1");
  strictEqual(await refusal(api, [secret]), "405 25006 0");
});

suite.test("a dry run has the answers, and writes nothing", async (api) => {
  const operations = [post("/notes", { id: 90, body: "dry" }), get("/notes?id=eq.90&select=body")];
  const response = await api("POST /", batchOf(operations, { headers: { Prefer: "tx=rollback" } }));
  strictEqual(response.headers.get("Preference-Applied"), "tx=rollback");
  const { responses } = await response.json();
  deepStrictEqual(outcomes(responses), [[201], [200, [{ body: "dry" }]]]);
  deepStrictEqual(await rowsOf(api, "/notes?id=eq.90"), []);
  const pair = post("/pairs", { id: 1, other: 99 });
  const dry = { headers: { Prefer: "tx=rollback" } };
  strictEqual(await refusal(api, [pair], dry), "409 23503 null");
  strictEqual(await refusal(api, [pair]), "409 23503 null");
});

suite.test("upserts count apart", async (api) => {
  const headers = { Prefer: "resolution=merge-duplicates" };
  const entries = await send(api, [
    post("/customers", { id: 1, name: "Ada" }, { headers }),
    post("/customers", { id: 80, name: "Zoe" }, { headers }),
    put("/customers?id=eq.80", { id: 80, name: "Zo" }, { headers: representation }),
  ]);
  deepStrictEqual(entries.map(({ status }) => status), [200, 201, 200]);
});

suite.test("nested inserts of a batch have their own rows", async (api) => {
  const lines = (...skus: readonly string[]) => skus.map((sku) => ({ sku }));
  const url = "/orders?columns=id,lines(sku)&select=id,lines(sku)";
  const order = (id: number, skus: readonly string[]) =>
    post(url, { id, lines: lines(...skus) }, { headers: representation });
  deepStrictEqual(outcomes(await send(api, [order(61, ["A", "B"]), order(62, ["C"])])), [
    [201, [{ id: 61, lines: lines("A", "B") }]],
    [201, [{ id: 62, lines: lines("C") }]],
  ]);
  strictEqual(await refusal(api, [order(63, ["A"]), order(64, ["A", "A"])]), "409 23505 1");
});

suite.test("response.* of an operation is for its entry", async (api) => {
  const headers = JSON.stringify([{ "Set-Cookie": "a=1" }, { "Set-Cookie": "b=2" }, {
    "X-A": "é",
  }]);
  const body = { status: "299", headers };
  const response = await api("POST /", batchOf([post("/rpc/respond", body), post("/rpc/nothing")]));
  const { responses: [own, next] } = await response.json();
  deepStrictEqual(
    [response.headers.get("Set-Cookie"), own.status, own.headers["Set-Cookie"], own.headers["X-A"]],
    [null, 299, ["a=1", "b=2"], "é"],
  );
  deepStrictEqual([next.status, next.headers["X-A"]], [204, undefined]);
});

suite.test("an invalid response.* rolls back", async (api) => {
  const note = post("/notes", { id: 91, body: "x" });
  const invalid = (body: Operation) => [note, post("/rpc/respond", body)];
  strictEqual(await refusal(api, invalid({ status: "99", headers: "" })), "500 SVC112 1");
  strictEqual(await refusal(api, invalid({ status: "", headers: "{}" })), "500 SVC111 1");
  deepStrictEqual(await rowsOf(api, "/notes?id=eq.91"), []);
});

suite.test("counts and ranges are those of each operation", async (api) => {
  const entries = await send(api, [
    get("/customers?select=id&limit=1&order=id", { headers: { Prefer: "count=exact" } }),
    get("/customers?select=id&limit=1&order=id", { headers: { Prefer: "count=planned" } }),
    get("/customers?select=id&order=id", { headers: { Range: "1-1", "Range-Unit": "items" } }),
  ]);
  deepStrictEqual(entries[0]!.status, 206);
  ok(/^0-0\/\d+$/.test(entries[1]!.headers["Content-Range"] as string));
  strictEqual(entries[2]!.headers["Content-Range"], "1-1/*");
});

suite.test("long results arrive as wholes", async (api) => {
  const [list, other] = await send(api, [get("/rpc/list?n=5000"), get("/rpc/list?n=3")]);
  strictEqual((list!.body as number[]).length, 5000);
  deepStrictEqual(other!.body, [1, 2, 3]);
});

suite.test("plans that are cached do the same", async (api) => {
  for (let time = 0; time < 4; time++) {
    const entries = await send(api, [
      post("/notes?select=body", { body: `n${time}` }, { headers: representation }),
      get(`/customers?id=eq.${1 + time % 2}&select=id`),
    ]);
    deepStrictEqual(outcomes(entries), [[201, [{ body: `n${time}` }]], [200, [{
      id: 1 + time % 2,
    }]]]);
  }
});

const small: ApiConfig = { ...config, batchMaxBytes: 2000 };
const limited = serviceSuite("batches", small, { title: "batches with few bytes" });

limited.test("documents and results have bounds", async (api) => {
  const note = post("/notes", { body: "n".repeat(1900) });
  strictEqual((await send(api, [note])).length, 1);
  strictEqual(
    await refusal(api, [{ ...note, body: { body: "n".repeat(2100) } }]),
    "413 SVC141 undefined",
  );
  const list = get("/rpc/list?n=400");
  strictEqual((await send(api, [list])).length, 1);
  strictEqual(await refusal(api, [list, list]), "413 SVC141 null");
  const write = post("/notes", { id: 33, body: "lost" });
  strictEqual(await refusal(api, [write, list, list]), "413 SVC141 null");
  deepStrictEqual(await rowsOf(api, "/notes?id=eq.33"), []);
});

const checkedConfig: ApiConfig = {
  ...config,
  dbPreRequest: { schema: "api", name: "check_request" },
};
const checked = serviceSuite("batches", checkedConfig, { title: "batches with a check" });

checked.test("the function before requests runs for the batch, and for its operations", async (api) => {
  const count = post("/rpc/checked");
  const first = (await send(api, [count]))[0]!.body as number;
  const response = await api("POST /", batchOf([count, count, count]));
  strictEqual(response.headers.get("X-Checked"), "yes");
  const { responses } = await response.json();
  strictEqual(responses.at(-1).body - first, 4);
  strictEqual(responses[0].headers["X-Checked"], undefined);
});

checked.test("it refuses an operation", async (api) => {
  const note = post("/notes", { id: 34, body: "x" });
  const removal = remove("/notes?id=eq.34");
  strictEqual(await refusal(api, [note, removal]), "401 42501 1");
  deepStrictEqual(outcomes(await send(api, [note])), [[201]]);
});

const guarded = serviceSuite("batches", { ...config, dbSafeUpdate: true, dbMaxCost: 15 }, {
  title: "batches with guards",
});

guarded.test("guards hold for each operation", async (api) => {
  const note = post("/notes", { id: 35, body: "x" });
  const read = get("/notes?id=eq.35&select=id");
  deepStrictEqual(outcomes(await send(api, [note, read, { ...note, body: { id: 36 } }])), [
    [201],
    [200, [{ id: 35 }]],
    [201],
  ]);
  strictEqual(await refusal(api, [note, remove("/notes")]), "400 SVC158 1");
  const scan = get("/notes?body=eq.x");
  strictEqual(
    await refusal(api, [{ ...note, body: { id: 37 } }, read, scan, read]),
    "413 SVC137 2",
  );
  deepStrictEqual(await rowsOf(api, "/notes?id=eq.37&select=id"), []);
});

const readOnly = serviceSuite("batches", { ...config, dbReadOnly: true }, {
  title: "batches, read-only",
});

readOnly.test("writes fail as alone", async (api) => {
  strictEqual(await refusal(api, [post("/notes", { body: "x" })]), "405 25006 0");
});

const rooted = serviceSuite(
  "batches",
  { ...config, dbRootSpec: { schema: null, name: "nothing" } },
  { title: "batches beside a root function" },
);

rooted.test("JSON goes to the function, and a batch does not", async (api) => {
  const root = await api("POST /", { headers: { "Content-Type": "application/json" }, body: "{}" });
  strictEqual(root.status, 204);
  deepStrictEqual(await send(api, []), []);
});

const keyed = serviceSuite("batches", {
  ...config,
  idempotencyTable: { schema: "svc", name: "idempotency_keys" },
  batchMaxOperations: 5,
}, { title: "batches with keys" });

keyed.test("a batch with a key takes effect once", async (api) => {
  const note = (id: number) => post("/notes", { id, body: "once" });
  const read = get("/notes?body=eq.once&select=id");
  for (const [key, operations] of [["plain", [note(1)]], ["read", [note(2), read]]] as const) {
    const parts = { headers: { "Idempotency-Key": key } };
    const once = async () => {
      const response = await api("POST /", batchOf(operations, parts));
      return [response.status, response.headers.get("Idempotent-Replayed"), await response.json()];
    };
    const [status, replayed, body] = await once();
    deepStrictEqual([status, replayed], [200, null], JSON.stringify(body));
    deepStrictEqual(await once(), [200, "true", body]);
    strictEqual(await refusal(api, [note(9)], parts), "422 SVC154 undefined");
  }
  deepStrictEqual(await rowsOf(api, "/notes?select=id&order=id"), [{ id: 1 }, { id: 2 }]);
});

keyed.test("a batch that fails leaves its key, and one that only reads has none", async (api) => {
  const parts = { headers: { "Idempotency-Key": "failing" } };
  const taken = post("/customers", { id: 1, name: "taken" });
  strictEqual(await refusal(api, [taken], parts), "409 23505 0");
  const note = post("/notes", { id: 3, body: "later" });
  deepStrictEqual(outcomes(await send(api, [note], parts)), [[201]]);
  const read = get("/customers?select=id&id=eq.1");
  deepStrictEqual(outcomes(await send(api, [read], parts)), [[200, [{ id: 1 }]]]);
});

keyed.test("an answer that sets a cookie is not kept", async (api) => {
  const parts = { headers: { "Idempotency-Key": "cookie" } };
  const respond = (
    headers: unknown,
  ) => post("/rpc/respond", { status: "", headers: JSON.stringify(headers) });
  await send(api, [respond([{ "Set-Cookie": "a=1" }])], parts);
  await send(api, [respond([{ "X-A": "other" }])], parts);
});

const counted = serviceSuite("batches", { ...config, rateLimits: "notes: 3/1d by ip on /notes" }, {
  title: "batches with rate limits",
});

counted.test("each operation is charged under its own path", async (api) => {
  const note = post("/n%6Ftes", { body: "x" });
  const other = get("/customers?select=id&limit=1");
  strictEqual((await send(api, [note, note, other, other])).length, 4);
  strictEqual(await refusal(api, [other, note, note]), "429 SVC136 2");
  // The batch that was refused had no effect on the count.
  strictEqual((await send(api, [note])).length, 1);
  strictEqual(await refusal(api, [note]), "429 SVC136 0");
});

const bounded = serviceSuite(
  "batches",
  { ...config, serverMaxUrlLength: 60, serverMaxHeaderSize: 500 },
  { title: "batches with bounds of requests" },
);

bounded.test("lengths of an operation have the limits of requests", async (api) => {
  const read = get(`/notes?body=eq.${"a".repeat(60)}`);
  strictEqual(await refusal(api, [read]), "414 SVC131 0");
  const header = get("/notes", { headers: { Prefer: "a".repeat(500) } });
  strictEqual(await refusal(api, [header]), "431 SVC132 0");
});
