/** Servers that lack parts of PostgreSQL. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { createHandler, type Observation } from "../../mod.ts";
import { probeCapabilities } from "../../src/database/capabilities.ts";
import type { Batch } from "../../src/database/batch.ts";
import { openDatabase } from "../../src/database/open.ts";
import { svcDialect } from "../../src/dialect.ts";
import { type Engine, engines, type TestDatabase } from "../support/engines.ts";
import { eventually } from "../support/eventually.ts";
import { withClient } from "../support/postgres_client.ts";
import { buildRequest } from "../support/request.ts";
import { type Rewrite, startRewritingProxy } from "../support/rewriting_proxy.ts";

const fixture = { name: "tools", roles: ["anon", "writer"] };

for (const engine of ["pg", "pglite"] as const satisfies readonly Engine[]) {
  Deno.test(`probeCapabilities() finds all capabilities with one batch on ${engine}`, async () => {
    const created = await engines[engine](fixture);
    const database = await openDatabase({
      dbUri: created.uri,
      dbPool: 1,
      dbPoolAcquisitionTimeout: 5,
      dbPoolMaxIdletime: 30,
      dbPoolMaxLifetime: 30,
      dbPreparedStatements: true,
      dialect: svcDialect,
    }, { embeddedInit: null, applicationName: "test" });
    try {
      let batches = 0;
      const report = await probeCapabilities({
        run: (batch: Batch) => {
          batches++;
          return database.transaction(batch);
        },
        excluded: new Set(),
        onIsolationRefused: () => {},
      });
      deepStrictEqual([[...report.missing], batches], [[], 1]);
      strictEqual(typeof report.maxConnections, "number");
    } finally {
      await database.close();
      await created.remove();
    }
  });
}

let created: TestDatabase;
Deno.test.beforeAll(async () => {
  created = await engines.pg(fixture);
});
Deno.test.afterAll(() => created.remove());

/** Events of a handler that concern capabilities, as `kind capability`. */
const kinds = new Set([
  "capability-missing",
  "capability-required",
  "catalogue-incomplete",
  "notifications-unsupported",
]);

interface Row {
  readonly name: string;
  /** SQL that a superuser executes before. */
  readonly before?: string;
  readonly after?: string;
  readonly rewrite?: Rewrite;
  readonly capabilities?: readonly string[];
  /** Parameters of the connection string. */
  readonly params?: string;
  readonly events: readonly string[];
  /** Status of a read and of a write. Default: 200, 201. */
  readonly statuses?: readonly [read: number, write: number];
}

const noIsolation: Rewrite = (sql) =>
  sql.replace(/^begin isolation level .* read /, "begin levels ");
