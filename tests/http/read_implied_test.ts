/** Conditions on the rows around an embed that its rows fulfil by the key: answers stay the same, and plans leave
 * partitions out. */
import { deepStrictEqual, ok } from "node:assert/strict";
import { apiSuite } from "../support/handler/api.ts";

const suite = apiSuite("partitions", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
});

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

/** Requests whose answers are the same with `in.(value)` in place of each `EQ.value`, which is not repeated. */
const requests = [
  "GET /projects?tenant_id=EQ.3&id=EQ.1&select=id,tasks!inner(id,projects!inner(id,tasks(count())))",
  "GET /projects?tenant_id=EQ.3&select=id,tasks(id)&tasks.tenant_id=EQ.2&tasks=is.null&order=id",
  "GET /projects?tenant_id=EQ.3&select=id,tasks(id)&tasks.id=EQ.1&tasks=not.is.null",
  "GET /projects?tenant_id=EQ.3&tenant_id=EQ.2&select=id,tasks(id)",
  "GET /projects?or=(tenant_id.eq.3,tasks.not.is.null)&id=EQ.1&select=tenant_id,tasks(id)&order=tenant_id",
  "GET /projects?tenant_id=EQ.3&select=id,tasks(id)&tasks.order=id.desc&tasks.limit=1&order=id",
  "GET /tasks?tenant_id=EQ.3&select=id,projects(id)&projects.id=EQ.1&order=projects(name),id",
  "GET /tasks?tenant_id=EQ.3&select=tags(name,tasks(id))&tags.id=EQ.1&order=id",
  "GET /tasks?tenant_id=EQ.null&select=id,projects(id)",
  "GET /ledgers?tenant_id=EQ.3&select=id,projects(id,tasks(id))",
  "GET /v_tasks?org=EQ.3&select=title,projects(name)&order=title",
  "GET /rpc/projects_from?low=1&tenant_id=EQ.3&select=id,tasks(id),others(id)&order=id",
  "PATCH /tasks?tenant_id=EQ.3&id=EQ.1&select=tenant_id,projects(tenant_id,name)",
  "DELETE /tasks?tenant_id=EQ.3&id=EQ.1&select=tenant_id,projects(tenant_id,name)",
] as const;

for (const line of requests) {
  suite.test(`answers are the same without repeated conditions: ${line}`, async (api) => {
    const headers = { Prefer: "return=representation, count=exact" };
    const body = line.startsWith("PATCH") ? { tenant_id: 4, id: 9, project_id: 2 } : undefined;
    const lines = [line.replaceAll("EQ.", "eq."), line.replaceAll(/EQ\.(\w+)/g, "in.($1)")];
    const answers = [];
    for (const each of lines) {
      const response = await api(each, { headers, body });
      answers.push([response.status, response.headers.get("Content-Range"), await response.json()]);
    }
    const [[status], other] = answers as [[number], unknown];
    ok(status < 300 || line.includes("null"), JSON.stringify(answers));
    deepStrictEqual(answers[0], other);
  });
}
