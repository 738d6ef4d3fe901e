/** References of a batch: values that come from the results of earlier operations. */
import { deepStrictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";

const suite = serviceSuite("batches", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  batchMaxOperations: 20,
}, { title: "references of batches" });

type Operation = Readonly<Record<string, unknown>>;

interface Sent {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function send(api: Api, requests: readonly Operation[]): Promise<Sent> {
  const response = await api("POST /", {
    headers: { "Content-Type": "application/vnd.pgrst.batch+json" },
    body: JSON.stringify({ requests }),
  });
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
const order = { id: "o", method: "POST", url: "/orders", body: { customer_id: 2, status: "made" } };
const written = { id: "w", method: "PATCH", url: "/orders?id=lt.3", body: { status: "seen" } };
const read = { id: "r", method: "GET", url: "/orders?select=id,status,tags&order=id&limit=2" };

/** Label, operations, status and body of the last one; or status, code, position and details. */
const rows: readonly (readonly [
  label: string,
  operations: readonly Operation[],
  result: readonly unknown[],
])[] = [
  ["members of all objects", [order, {
    method: "POST",
    url: "/lines?select=sku",
    headers: full,
    body: [{ sku: "A", qty: 2 }, { sku: "B", qty: 1 }],
    refs: { "/*/order_id": "o#/id" },
  }], [201, [{ sku: "A" }, { sku: "B" }]]],
  ["a member of one object", [order, {
    method: "POST",
    url: "/lines?select=sku,orders(status)",
    headers: full,
    body: { sku: "A" },
    refs: { "/order_id": "o#/id" },
  }], [201, [{ sku: "A", orders: { status: "made" } }]]],
  ["members of an empty object", [{ ...read, url: "/customers?select=id,name&id=eq.2" }, {
    method: "POST",
    url: "/orders?select=customer_id,status",
    headers: full,
    body: {},
    refs: { "/customer_id": "r#/id", "/status": "r#/0/name" },
  }], [201, [{ customer_id: 2, status: "Bob" }]]],
  ["values of all rows, in order", [written, {
    method: "POST",
    url: "/lines?select=order_id,sku&order=sku",
    headers: full,
    body: [{ sku: "A" }, { sku: "B" }],
    refs: { "/*/order_id": "w#/*/id" },
  }], [201, [{ order_id: 1, sku: "A" }, { order_id: 2, sku: "B" }]]],
  ["values of all rows beside those of one", [written, read, {
    method: "POST",
    url: "/lines?select=order_id,sku&order=order_id",
    headers: full,
    body: [{ qty: 1 }, { qty: 2 }],
    refs: { "/*/order_id": "w#/*/id", "/*/sku": "r#/1/status" },
  }], [201, [{ order_id: 1, sku: "seen" }, { order_id: 2, sku: "seen" }]]],
  ["CSV", [order, {
    method: "POST",
    url: "/lines?select=sku",
    headers: { ...full, "Content-Type": "text/csv" },
    body: "sku\nA\nB",
    refs: { "/*/order_id": "o#/id" },
  }], [201, [{ sku: "A" }, { sku: "B" }]]],
  ["with columns", [order, {
    method: "POST",
    url: "/lines?columns=sku&select=sku,qty,orders(status)",
    headers: full,
    body: [{ sku: "A", qty: 5, order_id: 3 }],
    refs: { "/*/order_id": "o#/id" },
  }], [201, [{ sku: "A", qty: 1, orders: { status: "made" } }]]],
  ["an update by key", [written, {
    method: "PATCH",
    url: "/orders?on=id&select=id,status&order=id",
    headers: full,
    body: [{ status: "one" }, { status: "two" }],
    refs: { "/*/id": "w#/*/id" },
  }], [200, [{ id: 1, status: "one" }, { id: 2, status: "two" }]]],
  ["a PUT", [order, {
    method: "PUT",
    url: "/notes?id=eq.2&select=body",
    headers: full,
    body: { body: "put" },
    refs: { "/id": "o#/customer_id" },
  }], [201, [{ body: "put" }]]],
  ["arrays, numbers and JSON", [
    {
      id: "o",
      method: "POST",
      url: "/orders",
      body: { tags: ["a", 'b"'], total: "1234567890.10", extra: { b: [1.10], a: null } },
    },
    {
      method: "POST",
      url: "/orders?select=tags,total,extra",
      headers: full,
      body: {},
      refs: { "/tags": "o#/tags", "/total": "o#/total", "/extra": "o#/extra" },
    },
  ], [201, [{ tags: ["a", 'b"'], total: 1234567890.10, extra: { b: [1.10], a: null } }]]],
  ["a null", [order, {
    method: "POST",
    url: "/orders?select=total,status",
    headers: full,
    body: { status: "x" },
    refs: { "/total": "o#/total" },
  }], [201, [{ total: null, status: "x" }]]],
  ["an argument in the body", [order, {
    method: "POST",
    url: "/rpc/one",
    body: {},
    refs: { "/n": "o#/customer_id" },
  }], [200, 2]],
  ["a scalar in a body", [{ id: "n", method: "GET", url: "/rpc/one?n=2" }, {
    method: "POST",
    url: "/orders?select=customer_id",
    headers: full,
    body: { status: "x" },
    refs: { "/customer_id": "n#" },
  }], [201, [{ customer_id: 2 }]]],
  ["rows of a function", [
    { method: "POST", url: "/notes", body: [{ id: 501 }, { id: 502 }] },
    { id: "f", method: "GET", url: "/rpc/all_notes?id=gt.500" },
    { method: "POST", url: "/rpc/one", body: {}, refs: { "/n": "f#/1/id" } },
  ], [200, 502]],
  ["a chain", [order, {
    id: "l",
    method: "POST",
    url: "/lines",
    body: { sku: "A" },
    refs: { "/order_id": "o#/id" },
  }, {
    method: "POST",
    url: "/orders?select=status",
    headers: full,
    body: {},
    refs: { "/status": "l#/sku" },
  }], [201, [{ status: "A" }]]],
  ["quoted columns", [{ id: "o", method: "GET", url: '/orders?select="a~b/c":status&id=eq.1' }, {
    method: "POST",
    url: "/notes?select=body",
    headers: full,
    body: {},
    refs: { "/body": "o#/a~0b~1c" },
  }], [201, [{ body: "new" }]]],
  ["text that looks like a reference", [order, {
    method: "POST",
    url: "/notes?select=body",
    headers: full,
    body: [{ body: "o#/id" }, { body: "{o}" }],
    refs: {},
  }], [201, [{ body: "o#/id" }, { body: "{o}" }]]],
  ["no row", [{ id: "p", method: "PATCH", url: "/orders?id=eq.999", body: { status: "x" } }, {
    method: "POST",
    url: "/lines",
    body: { sku: "A" },
    refs: { "/order_id": "p#/id" },
  }], [409, "SVC143", 1, "The result has 0 rows"]],
  [
    "several rows",
    [written, { method: "POST", url: "/notes", body: {}, refs: { "/id": "w#/id" } }],
    [409, "SVC143", 1, "The result has 2 rows"],
  ],
  ["a row that is missing", [read, {
    method: "POST",
    url: "/notes",
    body: {},
    refs: { "/id": "r#/2/id" },
  }], [409, "SVC143", 1, "The result has 2 rows"]],
  ["unequal numbers", [written, {
    method: "POST",
    url: "/lines",
    body: [{ sku: "A" }, { sku: "B" }, { sku: "C" }],
    refs: { "/*/order_id": "w#/*/id" },
  }], [409, "SVC143", 1, "The result has 2 rows"]],
  ["a column that the role may not read", [order, {
    method: "POST",
    url: "/notes",
    body: {},
    refs: { "/body": "o#/secret" },
  }], [401, "42501", 0, null]],
  ["a value that does not fit", [order, {
    method: "POST",
    url: "/notes",
    body: {},
    refs: { "/id": "o#/status" },
  }], [400, "22P02", 1, null]],
];

for (const [label, operations, result] of rows) {
  suite.test(`references: ${label}`, async (api) => {
    deepStrictEqual(await lastOf(api, operations), result);
  });
}

for (const source of ["n#/*/a", "n#/0/a"]) {
  suite.test(`${source} is refused where a function returns one value`, async (api) => {
    const operations = [{ id: "n", method: "GET", url: '/rpc/read_settings?names={"a.b"}' }, {
      method: "POST",
      url: "/notes",
      body: [{}],
      refs: { "/*/id": source },
    }];
    deepStrictEqual(await lastOf(api, operations), [400, "SVC142", 1, "The result is one value"]);
  });
}

/** Label, the operation behind `order` and `read`, and the details. */
const refused: readonly (readonly [label: string, operation: Operation, details: string])[] = [
  ["a later id", { refs: { "/a": "later#/id" }, body: {} }, "No earlier operation is 'later'"],
  ["itself", { id: "own", refs: { "/a": "own#/id" }, body: {} }, "No earlier operation is 'own'"],
  [
    "a target that is no pointer",
    { refs: { "a": "o#/id" } },
    "The target is not '/<column>' or '/*/<column>'",
  ],
  [
    "a text in the URL",
    { refs: { "{o}": "o#/id" } },
    "The target is not '/<column>' or '/*/<column>'",
  ],
  [
    "a target inside of a member",
    { refs: { "/a/b": "o#/id" } },
    "The target is not '/<column>' or '/*/<column>'",
  ],
  [
    "a source without #",
    { refs: { "/a": "o" } },
    "The source 'o' is not '<id>#', followed by '/<column>' or '/<row>/<column>'",
  ],
  [
    "a negative row",
    { refs: { "/a": "o#/-1/id" } },
    "The source 'o#/-1/id' is not '<id>#', followed by '/<column>' or '/<row>/<column>'",
  ],
  ["an unknown column", { refs: { "/status": "o#/nope" } }, "'orders' has no column 'nope'"],
  ["an unknown member", { refs: { "/status": "r#/total" } }, "The result has no member 'total'"],
  ["a scalar of rows", { refs: { "/status": "r#" } }, "The result has columns"],
  ["a scalar of a write", { refs: { "/status": "o#" } }, "The result of a write has columns"],
  ["an unknown target", { body: {}, refs: { "/nope": "o#/id" } }, "'orders' has no column 'nope'"],
  [
    "a target in the body",
    { body: { status: "a" }, refs: { "/status": "o#/id" } },
    "The body has the member, too",
  ],
  [
    "a target in the body, with columns",
    {
      url: "/orders?columns=status,total",
      body: [{ total: 1 }, { status: "a" }],
      refs: { "/*/status": "o#/id" },
    },
    "The body has the member, too",
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
    const taken = { method: "POST", url: "/customers", body: { id: 1, name: "taken" } };
    const { status, body } = await send(api, [taken, ...operations]);
    const failed = body["operation"] as { readonly index: number };
    deepStrictEqual([status, body["code"], failed?.index, body["details"]], [
      400,
      "SVC142",
      3,
      details,
    ]);
  });
}
