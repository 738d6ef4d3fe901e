/** Tokens of issuers whose keys are fetched, and the rules of `jwt-issuers`. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import type { JwtIssuer, Observation } from "../../mod.ts";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { issuerKey, keySource, signWith } from "../support/handler/key_sets.ts";
import { type Claims, signToken, testSecret } from "../support/handler/token.ts";

const now = 1_800_000_000;
const [keyA, keyB, rsa, ed, stranger] = await Promise.all([
  issuerKey("a"),
  issuerKey("b"),
  issuerKey("rsa", "RS256"),
  issuerKey("ed", "EdDSA"),
  issuerKey("a"),
]);

const issuerA = "https://a.test";
const issuerB = "https://b.test/tenant";
const secretB = "the secret of an issuer with a secret";
const failing = "https://failing.test";

const source = keySource({
  [`${issuerA}/.well-known/openid-configuration`]: {
    body: { issuer: issuerA, jwks_uri: "https://keys.test/a" },
  },
  "https://keys.test/a": { body: { keys: [keyA.publicJwk, rsa.publicJwk, ed.publicJwk] } },
  "https://keys.test/b": { body: { keys: [keyB.publicJwk] } },
  "https://keys.test/flat": { body: { keys: [keyA.publicJwk] } },
  [`${failing}/.well-known/openid-configuration`]: { status: 500 },
});

const issuers: readonly JwtIssuer[] = [
  { issuer: issuerA, allowed_roles: ["writer", "anon"] },
  {
    issuer: issuerB,
    jwks_url: "https://keys.test/b",
    audience: ["shop", "stock"],
    role_claim: "$.groups",
    roles: { admins: "writer", "*": "anon", constructor: "anon" },
    required_claims: { verified: true, tenant: ["x", "y"], "at.path": { a: [1] } },
    require: ["exp", "sub"],
    typ: "at+jwt",
  },
  { issuer: "secret", secret: secretB, role: "writer", require: [] },
  {
    issuer: "keys",
    keys: { keys: [keyB.publicJwk] },
    roles: { admin: "writer", list: "anon" },
    allowed_roles: ["writer"],
    require: [],
  },
  { issuer: failing, role: "writer" },
];

const config = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbConfig: false,
  fetch: source.fetch,
  now: () => now * 1000,
} as const;

const exp = now + 60;
const claimsA = { iss: issuerA, exp, role: "writer" };
const claimsB = {
  ...{ iss: issuerB, exp, sub: "u", aud: "shop", groups: ["x", "admins"] },
  ...{ verified: true, tenant: "y", "at.path": { a: [1] } },
};
const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });

/** Sends a token and returns the role, or the status with message and details of the error. */
async function outcome(api: Api, token: string): Promise<unknown> {
  const results = [];
  // The second request finds the token in the cache.
  for (let time = 0; time < 2; time++) {
    const response = await api("GET /rpc/whoami", bearer(token));
    const body = await response.json();
    results.push(
      response.status === 200
        ? body
        : `${response.status} ${body.code} ${body.message}: ${body.details}`,
    );
  }
  deepStrictEqual(results[1], results[0]);
  return results[0];
}

const notAccepted = "401 SVC301 JWT issuer is not accepted: null";
const rule = (name: string) => `401 SVC301 JWT does not satisfy the issuer's rules: ${name}`;
const noKey = "401 SVC301 No suitable key or wrong key type: ";
const notVerified = `${noKey}None of the keys was able to decode the JWT`;
const notFound = `${noKey}No suitable key was found to decode the JWT`;
const notAllowed = "403 SVC315 The issuer may not give this role: null";

function typed(claims: Claims) {
  return signWith(keyB, claims, { typ: "at+JWT" });
}

function without(claims: Claims, name: string): Claims {
  return Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));
}

const rsaAsSecret = await signToken(claimsA, JSON.stringify(rsa.publicJwk));

