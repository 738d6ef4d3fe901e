/** A shared cache before the service: no client gets the answer to another one. */
import { deepStrictEqual, notDeepStrictEqual, strictEqual } from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import { withClient } from "../support/database/postgres_client.ts";
import { type PostgresServer, startPostgres } from "../support/database/postgres_server.ts";
import { signToken, testSecret } from "../support/handler/token.ts";
import { startCachingNginx } from "../support/server/caching_nginx.ts";
import { findProgram } from "../support/server/find_program.ts";
import { type FileConfig, startService } from "../support/server/process.ts";

const schema = `
  create role anon nologin;
  create role member nologin;
  create role authenticator login noinherit password 'p';
  grant anon, member to authenticator;
  create schema api;
  create schema v2;
  grant usage on schema api, v2 to anon, member;
  create table api.notes (id int primary key, owner text, body text);
  insert into api.notes values (1, 'ann', repeat('a', 2000)), (2, 'ben', repeat('b', 2000)), (3, null, 'all');
  alter table api.notes enable row level security;
  create policy own on api.notes
    using (coalesce(owner = current_setting('request.jwt.claims', true)::json ->> 'sub', true));
  grant select on api.notes to anon, member;
  create view v2.notes as select 'v2' as version;
  grant select on v2.notes to anon, member;
  create table api.secrets (id int primary key);
  grant select on api.secrets to member;
  create table v2.only_there (id int primary key);
  grant select on v2.only_there to anon;
  create function api.cached(directives text) returns text stable language plpgsql as $$ begin
    perform set_config('response.headers',
      json_build_array(json_build_object('Cache-Control', directives))::text, true);
    return coalesce(current_setting('request.jwt.claims', true)::json ->> 'sub', 'nobody');
  end $$;
  create function v2.cached(directives text) returns text stable language sql as $$ select 'v2' $$;
  create function api.varied() returns text stable language plpgsql as $$ begin
    perform set_config('response.headers', '[{"Vary":"X-Own"},{"Cache-Control":"max-age=60"}]', true);
    return coalesce(current_setting('request.jwt.claims', true)::json ->> 'sub', 'nobody');
  end $$;
  create function v2.varied() returns text stable language sql as $$ select 'v2' $$;
`;

const nginx = findProgram("nginx");
if (nginx === null) console.log("nginx is not installed: no shared cache is tested.");
const ignore = nginx === null;

let server: PostgresServer;
Deno.test.beforeAll(async () => {
  if (ignore) return;
  server = await startPostgres({ cluster: "copied" });
  await withClient(server.uri(), (client) => client.query(schema));
});
Deno.test.afterAll(() => server?.stop());

type Headers = Readonly<Record<string, string>>;

/** Two requests that differ in their headers, and so in their answers. */
type Pair = readonly [path: string, one: Headers, other: Headers];

const [ann, ben] = await Promise.all(
  ["ann", "ben"].map((sub) => signToken({ role: "member", sub })),
);

/** Pairs of the users by the header that has a token. */
function users(header: (token: string) => Headers): readonly Pair[] {
  const [one, other] = [header(ann!), header(ben!)];
  const paths = [
    "/notes?select=id,owner",
    ...["max-age=60", "public,%20max-age=60", "s-maxage=60"].map((text) =>
      `/rpc/cached?directives=${text}`
    ),
    "/rpc/varied",
  ];
  return [
    ...paths.flatMap((path): readonly Pair[] => [[path, one, other], [path, {}, one]]),
    ["/secrets", {}, one],
    ["/", {}, one],
  ];
}

const bearer = users((token) => ({ Authorization: `Bearer ${token}` }));

const keysAndCookies = [
  ...users((token) => ({ apikey: token })),
  ...users((token) => ({ Cookie: `theme=dark; token=${token}` })),
];

const profile = (name: string) => ({ "Accept-Profile": name });
const from = (Origin: string) => ({ Origin });

const negotiated: readonly Pair[] = [
  ["/notes?select=id", { Accept: "application/json" }, { Accept: "text/csv" }],
  ["/", { Accept: "*/*" }, { Accept: "application/openapi+json;version=3.1" }],
  ["/notes", {}, profile("v2")],
  ["/notes", profile("api"), profile("v2")],
  ["/", profile("api"), profile("v2")],
  ["/rpc/cached?directives=max-age=60", {}, profile("v2")],
  ["/rpc/varied", {}, profile("v2")],
  ["/notes?select=id", {}, { Prefer: "count=exact" }],
  ["/notes?select=id", { Prefer: "handling=strict" }, {}],
  ["/notes?select=id", { Range: "0-0" }, { Range: "1-1" }],
  ["/notes?select=id", {}, { Range: "0-0" }],
  ["/notes", { "Accept-Encoding": "gzip" }, {}],
  ["/notes", { "Accept-Encoding": "br" }, { "Accept-Encoding": "gzip" }],
  ["/notes?select=id", from("https://a.example"), from("https://b.example")],
  ["/notes?select=id", from("https://a.example"), {}],
];

