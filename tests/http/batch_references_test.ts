/** References of a batch: values that come from the results of earlier operations. */
import { deepStrictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { batchOf, get, type Operation, patch, post, put } from "../support/handler/batch.ts";

const suite = serviceSuite("batches", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  batchMaxOperations: 20,
}, { title: "references of batches" });

interface Sent {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function send(api: Api, requests: readonly Operation[]): Promise<Sent> {
  const headers = { "Content-Type": "application/vnd.pgrst.batch+json" };
  const response = await api("POST /", batchOf(requests, { headers }));
  return { status: response.status, body: await response.json() };
}

/** Returns the status and body of the last entry, or the error: status, code, position and details. */
async function lastOf(api: Api, requests: readonly Operation[]): Promise<readonly unknown[]> {
  const { status, body } = await send(api, requests);
  if (status !== 200) {
    const operation = body["operation"] as { readonly index: number } | null | undefined;
    return [status, body["code"], operation?.index, body["details"]];
  }
  const last = (body["responses"] as readonly { status: number; body?: unknown }[]).at(-1)!;
  return [last.status, last.body];
}

const full = { Prefer: "return=representation" } as const;
const insert = (url: string, body: unknown, refs: Operation) =>
  post(url, body, { headers: full, refs });
const order = post("/orders", { customer_id: 2, status: "made" }, { id: "o" });
const written = patch("/orders?id=lt.3", { status: "seen" }, { id: "w" });
const read = get("/orders?select=id,status,tags&order=id&limit=2", { id: "r" });

/** Label, operations, status and body of the last one; or status, code, position and details. */
const rows: readonly (readonly [
  label: string,
  operations: readonly Operation[],
  result: readonly unknown[],
])[] = [
  ["members of all objects", [
    order,
    insert("/lines?select=sku", [{ sku: "A", qty: 2 }, { sku: "B", qty: 1 }], {
      "/*/order_id": "o#/id",
    }),
  ], [201, [{ sku: "A" }, { sku: "B" }]]],
  ["a member of one object", [
    order,
    insert("/lines?select=sku,orders(status)", { sku: "A" }, { "/order_id": "o#/id" }),
  ], [201, [{ sku: "A", orders: { status: "made" } }]]],
  ["members of an empty object", [
    { ...read, url: "/customers?select=id,name&id=eq.2" },
    insert("/orders?select=customer_id,status", {}, {
      "/customer_id": "r#/id",
      "/status": "r#/0/name",
    }),
  ], [201, [{ customer_id: 2, status: "Bob" }]]],
  ["values of all rows, in order", [
    written,
    insert("/lines?select=order_id,sku&order=sku", [{ sku: "A" }, { sku: "B" }], {
      "/*/order_id": "w#/*/id",
    }),
  ], [201, [{ order_id: 1, sku: "A" }, { order_id: 2, sku: "B" }]]],
  ["values of all rows beside those of one", [
    written,
    read,
    insert("/lines?select=order_id,sku&order=order_id", [{ qty: 1 }, { qty: 2 }], {
      "/*/order_id": "w#/*/id",
      "/*/sku": "r#/1/status",
    }),
  ], [201, [{ order_id: 1, sku: "seen" }, { order_id: 2, sku: "seen" }]]],
  ["CSV", [
    order,
    post("/lines?select=sku", "sku\nA\nB", {
      headers: { ...full, "Content-Type": "text/csv" },
      refs: { "/*/order_id": "o#/id" },
    }),
  ], [201, [{ sku: "A" }, { sku: "B" }]]],
  ["with columns", [
    order,
    insert(
      "/lines?columns=sku&select=sku,qty,orders(status)",
      [{ sku: "A", qty: 5, order_id: 3 }],
      { "/*/order_id": "o#/id" },
    ),
  ], [201, [{ sku: "A", qty: 1, orders: { status: "made" } }]]],
  ["an update by key", [
    written,
    patch("/orders?on=id&select=id,status&order=id", [{ status: "one" }, { status: "two" }], {
      headers: full,
      refs: { "/*/id": "w#/*/id" },
    }),
  ], [200, [{ id: 1, status: "one" }, { id: 2, status: "two" }]]],
  ["a PUT", [
    order,
    put("/notes?id=eq.2&select=body", { body: "put" }, {
      headers: full,
      refs: { "/id": "o#/customer_id" },
    }),
  ], [201, [{ body: "put" }]]],
  ["arrays, numbers and JSON", [
    post("/orders", { tags: ["a", 'b"'], total: "1234567890.10", extra: { b: [1.10], a: null } }, {
      id: "o",
    }),
    insert("/orders?select=tags,total,extra", {}, {
      "/tags": "o#/tags",
      "/total": "o#/total",
      "/extra": "o#/extra",
    }),
  ], [201, [{ tags: ["a", 'b"'], total: 1234567890.10, extra: { b: [1.10], a: null } }]]],
  ["a null", [
    order,
    insert("/orders?select=total,status", { status: "x" }, { "/total": "o#/total" }),
  ], [201, [{ total: null, status: "x" }]]],
  [
    "an argument in the body",
    [order, post("/rpc/one", {}, { refs: { "/n": "o#/customer_id" } })],
    [200, 2],
  ],
  ["a scalar in a body", [
    get("/rpc/one?n=2", { id: "n" }),
    insert("/orders?select=customer_id", { status: "x" }, { "/customer_id": "n#" }),
  ], [201, [{ customer_id: 2 }]]],
  ["rows of a function", [
    post("/notes", [{ id: 501 }, { id: 502 }]),
    get("/rpc/all_notes?id=gt.500", { id: "f" }),
    post("/rpc/one", {}, { refs: { "/n": "f#/1/id" } }),
  ], [200, 502]],
  ["a chain", [
    order,
    post("/lines", { sku: "A" }, { id: "l", refs: { "/order_id": "o#/id" } }),
    insert("/orders?select=status", {}, { "/status": "l#/sku" }),
  ], [201, [{ status: "A" }]]],
  ["quoted columns", [
    get('/orders?select="a~b/c":status&id=eq.1', { id: "o" }),
    insert("/notes?select=body", {}, { "/body": "o#/a~0b~1c" }),
  ], [201, [{ body: "new" }]]],
  ["text that looks like a reference", [
    order,
    post("/notes?select=body", [{ body: "o#/id" }, { body: "{o}" }], { headers: full, refs: {} }),
  ], [201, [{ body: "o#/id" }, { body: "{o}" }]]],
  ["no row", [
    patch("/orders?id=eq.999", { status: "x" }, { id: "p" }),
    post("/lines", { sku: "A" }, { refs: { "/order_id": "p#/id" } }),
  ], [409, "SVC143", 1, "The result has 0 rows"]],
  [
    "several rows",
    [written, post("/notes", {}, { refs: { "/id": "w#/id" } })],
    [409, "SVC143", 1, "The result has 2 rows"],
  ],
  [
    "a row that is missing",
    [read, post("/notes", {}, { refs: { "/id": "r#/2/id" } })],
    [409, "SVC143", 1, "The result has 2 rows"],
  ],
  ["unequal numbers", [
    written,
    post("/lines", [{ sku: "A" }, { sku: "B" }, { sku: "C" }], {
      refs: { "/*/order_id": "w#/*/id" },
    }),
  ], [409, "SVC143", 1, "The result has 2 rows"]],
  ["a column that the role may not read", [
    order,
    post("/notes", {}, { refs: { "/body": "o#/secret" } }),
  ], [401, "42501", 0, null]],
  [
    "a value that does not fit",
    [order, post("/notes", {}, { refs: { "/id": "o#/status" } })],
    [400, "22P02", 1, null],
  ],
];

for (const [label, operations, result] of rows) {
  suite.test(`references: ${label}`, async (api) => {
    deepStrictEqual(await lastOf(api, operations), result);
  });
}

for (const source of ["n#/*/a", "n#/0/a"]) {
  suite.test(`${source} is refused where a function returns one value`, async (api) => {
    const operations = [
      get('/rpc/read_settings?names={"a.b"}', { id: "n" }),
      post("/notes", [{}], { refs: { "/*/id": source } }),
    ];
    deepStrictEqual(await lastOf(api, operations), [400, "SVC142", 1, "The result is one value"]);
  });
}

const noTarget = "The target is not '/<column>' or '/*/<column>'";
const noSource = (text: string) =>
  `The source '${text}' is not '<id>#', followed by '/<column>' or '/<row>/<column>'`;
const inBody = "The body has the member, too";

/** Label, the operation behind `order` and `read`, and the details. */
const refused: readonly (readonly [label: string, operation: Operation, details: string])[] = [
  ["a later id", { refs: { "/a": "later#/id" }, body: {} }, "No earlier operation is 'later'"],
  ["itself", { id: "own", refs: { "/a": "own#/id" }, body: {} }, "No earlier operation is 'own'"],
  ["a target that is no pointer", { refs: { "a": "o#/id" } }, noTarget],
  ["a text in the URL", { refs: { "{o}": "o#/id" } }, noTarget],
  ["a target inside of a member", { refs: { "/a/b": "o#/id" } }, noTarget],
  ["a source without #", { refs: { "/a": "o" } }, noSource("o")],
  ["a negative row", { refs: { "/a": "o#/-1/id" } }, noSource("o#/-1/id")],
  ["an unknown column", { refs: { "/status": "o#/nope" } }, "'orders' has no column 'nope'"],
  ["an unknown member", { refs: { "/status": "r#/total" } }, "The result has no member 'total'"],
  ["a scalar of rows", { refs: { "/status": "r#" } }, "The result has columns"],
  ["a scalar of a write", { refs: { "/status": "o#" } }, "The result of a write has columns"],
  ["an unknown target", { body: {}, refs: { "/nope": "o#/id" } }, "'orders' has no column 'nope'"],
  ["a target in the body", { body: { status: "a" }, refs: { "/status": "o#/id" } }, inBody],
  [
    "a target in the body, with columns",
    {
      url: "/orders?columns=status,total",
      body: [{ total: 1 }, { status: "a" }],
      refs: { "/*/status": "o#/id" },
    },
    inBody,
  ],
  ["an array", { body: [{}], refs: { "/status": "o#/id" } }, "The body is an array: use '/*/…'"],
  ["an object", { body: {}, refs: { "/*/status": "o#/id" } }, "The body is not an array"],
  [
    "all rows for one object",
    { body: {}, refs: { "/status": "r#/*/id" } },
    "One object takes no values of all rows",
  ],
  [
    "a GET without body",
    { method: "GET", refs: { "/status": "o#/id" } },
    "The operation has no body with members",
  ],
];

for (const [label, operation, details] of refused) {
  suite.test(`references are refused: ${label}`, async (api) => {
    const operations = [order, read, { method: "POST", url: "/orders", ...operation }];
    // The database would refuse this one: nothing is sent to it.
    const taken = post("/customers", { id: 1, name: "taken" });
    const { status, body } = await send(api, [taken, ...operations]);
    const failed = body["operation"] as { readonly index: number };
    const found = [status, body["code"], failed?.index, body["details"]];
    deepStrictEqual(found, [400, "SVC142", 3, details]);
  });
}
