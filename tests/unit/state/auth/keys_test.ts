import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { loadKeys, selectKeys } from "../../../../src/state/auth/keys.ts";
import { AuthSettingError } from "../../../../src/state/auth/keys.ts";
import {
  base64Url,
  expectRefusal,
  hmacToken,
  keysOf,
  refusal,
  secret,
  utf8,
  verifyWith,
} from "./tokens.ts";

const notFound = refusal(
  "No suitable key or wrong key type",
  "No suitable key was found to decode the JWT",
);
const notVerified = refusal(
  "No suitable key or wrong key type",
  "None of the keys was able to decode the JWT",
);

Deno.test("loadKeys gives null without a secret", async () => {
  strictEqual(await loadKeys(null), null);
  strictEqual(await loadKeys(new Uint8Array()), null);
});

Deno.test("loadKeys takes a plain secret for HS256 alone", async () => {
  const plain = [
    secret,
    "{ this is no JSON, but it is long enough }",
    '{"some":"object","that":"is not a key"}',
    '["kty","keys","and","thirty-two","bytes"]',
    "ž".repeat(16),
  ];
  for (const text of plain) {
    const { keys } = await keysOf(text);
    deepStrictEqual(keys.map((key) => [key.kid, ...key.verifiers.keys()]), [[null, "HS256"]], text);
  }
  const binary = await loadKeys(new Uint8Array(32).fill(0xff));
  deepStrictEqual([...binary?.keys[0]?.verifiers.keys() ?? []], ["HS256"]);
});

Deno.test("loadKeys rejects secrets that cannot be used", async () => {
  const short = "The JWT secret must be at least 32 characters long.";
  const unusable = (n: number) => `JSON Web Key ${n} of the JWT secret cannot be used.`;
  const noArray = "The 'keys' of the JWT secret must be an array of JSON Web Keys.";
  const pem = "The JWT secret is in PEM; give the public key as a JSON Web Key.";
  const weak = "RSA keys of the JWT secret must have 2048 bits.";
  const oct = { kty: "oct", k: base64Url("x") };
  const rows: [string | object, string][] = [
    ["x".repeat(31), short],
    ["{}", short],
    ["-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n", pem],
    ["\n-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n", pem],
    [{ kty: "RSA" }, unusable(1)],
    [{ kty: "RSA", n: "AQ" }, unusable(1)],
    [{ kty: "RSA", n: base64Url(new Uint8Array(128).fill(0xc1)), e: "AQAB" }, weak],
    [{ kty: "EC", crv: "P-256" }, unusable(1)],
    [{ kty: "EC", x: "AA", y: "AA" }, unusable(1)],
    [{ kty: "OKP", crv: 25519, x: "AA" }, unusable(1)],
    [{ kty: "EC", crv: "P-256", x: "AA", y: "AA" }, unusable(1)],
    [{ kty: "EC", crv: "P-521", x: "A".repeat(88), y: "A".repeat(88) }, unusable(1)],
    [{ kty: "OKP", crv: "Ed25519", x: 5 }, unusable(1)],
    [{ kty: "oct" }, unusable(1)],
    [{ kty: "oct", k: "" }, unusable(1)],
    [{ kty: "oct", k: "*" }, unusable(1)],
    [{ ...oct, kid: 7 }, unusable(1)],
    [{ keys: [oct, { kty: "RSA" }] }, unusable(2)],
    [{ keys: "none" }, noArray],
    [{ keys: [oct, "text"] }, noArray],
  ];
  for (const [text, message] of rows) {
    await rejects(
      keysOf(text),
      (error) => error instanceof AuthSettingError && error.message === message,
      JSON.stringify(text),
    );
  }
});

Deno.test("loadKeys gives a JSON Web Key the algorithms of its type, its curve and its alg", async () => {
  const oct = { kty: "oct", k: base64Url("x") };
  const { publicKey: p384 } = await generateKeyPair("ES384", { extractable: true });
  const ec = await exportJWK(p384);
  const { privateKey: rs256 } = await generateKeyPair("RS256", { extractable: true });
  const rsa = await exportJWK(rs256);
  const { privateKey: ed } = await generateKeyPair("EdDSA", { extractable: true });
  const okp = await exportJWK(ed);
  const rows: [object, string[]][] = [
    [oct, ["HS256", "HS384", "HS512"]],
    [{ ...oct, alg: "HS384" }, ["HS384"]],
    [{ ...oct, alg: "RS256" }, []],
    [{ ...oct, use: "sig" }, ["HS256", "HS384", "HS512"]],
    [{ ...oct, use: "enc" }, []],
    [{ ...oct, key_ops: ["encrypt"] }, ["HS256", "HS384", "HS512"]],
    [ec, ["ES384"]],
    [{ ...ec, alg: "ES256" }, []],
    [rsa, ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]],
    [{ ...rsa, alg: "RS512" }, ["RS512"]],
    [{ ...rsa, alg: "HS256" }, []],
    [{ ...rsa, alg: "none" }, []],
    [okp, ["EdDSA", "Ed25519"]],
    [{ kty: "OKP", crv: "Ed448", x: "AA" }, []],
    [{ kty: "EC", crv: "secp256k1", x: "AA", y: "AA" }, []],
    [{ kty: "new" }, []],
    [{}, []],
    [{ ...oct, crv: "P-256" }, ["HS256", "HS384", "HS512"]],
  ];
  for (const [jwk, expected] of rows) {
    const { keys } = await keysOf({ keys: [jwk] });
    deepStrictEqual([...keys[0]?.verifiers.keys() ?? []], expected, JSON.stringify(jwk));
  }
});

