import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  type CachedToken,
  createJwtCache,
  JwtCache,
} from "../../../../src/state/auth/jwt_cache.ts";
import { parseRolePath } from "../../../../src/state/auth/role_claim.ts";

const rolePath = await parseRolePath("$.role");

function entry(role: string): CachedToken {
  const header = { alg: "HS256", kid: null, typ: null };
  const token = { header, claims: { role }, json: JSON.stringify({ role }) };
  const issuer = { name: null, localKeys: null, remoteKeys: null, rules: null };
  return { token, issuer, keySet: null, rolePath, dbAnonRole: null, identity: null };
}

/** Looks tokens up and puts those in that are missing. */
function use(cache: JwtCache, tokens: string): void {
  for (const token of tokens.split(" ")) {
    if (cache.get(token) === undefined) cache.set(token, entry(token));
  }
}

/** Which of the tokens are kept, by the replies of a look-up. */
function kept(cache: JwtCache, tokens: string): string {
  return tokens.split(" ").filter((token) => cache.get(token)?.token.claims.role === token).join(
    " ",
  );
}

Deno.test("JwtCache evicts by SIEVE", () => {
  const rows: [uses: string, lookups: number, hits: number, evictions: number, left: string][] = [
    ["t1", 1, 0, 0, "t1"],
    ["t1 t1", 2, 1, 0, "t1"],
    ["t1 t2 t1 t3 t1 t3", 6, 3, 1, "t1 t3"],
    ["t1 t2 t1 t2 t3 t2 t3", 7, 4, 1, "t2 t3"],
    ["t1 t2 t3 t1 t2 t3", 6, 0, 4, "t2 t3"],
    ["t1 t2 t2 t3", 4, 1, 1, "t2 t3"],
    ["t1 t2 t1 t3 t4", 5, 1, 2, "t3 t4"],
  ];
  for (const [uses, lookups, hits, evictions, left] of rows) {
    const cache = new JwtCache(2);
    use(cache, uses);
    deepStrictEqual(cache.counts(), { lookups, hits, evictions }, uses);
    strictEqual(kept(cache, "t1 t2 t3 t4"), left, uses);
  }
});

Deno.test("JwtCache keeps as many entries as it is allowed", () => {
  for (const size of [1, 2, 3, 10]) {
    const cache = new JwtCache(size);
    for (let at = 0; at < 200; at++) {
      use(cache, `t${(at * 7) % 23}`);
      strictEqual(cache.size, Math.min(cache.size, size));
      strictEqual(cache.get(`t${(at * 7) % 23}`)?.token.claims.role, `t${(at * 7) % 23}`);
    }
    strictEqual(cache.size, size);
  }
});

Deno.test("JwtCache puts an entry in the place of the present one", () => {
  const cache = new JwtCache(2);
  use(cache, "t1 t2");
  cache.set("t1", entry("other"));
  strictEqual(cache.get("t1")?.token.claims.role, "other");
  strictEqual(cache.size, 2);
  strictEqual(cache.counts().evictions, 0);
});

Deno.test("JwtCache shrinks when the next entry comes", () => {
  const cache = new JwtCache(4);
  use(cache, "t1 t2 t3 t4");
  cache.resize(2);
  strictEqual(cache.size, 4);
  use(cache, "t5");
  strictEqual(kept(cache, "t1 t2 t3 t4 t5"), "t4 t5");
  cache.resize(3);
  use(cache, "t6");
  strictEqual(kept(cache, "t4 t5 t6"), "t4 t5 t6");
});

Deno.test("createJwtCache makes none for zero or fewer entries", () => {
  strictEqual(createJwtCache(0), null);
  strictEqual(createJwtCache(-1), null);
  strictEqual(createJwtCache(1) instanceof JwtCache, true);
});

Deno.test("JwtCache tells a watcher of each look-up and eviction, until it is taken away", () => {
  const cache = new JwtCache(1);
  const events: string[] = [];
  use(cache, "t1");
  cache.setListener(({ kind }) => void events.push(kind));
  use(cache, "t1 t2");
  deepStrictEqual(events, ["jwt-cache-lookup", "jwt-cache-lookup", "jwt-cache-evicted"]);
  cache.setListener(null);
  use(cache, "t1");
  strictEqual(events.length, 3);
});
