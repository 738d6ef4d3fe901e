import { deepStrictEqual, rejects, strictEqual, throws } from "node:assert/strict";
import { exportJWK, generateKeyPair } from "jose";
import { verifyWith } from "../../state/auth/tokens.ts";
import { claimsOf } from "../../../../src/api/caller_flags.ts";
import { loadKeys } from "../../../../src/state/auth/keys.ts";
import { signToken } from "../../../../src/state/auth/sign_token.ts";
import { tokenClaims, type TokenFlags } from "../../../../src/process/cli/token.ts";

const config = { jwtAud: null, jwtIssuer: null, jwtRoleClaimKey: "$.role" };
const flags: Omit<TokenFlags, "claims"> = { role: "web_user", expires: "1h" };
const now = 1_700_000_000_999;
const iat = 1_700_000_000;

type FlagChange = Partial<typeof flags> & { readonly claims?: readonly string[] };

function claimsFrom(config: Parameters<typeof tokenClaims>[1], change: FlagChange) {
  const texts = change.claims ?? [];
  const claims = claimsOf(new Map(texts.length > 0 ? [["--claim", texts.join("\0")]] : []));
  return tokenClaims({ ...flags, ...change, claims }, config, now);
}

const claimRows: readonly (readonly [
  label: string,
  flags: FlagChange,
  config: Partial<typeof config> | { readonly jwtAud: string } | { readonly jwtIssuer: string },
  claims: Readonly<Record<string, unknown>>,
])[] = [
  ["role, time and validity", {}, {}, { role: "web_user", iat, exp: iat + 3600 }],
  ["seconds", { expires: "90" }, {}, { role: "web_user", iat, exp: iat + 90 }],
  ["days", { expires: "7d" }, {}, { role: "web_user", iat, exp: iat + 604_800 }],
  [
    "claims as text and JSON",
    { claims: ["sub=ada", "age=5", "tags=[1]", "url=a=b", 'quoted="5"', "no=null"] },
    {},
    {
      role: "web_user",
      iat,
      exp: iat + 3600,
      sub: "ada",
      age: 5,
      tags: [1],
      url: "a=b",
      quoted: "5",
      no: null,
    },
  ],
  ["a claim in the place of another", { claims: ["exp=1"] }, {}, { role: "web_user", iat, exp: 1 }],
  [
    "the role at its path",
    {},
    { jwtRoleClaimKey: "$.app.role" },
    { app: { role: "web_user" }, iat, exp: iat + 3600 },
  ],
  ["the audience", {}, { jwtAud: "shop" }, { role: "web_user", aud: "shop", iat, exp: iat + 3600 }],
  [
    "the issuer",
    {},
    { jwtIssuer: "https://id.test" },
    { role: "web_user", iss: "https://id.test", iat, exp: iat + 3600 },
  ],
];

for (const [label, change, setting, expected] of claimRows) {
  Deno.test(`tokenClaims() returns ${label}`, () => {
    deepStrictEqual(
      claimsFrom({ ...config, ...setting } as typeof config, change),
      expected,
    );
  });
}

const problems: readonly (readonly [
  change: FlagChange,
  path: string,
  message: RegExp,
])[] = [
  [{ role: null }, "$.role", /^Error: --role=ROLE is required$/],
  [{ claims: ["sub"] }, "$.role", /^Error: --claim needs a name and a value/],
  [{ claims: ["=x"] }, "$.role", /^Error: --claim needs a name and a value/],
  [{ expires: "soon" }, "$.role", /^Error: --expires: expected a time such as .*, got "soon"$/],
  [{ expires: "0" }, "$.role", /^Error: --expires: expected/],
  [{ expires: "9999999999d" }, "$.role", /^Error: --expires: expected/],
  [{}, "$.roles[0]", /^Error: jwt-role-claim-key is \$\.roles\[0\]: only a plain path/],
];

for (const [change, jwtRoleClaimKey, message] of problems) {
  Deno.test(`tokenClaims() rejects ${JSON.stringify(change)} at ${jwtRoleClaimKey}`, () => {
    throws(
      () => claimsFrom({ ...config, jwtRoleClaimKey }, change),
      message,
    );
  });
}

const utf8 = new TextEncoder();

/** Secrets by the algorithm that signs with them. */
const secrets: readonly (readonly [alg: string, secret: () => Promise<unknown>])[] = [
  ["HS256", () => Promise.resolve("a secret of at least thirty-two bytes")],
  ["HS384", () => Promise.resolve({ kty: "oct", k: "A".repeat(64), alg: "HS384", kid: "one" })],
  ["RS256", () => privateJwk("RS256")],
  ["ES384", () => privateJwk("ES384")],
  ["EdDSA", () => privateJwk("EdDSA")],
];

async function privateJwk(alg: string): Promise<unknown> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { keys: [{ ...await exportJWK(privateKey), kid: "private" }] };
}

for (const [alg, secret] of secrets) {
  Deno.test(`signToken() signs with ${alg}, and the service verifies it`, async () => {
    const value = await secret();
    const bytes = utf8.encode(typeof value === "string" ? value : JSON.stringify(value));
    const token = await signToken({ role: "web_user" }, bytes);
    strictEqual(JSON.parse(atob(token.split(".")[0]!)).alg, alg);
    const keys = await loadKeys(bytes);
    deepStrictEqual((await verifyWith(token, keys!)).claims, { role: "web_user" });
  });
}

Deno.test("signToken() rejects public keys", async () => {
  const { publicKey } = await generateKeyPair("ES256");
  const secret = utf8.encode(JSON.stringify(await exportJWK(publicKey)));
  await rejects(signToken({}, secret), /The JWT secret has no private key/);
});
