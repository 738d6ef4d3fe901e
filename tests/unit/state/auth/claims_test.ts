import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { checkClaims, claimsWithRole } from "../../../../src/state/auth/claims.ts";
import { expectRefusal, refusal } from "./tokens.ts";

const now = 1_700_000_000;
const expired = "JWT expired";
const early = "JWT not yet valid";
const future = "JWT issued at future";
const noNumber = (claim: string) => `The JWT '${claim}' claim must be a number`;
const notNamed = "JWT not in audience";
const noAudience = "The JWT 'aud' claim must be a string or an array of strings";

Deno.test("checkClaims checks times with 30 seconds of skew", async () => {
  const rows: [claims: Record<string, unknown>, message: string | null][] = [
    [{}, null],
    [{ exp: null, nbf: null, iat: null, aud: null }, null],
    [{ exp: now }, null],
    [{ exp: now - 29 }, null],
    [{ exp: now - 30 }, null],
    [{ exp: now - 31 }, expired],
    [{ exp: now - 35 }, expired],
    [{ exp: now - 29.5 }, null],
    [{ exp: now - 30.5 }, expired],
    [{ exp: 9999999999.5 }, null],
    [{ exp: 0 }, expired],
    [{ exp: -1 }, expired],
    [{ exp: Infinity }, null],
    [{ nbf: now + 29 }, null],
    [{ nbf: now + 30 }, null],
    [{ nbf: now + 30.9 }, null],
    [{ nbf: now + 31 }, early],
    [{ nbf: now + 35 }, early],
    [{ nbf: Infinity }, early],
    [{ iat: now + 29 }, null],
    [{ iat: now + 30 }, null],
    [{ iat: now + 31 }, future],
    [{ iat: now + 35 }, future],
    [{ iat: 0 }, null],
    [{ exp: "soon" }, noNumber("exp")],
    [{ exp: String(now + 60) }, noNumber("exp")],
    [{ exp: true }, noNumber("exp")],
    [{ exp: [now + 60] }, noNumber("exp")],
    [{ exp: {} }, noNumber("exp")],
    [{ nbf: "0" }, noNumber("nbf")],
    [{ iat: false }, noNumber("iat")],
  ];
  for (const [claims, message] of rows) await expectCheck(claims, null, message);
});

Deno.test("checkClaims reports the first of exp, nbf, iat, aud", async () => {
  const late = now + 60;
  const rows: [claims: Record<string, unknown>, message: string][] = [
    [{ aud: 1, iat: late, nbf: late, exp: 0 }, expired],
    [{ aud: 1, iat: late, nbf: "x", exp: now }, noNumber("nbf")],
    [{ aud: 1, iat: late, nbf: late, exp: now }, early],
    [{ aud: 1, iat: late, nbf: now }, future],
    [{ aud: 1, iat: now }, noAudience],
    [{ exp: 0, nbf: "x" }, expired],
  ];
  for (const [claims, message] of rows) await expectCheck(claims, "shop", message);
});

Deno.test("checkClaims checks the audience", async () => {
  const rows: [aud: unknown, wanted: string | null, message: string | null][] = [
    [undefined, null, null],
    [null, null, null],
    ["", null, null],
    ["any", null, null],
    [[], null, null],
    [["a", "b"], null, null],
    [1, null, noAudience],
    [{ x: 1 }, null, noAudience],
    [[{ x: 1 }, "a"], null, noAudience],
    [["a", null], null, noAudience],
    [[["a"]], null, noAudience],
    [undefined, "shop", null],
    [null, "shop", null],
    [[], "shop", null],
    ["shop", "shop", null],
    [["a", "shop"], "shop", null],
    ["", "shop", notNamed],
    ["a", "shop", notNamed],
    ["Shop", "shop", notNamed],
    ["shop2", "shop", notNamed],
    [["a"], "shop", notNamed],
    [[""], "shop", notNamed],
    [["shop", 1], "shop", noAudience],
    [7, "shop", noAudience],
  ];
  for (const [aud, wanted, message] of rows) await expectCheck({ aud }, wanted, message);
});

async function expectCheck(
  claims: Record<string, unknown>,
  jwtAud: string | null,
  message: string | null,
): Promise<void> {
  const check = () => checkClaims(claims, { now, jwtAud, skewSeconds: 30 });
  if (message === null) check();
  else await expectRefusal(check, refusal(message), JSON.stringify(claims));
}

Deno.test("claimsWithRole writes exactly one role and leaves all else as it is", () => {
  const rows: [json: string, role: string, expected: string][] = [
    ["{}", "anon", '{"role":"anon"}'],
    [" { } ", "anon", '{"role":"anon"}'],
    ['{"role":"anon"}', "anon", '{"role":"anon"}'],
    [' {\t"role" :\n"anon" } ', "anon", ' {\t"role" :\n"anon" } '],
    ['{"role":"\\u0061non"}', "anon", '{"role":"\\u0061non"}'],
    ['{"role":"boss"}', "anon", '{"role":"anon"}'],
    ['{"role":7}', "7", '{"role":"7"}'],
    ['{"role":null,"x":1}', "null", '{"x":1,"role":"null"}'],
    ['{"role":["a",{"role":"b"}],"x":1}', "b", '{"x":1,"role":"b"}'],
    ['{"role":"a","role":"b"}', "b", '{"role":"b"}'],
    ['{"role":"b","role":"b"}', "b", '{"role":"b"}'],
    ['{"role":"a","x":1,"r\\u006fle":"b"}', "b", '{"x":1,"role":"b"}'],
    ['{"x":{"role":"a"},"y":["role"]}', "b", '{"x":{"role":"a"},"y":["role"],"role":"b"}'],
    ['{"Role":"a"}', "b", '{"Role":"a","role":"b"}'],
    [
      '{ "big" : 12345678901234567890123 , "d":1.50,"e":1e2, "role":"x", "n":-0.0 }',
      "y",
      '{"big" : 12345678901234567890123,"d":1.50,"e":1e2,"n":-0.0,"role":"y"}',
    ],
    [
      '{"a\\"b":"}{,\\\\","c":"\\"role\\":"}',
      "r",
      '{"a\\"b":"}{,\\\\","c":"\\"role\\":","role":"r"}',
    ],
    ['{"":[],"a":[[],{"b":[{}]}]}', "r", '{"":[],"a":[[],{"b":[{}]}],"role":"r"}'],
    ['{"a":"\\u0000"}', 'r"\\\n', '{"a":"\\u0000","role":"r\\"\\\\\\n"}'],
    ['{"__proto__":1}', "r", '{"__proto__":1,"role":"r"}'],
  ];
  for (const [json, role, expected] of rows) {
    strictEqual(claimsWithRole(json, role), expected, json);
    const { role: _, ...others } = JSON.parse(json);
    deepStrictEqual(JSON.parse(expected), { ...others, role }, json);
  }
});

Deno.test("claimsWithRole takes texts that are long or deep", () => {
  const nested = `{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
  strictEqual(claimsWithRole(nested, "r").length, nested.length + ',"role":"r"'.length);
  const many = `{${Array.from({ length: 100_000 }, (_, at) => `"${at}":${at}`).join(",")}}`;
  strictEqual(claimsWithRole(many, "r").length, many.length + ',"role":"r"'.length);
});
