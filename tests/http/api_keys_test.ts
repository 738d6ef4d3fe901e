/** `api-keys`: what a request with an opaque key may do, and what shows the key. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { createClient } from "@supabase/supabase-js";
import type { Observation } from "../../src/base/observe/observation.ts";
import { hashOf } from "../../src/state/auth/api_keys.ts";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { signToken } from "../support/handler/token.ts";

const publishable = "sb_publishable_aaaaaaaaaaaaaaaaaaaaaa_bbbbbbbb";
const secret = "sb_secret_cccccccccccccccccccccc_dddddddd";
const events: Observation[] = [];
const suite = serviceSuite("cookies", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  apiKeys: [
    { name: "web", sha256: await hashOf(publishable), role: "anon" },
    {
      name: "jobs",
      sha256: (await hashOf(secret)).toUpperCase(),
      role: "writer",
      claims: { sub: "jobs", role: "ignored" },
    },
  ],
  rateLimits: "keys: 1000/1d by key on /notes",
  observe: (event) => void events.push(event),
});

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const writer = await signToken({ role: "writer" });
const unknown = "401 SVC301 Unknown API key";

/** Headers of a request, and its role or its error. */
const rows: readonly (readonly [name: string, headers: Record<string, string>, answer: string])[] =
  [
    ["no key", {}, "anon"],
    ["a key as Bearer token", bearer(secret), "writer"],
    ["a key in apikey", { apikey: secret }, "writer"],
    ["supabase-js without a session", { apikey: secret, ...bearer(secret) }, "writer"],
    ["supabase-js after sign-in", { apikey: publishable, ...bearer(writer) }, "writer"],
    ["a key of another role beside a JWT", { apikey: secret, ...bearer("a.b.c") }, "401 SVC301"],
    ["an unknown key", bearer("sb_secret_x"), unknown],
    ["an unknown key in apikey", { apikey: "sb_secret_x" }, unknown],
    ["a key in another case", { apikey: secret.toUpperCase() }, unknown],
    ["a key with more after it", { apikey: `${secret}x` }, unknown],
    ["the hash of a key", { apikey: await hashOf(secret) }, unknown],
    ["a key that two dots make a JWT", { apikey: "a.b.c" }, "anon"],
    ["a JWT in apikey, which jwt-apikey-header is for", { apikey: writer }, "anon"],
    ["an unknown Bearer key beside a known one", { apikey: secret, ...bearer("x") }, unknown],
    ["an empty Bearer token", bearer(""), "401 SVC301"],
    ["an empty apikey", { apikey: "" }, "401 SVC301 Empty JWT"],
    ["a key between spaces", { apikey: ` ${secret} ` }, "writer"],
    ["a key with a space", { apikey: `${secret} x` }, unknown],
    ["two keys in apikey", { apikey: `${secret}, ${publishable}` }, "writer"],
    ["a JWT and a key in apikey", { apikey: `${writer}, ${secret}` }, "anon"],
    ["a JWT and two parts in apikey", { apikey: `${writer}, a.b` }, "anon"],
    ["a JWT and a key as Bearer tokens", bearer(`${writer}, Bearer ${secret}`), "writer"],
    ["a key and a JWT as Bearer tokens", bearer(`${secret}, Bearer ${writer}`), "writer"],
    ["a key in Latin-1", { apikey: "sb_secret_\u00fc" }, unknown],
    ["a key of 10 kB", { apikey: "x".repeat(10_000) }, "401 SVC301"],
    ["two parts", bearer(`${secret}.x`), unknown],
    ["four parts", bearer("a.b.c.d"), unknown],
    ["three parts with a key in them", bearer(`${secret}.b.c`), "401 SVC301"],
    ["a key in Basic", { Authorization: `Basic ${btoa(`${secret}:`)}` }, "anon"],
    ["a key without a scheme", { Authorization: secret }, "anon"],
    ["a key beside Basic", { Authorization: "Basic YTpi", apikey: secret }, "anon"],
  ];

for (const [name, headers, answer] of rows) {
  suite.test(`the role of a request with ${name}`, async (api) => {
    // The second request finds the key that the first one has hashed.
    for (let time = 0; time < 2; time++) {
      const response = await api("GET /rpc/whoami", { headers });
      const body = await response.json();
      const text = response.ok ? body : `${response.status} ${body.code} ${body.message}`;
      strictEqual(text.startsWith(answer), true, text);
    }
  });
}

