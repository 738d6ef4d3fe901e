import { apiSuite } from "../support/api.ts";

const suite = apiSuite("representations", {
  dbSchemas: ["api"],
  dbExtraSearchPath: ["public", "other"],
  dbAnonRole: "anon",
});

const shown = { Prefer: "return=representation" };
const csv = { Accept: "text/csv" };

suite.rows("domains show themselves as JSON", [
  ["GET /todos?id=eq.1", {}, 200, [{ id: 1, label: "#0000FF", done: false }]],
  ["GET /todos?id=eq.1&select=label", {}, 200, [{ label: "#0000FF" }]],
  ["GET /todos?id=eq.1&select=clr:label", {}, 200, [{ clr: "#0000FF" }]],
  ["GET /todos?id=eq.1&select=clr:label::text", {}, 200, [{ clr: '"#0000FF"' }]],
  ["GET /todos?id=eq.1&select=*", { headers: csv }, 200, 'id,label,done\n1,"""#0000FF""",f'],
  ["GET /rpc/todos_of?first=2&order=id&limit=1", {}, 200, [{
    id: 2,
    label: "#00FF00",
    done: false,
  }]],
  ["GET /rpc/one_todo", {}, 200, { id: 1, label: "#0000FF", done: false }],
  ["GET /rpc/one_todo?select=label", {}, 200, { label: "#0000FF" }],
  // Not what is no row of a relation.
  ["GET /rpc/favourite", {}, 200, 255],
]);

suite.rows("domains read themselves from JSON", [
  ["POST /todos", { body: { id: 9, label: "#000010" }, headers: shown }, 201, [
    { id: 9, label: "#000010", done: false },
  ]],
  ["POST /todos?columns=id", { body: { id: 9, label: "#000010" }, headers: shown }, 201, [
    { id: 9, label: null, done: false },
  ]],
  ["PATCH /todos?id=eq.2", { body: { label: "#000011" }, headers: shown }, 200, [
    { id: 2, label: "#000011", done: false },
  ]],
  [
    "PUT /todos?id=eq.2&select=label",
    {
      body: { id: 2, label: "#000012", done: true },
      headers: shown,
    },
    200,
    [{ label: "#000012" }],
  ],
  ["DELETE /todos?id=eq.2", { headers: shown }, 200, [{ id: 2, label: "#00FF00", done: false }]],
  // Arguments are read as PostgreSQL reads them.
  ["GET /rpc/take?c=5", {}, 200, 5],
  ["POST /rpc/take", { body: { c: 5 } }, 200, 5],
]);

suite.rows("domains read themselves from text in filters", [
  ["GET /todos?label=eq.0000FF&select=id", {}, 200, [{ id: 1 }]],
  ["GET /todos?label=eq.%230000FF&select=id", {}, 200, [{ id: 1 }]],
  ["GET /todos?label=in.(0000FF,00FF00)&select=id&order=id", {}, 200, [{ id: 1 }, { id: 2 }]],
  ["GET /todos?label=not.eq.0000FF&select=id", {}, 200, [{ id: 2 }]],
  ["GET /todos?label=gt.0000FF&select=id", {}, 200, [{ id: 2 }]],
  ["GET /todos?label=is.null&select=id", {}, 200, [{ id: 3 }]],
  ["GET /todos?order=label.desc.nullslast&select=id", {}, 200, [{ id: 2 }, { id: 1 }, { id: 3 }]],
  ["GET /rpc/todos_of?first=1&label=eq.00FF00&select=id", {}, 200, [{ id: 2 }]],
  ["DELETE /todos?label=eq.0000FF&select=id", { headers: shown }, 200, [{ id: 1 }]],
]);