/** Tokens for services with `jwt-issuers` only. */
const rows: readonly (readonly [name: string, token: string, outcome: unknown])[] = [
  ["discovered keys", await signWith(keyA, claimsA), "writer"],
  ["without kid", await signWith(keyA, claimsA, { kid: undefined }), "writer"],
  ["RSA", await signWith(rsa, claimsA), "writer"],
  ["Ed25519", await signWith(ed, claimsA), "writer"],
  ["a stranger's key", await signWith(stranger, claimsA), notVerified],
  ["an unknown kid", await signWith(stranger, claimsA, { kid: "c" }), notFound],
  ["the key of another issuer", await signWith(keyB, claimsA), notFound],
  ["the kid of another key", await signWith(keyB, claimsA, { kid: "a" }), notVerified],
  ["own key with another's iss", await signWith(keyA, { ...claimsB }, { typ: "at+jwt" }), notFound],
  ["no iss", await signWith(keyA, without(claimsA, "iss")), notAccepted],
  ["an unknown iss", await signWith(keyA, { ...claimsA, iss: "https://c.test" }), notAccepted],
  ["iss with a slash", await signWith(keyA, { ...claimsA, iss: `${issuerA}/` }), notAccepted],
  ["iss in capitals", await signWith(keyA, { ...claimsA, iss: "https://A.test" }), notAccepted],
  ["iss that is a list", await signWith(keyA, { ...claimsA, iss: [issuerA] }), notAccepted],
  ["iss of all objects", await signWith(keyA, { ...claimsA, iss: "constructor" }), notAccepted],
  ["HS256 by the public key", rsaAsSecret, rule("algorithms")],
  ["a role that is not allowed", await signWith(keyA, { ...claimsA, role: "boss" }), notAllowed],
  ["no role", await signWith(keyA, without(claimsA, "role")), "anon"],
  ["no exp", await signWith(keyA, without(claimsA, "exp")), rule("require")],
  ["exp null", await signWith(keyA, { ...claimsA, exp: null }), rule("require")],
  ["expired", await signWith(keyA, { ...claimsA, exp: now - 31 }), "401 SVC301 JWT expired: null"],
  ["all rules", await typed(claimsB), "writer"],
  ["application/at+jwt", await signWith(keyB, claimsB, { typ: "application/at+jwt" }), "writer"],
  ["another typ", await signWith(keyB, claimsB), rule("typ")],
  ["no typ", await signWith(keyB, claimsB, { typ: undefined }), rule("typ")],
  ["one of several audiences", await typed({ ...claimsB, aud: ["x", "stock"] }), "writer"],
  ["no audience", await typed(without(claimsB, "aud")), rule("audience")],
  ["no audiences", await typed({ ...claimsB, aud: [] }), rule("audience")],
  ["an empty audience", await typed({ ...claimsB, aud: "" }), rule("audience")],
  ["another audience", await typed({ ...claimsB, aud: ["x"] }), rule("audience")],
  ["no sub", await typed(without(claimsB, "sub")), rule("require")],
  ["a claim as text", await typed({ ...claimsB, verified: "true" }), rule("required_claims")],
  ["another value", await typed({ ...claimsB, tenant: "z" }), rule("required_claims")],
  ["a list of values", await typed({ ...claimsB, tenant: ["x"] }), rule("required_claims")],
  ["another object", await typed({ ...claimsB, "at.path": { a: [2] } }), rule("required_claims")],
  [
    "a larger object",
    await typed({ ...claimsB, "at.path": { a: [1], b: 1 } }),
    rule("required_claims"),
  ],
  ["other groups", await typed({ ...claimsB, groups: ["x"] }), "anon"],
  ["* as a value", await typed({ ...claimsB, groups: ["*", "admins"] }), "writer"],
  ["no groups", await typed({ ...claimsB, groups: [] }), "anon"],
  ["a secret", await signToken({ iss: "secret" }, secretB), "writer"],
  ["a secret and a role", await signToken({ iss: "secret", role: "boss" }, secretB), "writer"],
  ["the flat secret", await signToken({ iss: "secret" }), notVerified],
  ["keys", await signWith(keyB, { iss: "keys", role: "admin" }), "writer"],
  [
    "a mapped role that is not allowed",
    await signWith(keyB, { iss: "keys", role: "list" }),
    notAllowed,
  ],
  ["an unlisted value", await signWith(keyB, { iss: "keys", role: "writer" }), "anon"],
  [
    "an issuer that fails",
    await signWith(keyA, { iss: failing, exp }),
    `503 SVC310 The keys of the token's issuer are not available: ${failing}`,
  ],
];

