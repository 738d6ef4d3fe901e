import { strictEqual } from "node:assert/strict";
import { initSql } from "../../../../src/cli/init/init_sql.ts";
import { unknownTarget } from "../../../../src/cli/init/choices.ts";
import type { OwnerFacts } from "../../../../src/cli/init/facts.ts";

const names = { schema: "api", loginRole: "login", anonRole: "anon", userRole: null };

interface Row {
  readonly title: string;
  readonly owners: readonly OwnerFacts[];
  readonly revokesFunctions: boolean;
  /** The lines from the one about PUBLIC to the end of the transaction. */
  readonly lines: readonly string[];
}

const grant = "-- grant execute on function api.f(integer) to anon;";
const revoke = "revoke execute on functions from public;";

const rows: readonly Row[] = [
  {
    title: "as comments",
    owners: [{ sql: "me", isOurs: true }],
    revokesFunctions: false,
    lines: [
      "-- revoke execute on all functions in schema api from public;",
      "-- The same for functions that are created later:",
      `-- alter default privileges for role me ${revoke}`,
    ],
  },
  {
    title: "for each owner",
    owners: [{ sql: "me", isOurs: true }, { sql: '"an ""other"', isOurs: false }],
    revokesFunctions: true,
    lines: [
      "revoke execute on all functions in schema api from public;",
      "-- The same for functions that are created later:",
      `alter default privileges for role me ${revoke}`,
      '-- As a superuser, or as "an ""other":',
      `-- alter default privileges for role "an ""other" ${revoke}`,
    ],
  },
  {
    title: "for the applying role, which a new schema belongs to",
    owners: [],
    revokesFunctions: true,
    lines: [
      "revoke execute on all functions in schema api from public;",
      "-- The same for functions that are created later:",
      `alter default privileges ${revoke}`,
    ],
  },
];

for (const { title, owners, revokesFunctions, lines } of rows) {
  Deno.test(`initSql() revokes functions ${title}`, () => {
    const choices = { ...names, readable: [], writable: [], revokesFunctions, keepsAnswers: false };
    const facts = {
      ...unknownTarget(names, []),
      quoted: { api: "api", login: "login", anon: "anon" },
      publicFunctions: 1,
      functions: ["api.f(integer)"],
      owners,
    };
    const text = initSql(choices, facts, null);
    const from = text.indexOf("-- PUBLIC may call 1 function of this schema");
    const [, ...shown] = text.slice(from, text.indexOf("\n\ncommit;")).split("\n");
    strictEqual(
      shown.join("\n"),
      [...lines, "-- Grants of each function instead:", grant].join("\n"),
    );
  });
}