const ownLevel = "&options=-c%20default_transaction_isolation%3Drepeatable%5C%20read";
/** Begins queries of search operators and of media handlers. */
const optional = /distances as \(|media_types as \(/;
const leaking: Rewrite = (sql) => sql.replace("'svc.probe', 'x', true", "'svc.probe', 'x', false");

const rows: readonly Row[] = [
  { name: "PostgreSQL", events: [] },
  {
    name: "a server whose function of positions is revoked",
    before: "revoke execute on function pg_current_wal_insert_lsn() from public",
    after: "grant execute on function pg_current_wal_insert_lsn() to public",
    events: ["capability-missing lsn"],
  },
  {
    name: "a server without EXPLAIN in JSON and without LATERAL",
    rewrite: (sql) => /^explain|cross join lateral \(select v/.test(sql) ? "unknown" : sql,
    events: ["capability-missing explain-json", "capability-missing lateral"],
  },
  {
    name: "a server that refuses isolation levels",
    rewrite: noIsolation,
    params: ownLevel,
    events: ["capability-missing isolation"],
  },
  {
    name: "a server that refuses isolation levels, by db-capabilities",
    rewrite: noIsolation,
    params: ownLevel,
    capabilities: ["-isolation"],
    events: [],
  },
  {
    name: "a pooler that ends implicit transactions early",
    rewrite: (sql) => sql.replace("'svc.probe', 'y', true", "'svc.probe', 'z', true"),
    events: ["capability-missing implicit-transactions"],
  },
  {
    name: "a server whose settings outlast the transaction",
    rewrite: leaking,
    events: ["capability-required local-settings"],
    statuses: [503, 503],
  },
  {
    name: "a server whose settings outlast the transaction, against db-capabilities",
    rewrite: leaking,
    capabilities: ["+local-settings"],
    events: [],
  },
  {
    name: "a server without LISTEN",
    rewrite: (sql) => sql.replace(/^LISTEN/, "LISTENS"),
    events: ["notifications-unsupported"],
  },
  {
    name: "a server without LISTEN, by db-capabilities",
    rewrite: (sql) => sql.replace(/^LISTEN/, "LISTENS"),
    capabilities: ["-notify"],
    events: [],
  },
  {
    name: "a server without the catalogs of optional queries",
    rewrite: (sql) => optional.test(sql) ? `with missing as (table pg_missing) ${sql}` : sql,
    events: ["catalogue-incomplete media handlers", "catalogue-incomplete search operators"],
  },
  {
    name: "a server without the catalogs of optional queries, by db-capabilities",
    rewrite: (sql) => optional.test(sql) ? `with missing as (table pg_missing) ${sql}` : sql,
    capabilities: ["-catalogue"],
    events: [],
  },
];

const requests = [
  ["GET /tools?id=eq.1&select=id,makers(id)", undefined],
  ["POST /tools", { id: 1000, name: "saw" }],
] as const;

for (const { name, before, after, ...row } of rows) {
  Deno.test(`the service works on ${name}`, async () => {
    if (before !== undefined) await withClient(created.superuserUri!, (c) => c.query(before));
    const uri = new URL(created.uri);
    await using proxy = startRewritingProxy(Number(uri.port), row.rewrite);
    const events: string[] = [];
    uri.port = String(proxy.port);
    const isListening = Promise.withResolvers<void>();
    const handler = createHandler({
      dbUri: `${uri.href}?sslmode=disable${row.params ?? ""}`,
      dbSchemas: ["api"],
      dbAnonRole: "writer",
      dbCapabilities: row.capabilities ?? [],
      dbTxEnd: "rollback",
      observe: (event: Observation) => {
        if (event.kind.startsWith("listener-") || event.kind === "notifications-unsupported") {
          isListening.resolve();
        }
        if (kinds.has(event.kind)) events.push(labelOf(event));
      },
    });
    try {
      const statuses = [];
      for (const [line, body] of requests) {
        const response = await handler(await buildRequest({ line, origin: "http://x" }, { body }));
        await response.body?.cancel();
        statuses.push(response.status);
      }
      deepStrictEqual(statuses, row.statuses ?? [200, 201]);
      if (!row.capabilities?.includes("-notify") && statuses[0] === 200) await isListening.promise;
      deepStrictEqual([...new Set(events)].sort(), row.events);
    } finally {
      await handler.close();
      if (after !== undefined) await withClient(created.superuserUri!, (c) => c.query(after));
    }
  });
}

Deno.test("a request for a missing table has the schema loaded where the server has no LISTEN", async () => {
  const uri = new URL(created.uri);
  await using proxy = startRewritingProxy(
    Number(uri.port),
    (sql) => sql.replace(/^LISTEN/, "LISTENS"),
  );
  uri.port = String(proxy.port);
  const isChecked = Promise.withResolvers<void>();
  const handler = createHandler({
    dbUri: `${uri.href}?sslmode=disable`,
    dbSchemas: ["api"],
    dbAnonRole: "writer",
    dbSchemaWatch: "auto",
    // Only requests cause looks.
    dbSchemaWatchInterval: 3600,
    observe: ({ kind }) => void (kind === "notifications-unsupported" && isChecked.resolve()),
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

function labelOf(event: Observation): string {
  if ("capability" in event) return `${event.kind} ${event.capability}`;
  return "part" in event ? `${event.kind} ${event.part}` : event.kind;
}
