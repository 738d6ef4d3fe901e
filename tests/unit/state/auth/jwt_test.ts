import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { maxTokenLength } from "../../../../src/state/auth/jwt.ts";
import {
  base64Url,
  expectRefusal,
  hmacToken,
  keysOf,
  knownToken,
  refusal,
  secret,
  tokenOf,
  utf8,
  verifyWith,
} from "./tokens.ts";

const keys = await keysOf(secret);
const undecodable = refusal("JWT cryptographic operation failed");
const unsecured = refusal(
  "Wrong or unsupported encoding algorithm",
  "JWT is unsecured but expected 'alg' was not 'none'",
);
const notFound = refusal(
  "No suitable key or wrong key type",
  "No suitable key was found to decode the JWT",
);
const notVerified = refusal(
  "No suitable key or wrong key type",
  "None of the keys was able to decode the JWT",
);
const noClaims = refusal("Parsing claims failed");

const [goodHeader = "", goodPayload = "", goodSignature = ""] = knownToken.split(".");

Deno.test("verifyToken verifies a token that was made elsewhere", async () => {
  deepStrictEqual(await verifyWith(knownToken, keys), {
    header: { alg: "HS256", kid: null, typ: "JWT" },
    claims: { role: "clerk" },
    json: '{"role":"clerk"}',
  });
});

Deno.test("verifyToken gives the payload as it is written", async () => {
  const json =
    ' {"role":"anon","big":12345678901234567890123,"d":1.50,"e":1e2,"a":{"c":1,"b":2},\n' +
    '"http://x/y":true,"ž":"\\u0000","__proto__":{"role":"boss"}} ';
  const verified = await verifyWith(await tokenOf(json), keys);
  strictEqual(verified.json, json);
  strictEqual(verified.claims.role, "anon");
});

Deno.test("verifyToken rejects malformed tokens", async () => {
  const parts = (n: number) => refusal(`Expected 3 parts in JWT; got ${n}`);
  const rows: [string, ReturnType<typeof refusal>][] = [
    ["", refusal("Empty JWT is sent in Authorization header")],
    ["some random bytes", parts(1)],
    [`${goodHeader}.${goodPayload}`, parts(2)],
    [`${knownToken}.`, parts(4)],
    ["a.b.c.d.e", parts(5)],
    [".".repeat(maxTokenLength), parts(maxTokenLength + 1)],
    ["x".repeat(maxTokenLength + 1), refusal("JWT is longer than 16384 characters")],
    [`${knownToken}${"A".repeat(maxTokenLength)}`, refusal("JWT is longer than 16384 characters")],
    ["..", undecodable],
    [`.${goodPayload}.${goodSignature}`, undecodable],
    [`${goodHeader}=.${goodPayload}.${goodSignature}`, undecodable],
    [`${goodHeader}.${goodPayload}==.${goodSignature}`, undecodable],
    [`${knownToken}=`, undecodable],
    [`${knownToken} `, undecodable],
    [`${goodHeader}.${goodPayload}\n.${goodSignature}`, undecodable],
    [`${goodHeader}.${goodPayload}.${goodSignature}A+/`, undecodable],
    [`${goodHeader}.${goodPayload}.ž`, undecodable],
    [`${goodHeader}.${goodPayload}.AAAAA`, undecodable],
    [`${goodHeader}.${goodPayload}.`, notVerified],
    [`${goodHeader}.${goodPayload}.${goodSignature.slice(0, -3)}`, notVerified],
    // Bits beyond the bytes would be further spellings of one token.
    [`${goodHeader}.${goodPayload}.AB`, undecodable],
    [`${goodHeader}.${goodPayload}.AAB`, undecodable],
    [`${goodHeader}.${goodPayload}.AAE`, notVerified],
    [`${goodHeader}.${goodPayload}.${goodSignature}AAAA`, notVerified],
    [`${goodHeader}.${base64Url('{"role":"boss"}')}.${goodSignature}`, notVerified],
  ];
  for (const [token, expected] of rows) {
    await expectRefusal(() => verifyWith(token, keys), expected, token.slice(0, 200));
  }
});

Deno.test("verifyToken rejects alg none in any capitals", async () => {
  for (const alg of ["none", "None", "NONE", "nOnE", "nonE", "NoNe"]) {
    for (const signature of ["", goodSignature]) {
      const token = `${base64Url(JSON.stringify({ alg }))}.${goodPayload}.${signature}`;
      await expectRefusal(() => verifyWith(token, keys), unsecured, token);
    }
  }
});

