/** Inserts of rows together with the rows of related relations. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite } from "../support/handler/api.ts";
import { batchOf, post } from "../support/handler/batch.ts";
import { answers, errorBody } from "../support/handler/rows.ts";

const suite = apiSuite(
  "nested",
  { dbSchemas: ["api"], dbAnonRole: "anon", dbPlanEnabled: true, batchMaxOperations: 10 },
  { title: "nested inserts" },
);
const shown = { Prefer: "return=representation" };
const merged = { Prefer: "return=representation, resolution=merge-duplicates" };

const refused = (path: string, details: string) =>
  errorBody(`SVC147 | Cannot write '${path}' nested | ${details ?? ""}`);

suite.answers("rows belong to the rows around them", { headers: shown })`
  POST /orders?columns=status,lines(sku,qty)&select=status,lines(sku,qty)
    with [{"status":"a","lines":[{"sku":"x","qty":2},{"sku":"y","qty":3}]},{"status":"b"},
      +{"status":"c","lines":[{"sku":"x","qty":1}]}]
    201 [{"status":"a","lines":[{"sku":"x","qty":2},{"sku":"y","qty":3}]},
      +{"status":"b","lines":[]},{"status":"c","lines":[{"sku":"x","qty":1}]}]
    Content-Range: */*
    Preference-Applied: return=representation
  // The order of the body, or that of the request.
  POST /orders?columns=status,lines(sku)&select=status&order=status.desc
    with [{"status":"a"},{"status":"c"},{"status":"b"}]
    201 [{"status":"c"},{"status":"b"},{"status":"a"}]
  POST /orders?columns=lines(sku,comments(text),products(name))
    +&select=lines(sku,comments(text),products(name))
    with [{"lines":[{"sku":"x","comments":[]},{"sku":"y","comments":[{"text":"1"}]}]},
      +{"lines":[{"sku":"x","comments":[{"text":"2"},{"text":"3"}],
      +"products":{"name":"saw"}}]}]
    201 [{"lines":[{"sku":"x","comments":[],"products":null},
      +{"sku":"y","comments":[{"text":"1"}],"products":null}]},
      +{"lines":[{"sku":"x","comments":[{"text":"2"},{"text":"3"}],
      +"products":{"name":"saw"}}]}]
  // To-one: rows that refer to nested ones, and a row that refers to the one around.
  POST /orders?columns=status,customers(name),invoices(total)
    +&select=status,customers(name,country),invoices(total)
    with [{"status":"a","customers":{"name":"Ada"},"invoices":{"total":1.5}},
      +{"status":"b","customers":null,"invoices":null},
      +{"status":"c","customers":{"name":"Cy"}}]
    201 [{"status":"a","customers":{"name":"Ada","country":"CH"},"invoices":{"total":1.5}},
      +{"status":"b","customers":null,"invoices":null},
      +{"status":"c","customers":{"name":"Cy","country":"CH"},"invoices":null}]
  POST /orders?columns=status,labels(name)&select=status,labels(name)
    with [{"status":"a","labels":[{"name":"red"},{"name":"blue"}]},{"status":"b"}]
    201 [{"status":"a","labels":[{"name":"red"},{"name":"blue"}]},{"status":"b","labels":[]}]
  // The junction itself, for its columns and for rows that exist.
  POST /orders?columns=order_labels(note,labels(name))&select=order_labels(note,labels(name))
    with {"order_labels":[{"note":"n","labels":{"name":"red"}}]}
    201 [{"order_labels":[{"note":"n","labels":{"name":"red"}}]}]
  POST /orders?columns=order_labels(label_id)&select=labels(name)
    with {"order_labels":[{"label_id":100}]}
    201 [{"labels":[{"name":"old"}]}]
  // Aliases are keys of the body; hints choose among relationships.
  POST /trips?columns=start:places!from_id(name),end:places!to_id(name)
    +&select=start:places!from_id(name),end:places!to_id(name)
    with {"start":{"name":"A"},"end":{"name":"B"}}
    201 [{"start":{"name":"A"},"end":{"name":"B"}}]
  POST /orders?columns=%22it's%20%5C%22%5C%5Cx%5C%22%22%3Alines(sku)&select=lines(sku)
    with {"it's \"\\x\"":[{"sku":"x"}]}
    201 [{"lines":[{"sku":"x"}]}]
  POST /parts?columns=name,parts(name,parts(name))&select=name,parts(name,parts(name))
    +&parts.order=name&parts.parts.order=name
    with [{"name":"car","parts":[{"name":"door","parts":[{"name":"lock"}]},{"name":"wheel"}]},
      +{"name":"bike","parts":[{"name":"bell","parts":[{"name":"a"},{"name":"b"}]}]}]
    201 [{"name":"car","parts":[{"name":"door","parts":[{"name":"lock"}]},
      +{"name":"wheel","parts":[]}]},{"name":"bike","parts":[{"name":"bell",
      +"parts":[{"name":"a"},{"name":"b"}]}]}]
  // A column of two keys has the value of the row around.
  POST /tenants?columns=id,name,tasks(id,title,projects(tenant_id,id,name))
    +&select=id,tasks(tenant_id,project_id,title)
    with {"id":1,"name":"t","tasks":[{"id":1,"title":"a","projects":{"tenant_id":1,"id":7,
      +"name":"p"}},{"id":2,"title":"b"}]}
    201 [{"id":1,"tasks":[{"tenant_id":1,"project_id":7,"title":"a"},
      +{"tenant_id":1,"project_id":null,"title":"b"}]}]
  POST /projects?columns=id,tenants(id),flags(tenant_id,id,name)&select=id,flags(tenant_id,name)
    with [{"id":7,"tenants":{"id":1},"flags":[{"tenant_id":1,"id":5,"name":"red"}]},
      +{"id":7,"tenants":{"id":2},"flags":[{"tenant_id":2,"id":5,"name":"blue"}]}]
    201 [{"id":7,"flags":[{"tenant_id":1,"name":"red"}]},
      +{"id":7,"flags":[{"tenant_id":2,"name":"blue"}]}]
  POST /shown_orders?columns=status,shown_lines(sku)&select=status,shown_lines(sku,qty)
    with {"status":"v","shown_lines":[{"sku":"x"}]}
    201 [{"status":"v","shown_lines":[{"sku":"x","qty":1}]}]
  // Policies and triggers see the row around.
  POST /accounts?columns=entries(amount)&select=owner,entries(amount)
    with [{"entries":[{"amount":1},{"amount":2}]},{"entries":[]}]
    201 [{"owner":"me","entries":[{"amount":1},{"amount":2}]},{"owner":"me","entries":[]}]
