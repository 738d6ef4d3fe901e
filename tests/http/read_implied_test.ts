/** Conditions on the rows around an embed that its rows fulfil by the key: answers stay the same, and plans leave
 * partitions out. */
import { apiSuite } from "../support/handler/api.ts";

const suite = apiSuite("partitions", { dbSchemas: ["api"], dbAnonRole: "anon" });

suite.rows("embeds by a key that has a filtered column", [
  ["GET /projects?tenant_id=eq.3&select=id,tasks(title)&order=id&tasks.order=id", {}, 200, [
    { id: 1, tasks: [{ title: "task 3.2" }] },
    { id: 2, tasks: [{ title: "task 3.1" }, { title: "task 3.3" }] },
  ]],
  ["GET /tasks?tenant_id=eq.2&id=eq.2&select=title,projects(name)", {}, 200, [
    { title: "task 2.2", projects: { name: "project 2.1" } },
  ]],
  ["GET /projects?tenant_id=eq.3&id=eq.1&select=tasks!inner(title,tags(name))", {}, 200, [
    { tasks: [{ title: "task 3.2", tags: [{ name: "tag 3" }] }] },
  ]],
  ["GET /tags?tenant_id=eq.4&select=name,tasks(title,projects(name))", {}, 200, [
    { name: "tag 4", tasks: [{ title: "task 4.2", projects: { name: "project 4.1" } }] },
  ]],
  ["GET /tasks?tenant_id=eq.1&id=eq.2&select=title,...projects(name)", {}, 200, [
    { title: "task 1.2", name: "project 1.1" },
  ]],
  ["GET /projects?tenant_id=eq.1&select=id,tasks()&tasks=is.null", {}, 200, []],
]);

suite.rows("conditions that do not hold for all rows are not repeated", [
  [
    "GET /projects?or=(tenant_id.eq.3,tenant_id.eq.4)&id=eq.1&select=tasks(title)&order=tenant_id",
    {},
    200,
    [{ tasks: [{ title: "task 3.2" }] }, { tasks: [{ title: "task 4.2" }] }],
  ],
  [
    "GET /projects?tenant_id=not.eq.3&id=eq.1&select=tasks(title)&order=tenant_id&limit=1",
    {},
    200,
    [
      { tasks: [{ title: "task 1.2" }] },
    ],
  ],
]);
