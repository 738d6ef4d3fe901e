/** Inserts of rows together with the rows of related relations. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite } from "../support/handler/api.ts";

const suite = apiSuite(
  "nested",
  { dbSchemas: ["api"], dbAnonRole: "anon", dbPlanEnabled: true, batchMaxOperations: 10 },
  { title: "nested inserts" },
);
const shown = { Prefer: "return=representation" };
const merged = { Prefer: "return=representation, resolution=merge-duplicates" };

const refused = (path: string, details: string) => ({
  code: "SVC147",
  details,
  hint: null,
  message: `Cannot write '${path}' nested`,
});
const conflict = (details: string) => ({
  code: "SVC157",
  details,
  hint: null,
  message: "Invalid conflict handling",
});

suite.rows("rows belong to the rows around them", [
  [
    "POST /orders?columns=status,lines(sku,qty)&select=status,lines(sku,qty)",
    {
      body: [
        { status: "a", lines: [{ sku: "x", qty: 2 }, { sku: "y", qty: 3 }] },
        { status: "b" },
        { status: "c", lines: [{ sku: "x", qty: 1 }] },
      ],
      headers: shown,
    },
    201,
    [
      { status: "a", lines: [{ sku: "x", qty: 2 }, { sku: "y", qty: 3 }] },
      { status: "b", lines: [] },
      { status: "c", lines: [{ sku: "x", qty: 1 }] },
    ],
    { "Content-Range": "*/*", "Preference-Applied": "return=representation" },
  ],
  // The order of the body, or that of the request.
  [
    "POST /orders?columns=status,lines(sku)&select=status&order=status.desc",
    { body: [{ status: "a" }, { status: "c" }, { status: "b" }], headers: shown },
    201,
    [{ status: "c" }, { status: "b" }, { status: "a" }],
  ],
  [
    "POST /orders?columns=lines(sku,comments(text),products(name))" +
    "&select=lines(sku,comments(text),products(name))",
    {
      body: [{ lines: [{ sku: "x", comments: [] }, { sku: "y", comments: [{ text: "1" }] }] }, {
        lines: [{ sku: "x", comments: [{ text: "2" }, { text: "3" }], products: { name: "saw" } }],
      }],
      headers: shown,
    },
    201,
    [
      {
        lines: [
          { sku: "x", comments: [], products: null },
          { sku: "y", comments: [{ text: "1" }], products: null },
        ],
      },
      {
        lines: [{ sku: "x", comments: [{ text: "2" }, { text: "3" }], products: { name: "saw" } }],
      },
    ],
  ],
  // To-one: rows that refer to nested ones, and a row that refers to the one around.
  [
    "POST /orders?columns=status,customers(name),invoices(total)" +
    "&select=status,customers(name,country),invoices(total)",
    {
      body: [
        { status: "a", customers: { name: "Ada" }, invoices: { total: 1.5 } },
        { status: "b", customers: null, invoices: null },
        { status: "c", customers: { name: "Cy" } },
      ],
      headers: shown,
    },
    201,
    [
      { status: "a", customers: { name: "Ada", country: "CH" }, invoices: { total: 1.5 } },
      { status: "b", customers: null, invoices: null },
      { status: "c", customers: { name: "Cy", country: "CH" }, invoices: null },
    ],
  ],
  [
    "POST /orders?columns=status,labels(name)&select=status,labels(name)",
    {
      body: [{ status: "a", labels: [{ name: "red" }, { name: "blue" }] }, { status: "b" }],
      headers: shown,
    },
    201,
    [{ status: "a", labels: [{ name: "red" }, { name: "blue" }] }, { status: "b", labels: [] }],
  ],
  // The junction itself, for its columns and for rows that exist.
  [
    "POST /orders?columns=order_labels(note,labels(name))&select=order_labels(note,labels(name))",
    { body: { order_labels: [{ note: "n", labels: { name: "red" } }] }, headers: shown },
    201,
    [{ order_labels: [{ note: "n", labels: { name: "red" } }] }],
  ],
  [
    "POST /orders?columns=order_labels(label_id)&select=labels(name)",
    { body: { order_labels: [{ label_id: 100 }] }, headers: shown },
    201,
    [{ labels: [{ name: "old" }] }],
  ],
  // Aliases are keys of the body; hints choose among relationships.
  [
    "POST /trips?columns=start:places!from_id(name),end:places!to_id(name)" +
    "&select=start:places!from_id(name),end:places!to_id(name)",
    { body: { start: { name: "A" }, end: { name: "B" } }, headers: shown },
    201,
    [{ start: { name: "A" }, end: { name: "B" } }],
  ],
  [
    `POST /orders?columns=${encodeURIComponent(`"it's \\"\\\\x\\"":lines(sku)`)}&select=lines(sku)`,
    { body: { 'it\'s "\\x"': [{ sku: "x" }] }, headers: shown },
    201,
    [{ lines: [{ sku: "x" }] }],
  ],
  [
    "POST /parts?columns=name,parts(name,parts(name))&select=name,parts(name,parts(name))" +
    "&parts.order=name&parts.parts.order=name",
    {
      body: [
        { name: "car", parts: [{ name: "door", parts: [{ name: "lock" }] }, { name: "wheel" }] },
        { name: "bike", parts: [{ name: "bell", parts: [{ name: "a" }, { name: "b" }] }] },
      ],
      headers: shown,
    },
    201,
    [
      {
        name: "car",
        parts: [{ name: "door", parts: [{ name: "lock" }] }, { name: "wheel", parts: [] }],
      },
      { name: "bike", parts: [{ name: "bell", parts: [{ name: "a" }, { name: "b" }] }] },
    ],
  ],
  // A column of two keys has the value of the row around.
  [
    "POST /tenants?columns=id,name,tasks(id,title,projects(tenant_id,id,name))" +
    "&select=id,tasks(tenant_id,project_id,title)",
    {
      body: {
        id: 1,
        name: "t",
        tasks: [
          { id: 1, title: "a", projects: { tenant_id: 1, id: 7, name: "p" } },
          { id: 2, title: "b" },
        ],
      },
      headers: shown,
    },
    201,
    [{
      id: 1,
      tasks: [
        { tenant_id: 1, project_id: 7, title: "a" },
        { tenant_id: 1, project_id: null, title: "b" },
      ],
    }],
  ],
  [
    "POST /shown_orders?columns=status,shown_lines(sku)&select=status,shown_lines(sku,qty)",
    { body: { status: "v", shown_lines: [{ sku: "x" }] }, headers: shown },
    201,
    [{ status: "v", shown_lines: [{ sku: "x", qty: 1 }] }],
  ],
  // Policies and triggers see the row around.
  [
    "POST /accounts?columns=entries(amount)&select=owner,entries(amount)",
    { body: [{ entries: [{ amount: 1 }, { amount: 2 }] }, { entries: [] }], headers: shown },
    201,
    [{ owner: "me", entries: [{ amount: 1 }, { amount: 2 }] }, { owner: "me", entries: [] }],
  ],
]);

