/** The statements for a database that Citus distributes, beside those for others. */
import { deepStrictEqual, doesNotMatch, match, strictEqual } from "node:assert/strict";
import { columnsTarget } from "../../../../src/api/plan/write/conflict.ts";
import { planCount } from "../../../../src/api/plan/read/count_plan.ts";
import {
  type MutatePlan,
  planDelete,
  type WriteContext,
} from "../../../../src/api/plan/write/mutate_plan.ts";
import { planRead } from "../../../../src/api/plan/read/read_plan.ts";
import { renderMutationTables } from "../../../../src/api/query/mutate.ts";
import { patchAssignments, patchTests } from "../../../../src/api/query/patch.ts";
import { renderRows } from "../../../../src/api/query/read.ts";
import {
  type PatchedColumn,
  planColumnPatches,
} from "../../../../src/api/plan/write/patch_plan.ts";
import { readPatch } from "../../../../src/api/request/body/patch_document.ts";
import { indexSchemaCache } from "../../../../src/state/schema_cache/lookups.ts";
import type { ApiRequest } from "../../../../src/api/request/api_request.ts";
import type { Relation, SchemaCache } from "../../../../src/state/schema_cache/schema_cache.ts";
import { compile, sql } from "../../../../src/base/sql/fragment.ts";
import { buildScript, type RequestWork } from "../../../../src/api/transaction/script.ts";
import type {
  TransactionActor,
  TransactionConfig,
} from "../../../../src/api/transaction/preamble.ts";
import {
  api,
  cache,
  column,
  config,
  embed,
  noPreferences,
  query,
} from "../../../support/handler/reading.ts";

const distributed = indexSchemaCache({ ...cache.data, isDistributed: true });

const bounds = { first: 20n, last: 29n };
const all = { first: 0n, last: null };

/** Returns the text of a page of tools with an embed. */
function pageOfTools(schemaCache: SchemaCache): string {
  const source = { kind: "relation", relation: schemaCache.relation(api("tools"))! } as const;
  const select = [column("name"), embed("makers", [column("name")])];
  const plan = planRead(
    { query: query({ select }), bounds, schema: "api", source },
    schemaCache,
    config,
  );
  return compile(renderRows(plan)).text.replaceAll('"', "").replaceAll("api.", "");
}

Deno.test("a page has its limit in the query that embeds, if the database is distributed", () => {
  const makers = "(select pg_catalog.row_to_json(tools_1.*) as object from " +
    "(select tools_1.name as name from makers as tools_1 where tools_1.id = ";
  const end = ") as tools_1 limit 1) as makers from ";
  const texts = [cache, distributed].map((each) =>
    pageOfTools(each).replaceAll(/makers_1/g, "tools_1")
  );
  deepStrictEqual(texts, [
    `select tools.c2 as name, ${makers}tools.c1${end}(select tools.maker_id as c1, tools.name as c2 ` +
    "from tools limit 10 offset $1) as tools",
    `select tools.name as name, ${makers}tools.maker_id${end}tools limit 10 offset $1`,
  ]);
});

Deno.test("planCount() counts exactly where plans have no estimate", () => {
  const kinds = (isDistributed: boolean) =>
    (["exact", "planned", "estimated", null] as const).map((preference) =>
      planCount(preference, bounds, null, isDistributed ? { isDistributed: true } : {}).kind
    );
  deepStrictEqual([kinds(false), kinds(true)], [
    ["exact", "planned", "estimated", "none"],
    ["exact", "exact", "exact", "none"],
  ]);
  strictEqual(planCount("planned", all, null, { isDistributed: true }).kind, "page");
});

const tools: Relation = { ...cache.relation(api("tools"))!, systemColumns: "always" };

Deno.test("upserts of tables with system columns count by xmax if the database is distributed", () => {
  const request = {
    query: query(),
    bounds: all,
    schema: "api",
    preferences: noPreferences,
  } as unknown as ApiRequest;
  const counts = (relation: Relation, schemaCache: SchemaCache) =>
    planDelete({ request, relation, cache: schemaCache, config } as WriteContext).countsByXmax;
  const { systemColumns: _, ...view } = tools;
  deepStrictEqual(
    [counts(tools, distributed), counts(view, distributed), counts(tools, cache)],
    [true, undefined, undefined],
  );
});

const body = {
  json: '{"name":"saw"}',
  shape: "object",
  columns: [{ name: "name", type: "text", default: null, fromJson: null }],
  defaults: false,
} as const;

/** Returns the text of a write of one object. */
function written(plan: object): string {
  const whole = { relation: tools, rows: body, returning: "none", mergeAction: null, ...plan };
  const tables = { source: sql`t`, version: null };
  return compile(renderMutationTables(whole as unknown as MutatePlan, tables)).text
    .replaceAll('"', "");
}

