import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import { loadConfig } from "../../../../src/state/config/load.ts";
import type { Config } from "../../../../src/state/config/options.ts";
import {
  prepareAuth as prepare,
  type PreparedConfig,
} from "../../../../src/state/app_state/snapshot.ts";
import { testKeySets } from "../../../support/handler/key_sets.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

const remoteKeySets = testKeySets();

function prepareAuth(config: Config, previous: PreparedConfig | null) {
  return prepare(config, previous, remoteKeySets);
}

type Variables = Readonly<Record<string, string>>;

function configOf(secret: string, entries: number, path = "$.a[0]", more: Variables = {}): Config {
  return loadConfig({
    wingOptions,
    file: null,
    environment: {
      SVC_DB_URI: "pglite://memory",
      SVC_DB_SCHEMAS: "public",
      SVC_JWT_SECRET: secret,
      SVC_JWT_CACHE_MAX_ENTRIES: String(entries),
      SVC_JWT_ROLE_CLAIM_KEY: path,
      ...more,
    },
    readFile: () => new Uint8Array(),
  });
}

const [one, other] = ["x".repeat(32), "y".repeat(32)];

const withIssuers = (name: string) =>
  configOf(one, 5, "$.a[0]", {
    SVC_JWT_ISSUERS: JSON.stringify([{ issuer: name, secret: other, role: "clerk" }]),
  });
const withOption = (name: string, value: string) => configOf(one, 5, "$.a[0]", { [name]: value });
const keyUrl = (path: string) => withOption("SVC_JWT_JWKS_URL", `https://id.test/${path}`);
const issuer = (name: string) => withOption("SVC_JWT_ISSUER", name);

/** A change of configuration, and whether the cache of verified tokens is kept. */
const changes: readonly (readonly [title: string, before: Config, after: Config, kept: boolean])[] =
  [
    ["nothing", configOf(one, 5), configOf(one, 5), true],
    ["a smaller size", configOf(one, 5), configOf(one, 1), true],
    ["a larger size", configOf(one, 5), configOf(one, 50), true],
    ["the role path", configOf(one, 5), configOf(one, 5, "$.b"), true],
    ["the secret", configOf(one, 5), configOf(other, 5), false],
    ["the same URL", keyUrl("a"), keyUrl("a"), true],
    ["another URL", keyUrl("a"), keyUrl("b"), false],
    ["the same issuers", withIssuers("a"), withIssuers("a"), true],
    ["other issuers", withIssuers("a"), withIssuers("b"), false],
    ["another issuer", issuer("a"), issuer("b"), false],
    ["switched off", configOf(one, 5), configOf(one, 0), false],
    ["switched on", configOf(one, 0), configOf(one, 5), false],
  ];

for (const [title, before, after, kept] of changes) {
  Deno.test(`prepareAuth() ${kept ? "keeps" : "drops"} the cache after a change of: ${title}`, async () => {
    const first = await prepareAuth(before, null);
    const next = await prepareAuth(after, { config: before, auth: first });
    strictEqual(next.cache !== null && next.cache === first.cache, kept);
    strictEqual(next.cache === null, after.jwtCacheMaxEntries === 0);
  });
}

Deno.test("prepareAuth() shrinks a kept cache when the next token arrives", async () => {
  const before = configOf(one, 3);
  const first = await prepareAuth(before, null);
  const entry = {
    token: { header: { alg: "HS256", kid: null, typ: null }, claims: {}, json: "{}" },
    issuer: first.issuers!.unlisted!,
    keySet: null,
    rolePath: first.rolePath,
    dbAnonRole: null,
    identity: null,
  };
  for (const text of ["a", "b", "c"]) first.cache!.set(text, entry);
  const next = await prepareAuth(configOf(one, 2), { config: before, auth: first });
  strictEqual(next.cache!.size, 3);
  next.cache!.set("d", entry);
  deepStrictEqual([next.cache!.size, next.cache!.get("d")], [2, entry]);
});

Deno.test("prepareAuth() keeps an unchanged path as the same object, which cached tokens refer to", async () => {
  const config = configOf(one, 3);
  const first = await prepareAuth(config, null);
  const same = await prepareAuth(config, { config, auth: first });
  strictEqual(same.rolePath, first.rolePath);
  const changed = await prepareAuth(configOf(one, 3, "$.c"), { config, auth: first });
  notStrictEqual(changed.rolePath, first.rolePath);
});
