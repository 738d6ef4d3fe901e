import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite } from "../support/handler/api.ts";
import { answers, errorBody } from "../support/handler/rows.ts";

const suite = apiSuite("examples/todos/todos.sql", { dbSchemas: ["api"], dbAnonRole: "web_anon" }, {
  title: "examples/todos",
  roles: [],
});

const ada = { role: "todo_user", sub: "ada" };
const returning = { Prefer: "return=representation" };

suite.rows("todos", [
  ...answers()`
    GET /todos?id=eq.3
      200 [{"id":3,"done":false,"task":"renew passport","due":"2030-01-15T12:00:00+00:00",
        +"owner":"ada"}]
      Content-Type: application/json; charset=utf-8
      Content-Range: 0-0/*
    GET /todos?done=is.false&due=not.is.null&select=id,due&order=due.asc
      200 [{"id":4,"due":"2029-12-31T18:00:00+00:00"},{"id":3,"due":"2030-01-15T12:00:00+00:00"}]
  `,
  ...answers({ as: ada })`
    GET /todos?select=task&limit=1&order=id.desc | 200 [{"task":"return library books"}]
  `,
  ...answers()`
    POST /todos with {"task":"sneak in"}
      401 42501 | permission denied for table todos
      WWW-Authenticate: Bearer
  `,
  ...answers({ as: { role: "todo_user", sub: "ada" } })`
    POST /todos?select=done,task,due,owner {Prefer: return=representation} with {"task":"learn SQL"}
      201 [{"done":false,"task":"learn SQL","due":null,"owner":"ada"}]
    POST /todos with {"task":"blame grace","owner":"grace"}
      403 42501 | new row violates row-level security policy for table "todos"
      no WWW-Authenticate
    PATCH /todos?id=eq.2&select=id,done {Prefer: return=representation} with {"done":true}
      200 [{"id":2,"done":true}]
    // PostgreSQL shows no failing row where row-level security is on.
    POST /todos with {"done":true}
      400 23502 | null value in column "task" of relation "todos" violates not-null constraint
  `,
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
  deepStrictEqual(await response.json(), errorBody("SVC301 | JWT expired"));
});
