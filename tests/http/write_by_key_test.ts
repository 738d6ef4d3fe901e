/** Updates of many rows, each with values of its own: `PATCH /orders?on=id`. */
import { serviceSuite } from "../support/handler/api.ts";
import { answer, answers, errorBody, type Row } from "../support/handler/rows.ts";

const suite = serviceSuite("updates_by_key", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "updates by key",
});
const representation = { Prefer: "return=representation" };
const refused = (details: string, on = "id") =>
  errorBody(`SVC145 | Rows cannot be matched by '${on}' | ${details ?? ""}`);

suite.rows("each row of the body updates the rows with its key", [
  ...answers()`
    // Rows may have different keys: columns that a row lacks stay as they are, and null sets NULL.
    PATCH /orders?on=id with [{"id":1,"status":"paid"},{"id":2,"total":7.5,"note":null}]
      Prefer: return=representation
      200 [{"id":1,"status":"paid","total":1,"note":"a"},{"id":2,"status":"new","total":7.5,
        +"note":null}]
      Content-Range: 0-1/*
    // The representation has the order of the body, unless the request names one.
    PATCH /orders?on=id&select=id,note with [{"id":3,"note":"x"},{"id":1,"note":"y"}]
      Prefer: return=representation
      200 [{"id":3,"note":"x"},{"id":1,"note":"y"}]
    PATCH /orders?on=id&select=id&order=id.desc with [{"id":1,"note":"x"},{"id":2,"note":"y"}]
      Prefer: return=representation
      200 [{"id":2},{"id":1}]
    PATCH /orders?on=id with [{"id":1,"note":"x"},{"id":2,"note":"y"}]
      204
      Content-Range: 0-1/*
      no Preference-Applied
    PATCH /orders?on=id {Prefer: count=exact} with [{"id":1,"note":"x"}]
      204
      Content-Range: 0-0/1
    PATCH /orders?on=id&select=note {Prefer: return=representation} with {"id":2,"note":"o"}
      200 [{"note":"o"}]
    PATCH /orders?on=id&select=id,note {Prefer: return=representation} {Content-Type: text/csv}
      with "id,note\n2,c\n1,NULL\n"
      200 [{"id":2,"note":"c"},{"id":1,"note":null}]
    PATCH /orders?on=id&select=id,note {Prefer: return=representation} with "id=2&note=f"
      Content-Type: application/x-www-form-urlencoded
      200 [{"id":2,"note":"f"}]
    PATCH /orders?on=id&select=id,status,note {Prefer: return=representation}
      Content-Type: application/x-ndjson
      with "{\"id\":2,\"note\":\"l\"}\n{\"status\":\"s\",\"id\":1}\n"
      200 [{"id":2,"status":"new","note":"l"},{"id":1,"status":"s","note":"a"}]
  `,
  ...answers({ headers: { Prefer: "return=representation" } })`
    PATCH /lines?on=order_id,sku
      with [{"order_id":1,"sku":"B","qty":20},{"sku":"A","order_id":2,"qty":30}]
      200 [{"order_id":1,"sku":"B","qty":20},{"order_id":2,"sku":"A","qty":30}]
    // A key may match several rows.
    PATCH /tagged?on=tag&select=id,n&order=id with [{"tag":"x","n":9},{"tag":"y","n":8}]
      200 [{"id":1,"n":9},{"id":2,"n":9},{"id":3,"n":8}]
    // Filters hold as well.
    PATCH /orders?on=id&status=eq.new&select=id with [{"id":1,"note":"x"},{"id":3,"note":"x"}]
      200 [{"id":1}]
    PATCH /orders?on=id&or=(id.eq.3,total.gt.1)&select=id
      with [{"id":1,"note":"x"},{"id":3,"note":"x"}]
      200 [{"id":3}]
    PATCH /open_orders?on=id with [{"id":1,"total":5},{"id":3,"total":5}]
      200 [{"id":1,"status":"new","total":5}]
    PATCH /paints?on=color with [{"color":"ff","mix":"a"},{"color":"10","mix":"b"}]
      200 [{"color":"ff","mix":"a"},{"color":"10","mix":"b"}]
    PATCH /odd.names?on="on" with [{"on":1,"a.b":5},{"on":2,"svc \"q\"":"z"}]
      200 [{"on":1,"a.b":5,"svc \"q\"":"one"},{"on":2,"a.b":20,"svc \"q\"":"z"}]
    PATCH /odd.names?on="a.b"&select=on with [{"a.b":20,"svc \"q\"":"z"}] | 200 [{"on":2}]
    // Rows that policies hide are not found.
    PATCH /owned?on=id&select=id with [{"id":1,"note":"x"},{"id":2,"note":"x"}] | 200 [{"id":1}]
    PATCH /orders?on=id with []
      200 []
      Content-Range: */*
    PATCH /orders?on=id with [{"id":1}] | 200 []
  `,
]);

