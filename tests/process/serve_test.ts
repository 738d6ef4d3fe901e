import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { startService } from "../support/server/process.ts";
import { signToken } from "../support/handler/token.ts";
import { startTodos } from "../support/server/todos.ts";

Deno.test("the process serves, logs, reloads and stops", async (t) => {
  await using service = await startTodos({ "db-pool": 1, "log-level": "info" });

  await t.step("reads and writes over TCP", async () => {
    const read = await service.fetch("GET /todos?select=id&order=id&limit=2");
    strictEqual(read.status, 200);
    match(read.headers.get("Server")!, /^svc\/\d/);
    strictEqual(read.headers.get("Content-Range"), "0-1/*");
    strictEqual(read.headers.get("Content-Length"), String('[{"id":1}, \n {"id":2}]'.length));
    deepStrictEqual(await read.json(), [{ id: 1 }, { id: 2 }]);
    const token = await signToken({ role: "todo_user", sub: "ada" });
    const written = await service.fetch("POST /todos", {
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ task: "new" }),
    });
    strictEqual(written.status, 201);
    await written.body?.cancel();
    const back = await service.fetch("GET /todos?select=task,owner&order=id.desc&limit=1");
    deepStrictEqual(await back.json(), [{ task: "new", owner: "ada" }]);
  });

  await t.step("answers HEAD without a length and without a body", async () => {
    const head = await service.fetch("HEAD /todos");
    strictEqual(head.status, 200);
    strictEqual(head.headers.get("Content-Length"), null);
    strictEqual(await head.text(), "");
    const missing = await service.fetch("HEAD /nothing");
    strictEqual(missing.status, 404);
    ok(Number(missing.headers.get("Content-Length")) > 0);
  });

  await t.step("answers on the admin port", async () => {
    for (const [path, status] of [["/live", 200], ["/ready", 200], ["/nothing", 404]] as const) {
      const response = await service.fetchAdmin(`GET ${path}`);
      strictEqual(response.status, status);
      match(response.headers.get("Server")!, /^svc\/\d/);
      strictEqual(await response.text(), "");
    }
  });

  await t.step("tells its configuration, figures and schema cache", async () => {
    const config = await service.fetchAdmin("GET /config");
    strictEqual(config.headers.get("Content-Type"), "text/plain; charset=utf-8");
    const shown = await config.text();
    match(shown, /^db-pool = \d+$/m);
    match(shown, /^jwt-secret = "(\*\*\*)?"$/m);
    const metrics = await service.fetchAdmin("GET /metrics");
    strictEqual(metrics.headers.get("Content-Type"), "text/plain; charset=utf-8");
    const text = await metrics.text();
    match(text, /^svc_schema_cache_loads_total\{status="SUCCESS"\} 1\.0$/m);
    match(text, /^svc_db_pool_max 1\.0$/m);
    match(text, /^svc_jwt_cache_requests_total [1-9]/m);
    match(text, /^svc_schema_cache_query_time_seconds \d+\.\d+$/m);
    const cache = await (await service.fetchAdmin("GET /schema_cache")).json();
    deepStrictEqual(Object.keys(cache).sort(), [
      "dbMediaHandlers",
      "dbRelationships",
      "dbRepresentations",
      "dbRoutines",
      "dbRowFunctions",
      "dbSearchOperators",
      "dbSessionFunctions",
      "dbStableWithoutArguments",
      "dbTables",
      "dbVolatileFunctions",
    ]);
  });

  await t.step("writes requests to stdout and everything else to stderr", async () => {
    const line = await service.stdout.waitFor(/GET \/todos\?select=id&order=id&limit=2/);
    match(
      line,
      /^127\.0\.0\.1 - web_anon \[\d\d\/\w{3}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "GET \/todos\?select=id&order=id&limit=2 HTTP\/1\.1" 200 22 "" "[^"]*"$/,
    );
    await service.stdout.waitFor(/ - todo_user \[.*"POST \/todos HTTP\/1\.1" 201 0 /);
    ok(service.stderr.all.some((text) => /Starting SVC/.test(text)));
    ok(!service.stdout.all.join("\n").includes("eyJ"), "no token in the log");
  });

  await t.step("reads the schema again on SIGUSR1 and SIGHUP", async () => {
    for (const signal of ["SIGUSR1", "SIGHUP"] as const) {
      const after = service.stderr.all.length;
      service.signal(signal);
      await service.stderr.waitFor(/Schema cache loaded \d+ Relations/, { after });
    }
    const response = await service.fetch("GET /todos?limit=1");
    strictEqual(response.status, 200);
    await response.body?.cancel();
  });

  await t.step("ends with 0 on SIGTERM", async () => {
    const status = await service.stop("SIGTERM");
    strictEqual(status.code, 0);
    ok(service.stderr.all.some((text) => /termination unix signal SIGTERM/.test(text)));
  });
});

const missingSchemas = /^svc: required, but not set: db-schemas, for example db-schemas = /;

const refused: readonly (readonly [string, string, ...RegExp[]])[] = [
  [
    "a misspelt key",
    'db-uri = "pglite://memory"\ndb-schmas = "api"\n',
    /svc\.conf:2: db-schmas: .*db-schemas/,
    missingSchemas,
  ],
];

for (const [name, configText, ...lines] of refused) {
  Deno.test(`the process ends with 1 and a line for each problem: ${name}`, async () => {
    await using service = await startService({}, { configText });
    strictEqual((await service.status).code, 1);
    await service.stderr.ended;
    const own = service.stderr.all.filter((text) => text.startsWith("svc: "));
    strictEqual(own.length, lines.length, service.stderr.all.join("\n"));
    for (const [at, line] of lines.entries()) match(own[at]!, line);
  });
}