`;

suite.answers("the response is that of its root")`
  POST /orders?columns=status,lines(sku) with {"status":"a","lines":[{"sku":"x"}]}
    201
    Content-Range: */*
    no Location
    Content-Length: 0
  POST /orders?columns=id,lines(sku) {Prefer: return=headers-only, count=exact}
    with [{"id":7,"lines":[{"sku":"x"},{"sku":"y"}]}]
    201
    Content-Range: */1
    Location: /orders?id=eq.7
  POST /orders?columns=id,lines(sku)&select=id {Prefer: return=representation}
    Accept: application/vnd.pgrst.object+json
    with [{"id":7,"lines":[{"sku":"x"},{"sku":"y"}]}]
    201 {"id":7}
  POST /orders?columns=id,lines(sku)&select=id {Prefer: return=representation}
    Accept: application/vnd.pgrst.object+json
    with [{"id":7,"lines":[]},{"id":8}]
    406 SVC116 | Cannot coerce the result to a single JSON object | The result contains 2 rows
  POST /orders?columns=status,lines(sku)&select=status {Prefer: return=representation} with []
    201 []
  POST /orders?columns=id,lines(sku)&select=id,lines(sku) {Prefer: return=representation}
    Content-Type: application/x-ndjson
    with "{\"id\":7,\"lines\":[{\"sku\":\"x\"}]}\n{\"id\":8}\n"
    201 [{"id":7,"lines":[{"sku":"x"}]},{"id":8,"lines":[]}]
  POST /notes?columns=text,orders(status) with {"text":"n","orders":{"status":"a"}} | 201