suite.answers("columns names the columns to write", {
  headers: { Prefer: "return=representation" },
})`
  PATCH /orders?on=id&columns=id,status,note&select=id,status,note
    with [{"id":1,"status":"s","total":99},{"id":2,"note":"n"}]
    200 [{"id":1,"status":"s","note":null},{"id":2,"status":null,"note":"n"}]
  PATCH /orders?on=id&columns=id,status,total&select=id,status,total
    Prefer: return=representation, missing=default
    with [{"id":1,"status":"s"},{"id":2,"total":5}]
    200 [{"id":1,"status":"s","total":1},{"id":2,"status":"new","total":5}]
    Preference-Applied: missing=default, return=representation
  // The columns of the key need not be listed.
  PATCH /orders?on=id&columns=note&select=id,note with [{"id":1,"note":"n"}]
    200 [{"id":1,"note":"n"}]
`;

/** Of one shape but for the keys of their rows. */
const ofOneShape: readonly Row[] = [
  ...answers({ headers: { Prefer: "return=representation" } })`
    PATCH /orders?on=id&select=id,note,total
      with [{"id":1,"note":"x","total":5},{"id":2,"note":"y","total":6}]
      200 [{"id":1,"note":"x","total":5},{"id":2,"note":"y","total":6}]
    PATCH /orders?on=id&select=id,note,total with [{"id":1,"note":"z"},{"id":2,"total":7}]
      200 [{"id":1,"note":"z","total":1},{"id":2,"note":"b","total":7}]
    PATCH /orders?on=id&select=id,note,total with [{"id":3,"total":8},{"id":1,"note":"w"}]
      200 [{"id":3,"note":null,"total":8},{"id":1,"note":"w","total":1}]
  `,
];
suite.rows("requests of one shape update by their own rows", [
  ...ofOneShape,
  ...ofOneShape,
  ...ofOneShape,
]);

suite.answers("unmatched=fail refuses rows that match nothing")`
  PATCH /orders?on=id&select=id with [{"id":1,"note":"x"},{"id":99,"note":"x"}]
    Prefer: return=representation
    200 [{"id":1}]
  PATCH /orders?on=id&select=id with [{"id":1,"note":"x"}]
    Prefer: return=representation, unmatched=fail
    200 [{"id":1}]
    Preference-Applied: return=representation, unmatched=fail
  PATCH /orders?on=id with [{"id":1,"note":"lost"},{"id":99,"note":"x"},{"id":98,"note":"x"}]
    Prefer: unmatched=fail
    404 SVC146 | 2 rows were not found | [{"id" : 99}, {"id" : 98}]
  GET /orders?id=eq.1&select=note | 200 [{"note":"a"}]
  PATCH /orders?on=id {Prefer: unmatched=fail} with [{"id":1}] | 204
  PATCH /orders?on=id {Prefer: unmatched=ignore, handling=strict} with [{"id":9,"note":"x"}]
    204
    Preference-Applied: handling=strict, unmatched=ignore
  PATCH /orders?on=id with [{"id":1,"note":"x"},{"id":2,"note":"x"}]
    Prefer: handling=strict, max-affected=1
    400 SVC124 | Query result exceeds max-affected preference constraint | The query affects 2
      + rows
`;

suite.rows("rows that cannot be matched are refused", [
  ["PATCH /orders?on=id", { body: [{ note: "x" }] }, 400, refused("Row 1 has no 'id'")],
  ...answers()`
    PATCH /orders?on=id with [{"id":1,"note":"x"},{"note":"y"}]
      400 SVC145 | Rows cannot be matched by 'id' | Row 2 has no 'id'
    PATCH /orders?on=id with [{"id":1,"note":"x"},{"id":null,"note":"y"}]
      400 SVC145 | Rows cannot be matched by 'id' | Row 2 has no 'id'
    PATCH /lines?on=order_id,sku with [{"order_id":1,"sku":null,"qty":1}]
      400 SVC145 | Rows cannot be matched by 'order_id, sku' | Row 1 has no 'sku'
    PATCH /orders?on=id&columns=note with [{"note":"y"}]
      400 SVC145 | Rows cannot be matched by 'id' | Row 1 has no 'id'
    PATCH /orders?on=id with {} | 400 SVC145 | Rows cannot be matched by 'id' | Row 1 has no 'id'
    // Keys are equal in the type of the column.
    PATCH /orders?on=id with [{"id":"1","note":"x"},{"id":"01","note":"y"}]
      400 SVC145 | Rows cannot be matched by 'id' | Row 2 has the key of an earlier row
    PATCH /tagged?on=tag with [{"tag":"1","n":1},{"tag":"01","n":2}]
      204
      Content-Range: */*
    PATCH /orders?on=id&limit=1&order=id with [{"id":1,"note":"x"}]
      400 SVC145 | Rows cannot be matched by 'id' | 'on' cannot be combined with 'limit' or 'offset'
    PATCH /orders?on=nope with [{"nope":1,"note":"x"}]
      400 SVC204 | Could not find the 'nope' column of 'orders' in the schema cache
    PATCH /orders?on=id with [{"id":1,"nope":"x"}]
      400 SVC204 | Could not find the 'nope' column of 'orders' in the schema cache
    PATCH /orders?on=id {Content-Type: application/json} with "[{\"id\":1},5]"
      400 SVC102 | All object keys must match
    PATCH /orders?on=id&columns=note {Content-Type: application/json} with "[5]"
      400 22023 | cannot call populate_composite on a scalar
  `,
]);

