import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  type AuthContext,
  authenticate as authenticateToken,
} from "../../../../src/state/auth/authenticate.ts";
import { bearerToken } from "../../../../src/state/auth/credential.ts";
import { createJwtCache } from "../../../../src/state/auth/jwt_cache.ts";
import { parseRolePath } from "../../../../src/state/auth/role_claim.ts";
import {
  expectRefusal,
  hmacToken,
  keysOf,
  knownToken,
  refusal,
  secret,
  tokenOf,
  unlisted,
} from "./tokens.ts";

const now = 1_700_000_000;
const keys = await keysOf(secret);
const rolePath = await parseRolePath("$.role");

function authenticate(header: string | null, context: AuthContext) {
  return authenticateToken(header === null ? null : bearerToken(header), context);
}

function contextOf(changes: Partial<AuthContext> = {}): AuthContext {
  return {
    issuers: unlisted(keys),
    cache: null,
    apiKeys: null,
    now,
    skewSeconds: 30,
    rolePath,
    dbAnonRole: "anon",
    jwtAud: null,
    revocations: null,
    ...changes,
  };
}

const anon = { role: "anon", authenticated: false, claims: '{"role":"anon"}' };
const noAnonymous = {
  code: "302",
  status: 401,
  message: "Anonymous access is disabled",
  details: null,
};
const noSecret = { code: "300", status: 500, message: "Server lacks JWT secret", details: null };

Deno.test("bearerToken reads the first header's token when its scheme is Bearer", () => {
  const rows: [header: string, token: string | null][] = [
    ["Bearer a.b.c", "a.b.c"],
    ["bearer a.b.c", "a.b.c"],
    ["BEARER a.b.c", "a.b.c"],
    ["BeArEr \t  a.b.c", "a.b.c"],
    ["Bearer\ta.b.c", "a.b.c"],
    ["Bearer", ""],
    ["Bearer ", ""],
    ["Bearer a b", "a b"],
    ["Bearer a.b.c,d", "a.b.c,d"],
    ["Bearer a.b.c, Bearer d.e.f", "a.b.c"],
    ["Bearer, Bearer d.e.f", ""],
    ["Basic abc, Bearer d.e.f", null],
    ["Basic dXNlcjpwYXNz", null],
    ["Token a.b.c", null],
    ["Bearera.b.c", null],
    ["Bearer:a.b.c", null],
    ["Bear er", null],
    ["a.b.c", null],
    ["", null],
  ];
  for (const [header, token] of rows) strictEqual(bearerToken(header), token, header);
});

Deno.test("authenticate answers anonymous requests at once", async () => {
  for (const header of [null, "", "Basic dXNlcjpwYXNz", "Token x"]) {
    deepStrictEqual(authenticate(header, contextOf()), anon);
    deepStrictEqual(authenticate(header, contextOf({ issuers: null, jwtAud: "shop" })), anon);
    await expectRefusal(() => authenticate(header, contextOf({ dbAnonRole: null })), noAnonymous);
  }
  deepStrictEqual(authenticate(null, contextOf({ dbAnonRole: 'We"b' })), {
    role: 'We"b',
    authenticated: false,
    claims: '{"role":"We\\"b"}',
  });
});

Deno.test("authenticate cannot verify tokens without a secret", async () => {
  for (const header of ["Bearer", "Bearer x", `Bearer ${knownToken}`]) {
    await expectRefusal(() => authenticate(header, contextOf({ issuers: null })), noSecret);
  }
});

Deno.test("authenticate gives the token's role and claims", async () => {
  deepStrictEqual(await authenticate(`Bearer ${knownToken}`, contextOf()), {
    role: "clerk",
    authenticated: true,
    claims: '{"role":"clerk"}',
  });
  const rows: [payload: string, changes: Partial<AuthContext>, role: string, claims: string][] = [
    ['{"role":"clerk","n":1.50}', {}, "clerk", '{"role":"clerk","n":1.50}'],
    ['{"sub":"x"}', {}, "anon", '{"sub":"x","role":"anon"}'],
    ['{"role":"anon"}', {}, "anon", '{"role":"anon"}'],
    ['{"role":"clerk","role":"boss"}', {}, "boss", '{"role":"boss"}'],
    [
      '{"role":"x","r":["y"]}',
      { rolePath: await parseRolePath("$.r[0]") },
      "y",
      '{"r":["y"],"role":"y"}',
    ],
    ['{"role":"x"}', { rolePath: await parseRolePath(".r") }, "anon", '{"role":"anon"}'],
    ['{"role":7}', {}, "7", '{"role":"7"}'],
    ['{"role":null}', {}, "null", '{"role":"null"}'],
    ['{"role":["none"]}', {}, '["none"]', '{"role":"[\\"none\\"]"}'],
    ['{"role":["\\u0000"]}', {}, '["\\u0000"]', '{"role":"[\\"\\\\u0000\\"]"}'],
    ['{"role":""}', {}, "", '{"role":""}'],
    ['{"role":"None"}', {}, "None", '{"role":"None"}'],
    ['{"role":"clerk","x":"\\u0000\\ud800"}', {}, "clerk", '{"role":"clerk","x":"\\u0000\\ud800"}'],
  ];
  for (const [payload, changes, role, claims] of rows) {
    const identity = await authenticate(`Bearer ${await tokenOf(payload)}`, contextOf(changes));
    deepStrictEqual(identity, { role, authenticated: role !== "anon", claims }, payload);
  }
});

