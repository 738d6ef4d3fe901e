import { strictEqual } from "node:assert/strict";
import {
  indexRevocations,
  isRevoked,
  type Revocation,
} from "../../../../src/state/auth/revocations.ts";

const now = 1000;

function revocation(claim: string, value: string, more: Partial<Revocation> = {}): Revocation {
  return { claim, value, issuedBefore: null, until: null, ...more };
}

const rows: readonly (readonly [json: string, list: readonly Revocation[], revoked: boolean])[] = [
  ["{}", [], false],
  ['{"jti":"a"}', [revocation("jti", "a")], true],
  ['{"jti":"a"}', [revocation("jti", "b")], false],
  ['{"jti":"a"}', [revocation("JTI", "a")], false],
  ['{"jti":"a"}', [revocation("sub", "a")], false],
  ['{"jti":"a","sub":"u"}', [revocation("jti", "b"), revocation("sub", "u")], true],
  ['{"jti":"a"}', [revocation("jti", "a", { until: 1000 })], false],
  ['{"jti":"a"}', [revocation("jti", "a", { until: 1000.5 })], true],
  ['{"sub":"u","iat":500}', [revocation("sub", "u", { issuedBefore: 500 })], true],
  ['{"sub":"u","iat":500.9}', [revocation("sub", "u", { issuedBefore: 500 })], true],
  ['{"sub":"u","iat":501}', [revocation("sub", "u", { issuedBefore: 500 })], false],
  ['{"sub":"u"}', [revocation("sub", "u", { issuedBefore: 500 })], true],
  ['{"sub":"u","iat":null}', [revocation("sub", "u", { issuedBefore: 500 })], true],
  [
    '{"sub":"u","iat":600}',
    [revocation("sub", "u", { issuedBefore: 500 }), revocation("sub", "u", { issuedBefore: 600 })],
    true,
  ],
  ['{"id":12345678901234567890}', [revocation("id", "12345678901234567890")], true],
  ['{"id":12345678901234567891}', [revocation("id", "12345678901234567890")], false],
  ['{"id": 1.50 }', [revocation("id", "1.50")], true],
  ['{"id":"1.50"}', [revocation("id", "1.50")], true],
  ['{"on":true}', [revocation("on", "true")], true],
  ['{"a":["x"]}', [revocation("a", '["x"]')], true],
  ['{"a":null}', [revocation("a", "null")], false],
  ['{"id":1,"id":2}', [revocation("id", "2")], true],
  ['{"id":1,"id":2}', [revocation("id", "1")], false],
  ['{"\\u006ati":7}', [revocation("jti", "7")], true],
  ["{}", [revocation("toString", "x"), revocation("__proto__", "{}")], false],
];

for (const [json, list, revoked] of rows) {
  Deno.test(`isRevoked() of ${json} by ${JSON.stringify(list)} is ${revoked}`, () => {
    const token = {
      header: { alg: "HS256", kid: null, typ: null },
      claims: JSON.parse(json),
      json,
    };
    strictEqual(isRevoked(token, indexRevocations(list), now), revoked);
  });
}
