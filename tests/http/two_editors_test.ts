import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { changeTodo, type Client } from "../../examples/two_editors/two_editors.ts";
import { createHandler } from "../../mod.ts";
import { engines } from "../support/engines.ts";
import { signToken, testSecret } from "../support/token.ts";

Deno.test("examples/two_editors loses none of 20 changes to one row", async () => {
  await using resources = new AsyncDisposableStack();
  const database = await engines.pg({ name: "examples/todos/todos.sql", roles: [] });
  resources.defer(() => database.remove());
  const handler = createHandler({
    dbUri: database.uri,
    dbSchemas: ["api"],
    dbAnonRole: "web_anon",
    jwtSecret: testSecret,
    etagMode: "on",
  });
  resources.defer(() => handler.close());
  const client: Client = {
    url: "http://localhost:3000",
    token: await signToken({ role: "todo_user", sub: "ada" }),
    fetch: (request) => handler(request),
  };
  const letters = [..."abcdefghijklmnopqrst"];
  const conflicts = await Promise.all(
    letters.map((letter) => changeTodo(client, 1, ({ task }) => ({ task: task + letter }))),
  );
  ok(conflicts.some((count) => count > 0), "no two changes met");
  const response = await handler(new Request(`${client.url}/todos?id=eq.1`));
  const [{ task }] = await response.json();
  deepStrictEqual([...task.slice(-letters.length)].sort(), letters);
  strictEqual(task.length, "finish tutorial 0".length + letters.length);
});