const listed = serviceSuite("security", { ...config, jwtSecret: null, jwtIssuers: issuers }, {
  title: "listed issuers",
});

for (const [name, token, expected] of rows) {
  listed.test(name, async (api) => strictEqual(await outcome(api, token), expected));
}

listed.test("anonymous requests do not depend on issuers", async (api) => {
  strictEqual(await (await api("GET /rpc/whoami")).json(), "anon");
});

listed.test("malformed tokens fail as without issuers", async (api) => {
  strictEqual(await outcome(api, "x"), "401 SVC301 Expected 3 parts in JWT; got 1: null");
  strictEqual(
    await outcome(api, "e30.e30.e30"),
    "401 SVC301 JWT cryptographic operation failed: null",
  );
});

listed.test("SVC310 has Retry-After", async (api) => {
  const token = await signWith(keyA, { iss: failing, exp });
  const { status, headers } = await api("GET /rpc/whoami", bearer(token));
  strictEqual(status, 503);
  match(headers.get("retry-after") ?? "", /^[1-9][0-9]?$/);
});

listed.test("claims arrive unchanged but for the role", async (api) => {
  const response = await api("GET /rpc/claimed", bearer(await typed(claimsB)));
  const { claims } = await response.json();
  deepStrictEqual(claims, { ...claimsB, role: "writer" });
});

const beside = serviceSuite(
  "security",
  { ...config, jwtIssuers: issuers, jwtAud: "shop" },
  { title: "listed issuers beside a secret" },
);

beside.test("unlisted issuers are tried with the secret", async (api) => {
  strictEqual(await outcome(api, await signToken({ role: "writer" })), "writer");
  strictEqual(await outcome(api, await signToken({ role: "writer", iss: "other" })), "writer");
  strictEqual(await outcome(api, await signToken({ ...claimsA })), rule("algorithms"));
  strictEqual(await outcome(api, await signToken({ iss: "secret" })), notVerified);
});

beside.test("jwt-aud counts unless the issuer has audiences of its own", async (api) => {
  const other = "401 SVC301 JWT not in audience: null";
  strictEqual(await outcome(api, await signWith(keyA, { ...claimsA, aud: "x" })), other);
  strictEqual(await outcome(api, await typed({ ...claimsB, aud: "stock" })), "writer");
});

const flat = serviceSuite(
  "security",
  { ...config, jwtJwksUrl: "https://keys.test/flat", jwtSkew: 5 },
  { title: "keys by URL beside a secret" },
);

flat.test("both the secret and the fetched keys verify tokens", async (api) => {
  strictEqual(await outcome(api, await signToken({ role: "writer" })), "writer");
  strictEqual(await outcome(api, await signWith(keyA, { role: "writer" })), "writer");
  strictEqual(await outcome(api, await signWith(keyA, { role: "writer", iss: 5 })), "writer");
  strictEqual(await outcome(api, await signWith(stranger, { role: "writer" })), notVerified);
});

