import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { withCounts } from "../../src/wings/audit/access/counts.ts";
import { callerIdentity } from "../../src/state/auth/authenticate.ts";
import {
  type AccessCell,
  type AccessInput,
  readAccess,
} from "../../src/wings/audit/access/cells.ts";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open.ts";
import { type Engine, engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { accessLogin } from "../support/database/access_login.ts";
import { configOf, type FileOptions } from "../support/handler/diagnosis.ts";
import { isChosen } from "../support/runner/row_filter.ts";

const fixture = {
  name: "access",
  roles: ["access_anon", "access_user", "access_owner", "access_parent"],
};

/**
 * A label, `role action relation`, members other than those of a cell that allows all, and the options or
 * the lowest major version where they matter.
 */
type Row = readonly [
  label: string,
  cell: string,
  is: Partial<AccessCell>,
  only?: { readonly options?: FileOptions; readonly from?: number },
];

/** A cell that is refused until statements have run. */
function no(reason: string, sql: string | null = null): Partial<AccessCell> {
  return { may: "no", reason, sql };
}

const parentPolicy = {
  ...{ name: "inherited_parent", permissive: true },
  ...{ using: "(id > 1)", check: "(id > 2)" },
};
const restrictive = { name: "inherited_read", permissive: false, using: "(id < 9)", check: null };
const forcedPolicy = { name: "forced_all", permissive: true, using: "(id = 1)", check: null };

/** A view that reads `api.inherited` past its policies. */
const past: Partial<AccessCell> = {
  past: ["api.inherited"],
  reason: "policies of api.inherited do not apply below the view",
};
const bounded: Partial<AccessCell> = {
  may: "rows",
  reason: "policies of api.inherited apply below the view",
};

/** A view whose owner may not read a relation below it. */
function unread(relation: string): Partial<AccessCell> {
  const sql = `grant select on ${relation} to access_owner;`;
  return no("a relation below the view cannot be read", sql);
}

const notWritable = no("the view cannot be written");
const readOnly = { "db-read-only": "true" };

const rows: readonly Row[] = [
  [
    "A1: a relation without a grant",
    "access_user select api.ungranted",
    no("SELECT is not granted", "grant select on api.ungranted to access_user;"),
  ],
  ["A2: two of six columns", "access_user select api.six", { columns: ["a", "b"] }],
  ["A2: each of six columns", "access_user insert api.six", {}],
  [
    "A3: a grant without USAGE on the schema",
    "access_anon select closed.hidden",
    no("no USAGE on schema closed", "grant usage on schema closed to access_anon;"),
  ],
  [
    "A3: neither a grant nor USAGE",
    "access_owner select closed.hidden",
    no(
      "no USAGE on schema closed",
      "grant usage on schema closed to access_owner;\ngrant select on closed.hidden to access_owner;",
    ),
  ],
  ["A4: row-level security without a policy", "access_user select api.locked", {
    may: "none",
    reason: "no permissive policy for SELECT",
  }],
  [
    "A5: a policy for a parent role, and a restrictive one for all",
    "access_user select api.inherited",
    { may: "rows", policies: [parentPolicy, restrictive] },
  ],
  [
    "A5: a policy for another role, and a restrictive one for all",
    "access_anon select api.inherited",
    { may: "none", policies: [restrictive], reason: "no permissive policy for SELECT" },
  ],
  ["A5: a policy of all commands, without those of others", "access_user insert api.inherited", {
    may: "rows",
    policies: [parentPolicy],
  }],
  ["A6: the owner", "access_owner select api.owned", {}],
  ["A7: the owner of a table that forces its policies", "access_owner select api.forced", {
    may: "rows",
    policies: [forcedPolicy],
  }],
  ["A8: INSERT of a join", "access_user insert api.joined", notWritable],
  ["A8: UPDATE of a join", "access_user update api.joined", notWritable],
  ["A8: DELETE of a join", "access_user delete api.joined", notWritable],
  ["INSERT of a materialized view", "access_user insert api.stored", notWritable],
  ["A9: a write with db-read-only", "access_user insert api.six", no("db-read-only"), {
    options: readOnly,
  }],
  ["A9: a read with db-read-only", "access_user select api.many", {}, { options: readOnly }],
  ["a view that reads with the rights of its owner", "access_user select api.names", {
    ...past,
    sql: "alter view api.names set (security_invoker = true);",
  }, { from: 15 }],
  ["a view that writes with the rights of its owner", "access_user update api.names", {
    ...past,
    sql: "alter view api.names set (security_invoker = true);",
  }, { from: 15 }],
  ["a materialized view", "access_user select api.stored", past],
  ["a view with security_invoker", "access_user select api.invoker", bounded, { from: 15 }],
  [
    "a view with security_invoker above a view without",
    "access_user select api.invoker_names",
    past,
    { from: 15 },
  ],
  [
    "a view with security_invoker above a table without a grant",
    "access_user select api.invoker_ungranted",
    no(
      "a relation below the view cannot be read",
      "grant select on api.ungranted to access_user;",
    ),
    { from: 15 },
  ],
  [
    "INSERT of a view above a table without a grant",
    "access_user insert api.invoker_ungranted",
    no("INSERT is not granted on a relation below the view"),
    { from: 15 },
  ],
  [
    "a view whose owner may not read the table",
    "access_user select api.partly",
    no(
      "a relation below the view cannot be read",
      "grant select on api.ungranted to access_owner;",
    ),
  ],
  [
    "a view that reads a column without a grant",
    "access_user select api.uncovered",
    unread("api.base"),
  ],
  ["DELETE of a view that reads a column without a grant", "access_user delete api.uncovered", {}],
  [
    "DELETE of a view whose condition reads a table without a grant",
    "access_user delete api.counted",
    unread("api.ungranted"),
  ],
  [
    "INSERT of a view whose condition reads a table without a grant",
    "access_user insert api.counted",
    {},
  ],
  [
    "INSERT of a view above a view that its owner may only read",
    "access_user insert api.relayed",
    no("INSERT is not granted on a relation below the view"),
  ],
  [
    "UPDATE of a view above a table without UPDATE",
    "access_user update api.uncovered",
    no("UPDATE is not granted on a relation below the view"),
  ],
  [
    "UPDATE of a view with a trigger, above a table without UPDATE",
    "access_user update api.handled",
    {},
  ],
  ["UPDATE of a view above a view with a trigger", "access_user update api.relayed_handled", {}],
  ["a function for all", "access_user execute api.hello(n text)", {}],
  [
    "a function without EXECUTE",
    "access_user execute api.bye(n text)",
    no("EXECUTE is not granted", "grant execute on function api.bye(n text) to access_user;"),
  ],
  ["names with line breaks, quotes and pipes", 'access_user select api."a|b\n""c"', {
    may: "rows",
    policies: [{
      name: '"p|\nq"""',
      permissive: true,
      using: '("x|y" = 1)',
      check: null,
    }],
  }],
  [
    "a name with SQL",
    `access_user select api."danger'; drop schema api; --"`,
    no(
      "SELECT is not granted",
      `grant select on api."danger'; drop schema api; --" to access_user;`,
    ),
  ],
];

/** Numbers of visible rows, or the code of the error. */
const counts = {
  "api.failing": "22012",
  "api.many": 10_001,
  "api.six": 0,
  "api.slow": "57014",
};

/** A cell that allows all. */
const allowed = {
  ...{ may: "all", columns: null, policies: [], past: [] },
  ...{ reason: null, sql: null, visible: null },
};

for (const engine of Object.keys(engines) as Engine[]) {
  Deno.test(`[${engine}] access: readAccess() says what each role may do`, async (t) => {
    const database = await engines[engine](fixture);
    const base = { "db-schemas": "api, closed", "db-anon-role": "access_anon" };
    const configWith = (options: FileOptions) =>
      configOf({ "db-uri": accessLogin(database.uri), ...base, ...options });
    const opened = await openDatabase(configWith({}), {
      embeddedInit: null,
      applicationName: "test",
    });
    try {
      const read = (options: FileOptions, input: Partial<AccessInput> = {}) =>
        readAccess(opened, { config: configWith(options), ...input });
      const matrices = { served: await read({}), readOnly: await read(readOnly) };
      const major = await majorVersion(opened);
      for (const [label, cell, is, { options, from = 0 } = {}] of rows) {
        if (from > major || !isChosen(`[${engine}] access: ${label}`)) continue;
        await t.step(label, () => {
          const { cells } = options === undefined ? matrices.served : matrices.readOnly;
          const [role, action, relation] = /^(\w+) (\w+) ([^]+)$/.exec(cell)!.slice(1);
          const found = cells.filter((each) =>
            each.role === role && each.action === action && each.relation === relation
          );
          deepStrictEqual(found, [{ role, relation, action, ...allowed, ...is }]);
        });
      }
      await t.step("GRANT statements of each refusal allow it", async () => {
        if (database.superuserUri === null) return;
        const refused = matrices.served.cells.filter(({ may, sql }) =>
          may === "no" && sql !== null
        );
        await withClient(database.superuserUri, async (client) => {
          for (const { sql } of refused) await client.query(sql!);
        });
        const { cells } = await read({});
        const open = new Set(cells.filter(({ may }) => may !== "no").map(keyOf));
        const left = refused.filter((cell) => !open.has(keyOf(cell))).map(keyOf);
        // Each member needs a grant of its own, and a write of a view one on its table.
        deepStrictEqual(left.filter((key) => !key.includes("invoker_ungranted")), []);
      });
      await t.step(
        "functions with unnamed parameters that no request can call are left out",
        () => {
          const { cells } = matrices.served;
          strictEqual(cells.some(({ relation }) => relation.startsWith("api.mixed(")), false);
        },
      );
      await t.step("one role, and few objects", async () => {
        const { roles, cells } = await read({}, { role: "access_user", limit: 2 });
        deepStrictEqual(roles, [["access_user", "access_user"]]);
        strictEqual(cells.length, 2 * 4 + 2);
        const unknown = await read({}, { role: "no_such" });
        deepStrictEqual(unknown, { roles: [], cells: [] });
      });
      await t.step("A10: counts, or the code of their errors", async () => {
        const config = configWith({});
        const { cells } = await read({}, { role: "access_user" });
        const identity = callerIdentity({ role: "access_user", claims: "{}" }, config);
        const counted = await withCounts(
          cells.filter(({ relation }) => Object.hasOwn(counts, relation)),
          { database: opened, config, identity },
        );
        const reads = counted.filter(({ action }) => action === "select");
        deepStrictEqual(
          Object.fromEntries(reads.map(({ relation, visible }) => [relation, visible])),
          // Nothing interrupts a query of PGlite.
          engine === "pg" ? counts : { ...counts, "api.slow": 1 },
        );
      });
      if (database.superuserUri !== null) {
        await t.step(
          "a locked table ends the wait",
          () =>
            withClient(database.superuserUri!, async (client) => {
              await client.query("begin; lock table api.inherited");
              await rejects(read({}), /lock timeout/);
              await client.query("rollback");
            }),
        );
      }
    } finally {
      await opened.close();
      await database.remove();
    }
  });
}

function keyOf({ role, action, relation }: AccessCell): string {
  return `${role} ${action} ${relation}`;
}

async function majorVersion(database: Database): Promise<number> {
  const text = await database.version();
  return Number(/PostgreSQL (\d+)/.exec(String(text))?.[1]);
}