suite.rows("the response is that of its root", [
  [
    "POST /orders?columns=status,lines(sku)",
    { body: { status: "a", lines: [{ sku: "x" }] } },
    201,
    undefined,
    { "Content-Range": "*/*", "Location": null, "Content-Length": "0" },
  ],
  [
    "POST /orders?columns=id,lines(sku)",
    {
      body: [{ id: 7, lines: [{ sku: "x" }, { sku: "y" }] }],
      headers: { Prefer: "return=headers-only, count=exact" },
    },
    201,
    undefined,
    { "Content-Range": "*/1", "Location": "/orders?id=eq.7" },
  ],
  [
    "POST /orders?columns=id,lines(sku)&select=id",
    {
      body: [{ id: 7, lines: [{ sku: "x" }, { sku: "y" }] }],
      headers: { ...shown, Accept: "application/vnd.pgrst.object+json" },
    },
    201,
    { id: 7 },
  ],
  [
    "POST /orders?columns=id,lines(sku)&select=id",
    {
      body: [{ id: 7, lines: [] }, { id: 8 }],
      headers: { ...shown, Accept: "application/vnd.pgrst.object+json" },
    },
    406,
    {
      code: "SVC116",
      details: "The result contains 2 rows",
      hint: null,
      message: "Cannot coerce the result to a single JSON object",
    },
  ],
  ["POST /orders?columns=status,lines(sku)&select=status", { body: [], headers: shown }, 201, []],
  [
    "POST /orders?columns=id,lines(sku)&select=id,lines(sku)",
    {
      body: '{"id":7,"lines":[{"sku":"x"}]}\n{"id":8}\n',
      headers: { ...shown, "Content-Type": "application/x-ndjson" },
    },
    201,
    [{ id: 7, lines: [{ sku: "x" }] }, { id: 8, lines: [] }],
  ],
  [
    "POST /notes?columns=text,orders(status)",
    { body: { text: "n", orders: { status: "a" } } },
    201,
    undefined,
  ],
]);