suite.test("claims of a key are those of its entry, and no setting has the key", async (api) => {
  const seen =
    await (await api("GET /rpc/seen", { headers: { apikey: secret, ...bearer(secret) } }))
      .json();
  deepStrictEqual(
    Object.keys(seen.headers).filter((name) => /apikey|authorization/.test(name)),
    [],
  );
  const other =
    await (await api("GET /rpc/seen", { headers: { apikey: secret, ...bearer(writer) } }))
      .json();
  strictEqual(other.headers.authorization, `Bearer ${writer}`);
  strictEqual("apikey" in other.headers, false);
  const sent = [
    { apikey: secret, ...bearer(`${writer}, Bearer ${secret}`) },
    { apikey: publishable, Authorization: `Bearer ${secret}` },
    { Authorization: `bearer\t${secret}` },
  ];
  for (const headers of sent) {
    const text = await (await api("GET /rpc/seen", { headers })).text();
    strictEqual(/sb_(?:secret|publishable)/.test(text), false, text);
  }
});

suite.test("answers to a key vary by it, and are private", async (api) => {
  const { headers } = await api("GET /notes?limit=0", { headers: { apikey: secret } });
  match(headers.get("Vary")!, /(?:^|, )apikey(?:,|$)/);
  strictEqual(headers.get("Cache-Control"), "private");
});

suite.test("a policy by key counts each key", async (api) => {
  const left = async (headers: Record<string, string>) =>
    /r=(\d+)/.exec((await api("GET /notes?limit=0", { headers })).headers.get("RateLimit")!)![1];
  const [jobs, web] = [await left({ apikey: secret }), await left({ apikey: publishable })];
  strictEqual(Number(jobs) - Number(await left(bearer(secret))), 1);
  strictEqual(Number(web) - Number(await left(bearer(publishable))), 1);
});

suite.test("events have the name of the key, and never the key", async (api) => {
  events.length = 0;
  await api("GET /notes?limit=0", { headers: { apikey: secret } });
  await api("GET /missing", { headers: { apikey: secret } });
  await api("GET /notes", { headers: { apikey: "sb_secret_wrong" } });
  const finished = events.filter((event) => event.kind === "request-finished");
  deepStrictEqual(finished.map(({ apiKey }) => apiKey), ["jobs", "jobs", null]);
  const shown = events.map((event) =>
    JSON.stringify(Object.fromEntries(
      ["apiKey", "target", "error", "role", "code"].map((name) => [
        name,
        (event as unknown as Record<string, unknown>)[name],
      ]),
    ))
  ).join("\n");
  strictEqual(/sb_(?:secret|publishable)/.test(shown), false);
});

/** supabase-js with a key, and the token of a session if there is one. */
function supabase({ handler }: Api, key: string, token: string | null = null) {
  return createClient("http://localhost:3000", key, {
    ...token !== null && { accessToken: () => Promise.resolve(token) },
    auth: { persistSession: false, autoRefreshToken: false },
    db: { schema: "api" },
    // The prefix of the client's paths.
    global: {
      fetch: (input, init) => handler(new Request(String(input).replace("/rest/v1", ""), init)),
    },
  });
}

suite.test("supabase-js reads with a publishable key, and writes with a secret one", async (api) => {
  const web = supabase(api, publishable);
  deepStrictEqual((await web.rpc("whoami")).data, "anon");
  strictEqual((await web.from("notes").insert({ id: 1 })).error?.code, "42501");
  const jobs = supabase(api, secret);
  deepStrictEqual((await jobs.rpc("whoami")).data, "writer");
  strictEqual((await jobs.from("notes").insert({ id: 1, text: "a" })).status, 201);
  strictEqual((await supabase(api, "sb_secret_x").rpc("whoami")).error?.code, "SVC301");
  deepStrictEqual((await supabase(api, publishable, writer).rpc("whoami")).data, "writer");
  strictEqual((await supabase(api, secret, "a.b.c").rpc("whoami")).error?.code, "SVC301");
});