Deno.test("an upsert counts by a setting, or by xmax if the database is distributed", () => {
  const conflict = {
    target: columnsTarget(["id"]),
    resolution: "merge",
    columns: ["name"],
    where: [],
  };
  const upsert = { kind: "insert", conflict, nested: null, where: null };
  const [plain, byXmax] = [{}, { countsByXmax: true }].map((more) =>
    written({ ...upsert, ...more })
  );
  match(plain!, /do update set name = excluded.name where pg_catalog.set_config\('svc.updated'/);
  doesNotMatch(plain!, /xmax/);
  match(
    byXmax!,
    /do update set name = excluded.name returning .*\(api.tools.xmax = 0\) as svc:inserted/,
  );
  doesNotMatch(byXmax!, /set_config/);
});

Deno.test("an update expands its body as a set on each server", () => {
  match(
    written({ kind: "update", key: null, where: [], limited: null }),
    /^t as \(update api.tools set name = svc:body.name from \(select svc:body.name as name from pg_catalog.json_to_recordset\(\('\[' \|\| \$1::pg_catalog.json::pg_catalog.text \|\| '\]'\)::pg_catalog.json\) as svc:body\(name text\) limit 1\) as svc:body/,
  );
});

const scope = { table: sql`docs`, source: sql`body` };

/** Patch documents, and the columns that the errors of their operations depend on. */
const patchRows = [
  ['[{"op":"append","path":"/data/a","value":1}]', "docs.data"],
  ['[{"op":"test","path":"/data","value":1}]', "docs.data"],
  [
    '[{"op":"replace","path":"/data","value":[]},{"op":"append","path":"/data/0","value":1}]',
    "body.document",
  ],
  [
    '[{"op":"replace","path":"/data","value":{}},{"op":"remove","path":"/data/a"}]',
    "body.document",
  ],
  ['[{"op":"remove","path":"/data"},{"op":"test","path":"/data","value":1}]', "body.document"],
] as const;

for (const [document, expected] of patchRows) {
  Deno.test(`each error of a patch depends on a column: ${document}`, () => {
    const { written, tests } = planColumnPatches(
      readPatch(new TextEncoder().encode(document), "extended"),
      (name) =>
        ({
          name,
          type: "jsonb",
          baseType: "jsonb",
          default: null,
          fromJson: null,
          enumLabels: [],
        }) as PatchedColumn,
    );
    const parts = [patchAssignments(written, scope), patchTests(tests, scope)];
    const text = parts.map((part) => compile(part).text.replaceAll('"', "")).join();
    const errorsOf = text.split("current_setting('svc(' || ").slice(1);
    const columns = errorsOf.map((rest) => /^\$\d+ \|\| case when (\S+) is null/.exec(rest)?.[1]);
    deepStrictEqual([...new Set(columns)], [expected]);
  });
}

/** A read without conditions, as far as a script needs it. */
const source = {
  operations: [{
    request: {
      schema: "api",
      method: "GET",
      path: "/tools",
      headers: {},
      cookies: {},
      preferences: { tx: null, timezone: null },
    },
    planned: {
      plan: {
        kind: "read",
        read: { cutAt: null },
        representation: { explain: null, format: { kind: "array" } },
      },
      query: { main: { text: "main", params: [], use: "result" }, estimate: null },
      kind: null,
      isRetrySafe: true,
    },
    place: null,
    referenceChecks: [],
  }],
  batch: null,
  key: null,
  divided: null,
} as unknown as RequestWork;

const transactionConfig = {
  appSettings: [],
  dbAnonStatementTimeout: null,
  dbExtraSearchPath: [],
  dbMaxCost: 0,
  dbPipelining: true,
  dbPreparedStatements: true,
  dbPreRequest: null,
  dbSchemas: ["api"],
  dbStatementTimeout: null,
  dbTxEnd: "commit",
  jwtClaimSettings: false,
} as unknown as TransactionConfig;

/** Returns how a read is delimited, and the words that its statements begin with. */
function scriptOf(usesSetCommands: boolean) {
  const actor = {
    identity: { role: "web_anon", claims: "{}" },
    loginSetsTimeout: false,
    usesSetCommands,
  } as TransactionActor;
  const { transaction: { block, statements } } = buildScript(source, actor, transactionConfig);
  return [
    block === null ? "implicit" : "block",
    statements.map(({ text }) => text.split(" ", 2).join(" ")),
  ];
}

Deno.test("buildScript() uses a block and SET if the settings are forwarded", () => {
  deepStrictEqual(scriptOf(false), ["implicit", ["select where", "main"]]);
  deepStrictEqual(scriptOf(true), ["block", [
    ...Array<string>(2).fill("set local"),
    "select where",
    ...Array<string>(5).fill("set local"),
    "main",
  ]]);
});