suite.rows("only the named columns are written", [
  [
    "POST /orders?columns=status,lines(sku)&select=status,customer_id,lines(sku,qty)",
    {
      body: { status: "a", customer_id: 100, lines: [{ sku: "x", qty: 9, id: 5, order_id: 100 }] },
      headers: shown,
    },
    201,
    [{ status: "a", customer_id: null, lines: [{ sku: "x", qty: 1 }] }],
  ],
  // Keys that are absent are NULL, or the default.
  [
    "POST /orders?columns=status,extra,lines(sku,qty)&select=status,extra,lines(sku,qty)",
    {
      body: { extra: { a: 1 }, lines: [{ sku: "x" }, { sku: "y", qty: 4 }] },
      headers: { Prefer: "return=representation, missing=default" },
    },
    201,
    [{ status: "new", extra: { a: 1 }, lines: [{ sku: "x", qty: 1 }, { sku: "y", qty: 4 }] }],
    { "Preference-Applied": "missing=default, return=representation" },
  ],
  [
    "POST /paints?columns=name,tints(tint)&select=name,tints(tint)",
    { body: { name: "p", tints: [{ tint: "ff" }, {}] }, headers: shown },
    201,
    [{ name: "p", tints: [{ tint: 255 }, { tint: null }] }],
  ],
  [
    "POST /paints?columns=name,tints(tint)&select=name,tints(tint)",
    {
      body: { name: "p", tints: [{ tint: "ff" }, {}] },
      headers: { Prefer: "return=representation, missing=default" },
    },
    201,
    [{ name: "p", tints: [{ tint: 255 }, { tint: 7 }] }],
  ],
  // Rows without columns of their own.
  [
    "POST /parts?columns=parts()&select=parts(name)",
    { body: { parts: [{}, {}] }, headers: shown },
    201,
    [{ parts: [{ name: null }, { name: null }] }],
  ],
  // `*` stands for the keys of the level.
  [
    "POST /orders?columns=*,lines(*,comments(*))&select=status,extra,lines(sku,qty,comments(text))",
    {
      body: [
        { status: "a", extra: null, lines: [{ sku: "x", qty: 1, comments: [{ text: "t" }] }] },
        { status: "b", extra: 1, lines: [{ sku: "y", qty: 2 }] },
      ],
      headers: shown,
    },
    201,
    [
      { status: "a", extra: null, lines: [{ sku: "x", qty: 1, comments: [{ text: "t" }] }] },
      { status: "b", extra: 1, lines: [{ sku: "y", qty: 2, comments: [] }] },
    ],
  ],
  [
    "POST /orders?columns=*,lines(*)",
    { body: [{ status: "a", lines: [{ sku: "x" }, { qty: 1 }] }] },
    400,
    { code: "SVC102", details: null, hint: null, message: "All object keys must match" },
  ],
  [
    "POST /orders?columns=*,lines(*)",
    { body: [{ status: "a" }, { id: 7 }] },
    400,
    { code: "SVC102", details: null, hint: null, message: "All object keys must match" },
  ],
  [
    "POST /orders?columns=*,lines(*)",
    { body: [{ lines: [{ sku: "x", order_id: 100 }] }] },
    400,
    refused("lines", "Column 'order_id' gets its value from a related row"),
  ],
  [
    "POST /orders?columns=*&select=id,status",
    { body: { id: 7, status: "a" }, headers: shown },
    201,
    [{ id: 7, status: "a" }],
  ],
  [
    "POST /orders?columns=*,extra&select=id,status,extra",
    { body: { id: 7 }, headers: shown },
    201,
    [{ id: 7, status: "new", extra: null }],
  ],
]);

