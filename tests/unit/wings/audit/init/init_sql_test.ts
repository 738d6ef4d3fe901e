import { ok, strictEqual } from "node:assert/strict";
import { initSql } from "../../../../../src/wings/audit/init/init_sql.ts";
import type { OwnerFacts, TargetFacts } from "../../../../../src/wings/audit/init/facts.ts";

const names = { schemas: ["api"], loginRole: "login", anonRole: "anon", userRole: null };

const noFacts: TargetFacts = {
  version: 0,
  missingSchemas: ["api"],
  relations: [],
  publicFunctions: 0,
  functions: [],
  owners: [],
  openSchemas: [],
  roles: [],
  quoted: { api: "api", login: "login", anon: "anon", web_user: "web_user" },
};

const noLists = { readable: [], userReadable: [], owned: [], writable: [] };

interface Row {
  readonly title: string;
  readonly owners: readonly OwnerFacts[];
  readonly revokesFunctions: boolean;
  /** The lines from the one about PUBLIC to the end of the transaction. */
  readonly lines: readonly string[];
}

/** The last function is in a policy. */
const functions = [{ sql: "api.f(integer)", isUsed: false }, { sql: "api.may()", isUsed: true }];
const grantHeading =
  "-- Grants of each function instead. Policies, views or defaults need those without dashes:";
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
    const choices = {
      ...names,
      ...noLists,
      revokesFunctions,
      keepsAnswers: false,
      usesCitus: false,
    };
    const facts = {
      ...noFacts,
      publicFunctions: 1,
      functions,
      owners,
    };
    const text = initSql(choices, facts, null);
    const from = text.indexOf("-- PUBLIC may call 1 function of this schema");
    const [, ...shown] = text.slice(from, text.indexOf("\n\ncommit;")).split("\n");
    strictEqual(
      shown.join("\n"),
      [
        ...lines,
        grantHeading,
        grant,
        `${revokesFunctions ? "" : "-- "}grant execute on function api.may() to anon;`,
      ].join("\n"),
    );
  });
}

Deno.test("initSql() writes policies of rows that belong to users", () => {
  const users = { ...names, userRole: "web_user" };
  const relation = {
    schema: "api",
    name: "orders",
    label: "orders",
    sql: '"api"."orders"',
    isWritable: true,
    sequences: [],
    ownerColumns: [{
      name: "owner",
      sql: "owner",
      type: "uuid",
      hasDefault: false,
      refersToUser: true,
    }],
  };
  const choices = {
    ...users,
    ...noLists,
    userReadable: [relation],
    owned: [{ relation, column: relation.ownerColumns[0]! }],
    revokesFunctions: false,
    keepsAnswers: false,
    usesCitus: false,
  };
  const facts = {
    ...noFacts,
    relations: [relation],
  };
  const text = initSql(choices, facts, null);
  const claim = "(current_setting('request.jwt.claims', true)::json ->> 'sub')::uuid";
  const lines = [
    'grant select on "api"."orders" to web_user;',
    'alter table "api"."orders" enable row level security;',
    `create policy svc_own on "api"."orders" to web_user using (owner = (select ${claim}));`,
    `alter table "api"."orders" alter column owner set default (${claim});`,
  ];
  for (const line of lines) ok(text.includes(`\n${line}\n`), line);
});

Deno.test("initSql() lets the roles of requests log in if the database uses Citus", () => {
  const users = { ...names, userRole: "web_user" };
  const more = { revokesFunctions: false, keepsAnswers: false, usesCitus: true };
  const choices = { ...users, ...noLists, ...more };
  const facts = {
    ...noFacts,
    roles: [{ name: "web_user", isGranted: true, inherits: false }],
  };
  const text = initSql(choices, facts, null);
  const lines = [
    "alter role anon login;",
    "alter role web_user login;",
    "-- hostssl <database> anon, web_user <coordinator>/32 cert",
  ];
  for (const line of lines) ok(text.includes(`\n${line}\n`), line);
  const others = initSql({ ...choices, usesCitus: false }, facts, null);
  ok(!others.includes("alter role anon login") && !others.includes("hostssl"));
});

Deno.test("initSql() grants several schemas, and creates those that are missing", () => {
  const schemas = ["api", "new", "open"];
  const more = { revokesFunctions: true, keepsAnswers: false, usesCitus: false };
  const facts = {
    ...noFacts,
    missingSchemas: ["new"],
    openSchemas: ["open"],
    quoted: { ...noFacts.quoted, new: "new", open: '"open"' },
  };
  const text = initSql({ ...names, ...noLists, ...more, schemas }, facts, null);
  const lines = [
    "create schema if not exists new;",
    'grant usage on schema api, new, "open" to anon;',
    '-- revoke create on schema "open" from public;',
    'revoke execute on all functions in schema api, new, "open" from public;',
  ];
  for (const line of lines) ok(text.includes(`\n${line}\n`), line);
});
