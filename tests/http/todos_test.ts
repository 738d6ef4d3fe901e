import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite } from "../support/handler/api.ts";

const suite = apiSuite("examples/todos/todos.sql", { dbSchemas: ["api"], dbAnonRole: "web_anon" }, {
  title: "examples/todos",
  roles: [],
});

const ada = { role: "todo_user", sub: "ada" };
const returning = { Prefer: "return=representation" };

suite.rows("todos", [
  ["GET /todos?id=eq.3", {}, 200, [{
    id: 3,
    done: false,
    task: "renew passport",
    due: "2030-01-15T12:00:00+00:00",
    owner: "ada",
  }], { "Content-Type": "application/json; charset=utf-8", "Content-Range": "0-0/*" }],
  [
    "GET /todos?done=is.false&due=not.is.null&select=id,due&order=due.asc",
    {},
    200,
    [{ id: 4, due: "2029-12-31T18:00:00+00:00" }, { id: 3, due: "2030-01-15T12:00:00+00:00" }],
  ],
  ["GET /todos?select=task&limit=1&order=id.desc", { as: ada }, 200, [{
    task: "return library books",
  }]],
  [
    "POST /todos",
    { body: { task: "sneak in" } },
    401,
    { code: "42501", details: null, hint: null, message: "permission denied for table todos" },
    { "WWW-Authenticate": "Bearer" },
  ],
  [
    "POST /todos?select=done,task,due,owner",
    { as: ada, headers: returning, body: { task: "learn SQL" } },
    201,
    [{ done: false, task: "learn SQL", due: null, owner: "ada" }],
  ],
  [
    "POST /todos",
    { as: ada, body: { task: "blame grace", owner: "grace" } },
    403,
    {
      code: "42501",
      details: null,
      hint: null,
      message: 'new row violates row-level security policy for table "todos"',
    },
    { "WWW-Authenticate": null },
  ],
  [
    "PATCH /todos?id=eq.2&select=id,done",
    { as: ada, headers: returning, body: { done: true } },
    200,
    [{ id: 2, done: true }],
  ],
  // PostgreSQL shows no failing row where row-level security is on.
  ["POST /todos", { as: ada, body: { done: true } }, 400, {
    code: "23502",
    details: null,
    hint: null,
    message: 'null value in column "task" of relation "todos" violates not-null constraint',
  }],
  ["PATCH /todos?id=eq.4", { as: ada, headers: returning, body: { done: true } }, 200, []],
  ["DELETE /todos?select=id", { as: ada, headers: returning }, 200, [{ id: 1 }, { id: 2 }, {
    id: 3,
  }]],
]);

suite.rows("remaining", [
  ["GET /rpc/remaining", {}, 200, 3],
  ["GET /rpc/remaining?owner=ada", {}, 200, 2],
  ["POST /rpc/remaining", { as: ada, body: { owner: "grace" } }, 200, 1],
]);

suite.test("todos refuses a token that has expired", async (api) => {
  const response = await api("GET /todos", { as: { ...ada, exp: 1 } });
  strictEqual(response.status, 401);
  deepStrictEqual(await response.json(), {
    code: "SVC301",
    details: null,
    hint: null,
    message: "JWT expired",
  });
});