suite.rows("levels resolve conflicts", [
  // Rows that exist, that are new, and that stand twice in the body.
  [
    "POST /orders?columns=status,labels(name)&labels.on_conflict=name" +
    "&labels.resolution=ignore-duplicates&select=status,labels(id,name)&labels.id=eq.100",
    {
      body: [
        { status: "a", labels: [{ name: "old" }, { name: "new" }, { name: "new" }] },
        { status: "b", labels: [{ name: "new" }, { name: "old" }] },
      ],
      headers: shown,
    },
    201,
    [
      { status: "a", labels: [{ id: 100, name: "old" }] },
      { status: "b", labels: [{ id: 100, name: "old" }] },
    ],
  ],
  [
    "POST /orders?columns=status,customers(name,email)&customers.on_conflict=email" +
    "&customers.resolution=ignore-duplicates&select=customers(id,name)",
    { body: { status: "a", customers: { name: "A.", email: "ada@x.org" } }, headers: shown },
    201,
    [{ customers: { id: 100, name: "Ada" } }],
  ],
  [
    "POST /orders?columns=status,customers(name,email)&customers.on_conflict=email" +
    "&customers.resolution=merge-duplicates&select=customers(id,name)",
    { body: { status: "a", customers: { name: "A.", email: "ada@x.org" } }, headers: shown },
    201,
    [{ customers: { id: 100, name: "A." } }],
  ],
  // The root upserts as ever, and rows go to the row that exists.
  [
    "POST /orders?columns=id,status,lines(sku,qty)&lines.on_conflict=order_id,sku" +
    "&lines.resolution=merge-duplicates&select=id,status,merge_action(),lines(sku,qty)",
    {
      body: [
        { id: 100, status: "b", lines: [{ sku: "x", qty: 1 }, { sku: "y", qty: 2 }] },
        { id: 101, status: "c", lines: [{ sku: "x", qty: 3 }] },
      ],
      headers: merged,
    },
    201,
    [
      {
        id: 100,
        status: "b",
        merge_action: "UPDATE",
        lines: [{ sku: "x", qty: 1 }, { sku: "y", qty: 2 }],
      },
      { id: 101, status: "c", merge_action: "INSERT", lines: [{ sku: "x", qty: 3 }] },
    ],
    { "Preference-Applied": "resolution=merge-duplicates, return=representation" },
  ],
  [
    "POST /orders?columns=id,lines(sku)&select=id,lines(sku)",
    { body: { id: 100, lines: [{ sku: "x" }] }, headers: merged },
    200,
    [{ id: 100, lines: [{ sku: "x" }] }],
  ],
  // Updates of nested rows do not count for the status.
  [
    "POST /orders?columns=status,customers(name,email)&customers.on_conflict=email" +
    "&customers.resolution=merge-duplicates&select=status",
    { body: { status: "a", customers: { name: "A.", email: "ada@x.org" } }, headers: merged },
    201,
    [{ status: "a" }],
  ],
  [
    "POST /orders?columns=id,lines(sku)&select=id,lines(sku)",
    {
      body: [{ id: 100, lines: [{ sku: "x" }] }, { id: 7, lines: [{ sku: "y" }] }],
      headers: { Prefer: "return=representation, resolution=ignore-duplicates" },
    },
    201,
    [{ id: 100, lines: [{ sku: "x" }] }, { id: 7, lines: [{ sku: "y" }] }],
  ],
  [
    "POST /orders?columns=id,lines(sku)&select=id,merge_action()",
    {
      body: { id: 100, lines: [] },
      headers: { Prefer: "return=representation, resolution=ignore-duplicates" },
    },
    400,
    conflict("'merge_action()' does not tell found from inserted rows"),
  ],
  // Without rows that refer to them, rows that exist are left out as ever.
  [
    "POST /orders?columns=id,customers(name)&select=id",
    {
      body: [{ id: 100, customers: { name: "B" } }, { id: 7 }],
      headers: { Prefer: "return=representation, resolution=ignore-duplicates" },
    },
    201,
    [{ id: 7 }],
  ],
  // A link that exists stays one.
  [
    "POST /orders?columns=id,labels(name)&labels.on_conflict=name" +
    "&labels.resolution=ignore-duplicates&select=id,labels(name)",
    { body: { id: 100, labels: [{ name: "old" }] }, headers: merged },
    200,
    [{ id: 100, labels: [{ name: "old" }] }],
  ],
  [
    "POST /orders?columns=status,labels(name)&labels.on_conflict=name",
    { body: [] },
    400,
    conflict("'labels.on_conflict' needs 'labels.resolution'"),
  ],
  [
    "POST /orders?columns=status,labels(name)&labels.resolution=ignore-duplicates",
    { body: [] },
    400,
    conflict("The body does not write 'id' of 'labels'"),
  ],
  [
    "POST /orders?columns=status,notes(text)&notes.resolution=merge-duplicates",
    { body: [] },
    400,
    conflict("'notes' has no primary key, so name the columns"),
  ],
  ["POST /orders?columns=status,labels(name)&lines.on_conflict=sku", { body: [] }, 400, {
    code: "SVC108",
    details: null,
    hint: "Verify that it is included in the 'columns' query parameter.",
    message: "'lines' is not a nested item of this request",
  }],
  ["POST /orders?labels.on_conflict=name", { body: [] }, 400, {
    code: "SVC108",
    details: null,
    hint: "Verify that it is included in the 'columns' query parameter.",
    message: "'labels' is not a nested item of this request",
  }],
  ["POST /orders?columns=labels(name)&labels.resolution=replace", { body: [] }, 400, {
    code: "SVC100",
    details:
      'unexpected "r" expecting "merge-duplicates", "ignore-duplicates" or "return-existing"',
    hint: null,
    message: '"failed to parse labels.resolution (replace)" (line 1, column 1)',
  }],
]);