`;

suite.rows("only the named columns are written", [
  ...answers({ headers: { Prefer: "return=representation" } })`
    POST /orders?columns=status,lines(sku)&select=status,customer_id,lines(sku,qty)
      with {"status":"a","customer_id":100,"lines":[{"sku":"x","qty":9,"id":5,"order_id":100}]}
      201 [{"status":"a","customer_id":null,"lines":[{"sku":"x","qty":1}]}]
    // Keys that are absent are NULL, or the default.
    POST /orders?columns=status,extra,lines(sku,qty)&select=status,extra,lines(sku,qty)
      Prefer: return=representation, missing=default
      with {"extra":{"a":1},"lines":[{"sku":"x"},{"sku":"y","qty":4}]}
      201 [{"status":"new","extra":{"a":1},"lines":[{"sku":"x","qty":1},{"sku":"y","qty":4}]}]
      Preference-Applied: missing=default, return=representation
    POST /paints?columns=name,tints(tint)&select=name,tints(tint)
      with {"name":"p","tints":[{"tint":"ff"},{}]}
      201 [{"name":"p","tints":[{"tint":255},{"tint":null}]}]
    POST /paints?columns=name,tints(tint)&select=name,tints(tint)
      Prefer: return=representation, missing=default
      with {"name":"p","tints":[{"tint":"ff"},{}]}
      201 [{"name":"p","tints":[{"tint":255},{"tint":7}]}]
    // Rows without columns of their own.
    POST /parts?columns=parts()&select=parts(name) with {"parts":[{},{}]}
      201 [{"parts":[{"name":null},{"name":null}]}]
    // "*" stands for the keys of the level.
    POST /orders?columns=*,lines(*,comments(*))&select=status,extra,lines(sku,qty,comments(text))
      with [{"status":"a","extra":null,"lines":[{"sku":"x","qty":1,"comments":[{"text":"t"}]}]},
        +{"status":"b","extra":1,"lines":[{"sku":"y","qty":2}]}]
      201 [{"status":"a","extra":null,"lines":[{"sku":"x","qty":1,"comments":[{"text":"t"}]}]},
        +{"status":"b","extra":1,"lines":[{"sku":"y","qty":2,"comments":[]}]}]
  `,
  ...answers()`
    POST /orders?columns=*,lines(*) with [{"status":"a","lines":[{"sku":"x"},{"qty":1}]}]
      400 SVC102 | All object keys must match
    POST /orders?columns=*,lines(*) with [{"status":"a"},{"id":7}]
      400 SVC102 | All object keys must match
    POST /orders?columns=*,lines(*) with [{"lines":[{"sku":"x","order_id":100}]}]
      400 SVC147 | Cannot write 'lines' nested | Column 'order_id' gets its value from a related row
    POST /orders?columns=*&select=id,status with {"id":7,"status":"a"}
      Prefer: return=representation
      201 [{"id":7,"status":"a"}]
    POST /orders?columns=*,extra&select=id,status,extra with {"id":7}
      Prefer: return=representation
      201 [{"id":7,"status":"new","extra":null}]
  `,
]);

suite.rows("levels resolve conflicts", [
  ...answers({ headers: shown })`
    // Rows that exist, that are new, and that stand twice in the body.
    POST /orders?columns=status,labels(name)&labels.on_conflict=name
      +&labels.resolution=ignore-duplicates&select=status,labels(id,name)&labels.id=eq.100
      with [{"status":"a","labels":[{"name":"old"},{"name":"new"},{"name":"new"}]},
        +{"status":"b","labels":[{"name":"new"},{"name":"old"}]}]
      201 [{"status":"a","labels":[{"id":100,"name":"old"}]},
        +{"status":"b","labels":[{"id":100,"name":"old"}]}]
    POST /orders?columns=status,customers(name,email)&customers.on_conflict=email
      +&customers.resolution=ignore-duplicates&select=customers(id,name)
      with {"status":"a","customers":{"name":"A.","email":"ada@x.org"}}
      201 [{"customers":{"id":100,"name":"Ada"}}]
    POST /orders?columns=status,customers(name,email)&customers.on_conflict=email
      +&customers.resolution=merge-duplicates&select=customers(id,name)
      with {"status":"a","customers":{"name":"A.","email":"ada@x.org"}}
      201 [{"customers":{"id":100,"name":"A."}}]
  `,
  ...answers({ headers: merged })`
    // The root upserts as ever, and rows go to the row that exists.
    POST /orders?columns=id,status,lines(sku,qty)&lines.on_conflict=order_id,sku
      +&lines.resolution=merge-duplicates&select=id,status,merge_action(),lines(sku,qty)
      with [{"id":100,"status":"b","lines":[{"sku":"x","qty":1},{"sku":"y","qty":2}]},
        +{"id":101,"status":"c","lines":[{"sku":"x","qty":3}]}]
      201 [{"id":100,"status":"b","merge_action":"UPDATE","lines":[{"sku":"x","qty":1},
        +{"sku":"y","qty":2}]},{"id":101,"status":"c","merge_action":"INSERT",
        +"lines":[{"sku":"x","qty":3}]}]
      Preference-Applied: resolution=merge-duplicates, return=representation
    POST /orders?columns=id,lines(sku)&select=id,lines(sku) with {"id":100,"lines":[{"sku":"x"}]}
      200 [{"id":100,"lines":[{"sku":"x"}]}]
    // Updates of nested rows do not count for the status.
    POST /orders?columns=status,customers(name,email)&customers.on_conflict=email
      +&customers.resolution=merge-duplicates&select=status
      with {"status":"a","customers":{"name":"A.","email":"ada@x.org"}}
      201 [{"status":"a"}]
  `,
  ...answers()`
    POST /orders?columns=id,lines(sku)&select=id,lines(sku)
      Prefer: return=representation, resolution=ignore-duplicates
      with [{"id":100,"lines":[{"sku":"x"}]},{"id":7,"lines":[{"sku":"y"}]}]
      201 [{"id":100,"lines":[{"sku":"x"}]},{"id":7,"lines":[{"sku":"y"}]}]
    POST /orders?columns=id,lines(sku)&select=id,merge_action() with {"id":100,"lines":[]}
      Prefer: return=representation, resolution=ignore-duplicates
      400 SVC157 | Invalid conflict handling | 'merge_action()' does not tell found from inserted rows
    // Without rows that refer to them, rows that exist are left out as ever.
    POST /orders?columns=id,customers(name)&select=id
      Prefer: return=representation, resolution=ignore-duplicates
      with [{"id":100,"customers":{"name":"B"}},{"id":7}]
      201 [{"id":7}]
    // A link that exists stays one.
    POST /orders?columns=id,labels(name)&labels.on_conflict=name
      +&labels.resolution=ignore-duplicates&select=id,labels(name)
      Prefer: return=representation, resolution=merge-duplicates
      with {"id":100,"labels":[{"name":"old"}]}
      200 [{"id":100,"labels":[{"name":"old"}]}]
  `,
  ...answers({ body: [] })`
    POST /orders?columns=status,labels(name)&labels.on_conflict=name
      400 SVC157 | Invalid conflict handling | 'labels.on_conflict' needs 'labels.resolution'
    POST /orders?columns=status,labels(name)&labels.resolution=ignore-duplicates
      400 SVC157 | Invalid conflict handling | The body does not write 'id' of 'labels'
    POST /orders?columns=status,notes(text)&notes.resolution=merge-duplicates
      400 SVC157 | Invalid conflict handling | 'notes' has no primary key, so name the columns
    POST /orders?columns=status,labels(name)&lines.on_conflict=sku
      400 SVC108 | 'lines' is not a nested item of this request |  | Verify that it is included in the 'columns' query parameter.
    POST /orders?labels.on_conflict=name
      400 SVC108 | 'labels' is not a nested item of this request |  | Verify that it is included in the 'columns' query parameter.
    POST /orders?columns=labels(name)&labels.resolution=replace
      400 SVC100 | "failed to parse labels.resolution (replace)" (line 1, column 1) | unexpected "r" expecting "merge-duplicates", "ignore-duplicates" or "return-existing"
  `,
]);

suite.rows("errors of one level leave nothing", [
  ...answers()`
    POST /picky?columns=name,picked(id) with [{"name":"good"},{"name":"bad","picked":[{}]}]
      409 SVC148 | Rows of 'picky' cannot be assigned to the body | 2 sent, 1 written
    POST /secret_uses?columns=order_id,secrets(name)&secrets.on_conflict=name
      +&secrets.resolution=ignore-duplicates
      with {"order_id":100,"secrets":{"name":"hidden"}}
      409 SVC148 | Rows of 'secrets' cannot be assigned to the body | 1 sent, 0 written
    POST /orders?columns=status,lines(sku) {Content-Type: text/csv} with "sku\nx"
      400 SVC147 | Cannot write 'orders' nested | The body is not JSON
    // Rows of other tenants, which have the same number.
    POST /tenants?columns=id,tasks(id,projects(tenant_id,id))
      with [{"id":1,"tasks":[{"id":1,"projects":{"tenant_id":2,"id":7}}]},
      +{"id":2,"tasks":[{"id":1,"projects":{"tenant_id":1,"id":7}}]}]
      400 SVC147 | Cannot write 'tasks' nested | Related rows differ in a column that they share
    POST /projects?columns=id,tenants(id),flags(tenant_id,id)
      with [{"id":7,"tenants":{"id":1},"flags":[{"tenant_id":2,"id":5}]},
      +{"id":7,"tenants":{"id":2},"flags":[{"tenant_id":1,"id":5}]}]
      400 SVC147 | Cannot write 'flags' nested | Related rows differ in a column that they share
    POST /orders?columns=lines(sku,nope) with {}
      400 SVC204 | Could not find the 'nope' column of 'lines' in the schema cache
  `,
  ...answers({ body: {} })`
    POST /orders?columns=latest_lines(sku)
      400 SVC147 | Cannot write 'latest_lines' nested | A function computes its rows
    POST /orders?columns=lines(sku,order_id)
      400 SVC147 | Cannot write 'lines' nested | Column 'order_id' gets its value from a related row
    POST /orders?columns=customer_id,customers(name)
      400 SVC147 | Cannot write 'orders' nested | Column 'customer_id' gets its value from a related row
    POST /orders?columns=lines(sku,orders(status))
      400 SVC147 | Cannot write 'lines.orders' nested | Column 'order_id' gets its value from another row
    POST /trips?columns=a:places!from_id(name),b:places!from_id(name)
      400 SVC147 | Cannot write 'b' nested | Column 'from_id' gets its value from another row
    POST /orders?columns=lines(sku),lines(qty)
      400 SVC147 | Cannot write 'lines' nested | Two items have this name
    POST /orders?columns=lines(comments:sku)
      400 SVC100 | a ( is missing before ) | "failed to parse columns parameter (lines(comments:sku))" (line 1, column 19): unexpected ")" expecting letter, digit, "-" or "("
  `,
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
  ...answers({ body: {} })`
    POST /notes?columns=text,orders(status) {Prefer: return=representation}
      400 SVC147 | Cannot write 'notes' nested | It has no primary key, so only return=minimal is possible
  `,
]);

suite.answers("columns that are followed by other text are no nested items", { headers: shown })`
  POST /lines?columns=order_id,sku,qty(x)&select=order_id,sku,qty
    with {"order_id":100,"sku":"x","qty":3}
    400 SVC147 | Cannot write 'qty' nested | It is a column of 'lines'
  POST /lines?columns=order_id,sku(x),qty&select=order_id,sku,qty
    with {"order_id":100,"sku":"x","qty":3}
    400 SVC147 | Cannot write 'sku' nested | It is a column of 'lines'
  POST /lines?columns=order_id,sku((&select=sku with {"order_id":100,"sku":"x"}
    400 SVC147 | Cannot write 'sku' nested | It is a column of 'lines'
`;

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
    post("/orders?columns=status,lines(sku)", { status: "batched", lines: [{ sku: "x" }] }, {
      id: "order",
      headers: { Prefer: "return=headers-only" },
    }),
    post("/lines?select=orders(status,lines(sku))", { sku: "y" }, {
      headers: { Prefer: "return=representation" },
      refs: { "/order_id": "order#/id" },
    }),
  ];
  const response = await api("POST /", batchOf(requests));
  const { responses } = await response.json();
  deepStrictEqual(responses[1].body, [{ orders: { status: "batched", lines: [{ sku: "x" }] } }]);
  const lost = post("/picky?columns=name,picked()", [{ name: "bad", picked: [{}] }]);
  const refusal = await api("POST /", batchOf([requests[0]!, lost]));
  const { code, operation } = await refusal.json();
  deepStrictEqual([refusal.status, code, operation.index], [409, "SVC148", 1]);
});