Deno.test("authenticate takes roles of any nesting as text", async () => {
  const role = "[".repeat(6000) + "]".repeat(6000);
  const identity = await authenticate(`Bearer ${await tokenOf(`{"role":${role}}`)}`, contextOf());
  strictEqual(identity.role, role);
});

Deno.test("authenticate rejects tokens", async () => {
  const notAllowed = refusal("The role in the JWT is not allowed");
  const forged = await hmacToken({
    header: '{"alg":"HS256"}',
    payload: '{"role":"boss"}',
    secret: "x".repeat(32),
  });
  const notVerified = refusal(
    "No suitable key or wrong key type",
    "None of the keys was able to decode the JWT",
  );
  const deep = await tokenOf(`{"a":${"[".repeat(300)}${"]".repeat(300)}}`);
  const rows: [token: string, changes: Partial<AuthContext>, expected: typeof notAllowed][] = [
    ["", {}, refusal("Empty JWT is sent in Authorization header")],
    ["some random bytes", {}, refusal("Expected 3 parts in JWT; got 1")],
    ["x".repeat(20_000), {}, refusal("JWT is longer than 16384 characters")],
    [forged, {}, notVerified],
    [await tokenOf({ exp: now - 31 }), {}, refusal("JWT expired")],
    [await tokenOf({ exp: now - 31, role: "none" }), {}, refusal("JWT expired")],
    [await tokenOf('{"exp":1e400,"nbf":1e400}'), {}, refusal("JWT not yet valid")],
    [await tokenOf({ aud: "other" }), { jwtAud: "shop" }, refusal("JWT not in audience")],
    [await tokenOf({ role: "none" }), {}, notAllowed],
    [await tokenOf({ role: "none" }), { dbAnonRole: null }, notAllowed],
    [await tokenOf({ role: "a\0" }), {}, notAllowed],
    [await tokenOf('{"role":"\\ud800"}'), {}, notAllowed],
    [
      deep,
      { rolePath: await parseRolePath("$..role") },
      refusal("The role in the JWT cannot be read"),
    ],
    [await tokenOf({ sub: "x" }), { dbAnonRole: null }, noAnonymous],
  ];
  for (const [token, changes, expected] of rows) {
    const run = (context: AuthContext) => authenticate(`Bearer ${token}`, context);
    await expectRefusal(() => run(contextOf(changes)), expected, token.slice(0, 100));
    const cached = contextOf({ ...changes, cache: createJwtCache(10) });
    await expectRefusal(() => run(cached), expected);
    await expectRefusal(() => run(cached), expected);
  }
});

Deno.test("authenticate answers cached tokens at once, with the same identity", async () => {
  const context = contextOf({ cache: createJwtCache(10) });
  const first = await authenticate(`Bearer ${knownToken}`, context);
  strictEqual(authenticate(`bearer  ${knownToken}`, context), first);
  deepStrictEqual(context.cache?.counts(), { lookups: 2, hits: 1, evictions: 0 });
});

Deno.test("authenticate caches what was verified, not what is current", async () => {
  const cache = createJwtCache(10);
  const header = `Bearer ${await tokenOf({ role: "clerk", exp: now, aud: "shop" })}`;
  await authenticate(header, contextOf({ cache }));
  const late = refusal("JWT expired");
  await expectRefusal(() => authenticate(header, contextOf({ cache, now: now + 31 })), late);
  await expectRefusal(
    () => authenticate(header, contextOf({ cache, jwtAud: "other" })),
    refusal("JWT not in audience"),
  );
  deepStrictEqual(cache?.counts(), { lookups: 3, hits: 2, evictions: 0 });

  const identity = authenticate(header, contextOf({ cache, dbAnonRole: "clerk" }));
  strictEqual((await identity).authenticated, false);
  const other = contextOf({ cache, rolePath: await parseRolePath("$.aud") });
  strictEqual((await authenticate(header, other)).role, "shop");
  strictEqual((await authenticate(header, contextOf({ cache }))).authenticated, true);
  await expectRefusal(() => authenticate(header, contextOf({ cache, issuers: null })), noSecret);
});

Deno.test("authenticate counts look-ups of the cache", async () => {
  const [t1, t2, t3] = await Promise.all(["a", "b", "c"].map((sub) => tokenOf({ role: "r", sub })));
  const expired = await tokenOf({ role: "r", exp: now - 60 });
  const rows: [tokens: (string | undefined)[], counts: [number, number, number]][] = [
    [[t1], [1, 0, 0]],
    [[t1, t1], [2, 1, 0]],
    [[`${knownToken}AAAA`, `${knownToken}AAAA`], [2, 0, 0]],
    [[expired, expired], [2, 1, 0]],
    [[t1, t2, t1, t3, t1, t3], [6, 3, 1]],
    [[t1, t2, t1, t2, t3, t2, t3], [7, 4, 1]],
    [[t1, t2, t3, t1, t2, t3], [6, 0, 4]],
    [["", "a.b"], [1, 0, 0]],
  ];
  for (const [tokens, [lookups, hits, evictions]] of rows) {
    const cache = createJwtCache(2);
    for (const token of tokens) {
      try {
        await authenticate(`Bearer ${token}`, contextOf({ cache }));
      } catch {
        // Only the counts matter here.
      }
    }
    deepStrictEqual(cache?.counts(), { lookups, hits, evictions });
  }
});
