import { deepStrictEqual } from "node:assert/strict";
import { findingsOf } from "../../../../../src/wings/audit/diagnosis/diagnose.ts";
import type { Catalogue } from "../../../../../src/wings/audit/diagnosis/query.ts";
import { configOf, type FileOptions } from "../../../../support/handler/diagnosis.ts";
import { assertLinearTime } from "../../../../support/timing/linear_time.ts";

const wellSetUp: Catalogue = {
  rows: [],
  version: 180004,
  isStandby: false,
  isReadOnly: false,
  login: "authenticator",
  uncheckedRoles: 0,
  schemas: ["api"],
  filledSchemas: ["api"],
  functions: [],
  rolesWithoutTimeout: [],
  hasReloadTrigger: true,
  hiddenRelations: [],
  policies: [],
  volatileFunctions: [],
};

const base: FileOptions = { "db-uri": "postgres://authenticator@localhost/x", "db-anon-role": "a" };

interface Row {
  readonly label: string;
  readonly catalogue?: Partial<Catalogue>;
  readonly options?: FileOptions;
  /** `level name subject: message`, and the SQL. */
  readonly findings: readonly (readonly [text: string, sql: string | null])[];
}

const agents: FileOptions = { "mcp-path": "/mcp", "server-host": "127.0.0.1" };