flat.test("jwt-skew bounds exp, nbf and iat", async (api) => {
  const rows: readonly (readonly [Claims, string])[] = [
    [{ exp: now - 5 }, "writer"],
    [{ exp: now - 6 }, "401 SVC301 JWT expired: null"],
    [{ nbf: now + 5 }, "writer"],
    [{ nbf: now + 6 }, "401 SVC301 JWT not yet valid: null"],
    [{ iat: now + 5 }, "writer"],
    [{ iat: now + 6 }, "401 SVC301 JWT issued at future: null"],
  ];
  for (const [claims, expected] of rows) {
    const token = await signWith(keyA, { role: "writer", ...claims });
    strictEqual(await outcome(api, token), expected);
  }
});

const named = serviceSuite(
  "security",
  { ...config, jwtSecret: null, jwtIssuer: issuerA },
  { title: "one issuer by discovery" },
);

named.test("jwt-issuer alone finds keys and requires iss", async (api) => {
  strictEqual(await outcome(api, await signWith(keyA, { ...claimsA, role: "writer" })), "writer");
  strictEqual(await outcome(api, await signWith(keyA, { role: "writer" })), notAccepted);
  strictEqual(await outcome(api, await signWith(keyA, { iss: "x", role: "writer" })), notAccepted);
  strictEqual(await outcome(api, rsaAsSecret), notFound);
});

const pgrst = serviceSuite(
  "security",
  { ...config, dialect: "pgrst", jwtSecret: null, jwtIssuers: issuers },
  { title: "listed issuers in the dialect pgrst" },
);

pgrst.test("each failure has a code of its own", async (api) => {
  const codeOf = async (token: string) =>
    (await (await api("GET /rpc/whoami", bearer(token))).json()).code;
  strictEqual(await codeOf(await signWith(keyA, { iss: "x" })), "PGRST311");
  strictEqual(await codeOf(await signWith(keyB, claimsB)), "PGRST312");
  strictEqual(await codeOf(await signWith(keyA, { iss: failing, exp })), "PGRST310");
  strictEqual(await codeOf(await signWith(keyA, { ...claimsA, role: "boss" })), "PGRST315");
});

let time = now * 1000;
const rotating = keySource();
const events: Observation[] = [];
const rotation = serviceSuite("security", {
  ...config,
  jwtJwksUrl: "https://keys.test/rotating",
  fetch: rotating.fetch,
  now: () => time,
  observe: (event) => void events.push(event),
  dbTxEnd: "commit",
}, { title: "rotation of keys" });

rotation.test("keys rotate, disappear and become unavailable", async (api) => {
  const url = "https://keys.test/rotating";
  const [first, second] = await Promise.all([issuerKey("1"), issuerKey("2")]);
  const publish = (...keys: readonly (typeof first)[]) =>
    void rotating.answers.set(url, { body: { keys: keys.map(({ publicJwk }) => publicJwk) } });
  const [one, two] = await Promise.all(
    [first, second].map((key) => signWith(key, { role: "writer" })),
  );
  time += 60_000;
  publish(first);
  strictEqual(await outcome(api, one!), "writer");
  strictEqual(await outcome(api, two!), notFound);
  publish(first, second);
  time += 30_000;
  const before = rotating.count(url);
  strictEqual(await outcome(api, two!), "writer");
  strictEqual(rotating.count(url), before + 1);
  publish(second);
  time += 600_000;
  strictEqual(await outcome(api, one!), notFound, "a cached token of a removed key");
  strictEqual(await outcome(api, two!), "writer");
  rotating.answers.set(url, "unreachable");
  time += 601_000;
  strictEqual(await outcome(api, two!), "writer", "the source fails");
  time += 86_400_000;
  const unavailable = "503 SVC310 The keys of the token's issuer are not available: null";
  strictEqual(await outcome(api, two!), unavailable, "a cached token a day later");
  strictEqual(await outcome(api, await signToken({ role: "writer" }, testSecret)), "writer");
  strictEqual(events.filter(({ kind }) => kind === "request-failed").length, 0);
});
