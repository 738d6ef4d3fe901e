import { strictEqual } from "node:assert/strict";
import { type KeyConfig, KeyOwners } from "../../../src/tenants/key_owners.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const noKeys: KeyConfig = {
  jwtIssuer: null,
  jwtIssuers: null,
  jwtJwksUrl: null,
  jwtSecret: null,
};

const secret = "a-secret-of-at-least-32-characters";
const encoded = btoa(secret).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const set = (...keys: object[]) => bytes(JSON.stringify({ keys }));
const rsa = (n: string) => ({ kty: "RSA", n, e: "AQAB" });

const pairs: readonly (readonly [
  label: string,
  one: Partial<KeyConfig>,
  other: Partial<KeyConfig>,
  shares: boolean,
])[] = [
  ["no keys", {}, {}, false],
  ["one secret", { jwtSecret: bytes(secret) }, { jwtSecret: bytes(secret) }, true],
  ["two secrets", { jwtSecret: bytes(secret) }, { jwtSecret: bytes(`${secret}.`) }, false],
  [
    "a secret and the same as a key",
    { jwtSecret: bytes(secret) },
    { jwtSecret: bytes(JSON.stringify({ kty: "oct", k: encoded })) },
    true,
  ],
  ["sets with one key in common", { jwtSecret: set(rsa("a"), rsa("b")) }, {
    jwtSecret: set(rsa("b"), rsa("c")),
  }, true],
  ["sets with other keys", { jwtSecret: set(rsa("a")) }, { jwtSecret: set(rsa("b")) }, false],
  ["one URL", { jwtJwksUrl: "https://id/k" }, { jwtJwksUrl: "https://id/k" }, true],
  ["one issuer", { jwtIssuer: "https://id" }, { jwtIssuer: "https://id" }, true],
  [
    "an issuer and the same in a list",
    { jwtIssuer: "https://id" },
    { jwtIssuers: [{ issuer: "https://id" }] },
    true,
  ],
  [
    "a secret and the same in a list",
    { jwtSecret: bytes(secret) },
    { jwtIssuers: [{ issuer: "x", secret }] },
    true,
  ],
  [
    "a URL and the same in a list",
    { jwtJwksUrl: "https://id/k" },
    { jwtIssuers: [{ issuer: "x", jwks_url: "https://id/k" }] },
    true,
  ],
];

for (const [label, one, other, shares] of pairs) {
  Deno.test(`KeyOwners ${shares ? "finds" : "finds no"} shared keys: ${label}`, () => {
    const owners = new KeyOwners(() => true);
    strictEqual(owners.claim("a", { ...noKeys, ...one }), null);
    strictEqual(owners.claim("b", { ...noKeys, ...other }), shares ? "a" : null);
  });
}

Deno.test("KeyOwners lets a tenant change its keys, and another one take them", () => {
  const owners = new KeyOwners(() => true);
  owners.claim("a", { ...noKeys, jwtIssuer: "x" });
  strictEqual(owners.claim("a", { ...noKeys, jwtIssuer: "x" }), null);
  strictEqual(owners.claim("a", { ...noKeys, jwtIssuer: "y" }), null);
  strictEqual(owners.claim("b", { ...noKeys, jwtIssuer: "x" }), null);
});

Deno.test("KeyOwners forgets a tenant that no longer exists", () => {
  const known = new Set(["a", "b"]);
  const owners = new KeyOwners((name) => known.has(name));
  owners.claim("a", { ...noKeys, jwtIssuer: "x" });
  known.delete("a");
  strictEqual(owners.claim("b", { ...noKeys, jwtIssuer: "x" }), null);
});