suite.rows("errors of one level leave nothing", [
  [
    "POST /picky?columns=name,picked(id)",
    { body: [{ name: "good" }, { name: "bad", picked: [{}] }] },
    409,
    {
      code: "SVC148",
      details: "2 sent, 1 written",
      hint: null,
      message: "Rows of 'picky' cannot be assigned to the body",
    },
  ],
  [
    "POST /secret_uses?columns=order_id,secrets(name)&secrets.on_conflict=name" +
    "&secrets.resolution=ignore-duplicates",
    { body: { order_id: 100, secrets: { name: "hidden" } } },
    409,
    {
      code: "SVC148",
      details: "1 sent, 0 written",
      hint: null,
      message: "Rows of 'secrets' cannot be assigned to the body",
    },
  ],
  [
    "POST /orders?columns=status,lines(sku)",
    { body: "sku\nx", headers: { "Content-Type": "text/csv" } },
    400,
    refused("orders", "The body is not JSON"),
  ],
  ["POST /orders?columns=lines(sku,nope)", { body: {} }, 400, {
    code: "SVC204",
    details: null,
    hint: null,
    message: "Could not find the 'nope' column of 'lines' in the schema cache",
  }],
  [
    "POST /orders?columns=latest_lines(sku)",
    { body: {} },
    400,
    refused("latest_lines", "A function computes its rows"),
  ],
  [
    "POST /orders?columns=lines(sku,order_id)",
    { body: {} },
    400,
    refused("lines", "Column 'order_id' gets its value from a related row"),
  ],
  [
    "POST /orders?columns=customer_id,customers(name)",
    { body: {} },
    400,
    refused("orders", "Column 'customer_id' gets its value from a related row"),
  ],
  [
    "POST /orders?columns=lines(sku,orders(status))",
    { body: {} },
    400,
    refused("lines.orders", "Column 'order_id' gets its value from another row"),
  ],
  [
    "POST /trips?columns=a:places!from_id(name),b:places!from_id(name)",
    { body: {} },
    400,
    refused("b", "Column 'from_id' gets its value from another row"),
  ],
  [
    "POST /orders?columns=lines(sku),lines(qty)",
    { body: {} },
    400,
    refused("lines", "Two items have this name"),
  ],
  ["POST /orders?columns=lines(comments:sku)", { body: {} }, 400, {
    code: "SVC100",
    details:
      '"failed to parse columns parameter (lines(comments:sku))" (line 1, column 19): unexpected ")" expecting letter, digit, "-" or "("',
    hint: null,
    message: "a ( is missing before )",
  }],
  [
    `POST /parts?columns=${Array.from({ length: 17 }, (_, at) => `p${at}:parts(name)`)}`,
    { body: {} },
    400,
    refused("p16", "A request has at most 16 nested items"),
  ],
  [
    `POST /parts?columns=${"parts(".repeat(17)}name${")".repeat(17)}`,
    { body: {} },
    400,
    refused(Array(17).fill("parts").join("."), "A request has at most 16 nested items"),
  ],
  [
    "POST /notes?columns=text,orders(status)",
    { body: {}, headers: shown },
    400,
    refused("notes", "It has no primary key, so only return=minimal is possible"),
  ],
]);