Deno.test("verifyToken rejects headers that it cannot follow, even when they are signed", async () => {
  const rows: [string, ReturnType<typeof refusal>][] = [
    ["", undecodable],
    ["null", undecodable],
    ["[]", undecodable],
    ['"HS256"', undecodable],
    ["{}", undecodable],
    ['{"alg":"HS256"', undecodable],
    ['\ufeff{"alg":"HS256"}', undecodable],
    ['{"alg":null}', undecodable],
    ['{"alg":["HS256"]}', undecodable],
    ['{"alg":"hs256"}', undecodable],
    ['{"alg":"HS256 "}', undecodable],
    ['{"alg":"HS1"}', undecodable],
    ['{"alg":"ES256K"}', undecodable],
    ['{"alg":"dir","enc":"A256GCM"}', undecodable],
    ['{"alg":"__proto__"}', undecodable],
    ['{"alg":"HS256","kid":1}', undecodable],
    ['{"alg":"HS256","kid":null}', undecodable],
    ['{"alg":"HS256","typ":{}}', undecodable],
    ['{"alg":"HS256","cty":[]}', undecodable],
    ['{"alg":"HS256","crit":["exp"]}', undecodable],
    ['{"alg":"HS256","crit":["b64"],"b64":false}', undecodable],
    ['{"alg":"HS256","crit":[]}', undecodable],
    ['{"alg":"HS256","crit":null}', undecodable],
    ['{"alg":"HS256","kid":"other"}', notFound],
    ['{"alg":"HS256","kid":""}', notFound],
    ['{"alg":"HS384"}', notFound],
    ['{"alg":"RS256"}', notFound],
    ['{"alg":"EdDSA"}', notFound],
    ['{"alg":"HS256","alg":"none"}', unsecured],
  ];
  for (const [header, expected] of rows) {
    const token = await hmacToken({ header, payload: '{"role":"boss"}', secret });
    await expectRefusal(() => verifyWith(token, keys), expected, header);
  }
});

Deno.test("verifyToken passes over header members that mean nothing here", async () => {
  const headers = [
    '{"alg":"HS256"}',
    '{"alg":"none","alg":"HS256"}',
    '{"alg":"HS256","typ":"at+jwt","cty":"x"}',
    '{"alg":"HS256","b64":true}',
    '{"alg":"HS256","b64":false}',
    '{"alg":"HS256","jwk":{"kty":"oct","k":"AA"},"jku":"https://evil.example","x5u":"https://e"}',
  ];
  for (const header of headers) {
    const token = await hmacToken({ header, payload: '{"role":"clerk"}', secret });
    strictEqual((await verifyWith(token, keys)).claims.role, "clerk", header);
  }
  const forged = await hmacToken({
    header: `{"alg":"HS256","jwk":{"kty":"oct","k":"${base64Url("mine")}"}}`,
    payload: '{"role":"boss"}',
    secret: "mine",
  });
  await expectRefusal(() => verifyWith(forged, keys), notVerified);
});

Deno.test("verifyToken rejects payloads other than JSON objects", async () => {
  const payloads = [
    ...["", "null", "1", '"text"', "[]", '[{"role":"x"}]', "{", '{"role":"x"} x', "{'role':1}"],
    '{"role":"a\u0000"}',
    '\ufeff{"role":"x"}',
    new Uint8Array([...utf8('{"role":"'), 0xff, ...utf8('"}')]),
    new Uint8Array([...utf8('{"role":"'), 0xed, 0xa0, 0x80, ...utf8('"}')]),
  ];
  for (const payload of payloads) {
    const token = await tokenOf(payload);
    await expectRefusal(() => verifyWith(token, keys), noClaims, String(payload));
  }
});

Deno.test("verifyToken gives the last one of claims with the same name", async () => {
  const token = await tokenOf('{"role":"a","sub":1,"r\\u006fle":"b","sub":2}');
  deepStrictEqual((await verifyWith(token, keys)).claims, { role: "b", sub: 2 });
});

Deno.test("verifyToken reads claims however deep they are nested", async () => {
  const depth = 6000;
  const token = await tokenOf(`{"role":"clerk","a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  strictEqual((await verifyWith(token, keys)).claims.role, "clerk");
});