/** One of the answers is an error. */
const errors: readonly Pair[] = [
  ["/only_there", {}, profile("v2")],
  ["/notes?select=id", { Accept: "image/png" }, {}],
  ["/notes?select=id", profile("nowhere"), {}],
  ["/notes?select=id", { Prefer: "handling=strict, nonsense" }, {}],
  ["/notes?select=id", { Prefer: "count=exact", Range: "9-9" }, {}],
  ["/nothing", from("https://a.example"), {}],
  ["/notes?select=id", { Authorization: "Bearer x" }, {}],
];

/** What a request may learn of another one. Deno's `fetch` hides codings. */
async function answerTo(origin: string, path: string, headers: Headers) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(origin + path, { agent: false, headers }, resolve).on("error", reject).end();
  const message = await promise;
  const chunks: Uint8Array[] = [];
  for await (const chunk of message) chunks.push(chunk);
  const names = "content-type content-range content-profile content-encoding preference-applied " +
    "access-control-allow-origin access-control-allow-credentials";
  return {
    cache: message.headers["x-cache"],
    answer: {
      status: message.statusCode,
      body: await new Response(new Blob(chunks as BlobPart[])).text(),
      headers: names.split(" ").map((name) => message.headers[name]),
    },
  };
}

const config: FileConfig = {
  "db-schemas": "api, v2",
  "db-anon-role": "anon",
  "db-channel-enabled": false,
  "db-pool": 2,
  "jwt-secret": testSecret,
  "jwt-apikey-header": true,
  "jwt-cookie-name": "token",
  "log-level": "error",
  "server-compression": "br, gzip",
  "server-trusted-proxies": "127.0.0.1",
};
const listed = { "server-cors-allowed-origins": "https://a.example, https://b.example" };
const all = [...bearer, ...keysAndCookies, ...negotiated];

interface Setup {
  readonly name: string;
  readonly config: FileConfig;
  /** Statuses that the cache stores. */
  readonly stored: string;
  readonly pairs: readonly Pair[];
}

const setups: readonly Setup[] = [
  { name: "svc", config: listed, stored: "any", pairs: [...all, ...errors] },
  {
    name: "svc with any origin",
    config: {},
    stored: "any",
    // Origins that differ get the same answer.
    pairs: [...bearer, ...errors, ["/notes?select=id", from("https://a.example"), {}]],
  },
  {
    // PostgREST leaves answers to `Authorization` to the cache, and errors are without `Vary`.
    name: "pgrst",
    config: { ...listed, dialect: "pgrst" },
    stored: "200",
    pairs: [...keysAndCookies, ...negotiated],
  },
];

for (const setup of setups) {
  Deno.test({
    name: `a shared cache hands no answer to another client: ${setup.name}`,
    ignore,
    fn: async () => {
      const uri = server.uri({ user: "authenticator", password: "p" });
      await using service = await startService({ ...config, "db-uri": uri, ...setup.config });
      await service.listening();
      await using cache = await startCachingNginx(nginx!, {
        upstream: service.origin,
        stored: setup.stored,
      });
      let parts = 0;
      for (const [path, one, other] of setup.pairs) {
        const text = `${path} ${JSON.stringify([one, other])}`;
        const own = await Promise.all(
          [one, other].map((headers) => answerTo(service.origin, path, headers)),
        );
        notDeepStrictEqual(own[0]!.answer, own[1]!.answer, text);
        for (const order of [[0, 1], [1, 0]]) {
          const part = { "X-Part": `${++parts}` };
          for (const at of [...order, ...order]) {
            const headers = { ...[one, other][at], ...part };
            const { answer } = await answerTo(cache.origin, path, headers);
            deepStrictEqual(answer, own[at]!.answer, text);
          }
        }
      }
      // The cache does store: what has no token and is the same for all.
      const hits = [];
      for (const _ of [1, 2]) hits.push((await answerTo(cache.origin, "/notes", {})).cache);
      deepStrictEqual(hits, ["MISS", "HIT"]);
    },
  });
}

Deno.test({
  name: "headers of proxies change no document",
  ignore,
  fn: async () => {
    const uri = server.uri({ user: "authenticator", password: "p" });
    await using service = await startService({ ...config, "db-uri": uri });
    await service.listening();
    const { answer } = await answerTo(service.origin, "/", {});
    strictEqual(answer.status, 200);
    for (
      const [name, value] of [
        ["Forwarded", "for=192.0.2.1;host=evil.example;proto=http"],
        ["X-Forwarded-For", "192.0.2.1"],
        ["X-Forwarded-Host", "evil.example"],
        ["X-Forwarded-Port", "81"],
        ["X-Forwarded-Prefix", "/evil"],
        ["X-Forwarded-Proto", "http"],
        ["Host", "evil.example"],
      ] as const
    ) {
      deepStrictEqual(
        (await answerTo(service.origin, "/", { [name]: value })).answer,
        answer,
        name,
      );
    }
  },
});