const rows: readonly Row[] = [
  { label: "nothing", findings: [] },
  {
    label: "a version that is too old",
    catalogue: { version: 130004 },
    findings: [[
      "error version 13.4: PostgreSQL 13.4 is older than 14, the oldest version that is supported",
      null,
    ]],
  },
  {
    label: "a standby",
    catalogue: { isStandby: true },
    findings: [["info standby server: the server is a standby: writes fail with 25006", null]],
  },
  {
    label: "transactions that are read-only by default",
    catalogue: { isReadOnly: true },
    findings: [[
      "warn read-only-default authenticator: default_transaction_read_only is on for " +
      "authenticator, but the service turns it off and requests can write: to forbid writes, set " +
      "db-read-only = true",
      null,
    ]],
  },
  {
    label: "transactions that are read-only by default and by db-read-only",
    catalogue: { isReadOnly: true },
    options: { "db-read-only": "true" },
    findings: [],
  },
  {
    label: "more roles than are checked",
    catalogue: { uncheckedRoles: 23 },
    findings: [[
      "info roles-unchecked authenticator: authenticator may become 73 roles: only the first 50 " +
      "were checked",
      null,
    ]],
  },
  {
    label: "limits that are missing on a Unix socket",
    catalogue: { rolesWithoutTimeout: ["a"] },
    options: { "server-host": "*4", "server-unix-socket": "/run/svc.sock" },
    findings: [],
  },
  {
    label: "limits that are missing on any address",
    catalogue: { rolesWithoutTimeout: ["a", '"B b"'] },
    options: { "server-host": "*" },
    findings: [[
      "warn no-limits server-host: other machines may send requests, and these limits are not " +
      "set: statement_timeout of a, db-max-rows, server-max-body-size",
      "alter role a set statement_timeout = '5s';\n" +
      "alter role \"B b\" set statement_timeout = '5s';",
    ]],
  },
  {
    label: "a limit that stands in for that of the roles",
    catalogue: { rolesWithoutTimeout: ["a"] },
    options: { "server-host": "*", "db-statement-timeout": "10s", "db-max-rows": "1000" },
    findings: [[
      "warn no-limits server-host: other machines may send requests, and these limits are not " +
      "set: server-max-body-size",
      null,
    ]],
  },
  {
    label: "limits that stand in for those of the anonymous role",
    catalogue: { rolesWithoutTimeout: ["a", '"B b"'] },
    options: {
      "server-host": "*",
      "db-anon-role": "B b",
      "db-anon-statement-timeout": "2s",
      "db-max-rows": "1000",
      "server-max-body-size": "1m",
    },
    findings: [[
      "warn no-limits server-host: other machines may send requests, and these limits are not " +
      "set: statement_timeout of a",
      "alter role a set statement_timeout = '5s';",
    ]],
  },
  {
    label: "a limit of the anonymous role that is turned off",
    catalogue: { rolesWithoutTimeout: ["a", '"B b"'] },
    options: {
      "server-host": "*",
      "db-anon-role": "B b",
      "db-anon-statement-timeout": "0",
      "db-statement-timeout": "10s",
      "db-max-rows": "1000",
      "server-max-body-size": "1m",
    },
    findings: [[
      "warn no-limits server-host: other machines may send requests, and these limits are not " +
      'set: statement_timeout of "B b"',
      "alter role \"B b\" set statement_timeout = '5s';",
    ]],
  },
  {
    label: "errors before warnings and notes",
    catalogue: {
      isStandby: true,
      rows: [
        ["login-superuser", false, "me", [], [], []],
        ["schema-missing", false, "apy", [], ["db-schemas"], ["create schema apy;"]],
      ],
    },
    findings: [
      [
        "error schema-missing apy: schema apy of db-schemas does not exist; did you mean api?",
        "create schema apy;",
      ],
      [
        "warn login-superuser me: me, the user of db-uri, is a superuser: npx svc-api init makes a login " +
        "role that is not",
        null,
      ],
      ["info standby server: the server is a standby: writes fail with 25006", null],
    ],
  },
  {
    label: "the superuser of an embedded database",
    catalogue: { rows: [["login-superuser", false, "postgres", [], [], []]] },
    options: { "db-uri": "pglite://memory" },
    findings: [],
  },
  {
    label: "no writes of a service that is read only",
    catalogue: { rows: [["create-in-schema", true, "api", ["a"], [], ["x;"]]] },
    options: { "db-read-only": "true" },
    findings: [],
  },
  {
    label: "at most three names",
    catalogue: {
      rows: [["truncate", true, "a", [], ["api.a", "api.b", "api.c", "api.d"], ["x;"]]],
    },
    findings: [[
      "warn truncate a: a may truncate api.a, api.b, api.c and 1 more, which policies do not " +
      "restrict",
      "x;",
    ]],
  },
  {
    label: "an anonymous role that is the login role",
    catalogue: { rows: [["role-owns", true, "me", [], ["public.t"], []]] },
    findings: [[
      "error role-owns me: me owns public.t: row-level security does not apply to owners; " +
      "npx svc-api init makes a role that is safe to use",
      null,
    ]],
  },
  {
    label: "codes of the other dialect",
    options: { "dialect": "pgrst", "db-anon-role": "", "jwt-secret": "" },
    findings: [
      [
        "info no-anon-role db-anon-role: requests without a token fail with PGRST302: set " +
        "db-anon-role",
        null,
      ],
      [
        "info no-jwt-secret jwt-secret: requests with a token fail with PGRST300: set jwt-secret",
        null,
      ],
    ],
  },
  {
    label: "keys of an identity provider instead of a secret",
    options: { "jwt-secret": "", "jwt-issuer": "https://id.test" },
    findings: [],
  },
  {
    label: "an origin that CORS does not allow",
    options: {
      "jwt-cookie-name": "token",
      "jwt-cookie-origins": "https://a.test, https://b.test",
      "server-cors-allowed-origins": "https://a.test",
    },
    findings: [[
      "warn cookie-origins https://b.test: pages of this origin of jwt-cookie-origins cannot send " +
      "the cookie: add it to server-cors-allowed-origins",
      null,
    ]],
  },
  {
    label: "origins while CORS allows any",
    options: { "jwt-cookie-origins": "https://a.test" },
    findings: [[
      "warn cookie-origins https://a.test: pages of this origin of jwt-cookie-origins cannot send " +
      "the cookie: add it to server-cors-allowed-origins",
      null,
    ]],
  },
  {
    label: "the anonymous role at the endpoint for agents",
    options: {
      ...agents,
      "jwt-aud": "shop",
      "server-host": "*",
      "db-max-rows": "1000",
      "server-max-body-size": "1m",
    },
    findings: [[
      "warn mcp-anonymous a: other machines may use the endpoint for agents without a token: set " +
      "mcp-roles to the roles of agents",
      null,
    ]],
  },
  {
    label: "a relation that mcp-path hides, and agents that may write everything",
    catalogue: { hiddenRelations: ["api.mcp"] },
    options: { ...agents, "jwt-aud": "shop", "mcp-write": "*" },
    findings: [
      [
        "warn mcp-path-hides api.mcp: requests to /mcp reach the endpoint for agents, not api.mcp: " +
        "choose another mcp-path",
        null,
      ],
      [
        "warn mcp-write-all mcp-write: agents may write to every relation that their role may write " +
        "to: list the relations in mcp-write",
        null,
      ],
    ],
  },
  {
    label: "agents' tokens for any audience",
    options: { ...agents, "mcp-roles": "agent" },
    findings: [[
      "info mcp-audience jwt-aud: the endpoint for agents takes tokens for any audience: set " +
      "mcp-authorization-servers, or jwt-aud",
      null,
    ]],
  },
  {
    label: "issuers for agents without a public address",
    options: { ...agents, "mcp-authorization-servers": "https://id.test" },
    findings: [[
      "warn mcp-resource mcp-resource: agents look for the issuers of tokens at an address of this " +
      "machine: set mcp-resource to the public address of mcp-path",
      null,
    ]],
  },
];

for (const { label, catalogue = {}, options = {}, findings } of rows) {
  Deno.test(`findingsOf() lists ${label}`, () => {
    const found = findingsOf({ ...wellSetUp, ...catalogue }, {
      config: configOf({ ...base, ...options }),
      program: "npx svc-api",
    });
    deepStrictEqual(
      found.map(({ name, level, subject, message, sql }) => [
        `${level} ${name} ${subject}: ${message}`,
        sql,
      ]),
      findings,
    );
  });
}

Deno.test("findingsOf() takes linear time for many indexes", () => {
  const config = configOf(base);
  assertLinearTime("findingsOf", {
    size: 16_000,
    make: (size) => ({
      ...wellSetUp,
      rows: Array.from({ length: size }, (_, at) => {
        const sql = `create index concurrently on api.orders_of_the_year (customer_${at});`;
        return ["foreign-key-index", false, `${at}`, [], [], [sql]] as const;
      }),
    }),
    run: (catalogue) => void findingsOf(catalogue, { config, program: "svc" }),
  });
});
