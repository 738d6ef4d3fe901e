/** Properties of JSON Web Tokens. @module */
import { rejects, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { parseToken, unverifiedIssuer } from "../../src/state/auth/jwt.ts";
import { ServiceError } from "../../src/base/errors/service_error.ts";
import { base64Url, hmacToken, keysOf, secret, verifyWith } from "../unit/state/auth/tokens.ts";
import {
  altered,
  bytesOf,
  type FuzzTarget,
  fuzzTarget,
  texts,
  unlessRefused,
} from "./fuzz_target.ts";

const keys = await keysOf(secret);
const header = '{"alg":"HS256","typ":"JWT"}';
const characters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. \n"];
const marks = [...'{}[],:"\\', '"alg"', '"none"', '"crit"', "null", "\xff", "\xc3\xa9", "\0"];
const segment = texts([header, '{"alg":"HS256","kid":"a"}', '{"iss":"https://a"}'], marks)
  .map((text) => base64Url(bytesOf(text)));

/** Tokens that are signed, so that their claims and any alteration are known. */
const signed = await Promise.all(
  ["{}", '{"role":"clerk"}', '{"role":"clerk","exp":9999999999,"a":[1]}'].map((payload) =>
    hmacToken({ header, payload, secret })
  ),
);
for (const token of signed) await verifyWith(token, keys);

export const tokenTargets: readonly FuzzTarget[] = [
  fuzzTarget({
    name: "altered tokens are refused",
    runs: 16_000,
    values: altered(fc.constantFrom(...signed), characters),
    check: async (token) => {
      if (signed.includes(token)) return;
      await rejects(async () => await verifyWith(token, keys), ServiceError);
    },
  }),
  fuzzTarget({
    name: "tokens are read or refused",
    runs: 16_000,
    values: fc.oneof(
      fc.tuple(segment, segment).map(([header, payload]) => `${header}.${payload}.AAAA`),
      altered(fc.constantFrom(...signed), characters),
    ),
    check: (text) => {
      const token = unlessRefused(() => parseToken(text));
      if (token === undefined) return;
      unverifiedIssuer(token);
      const { header, payload, signature } = token.parts;
      strictEqual(`${header}.${payload}.${signature}`, text);
      strictEqual(
        JSON.parse(atob(header.replaceAll("-", "+").replaceAll("_", "/"))).alg,
        token.header.alg,
      );
    },
  }),
];