Deno.test("selectKeys selects by kid and alg, in the order of the set", async () => {
  const set = await keysOf({
    keys: [
      { kty: "oct", k: base64Url("first"), kid: "a" },
      { kty: "oct", k: base64Url("second"), alg: "HS256" },
      { kty: "oct", k: base64Url("third"), kid: "a", alg: "HS512" },
    ],
  });
  const rows: [string, string | null, number[]][] = [
    ["HS256", null, [0, 1]],
    ["HS512", null, [0, 2]],
    ["HS256", "a", [0]],
    ["HS512", "a", [0, 2]],
    ["HS256", "A", []],
    ["HS256", "", []],
    ["RS256", null, []],
  ];
  for (const [alg, kid, expected] of rows) {
    deepStrictEqual(
      selectKeys(set, { alg, kid }),
      expected.map((index) => set.keys[index]?.verifiers.get(alg)),
      `${alg} ${kid}`,
    );
  }
});

Deno.test("verifyToken accepts every algorithm, with the public and with the private key", async () => {
  const asymmetric = [
    ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"],
    ...["EdDSA", "Ed25519"],
  ];
  for (const alg of asymmetric) {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const token = await new SignJWT({ role: "clerk" }).setProtectedHeader({ alg }).sign(privateKey);
    for (const key of [publicKey, privateKey]) {
      const { claims } = await verifyWith(token, await keysOf(await exportJWK(key)));
      deepStrictEqual(claims, { role: "clerk" }, alg);
    }
  }
  for (const alg of ["HS256", "HS384", "HS512"]) {
    const token = await new SignJWT({ role: "clerk" }).setProtectedHeader({ alg }).sign(
      utf8(secret),
    );
    const { claims } = await verifyWith(token, await keysOf({ kty: "oct", k: base64Url(secret) }));
    deepStrictEqual(claims, { role: "clerk" }, alg);
  }
});

Deno.test("verifyToken tries the keys of a set in order", async () => {
  const set = await keysOf({
    keys: [{ kty: "oct", k: base64Url("other") }, { kty: "oct", k: base64Url(secret), kid: "b" }],
  });
  const header = (kid: string | null) =>
    JSON.stringify(kid === null ? { alg: "HS256" } : { alg: "HS256", kid });
  const sign = (kid: string | null, key: string) =>
    hmacToken({ header: header(kid), payload: '{"role":"clerk"}', secret: key });
  strictEqual((await verifyWith(await sign(null, secret), set)).claims.role, "clerk");
  strictEqual((await verifyWith(await sign("b", secret), set)).claims.role, "clerk");
  await expectRefusal(async () => verifyWith(await sign("b", "other"), set), notVerified);
  await expectRefusal(async () => verifyWith(await sign(null, "third"), set), notVerified);
  await expectRefusal(async () => verifyWith(await sign("c", secret), set), notFound);
  await expectRefusal(async () => verifyWith(await sign("", secret), set), notFound);
  await expectRefusal(
    async () => verifyWith(await sign(null, secret), await keysOf({ keys: [] })),
    notFound,
  );
});

Deno.test("a public key never serves as the secret of an HMAC", async () => {
  const { publicKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk = await exportJWK(publicKey);
  const spki = new Uint8Array(await crypto.subtle.exportKey("spki", publicKey));
  const base64 = btoa(String.fromCharCode(...spki));
  const lines = base64.match(/.{1,64}/g)?.join("\n");
  const pem = `-----BEGIN PUBLIC KEY-----\n${lines}\n-----END PUBLIC KEY-----\n`;
  const forgeries: (string | Uint8Array<ArrayBuffer>)[] = [
    ...[pem, pem.trimEnd(), JSON.stringify(jwk), JSON.stringify({ keys: [jwk] })],
    ...[String(jwk.n), base64, spki],
  ];
  const sets = await Promise.all([
    keysOf(jwk),
    keysOf({ ...jwk, alg: "RS256" }),
    keysOf({ ...jwk, alg: "HS256" }),
    keysOf({ keys: [jwk, { ...jwk, kid: "k" }] }),
  ]);
  for (const forgery of forgeries) {
    for (const set of sets) {
      for (const alg of ["HS256", "HS384", "HS512"]) {
        const token = await hmacToken({
          header: JSON.stringify({ alg }),
          payload: '{"role":"boss"}',
          secret: forgery,
          hash: `SHA-${alg.slice(2)}`,
        });
        await expectRefusal(() => verifyWith(token, set), notFound);
      }
    }
  }
});
