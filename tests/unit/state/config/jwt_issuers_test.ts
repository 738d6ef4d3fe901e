import { deepStrictEqual, doesNotMatch, match, strictEqual } from "node:assert/strict";
import { jwtIssuerList, redactedIssuers } from "../../../../src/state/config/jwt_issuers.ts";

const secret = "reallyreallyreallyreallyverysafe";
const files: Readonly<Record<string, string>> = {
  "issuers.json": '[{"issuer":"https://id.test","role":"clerk"}]\n',
  "secret": `${secret}\n`,
  "short": "short\n",
};
const context = {
  readFile: (path: string) => {
    const text = files[path];
    if (text === undefined) throw new Error("No such file");
    return new TextEncoder().encode(text);
  },
  secretIsBase64: false,
  invalidConfig: "rejected",
} as const;

function read(value: unknown) {
  return jwtIssuerList.read(typeof value === "string" ? value : JSON.stringify(value), context);
}

const minimal = { issuer: "https://id.test", role: "clerk" };

Deno.test("jwtIssuerList reads issuers", () => {
  const all = {
    issuer: "a",
    jwks_url: "https://id.test/keys",
    audience: ["shop", "stock"],
    algorithms: ["RS256"],
    role_claim: "$.realm_access.roles",
    roles: { admin: "boss", "*": "clerk" },
    allowed_roles: ["boss", "clerk"],
    required_claims: { email_verified: true, tenant: ["a", "b"] },
    require: ["exp", "sub"],
    typ: "at+jwt",
  };
  const rows: readonly (readonly [value: unknown, issuers: unknown])[] = [
    [[minimal], [minimal]],
    ["@issuers.json", [minimal]],
    [[all], [all]],
    [[{ ...minimal, issuer: "a", secret }], [{ ...minimal, issuer: "a", secret }]],
    [[{ ...minimal, secret: "@secret" }], [{ ...minimal, secret }]],
    [[{ ...minimal, keys: { keys: [{ kty: "RSA" }] } }], [
      { ...minimal, keys: { keys: [{ kty: "RSA" }] } },
    ]],
    [[{ issuer: "https://a.test", allowed_roles: ["b"] }], [
      { issuer: "https://a.test", allowed_roles: ["b"] },
    ]],
    [[{ ...minimal, require: [] }], [{ ...minimal, require: [] }]],
    [[{ ...minimal, issuer: "http://localhost:9000" }], [
      { ...minimal, issuer: "http://localhost:9000" },
    ]],
  ];
  for (const [value, issuers] of rows) {
    deepStrictEqual(read(value), { kind: "value", value: issuers }, JSON.stringify(value));
  }
});

Deno.test("jwtIssuerList prints what it reads", () => {
  const issuers = [{ ...minimal, secret, role: undefined, roles: { '"$x\\': "b" } }];
  const printed = jwtIssuerList.print(JSON.parse(JSON.stringify(issuers)), context);
  deepStrictEqual(
    read(JSON.parse(printed.replaceAll("$$", "$"))),
    { kind: "value", value: JSON.parse(JSON.stringify(issuers)) },
  );
});

Deno.test("jwtIssuerList rejects mistakes without quoting values", () => {
  const rows: readonly (readonly [value: unknown, problem: string])[] = [
    [Array(51).fill(minimal), "has more than 50 issuers"],
    [[minimal, minimal], "issuer 2: the same issuer as another one"],
    [[5], "issuer 1: expected a JSON object"],
    [[{ role: "clerk" }], "issuer 1: issuer is missing"],
    [[{ ...minimal, jwksUrl: "x" }], 'issuer 1: unknown member "jwksUrl"'],
    [[{ ...minimal, toString: "x" }], 'issuer 1: unknown member "toString"'],
    [['{"__proto__":{}}'], "issuer 1: expected a JSON object"],
    [[{ ...minimal, issuer: "" }], "issuer 1: invalid value of issuer"],
    [[{ ...minimal, jwks_url: "http://id.test" }], "issuer 1: invalid value of jwks_url"],
    [[{ ...minimal, audience: [] }], "issuer 1: invalid value of audience"],
    [[{ ...minimal, algorithms: "RS256" }], "issuer 1: invalid value of algorithms"],
    [[{ ...minimal, roles: { a: 5 } }], "issuer 1: invalid value of roles"],
    [[{ ...minimal, roles: { a: "none" } }], "issuer 1: invalid value of roles"],
    [[{ ...minimal, role: "none" }], "issuer 1: invalid value of role"],
    [[{ ...minimal, role: "a\0" }], "issuer 1: invalid value of role"],
    [
      [{ issuer: "https://id.test", allowed_roles: ["none"] }],
      "issuer 1: invalid value of allowed_roles",
    ],
    [[{ ...minimal, required_claims: [] }], "issuer 1: invalid value of required_claims"],
    [[{ ...minimal, require: "exp" }], "issuer 1: invalid value of require"],
    [[{ ...minimal, keys: [] }], "issuer 1: invalid value of keys"],
    [
      [{ ...minimal, jwks_url: "https://id.test", secret }],
      "issuer 1: expected one of jwks_url, secret and keys",
    ],
    [
      [{ issuer: "own", role: "clerk" }],
      "issuer 1: without keys, issuer must be an https URL for OIDC Discovery",
    ],
    [[{ ...minimal, role_claim: "$.a" }], "issuer 1: role excludes role_claim and roles"],
    [[{ ...minimal, roles: {} }], "issuer 1: role excludes role_claim and roles"],
    [[{ issuer: "https://id.test" }], "issuer 1: allowed_roles is required without roles and role"],
    [
      [{ ...minimal, secret: "@missing" }],
      'issuer 1: cannot read the file "missing": No such file',
    ],
    [[{ ...minimal, secret: "@short" }], "issuer 1: secret must have at least 32 bytes"],
    [[{ ...minimal, secret: "hunter2" }], "issuer 1: secret must have at least 32 bytes"],
  ];
  for (const [value, problem] of rows) {
    deepStrictEqual(read(value), { kind: "problem", problem }, problem);
  }
  for (const value of ["", "{}", "null", "[", '"x"', `{"secret":"${secret}"}`]) {
    const result = read(value);
    strictEqual(result.kind, "problem");
    const { problem } = result as { problem: string };
    match(problem, /^expected a JSON list of issuers/);
    doesNotMatch(problem, /really/);
  }
});

Deno.test("redactedIssuers() hides secrets and keys", () => {
  deepStrictEqual(
    redactedIssuers([
      { ...minimal, secret },
      { ...minimal, keys: { keys: [{ kty: "oct", k: "x" }] } },
      minimal,
    ]),
    [{ ...minimal, secret: "***" }, { ...minimal, keys: { keys: [] } }, minimal],
  );
});
