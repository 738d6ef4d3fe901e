import { deepStrictEqual } from "node:assert/strict";
import { type Credential, readCredential } from "../../../../src/state/auth/credential.ts";

const bearer = (token: string): Credential => ({ token, source: "bearer" });
const cookie = (token: string): Credential => ({ token, source: "cookie" });
const none: Credential = { token: null, source: "none" };

const rows: readonly (readonly [
  authorization: string | null,
  cookies: string | null,
  expected: Credential,
])[] = [
  [null, null, none],
  [null, "token=a.b.c", cookie("a.b.c")],
  ["Bearer x.y.z", "token=a.b.c", bearer("x.y.z")],
  ["Bearer", "token=a.b.c", bearer("")],
  ["Basic eDp5", "token=a.b.c", cookie("a.b.c")],
  [null, "x=1; token=a.b.c; token=d", cookie("a.b.c")],
  [null, "x=1;token=a.b.c", cookie("a.b.c")],
  [null, "  token=a.b.c  ; x=1", cookie("a.b.c")],
  [null, 'token="a.b.c"', cookie("a.b.c")],
  [null, 'token="', cookie('"')],
  [null, "token=a=b", cookie("a=b")],
  [null, "token=", none],
  [null, 'token=""', none],
  [null, "token", none],
  [null, "token=; token=a", none],
  [null, "TOKEN=a", none],
  [null, "xtoken=a", none],
  [null, "tokenx=a", none],
  [null, "x=token=a", none],
  [null, "", none],
];

Deno.test("readCredential() prefers the Bearer token and takes the first cookie of the name", () => {
  for (const [authorization, header, expected] of rows) {
    const found = readCredential({ authorization, cookie: () => header }, "token");
    deepStrictEqual(found, expected, `${authorization} ${header}`);
  }
});

Deno.test("readCredential() reads no cookie without a name for it", () => {
  const read = () => {
    throw new Error("read");
  };
  deepStrictEqual(readCredential({ authorization: null, cookie: read }, null), none);
});
