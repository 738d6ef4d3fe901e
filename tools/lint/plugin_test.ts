import { deepStrictEqual } from "node:assert/strict";
import plugin from "./plugin.ts";

/** A file with the messages of the rules: `rule: message`, in order. */
type Row = readonly [path: string, source: string, ...problems: readonly string[]];

const root = new URL("../../", import.meta.url).pathname;

function problemsOf(rule: string, path: string, source: string): readonly string[] {
  return Deno.lint.runPlugin(plugin, root + path, source)
    .filter(({ id }) => id === `svc/${rule}`)
    .map(({ message }) => message);
}

const inPlaceOfTime =
  "tests await events (eventually, holdLock), count, or inject a clock (fakeClock)";

const rows: Readonly<Record<string, readonly Row[]>> = {
  "import-direction": [
    ["src/api/query/read.ts", `import { a } from "../plan/plan.ts";`],
    [
      "src/api/query/read.ts",
      `import { a } from "./count.ts"; import { b } from "../../base/sql/fragment.ts";`,
    ],
    ["src/base/errors/a.ts", `import { a } from "../observe/logger.ts"; import b from "jose";`],
    ["src/state/schema_cache/queries/a.ts", `import { a } from "../schema_cache.ts";`],
    ["src/api/wing.ts", `import type { A } from "./handler/exchange.ts";`],
    ["src/api/handler/handler.ts", `import type { A } from "../wing.ts";`],
    ["src/wings/live/group.ts", `import { a } from "./scope.ts";`],
    ["src/process/wings.ts", `import { a } from "../wings/live/live_host.ts";`],
    ["src/wings/console/pages/a.ts", `import { a } from "../../audit/access/cells.ts";`],
    ["src/process/cli/a.ts", `import { a } from "../server/serve.ts";`],
    ["mod.ts", `import { a } from "./src/api/handler/handler.ts";`],
    ["main.ts", `import { a } from "./mod.ts"; import { b } from "./src/process/server/serve.ts";`],
    [
      "tests/http/a_test.ts",
      `import { a } from "../../mod.ts"; import b from "../../tests/support/handler/api.ts";`,
    ],
    [
      "src/base/sql/fragment.ts",
      `import type { A } from "../../state/config/options.ts";`,
      "src/base must not import src/state, which stands above it",
    ],
    [
      "src/api/plan/plan.ts",
      `export { a } from "../query/query.ts"; import("../response/response.ts");`,
      "src/api/plan must not import src/api/query, which stands above it",
      "src/api/plan must not import src/api/response, which stands above it",
    ],
    [
      "src/api/handler/pipeline.ts",
      `import { a } from "../../process/server/serve.ts"; type B = import("../../../mod.ts").B;`,
      "src/api must not import src/process, which stands above it",
      "src/api must not import mod.ts, which stands above it",
    ],
    [
      "src/api/wing.ts",
      `import type { A } from "../wings/live/live_host.ts";`,
      "src/api must not import src/wings, which stands above it",
    ],
    [
      "src/wings/shadow/a.ts",
      `import type { A } from "../console/server/recorder.ts";`,
      "src/wings/shadow must not import src/wings/console: no wing imports another one",
    ],
    [
      "src/process/server/serve.ts",
      `import type { A } from "../../wings/console/server/recorder.ts";`,
      "src/process/server/serve.ts must not import src/wings/console/server/recorder.ts: it finds wings in src/process/wings.ts",
    ],
    [
      "src/database/pool/pool.ts",
      `import { a } from "../connection/connection.ts"; import { b } from "../adapters/postgres.ts";`,
      "src/database/pool must not import src/database/adapters, which stands above it",
    ],
    [
      "src/api/handler/handler.ts",
      `import { a } from "../../../tests/support/handler/api.ts";`,
      "src/api must not import tests/support/handler/api.ts, which is in no room",
    ],
    [
      "src/misc/a.ts",
      `import { a } from "../api/plan/plan.ts";`,
      "src/misc/a.ts is in no room: src has six, see tools/lint/import_direction.ts",
    ],
    ["src/api/plan/a.ts", `import type { ParamValue } from "../../base/sql/fragment.ts";`],
    ["src/api/plan/a.ts", `import { type ParamValue } from "../../base/sql/fragment.ts";`],
    [
      "src/api/plan/a.ts",
      `import { type ParamValue, sql } from "../../base/sql/fragment.ts";`,
      "src/api/plan must not import src/base/sql: plans know nothing of SQL text",
    ],
    [
      "src/api/query/a.ts",
      `import { parse } from "../request/api_request.ts";`,
      "src/api/query must not import src/api/request/api_request.ts: queries see the plan alone",
    ],
  ],
  "plain-words": [
    [
      "src/process/server/a.ts",
      `/** Returns what a filter compares with. */ const told = "so many";`,
    ],
    [
      "src/process/server/a.ts",
      `// The column is no longer there: after all rows, \`told\` is reset.`,
    ],
    ["src/process/server/a.ts", `// There is no GSSAPI in this runtime. What now?`],
    ["tests/process/a_test.ts", `Deno.test("a() rejects a body", () => {}); // who`],
    ["tools/a.ts", `// What is told.`],
    ["src/process/server/a.ts", `/** What a plan is. */`, `"What": name the subject`],
    [
      "src/process/server/a.ts",
      `/**\n * A plan. What\n * a plan is. */`,
      `"What": name the subject`,
    ],
    ["src/process/server/a.ts", `// Whatever fails.`, `"Whatever": name the subject`],
    ["src/process/server/a.ts", `// Null when nobody waits.`, `"nobody": name the actor`],
    ["src/process/server/a.ts", `// Who sends it.`, `"Who": name the actor`],
    ["src/process/server/a.ts", `// Null if it is none.`, `"is none": say what it is not`],
    ["src/process/server/a.ts", `// It is no list.`, `"is no list": write "is not a"`],
    ["src/process/server/a.ts", `// Waits so long.`, `"so long": name the number or the time`],
    ["src/process/server/a.ts", `// So many rows.`, `"So many": name the number or the time`],
    [
      "src/process/server/a.ts",
      `// All the same, it fails.`,
      `"All the same": write "still" or "anyway"`,
    ],
    ["src/process/server/a.ts", `// It fails after all.`, `"after all": leave it out`],
    [
      "src/process/server/a.ts",
      `/** The role was told. */ const a = 1; // asked for`,
      `"told": write "sent", "set" or "requested"`,
      `"asked": write "sent", "set" or "requested"`,
    ],
    [
      "src/process/server/a.ts",
      `// A function of the database's own.`,
      `"of the database's own": write "user-defined"`,
    ],
    ["src/process/server/a.ts", `// The pool gives up.`, `"gives up": write "cancels"`],
    ["src/process/server/a.ts", `// The pool goes on.`, `"goes on": write "continues"`],
    ["src/process/server/a.ts", `// It is taken back.`, `"taken back": write "rolls back"`],
    [
      "tests/process/a_test.ts",
      `Deno.test("who is told", () => {});`,
      `"who": name the actor`,
      `"told": write "sent", "set" or "requested"`,
    ],
    [
      "tests/process/a_test.ts",
      "Deno.test({ name: `${a} goes on`, fn() {} });",
      `"goes on": write "continues"`,
    ],
  ],
  "portable": [
    [
      "src/api/plan/a.ts",
      `const a = { Deno: 1, process() {} }; a.process(); class B { Buffer = 1; }`,
    ],
    ["src/api/plan/a.ts", `interface A { readonly process: string; require(): void }`],
    ["src/database/adapters/postgres.ts", `import pg from "pg"; import "node:net"; Deno.exit();`],
    ["src/process/cli/program.ts", `Deno.exit(1);`],
    ["main.ts", `import "node:fs"; process.exit(Deno.pid);`],
    ["tests/unit/a_test.ts", `import "node:assert/strict"; Deno.test("a", () => {});`],
    [
      "src/api/plan/a.ts",
      `import { a } from "node:buffer"; import pg from "pg"; await import("node:fs");`,
      "node:buffer does not exist in every runtime",
      "pg does not exist in every runtime",
      "node:fs does not exist in every runtime",
    ],
    [
      "src/state/app_state/app_state.ts",
      `Deno.env.get("A");`,
      "Deno does not exist in every runtime",
    ],
    [
      "src/base/http/a.ts",
      `(globalThis as { Deno?: 1 }).Deno; const { process } = globalThis;`,
      "Deno does not exist in every runtime",
      "process does not exist in every runtime",
    ],
    [
      "src/database/protocol/encoder.ts",
      `Buffer.from("");`,
      "Buffer does not exist in every runtime",
    ],
    ["src/base/http/a.ts", `const a = { Deno };`, "Deno does not exist in every runtime"],
    ["src/base/http/a.ts", `globalThis.process.exit();`, "process does not exist in every runtime"],
    ["src/base/http/a.ts", `let a: Deno.HttpClient;`, "Deno does not exist in every runtime"],
    ["src/base/http/a.ts", `const a = typeof Deno;`, "Deno does not exist in every runtime"],
  ],
  "no-clock": [
    ["tests/unit/a_test.ts", `const a = { now: Date.now, setTimeout: 1 }; a.now(); a.setTimeout;`],
    ["tests/support/a.ts", `setTimeout(a, 1); performance.now();`],
    ["tests/bench/a.ts", `performance.now();`],
    ["src/base/lib/timers.ts", `setTimeout(a, 1);`],
    [
      "tests/http/a_test.ts",
      `setTimeout(a, 1); globalThis.setInterval(a, 1);`,
      `no setTimeout: ${inPlaceOfTime}`,
      `no setInterval: ${inPlaceOfTime}`,
    ],
    [
      "tests/process/faults/a_test.ts",
      `const began = performance.now(); ok(Date.now() < began);`,
      `no performance.now(): ${inPlaceOfTime}`,
      `no Date.now(): ${inPlaceOfTime}`,
    ],
  ],
  "no-console": [
    ["src/base/observe/logger.ts", `console.error("a");`],
    ["main.ts", `console.log("a");`],
    ["examples/deno_app/program.ts", `console.log("a");`],
    ["src/api/plan/a.ts", `const a = { console: 1 }; a.console;`],
    ["src/api/plan/a.ts", `console.log("a");`, "only src/base/observe and main.ts may print"],
    ["mod.ts", `const { log } = console;`, "only src/base/observe and main.ts may print"],
    [
      "src/process/server/serve.ts",
      `globalThis.console.log("a");`,
      "only src/base/observe and main.ts may print",
    ],
  ],
  "sizes": [
    ["src/api/plan/a.ts", `function a() {${"\n".repeat(59)}}`],
    ["tests/a.ts", `function a() {${"\n".repeat(60)}}`],
    [
      "src/api/plan/a.ts",
      `function a() {${"\n".repeat(60)}}`,
      "a function of 61 lines: at most 60",
    ],
    ["src/api/plan/a.ts", `const a = 1;${"\n".repeat(450)}a;`, "a file of 451 lines: at most 450"],
  ],
  "no-barrel": [
    ["mod.ts", `export * from "./src/api/handler/handler.ts";`],
    ["src/api/plan/a.ts", `const a = 1; export { a }; export type B = 1;`],
    [
      "src/api/plan/a.ts",
      `export * from "./b.ts"; export { c } from "./c.ts";`,
      "no barrels inside src/: import from the file that declares it",
      "no barrels inside src/: import from the file that declares it",
    ],
    [
      "src/api/plan/index.ts",
      `export const a = 1;`,
      "no barrels inside src/: import from the file that declares it",
    ],
  ],
  "qualified-names": [
    [
      "src/api/query/a.ts",
      "sql`select pg_catalog.count(*)::int, ${a}::pg_catalog.text, cast(b as boolean)`",
    ],
    [
      "src/api/query/a.ts",
      "sql`select coalesce(a, 'now()::text') from ${rows} as r(a), ${table} (b)`",
    ],
    ["src/api/query/a.ts", "sql`substring(nullif(a, '') from '^x') is null and b in (1)`"],
    ["src/api/query/a.ts", "sql`${a}::${type}`; text`${a}::json`"],
    ["src/wings/live/live_schema.ts", "sql`select now()`"],
    ["tests/unit/a_test.ts", "sql`select now()`"],
    [
      "src/api/query/a.ts",
      "sql`select count(*), ${a}::text[], cast(b as json), substring(c, 2)`",
      "write pg_catalog.text, not text",
      "write pg_catalog.json, not json",
      "write pg_catalog.count, not count",
      "write pg_catalog.substring, not substring",
    ],
  ],
  "sql-text": [
    ["src/api/query/read.ts", `import { literal } from "../../base/sql/fragment.ts";`],
    [
      "src/state/schema_cache/queries/a.ts",
      `import { catalogueSql } from "../../../base/sql/fragment.ts";`,
    ],
    ["src/database/a.ts", `import { sql, ident } from "../base/sql/fragment.ts";`],
    ["src/database/a.ts", `import { literal } from "./fragment.ts";`],
    [
      "src/database/a.ts",
      `import { literal as quote, sql, catalogueSql } from "../base/sql/fragment.ts";`,
      "literal is for query/ and schema_cache/ alone",
      "catalogueSql is for query/ and schema_cache/ alone",
    ],
    [
      "src/api/handler/pipeline.ts",
      `import * as fragment from "../../base/sql/fragment.ts"; await import("../../base/sql/fragment.ts");`,
      "all of sql/fragment.ts is for query/ and schema_cache/ alone",
      "all of sql/fragment.ts is for query/ and schema_cache/ alone",
    ],
  ],
};

for (const [rule, cases] of Object.entries(rows)) {
  for (const [path, source, ...problems] of cases) {
    Deno.test(`${rule} ${problems.length === 0 ? "allows" : "refuses"} ${path}: ${source}`, () => {
      deepStrictEqual(problemsOf(rule, path, source), problems);
    });
  }
}

Deno.test("every rule has tests", () => {
  deepStrictEqual(Object.keys(rows).toSorted(), Object.keys(plugin.rules).toSorted());
});