// A column before a parenthesis is that column, as in PostgREST.
suite.rows("columns that are followed by other text are columns", [
  [
    "POST /lines?columns=order_id,sku,qty(x)&select=order_id,sku,qty",
    { body: { order_id: 100, sku: "x", qty: 3 }, headers: shown },
    201,
    [{ order_id: 100, sku: "x", qty: 3 }],
  ],
  [
    "POST /lines?columns=order_id,sku(x),qty&select=order_id,sku,qty",
    { body: { order_id: 100, sku: "x", qty: 3 }, headers: shown },
    201,
    [{ order_id: 100, sku: "x", qty: 1 }],
  ],
  [
    "POST /lines?columns=order_id,sku((&select=sku",
    { body: { order_id: 100, sku: "x" }, headers: shown },
    201,
    [{ sku: "x" }],
  ],
]);

suite.test("an explanation of a nested insert is refused", async (api) => {
  const response = await api("POST /orders?columns=lines(sku)", {
    body: {},
    headers: { ...shown, Accept: "application/vnd.pgrst.plan+json" },
  });
  deepStrictEqual(await response.json(), refused("orders", "It has no execution plan"));
});

/** Requests that fail, with the status and the code of the error. */
const failing: readonly (readonly [line: string, body: unknown, status: number, code: string])[] = [
  ["lines(sku)", { lines: [{ sku: "x" }, {}] }, 400, "23502"],
  ["lines(sku)", { lines: [{ sku: "x" }, { sku: "x" }] }, 409, "23505"],
  ["lines(sku,qty)", { lines: [{ sku: "x", qty: 0 }] }, 400, "23514"],
  ["lines(sku,qty)", { lines: [{ sku: "x", qty: "many" }] }, 400, "22P02"],
  ["lines(sku)", { lines: { sku: "x" } }, 400, "SVC147"],
  ["lines(sku)", { lines: "x" }, 400, "SVC147"],
  ["lines(sku)", { lines: [null] }, 400, "SVC147"],
  ["lines(sku)", { lines: [[]] }, 400, "SVC147"],
  ["customers(name)", { customers: [{ name: "x" }] }, 400, "SVC147"],
  ["customers(name)", { customers: 1 }, 400, "SVC147"],
  ["lines(sku)", "{", 400, "22P02"],
  ["*,lines(sku)", "{", 400, "SVC102"],
  ["order_labels(label_id)", { order_labels: [{ label_id: 999 }] }, 409, "23503"],
  ["labels(name)", { labels: [{ name: "old" }] }, 409, "23505"],
  // The role may not write the rows around, or inside.
  ["vaults(name)", { vaults: [{ name: "x" }] }, 401, "42501"],
  ["clerks(name)", { clerks: { name: "x" } }, 401, "42501"],
  ["*,lines(sku)", '{"__proto__":1}', 400, "SVC204"],
  ["lines(sku)", '{"lines":[{"sku":"\\u0000"}]}', 400, "22P05"],
  ["places(name)", {}, 400, "SVC200"],
  ["customers!places(name)", {}, 400, "SVC200"],
];

