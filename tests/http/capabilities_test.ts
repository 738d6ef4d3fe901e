/** Servers behind a pooler, and without LISTEN. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { createHandler, type Observation } from "../../mod.ts";
import { engines, type TestDatabase } from "../support/database/engines.ts";
import { eventually } from "../support/timing/eventually.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { buildRequest } from "../support/handler/request.ts";
import { type Rewrite, startRewritingProxy } from "../support/database/rewriting_proxy.ts";

const fixture = { name: "tools", roles: ["anon", "writer"] };

let created: TestDatabase;
Deno.test.beforeAll(async () => {
  created = await engines.pg(fixture);
});
Deno.test.afterAll(() => created.remove());

/** Events of a handler that concern what a server lacks. */
const kinds = new Set(["blocks-used", "listener-failed"]);

interface Row {
  readonly name: string;
  readonly rewrite?: Rewrite;
  readonly capabilities?: readonly string[];
  readonly events: readonly string[];
}

const rows: readonly Row[] = [
  { name: "PostgreSQL", events: [] },
  {
    name: "a pooler that ends implicit transactions early",
    rewrite: (sql) => sql.replace("'svc.probe', 'y', true", "'svc.probe', 'z', true"),
    events: ["blocks-used"],
  },
  {
    name: "a server without LISTEN",
    rewrite: (sql) => sql.replace(/^LISTEN/, "LISTENS"),
    events: ["listener-failed"],
  },
  {
    name: "a server without LISTEN, by db-capabilities",
    rewrite: (sql) => sql.replace(/^LISTEN/, "LISTENS"),
    capabilities: ["-notify"],
    events: [],
  },
];

const requests = [
  ["GET /tools?id=eq.1&select=id,makers(id)", undefined],
  ["POST /tools", { id: 1000, name: "saw" }],
] as const;

for (const { name, ...row } of rows) {
  Deno.test(`the service works on ${name}`, async () => {
    const uri = new URL(created.uri);
    await using proxy = startRewritingProxy(Number(uri.port), row.rewrite);
    const events: string[] = [];
    uri.port = String(proxy.port);
    const isListening = Promise.withResolvers<void>();
    const handler = createHandler({
      dbUri: `${uri.href}?sslmode=disable`,
      dbSchemas: ["api"],
      dbAnonRole: "writer",
      dbCapabilities: row.capabilities ?? [],
      dbTxEnd: "rollback",
      observe: (event: Observation) => {
        if (event.kind.startsWith("listener-")) isListening.resolve();
        if (kinds.has(event.kind)) events.push(event.kind);
      },
    });
    try {
      const statuses = [];
      for (const [line, body] of requests) {
        const response = await handler(await buildRequest({ line, origin: "http://x" }, { body }));
        await response.body?.cancel();
        statuses.push(response.status);
      }
      deepStrictEqual(statuses, [200, 201]);
      if (!row.capabilities?.includes("-notify")) await isListening.promise;
      deepStrictEqual([...new Set(events)].sort(), row.events);
    } finally {
      await handler.close();
    }
  });
}

Deno.test("a request for a missing table has the schema loaded where the server has no LISTEN", async () => {
  const uri = new URL(created.uri);
  await using proxy = startRewritingProxy(
    Number(uri.port),
    // The counters never change, so that only requests cause looks at the rows.
    (sql) => sql.replace(/^LISTEN/, "LISTENS").replace("pg_catalog.sum(", "pg_catalog.count("),
  );
  uri.port = String(proxy.port);
  const isChecked = Promise.withResolvers<void>();
  const handler = createHandler({
    dbUri: `${uri.href}?sslmode=disable`,
    dbSchemas: ["api"],
    dbAnonRole: "writer",
    dbSchemaWatch: "auto",
    observe: ({ kind }) => void (kind === "listener-failed" && isChecked.resolve()),
  });
  const statusOf = async (line: string) => {
    const response = await handler(await buildRequest({ line, origin: "http://x" }));
    await response.body?.cancel();
    return response.status;
  };
  try {
    strictEqual(await statusOf("GET /late"), 404);
    await isChecked.promise;
    await withClient(
      created.superuserUri!,
      (client) =>
        client.query("create table api.late (id int); grant select on api.late to writer"),
    );
    await eventually("the table is found", async () => await statusOf("GET /late") === 200);
  } finally {
    await handler.close();
  }
});