suite.rows("on is a filter where its value is one", [
  ["PATCH /odd.names?on=eq.1&select=on", { body: { "a.b": 5 }, headers: representation }, 200, [
    { on: 1 },
  ]],
  ["GET /odd.names?on=eq.2&select=on", {}, 200, [{ on: 2 }]],
  ...["GET", "DELETE"].map((
    method,
  ): Row => [
    `${method} /orders?on=id`,
    {},
    ...answer(
      '400 SVC100 | on lacks an operator | "failed to parse filter (id)" (line 1, column 1): unexpected "i" expecting "not" or operator (eq, gt, ...)',
    ),
  ]),
]);

suite.rows("the role needs SELECT on columns that rows lack", [
  ["PATCH /half?on=id", { body: [{ id: 1, note: "x" }, { id: 2, note: "y" }] }, 204, undefined],
  [
    "PATCH /half?on=id",
    { body: [{ id: 1, note: "x" }, { id: 2, secret: "y" }] },
    401,
    { code: "42501", details: null, hint: null, message: "permission denied for table half" },
  ],
]);

const guarded = serviceSuite("updates_by_key", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbSafeUpdate: true,
}, { title: "db-safe-update" });

const unsafe = (statement: string) => ({
  code: "SVC158",
  details: null,
  hint: "Add a filter, or the header Prefer: handling=strict, max-affected=<rows>",
  message: `${statement} requires a WHERE clause`,
});
const strict = { Prefer: "handling=strict, max-affected=10" };

guarded.rows("db-safe-update refuses writes of whole tables", [
  ["PATCH /orders", { body: { note: "x" } }, 400, unsafe("UPDATE")],
  ["PATCH /orders?select=id", { body: { note: "x" } }, 400, unsafe("UPDATE")],
  ["PATCH /orders?order=id", { body: "{" }, 400, unsafe("UPDATE")],
  ["PATCH /orders?columns=note", { body: { note: "x" } }, 400, unsafe("UPDATE")],
  ["DELETE /orders", {}, 400, unsafe("DELETE")],
  [
    "DELETE /orders?select=id,lines(*)&lines.sku=eq.A",
    { headers: { Prefer: "return=representation" } },
    400,
    unsafe("DELETE"),
  ],
  ["DELETE /orders", { headers: { Prefer: "max-affected=10" } }, 400, unsafe("DELETE")],
  ["PATCH /orders?note=not.is.null", { body: { note: "x" } }, 204, undefined],
  ["PATCH /orders?or=(id.eq.1,id.eq.2)", { body: { note: "x" } }, 204, undefined],
  ["PATCH /orders?on=id", { body: [{ id: 1, note: "x" }] }, 204, undefined],
  ["PATCH /orders?limit=1&order=id", { body: { note: "x" } }, 204, undefined],
  ["PATCH /orders", { body: { note: "x" }, headers: strict }, 204, undefined],
  ["DELETE /tagged", { headers: strict }, 204, undefined],
  ["DELETE /tagged?id=gt.0", {}, 204, undefined],
  ["POST /orders", { body: { id: 9 } }, 201, undefined],
  ["GET /orders?select=id&limit=1", {}, 200, [{ id: 1 }]],
]);

const guardedPgrst = serviceSuite("updates_by_key", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbSafeUpdate: true,
  dialect: "pgrst",
}, { title: "db-safe-update, pgrst" });

guardedPgrst.answers("a limit is refused with on")`
  PATCH /orders?on=id&limit=1&order=id with [{"id":1,"note":"x"}]
    400 PGRST145 | Rows cannot be matched by 'id' | 'on' cannot be combined with 'limit' or 'offset'
`;

guardedPgrst.rows("a limit that has no effect is no bound", [
  ["DELETE /orders?limit=1&order=id", {}, 400, { ...unsafe("DELETE"), code: "PGRST158" }],
]);