suite.test("a level that fails fails the request", async (api) => {
  for (const [columns, body, status, code] of failing) {
    const line = `POST /orders?columns=${columns}`;
    const response = await api(line, { body });
    deepStrictEqual([response.status, (await response.json()).code], [status, code], line);
  }
  const misshaped = await api("POST /orders?columns=lines(sku)", { body: { lines: {} } });
  deepStrictEqual(
    await misshaped.json(),
    refused("lines", "Expected an object, or an array of objects where it has many rows"),
  );
  const ambiguous = await api("POST /trips?columns=places(name)", { body: {} });
  deepStrictEqual([ambiguous.status, (await ambiguous.json()).code], [300, "SVC201"]);
});

suite.test("a request that fails leaves no row", async ({ committing }) => {
  if (committing === null) return;
  const count = async () => {
    const response = await committing("GET /orders?select=id&status=eq.lost");
    return (await response.json()).length;
  };
  const body = { status: "lost", lines: [{ sku: "x" }, {}] };
  strictEqual((await committing("POST /orders?columns=status,lines(sku)", { body })).status, 400);
  strictEqual(await count(), 0);
});

suite.test("requests that create the same rows at once all get them", async ({ committing }) => {
  if (committing === null) return;
  const line = "POST /orders?columns=status,labels(name)&labels.on_conflict=name" +
    "&labels.resolution=ignore-duplicates&select=labels(name)&labels.order=name";
  const names = Array.from({ length: 40 }, (_, index) => ({ name: `shared ${100 + index}` }));
  const requests = Array.from({ length: 8 }, (_, index) => {
    const labels = index % 2 === 0 ? names : names.toReversed();
    return committing(line, { body: { status: "at once", labels }, headers: shown });
  });
  for (const response of await Promise.all(requests)) {
    deepStrictEqual(await response.json(), [{ labels: names }]);
  }
  const labels = await committing("GET /labels?name=like.shared*&select=orders(status)");
  deepStrictEqual(
    await labels.json(),
    names.map(() => ({ orders: Array.from({ length: 8 }, () => ({ status: "at once" })) })),
  );
});

suite.test("operations of a batch refer to the rows of a nested insert", async (api) => {
  const requests = [
    {
      id: "order",
      method: "POST",
      url: "/orders?columns=status,lines(sku)",
      headers: { Prefer: "return=headers-only" },
      body: { status: "batched", lines: [{ sku: "x" }] },
    },
    {
      method: "POST",
      url: "/lines?select=orders(status,lines(sku))",
      headers: { Prefer: "return=representation" },
      body: { sku: "y" },
      refs: { "/order_id": "order#/id" },
    },
  ];
  const headers = { "Content-Type": "application/vnd.svc.batch+json" };
  const response = await api("POST /", { headers, body: { requests } });
  const { responses } = await response.json();
  deepStrictEqual(responses[1].body, [{ orders: { status: "batched", lines: [{ sku: "x" }] } }]);
  const lost = {
    method: "POST",
    url: "/picky?columns=name,picked()",
    body: [{ name: "bad", picked: [{}] }],
  };
  const refusal = await api("POST /", { headers, body: { requests: [requests[0], lost] } });
  const { code, operation } = await refusal.json();
  deepStrictEqual([refusal.status, code, operation.index], [409, "SVC148", 1]);
});
