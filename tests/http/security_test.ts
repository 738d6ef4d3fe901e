/**
 * Attacks, each with the whole answer: what a stranger, or a user with a valid token, may try.
 */
import { deepStrictEqual, doesNotMatch, strictEqual } from "node:assert/strict";
import { type Api, apiSuite, serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";
import { signToken, testSecret } from "../support/handler/token.ts";

const utf8 = new TextEncoder();

/** A 2048-bit RSA key that the service knows by its public part, and the attacker, too. */
const rsa = await crypto.subtle.generateKey(
  {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: "SHA-256",
  },
  true,
  ["sign", "verify"],
);
const publicJwk = await crypto.subtle.exportKey("jwk", rsa.publicKey);
const keySet = JSON.stringify({
  keys: [
    { kty: "RSA", n: publicJwk.n, e: publicJwk.e, kid: "rsa", alg: "RS256" },
    { kty: "oct", k: base64url(testSecret), kid: "hmac" },
  ],
});

function base64url(data: string | Uint8Array): string {
  const bytes = typeof data === "string" ? utf8.encode(data) : data;
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Makes a token of any header and payload, signed by HMAC-SHA-256 with any secret. */
async function forge(
  header: Readonly<Record<string, unknown>>,
  payload: string,
  secret: string | Uint8Array = testSecret,
): Promise<string> {
  const bytes = typeof secret === "string" ? utf8.encode(secret) : secret;
  const key = await crypto.subtle.importKey(
    "raw",
    new Uint8Array(bytes),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signed = `${base64url(JSON.stringify(header))}.${base64url(payload)}`;
  const signature = await crypto.subtle.sign("HMAC", key, utf8.encode(signed));
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

async function signWithRsa(header: Readonly<Record<string, unknown>>, payload: string) {
  const signed = `${base64url(JSON.stringify(header))}.${base64url(payload)}`;
  const signature = await crypto.subtle.sign(
    "RSASSA-PKCS1-v1_5",
    rsa.privateKey,
    utf8.encode(signed),
  );
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

/** The public key as people pass it around. */
async function pemOf(key: CryptoKey): Promise<string> {
  const der = new Uint8Array(await crypto.subtle.exportKey("spki", key));
  const text = btoa(Array.from(der, (byte) => String.fromCharCode(byte)).join(""));
  return `-----BEGIN PUBLIC KEY-----\n${
    text.match(/.{1,64}/g)!.join("\n")
  }\n-----END PUBLIC KEY-----\n`;
}

const writer = '{"role":"writer"}';
const hs256 = { alg: "HS256", kid: "hmac" };
const rs256 = { alg: "RS256", kid: "rsa" };
const wrongKey = "No suitable key or wrong key type";
const undecodable = "JWT cryptographic operation failed";
const noneFits = `${wrongKey}: No suitable key was found to decode the JWT`;
const noneVerifies = `${wrongKey}: None of the keys was able to decode the JWT`;
const unsecured = "Wrong or unsupported encoding algorithm: " +
  "JWT is unsecured but expected 'alg' was not 'none'";

/** A token of an attacker, and how it is refused: `message: details`. */
type BadToken = readonly [what: string, token: string, error: string];

const valid = await forge(hs256, writer);
const [head = "", body = "", signature = ""] = valid.split(".");
const flipped = (text: string) => (text.startsWith("A") ? "B" : "A") + text.slice(1);

const badTokens: readonly BadToken[] = [
  [
    "alg none, without a signature",
    `${base64url('{"alg":"none"}')}.${base64url(writer)}.`,
    unsecured,
  ],
  ["alg nOnE, with a signature", await forge({ alg: "nOnE" }, writer), unsecured],
  [
    "HS256 by the public RSA key as PEM",
    await forge({ alg: "HS256" }, writer, await pemOf(rsa.publicKey)),
    noneVerifies,
  ],
  [
    "HS256 by the public RSA key as its modulus, under the key's id",
    await forge({ alg: "HS256", kid: "rsa" }, writer, publicJwk.n!),
    noneFits,
  ],
  ["HS256 by the empty secret", await forge(hs256, writer, new Uint8Array(1)), noneVerifies],
  ["another secret", await forge(hs256, writer, "x".repeat(32)), noneVerifies],
  ["an unknown kid", await forge({ ...hs256, kid: "other" }, writer), noneFits],
  ["a kid of SQL", await forge({ ...hs256, kid: "' or 1=1 --" }, writer), noneFits],
  ["a kid of a path", await forge({ ...hs256, kid: "../../dev/null" }, writer), noneFits],
  ["a kid that is no text", await forge({ ...hs256, kid: ["hmac"] }, writer), undecodable],
  [
    "RS256 under the id of the secret",
    await signWithRsa({ ...rs256, kid: "hmac" }, writer),
    noneFits,
  ],
  [
    "a key in the token itself (jwk)",
    await forge({ alg: "HS256", kid: "x", jwk: { kty: "oct", k: "AAAA" } }, writer, "x".repeat(32)),
    noneFits,
  ],
  [
    "a key by address (jku)",
    await forge({ alg: "HS256", kid: "x", jku: "http://evil.example/" }, writer),
    noneFits,
  ],
  ["crit", await forge({ ...hs256, crit: ["exp"] }, writer), undecodable],
  ["crit of b64", await forge({ ...hs256, crit: ["b64"], b64: false }, writer), undecodable],
  ["an unknown alg", await forge({ ...hs256, alg: "HS257" }, writer), undecodable],
  ["an alg of the prototype", await forge({ ...hs256, alg: "constructor" }, writer), undecodable],
  ["an encrypted token's header", await forge({ alg: "dir", enc: "A128GCM" }, writer), undecodable],
  [
    "another payload under the signature",
    `${head}.${base64url('{"role":"boss"}')}.${signature}`,
    noneVerifies,
  ],
  [
    "another header under the signature",
    `${base64url('{"alg":"HS256"}')}.${body}.${signature}`,
    noneVerifies,
  ],
  ["a changed signature", `${head}.${body}.${flipped(signature)}`, noneVerifies],
  ["a shortened signature", `${head}.${body}.${signature.slice(0, 20)}`, noneVerifies],
  ["no signature", `${head}.${body}.`, noneVerifies],
  ["padding", `${head}.${body}.${signature}=`, undecodable],
  ["the other alphabet of base64", `${head}.${body}.+/${signature.slice(2)}`, undecodable],
  ["a line break inside", `${head}.${body}. ${signature}`, undecodable],
  ["five parts", `${valid}.a.b`, "Expected 3 parts in JWT; got 5"],
  ["two parts", `${head}.${body}`, "Expected 3 parts in JWT; got 2"],
  ["nothing", "", "Empty JWT is sent in Authorization header"],
  [
    "17 KiB",
    await forge(hs256, `{"role":"writer","x":"${"x".repeat(17_000)}"}`),
    "JWT is longer than 16384 characters",
  ],
  ["a header that is no object", `${base64url("[]")}.${body}.${signature}`, undecodable],
  [
    "a header of broken UTF-8",
    `${base64url(new Uint8Array([0x7b, 0xff, 0x7d]))}.${body}.${signature}`,
    undecodable,
  ],
  ...await Promise.all(([
    ["claims that are an array", '["writer"]', "Parsing claims failed"],
    ["claims that are no JSON", "writer", "Parsing claims failed"],
    ["expiry in the past", '{"role":"writer","exp":1}', "JWT expired"],
    ["expiry twice", '{"role":"writer","exp":99999999999,"exp":1}', "JWT expired"],
    [
      "expiry as a text",
      '{"role":"writer","exp":"99999999999"}',
      "The JWT 'exp' claim must be a number",
    ],
    ["use before its time", '{"role":"writer","nbf":99999999999}', "JWT not yet valid"],
    ["issue in the future", '{"role":"writer","iat":99999999999}', "JWT issued at future"],
    ["another audience", '{"role":"writer","aud":"another"}', "JWT not in audience"],
    [
      "an audience within an object",
      '{"role":"writer","aud":{"0":"shop"}}',
      "The JWT 'aud' claim must be a string or an array of strings",
    ],
    [
      "the role none, which would be the login role",
      '{"role":"none"}',
      "The role in the JWT is not allowed",
    ],
    ["a role with a NUL", '{"role":"writer\\u0000"}', "The role in the JWT is not allowed"],
    ["a role of half a character", '{"role":"\\ud800"}', "The role in the JWT is not allowed"],
  ] as const).map(async ([what, claims, message]): Promise<BadToken> => [
    what,
    await forge(hs256, claims),
    message,
  ])),
];

const suite = serviceSuite("security", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  jwtSecret: keySet,
  jwtAud: "shop",
  jwtCacheMaxEntries: 3,
}, { title: "attacks" });

const whoami = "GET /rpc/whoami";

for (const [what, token, error] of badTokens) {
  const [message, details = ""] = error.split(": ");
  const row: Row = [
    whoami,
    { headers: { Authorization: `Bearer ${token}` } },
    401,
    errorBody(`SVC301 | ${message} | ${details}`),
    {
      "WWW-Authenticate": `Bearer error="invalid_token", error_description="${message}"`,
      "Proxy-Status": "SVC; error=SVC301",
    },
  ];
  // Twice: what was refused once is not remembered as good.
  suite.rows(`a token with ${what}`, [row, row]);
}

suite.rows("good tokens are good", [
  [whoami, { headers: { Authorization: `Bearer ${valid}` } }, 200, "writer"],
  ...answers({ headers: { Authorization: `bearer   ${await signWithRsa(rs256, writer)}` } })`
    GET /rpc/whoami | 200 "writer"
  `,
  [whoami, { headers: { Authorization: `Basic ${btoa("writer:writer")}` } }, 200, "anon"],
]);

suite.answers("of duplicate claims the last one counts, for the service and for the database", {
  headers: { Authorization: `Bearer ${await forge(hs256, '{"role":"boss","role":"writer"}')}` },
})`
  GET /rpc/claimed | 200 {"claims":{"role":"writer"},"role":"writer","current":"writer"}
`;

const denied = (role: string) => errorBody(`42501 | permission denied to set role "${role}"`);

/** On PGlite the service is the superuser and may take every role. */
const server = serviceSuite("security", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "attacks on roles",
});

server.rows("a token for a role that the login role may not take", [
  [whoami, { as: "security_boss" }, 403, denied("security_boss"), { "WWW-Authenticate": null }],
  [whoami, { as: "postgres" }, 403, denied("postgres")],
  [whoami, { as: "pg_read_all_data" }, 403, denied("pg_read_all_data")],
  [whoami, { as: "pg_execute_server_program" }, 403, denied("pg_execute_server_program")],
]);

/** Nested as deep as the length of tokens allows. */
const deepRole = `{"role":${"[".repeat(5900)}${"]".repeat(5900)}}`;

const noRole = (role: string) => errorBody(`22023 | role "${role}" does not exist`);

server.rows("a token for a role that is none", [
  [whoami, { as: { role: 7 } }, 400, noRole("7")],
  [whoami, { as: { role: ["writer"] } }, 400, noRole('["writer"]')],
  [whoami, { as: { role: null } }, 400, noRole("null")],
  [whoami, { as: { role: "" } }, 400, noRole("")],
  ...answers({ as: { role: 'writer"; set role postgres; --' } })`
    GET /rpc/whoami | 400 22023 | role "writer"; set role postgres; --" does not exist
  `,
  [whoami, { as: { role: "WRITER" } }, 400, noRole("WRITER")],
  // PostgreSQL cuts names at 63 bytes.
  [
    whoami,
    { headers: { Authorization: `Bearer ${await forge({ alg: "HS256" }, deepRole)}` } },
    400,
    noRole("[".repeat(63)),
  ],
]);

server.answers("the role and the settings of a request cannot be changed from outside")`
  POST /rpc/become as writer with {"role":"security_boss"}
    403 42501 | permission denied to set role "security_boss"
  GET /rpc/whoami?role=security_boss | 404 SVC202 | Could not find the function api.whoami(role) in the schema cache | Searched for the function api.whoami with parameter role, but no matches were found in the schema cache.
  GET /rpc/whoami {Role: security_boss} {X-Role: security_boss} | 200 "anon"
  GET /rpc/whoami {Prefer: timezone=UTC'; set role security_boss; --}
    400 22023 | invalid value for parameter "TimeZone": "UTC'; set role security_boss; --"
`;

const badOverride = errorBody(
  "SVC111 | response.headers guc must be a JSON array composed of objects with a single key and a string value",
);

suite.rows("a header that database code sets cannot split the response", [
  ["GET /rpc/respond?name=X-A&value=a%0d%0aSet-Cookie:%20b=c", {}, 500, badOverride, {
    "Set-Cookie": null,
  }],
  ["GET /rpc/respond?name=X-A%0d%0aSet-Cookie:%20b=c%0d%0aX-B&value=a", {}, 500, badOverride, {
    "Set-Cookie": null,
  }],
  ["GET /rpc/respond?name=X-A&value=a%0aSet-Cookie:%20b=c", {}, 500, badOverride, {
    "Set-Cookie": null,
  }],
  ["GET /rpc/respond?name=&value=a", {}, 500, badOverride],
  ["GET /rpc/respond?name=Content-Length&value=0", {}, 200, "ok", { "Content-Length": "4" }],
  ["GET /rpc/respond?name=Transfer-Encoding&value=chunked", {}, 200, "ok", {
    "Transfer-Encoding": null,
  }],
  ["GET /rpc/respond?name=X-A&value=fine", {}, 200, "ok", { "X-A": "fine" }],
]);

suite.answers("a raised response cannot split the response")`
  POST /rpc/raise_headers with {"value":"a\r\nSet-Cookie: b=c"}
    400 SVC121 | Could not parse JSON in the "RAISE SQLSTATE 'SVC'" error | Invalid JSON value for DETAIL: '{"status" : 200, "headers" : {"X-A" : "a\r\nSet-Cookie: b=c"}}' | DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: 'status_text'.
    no Set-Cookie
    no X-A
`;

suite.test("a raised message cannot split the status line", async (api) => {
  const response = await api("POST /rpc/raise_message", {
    body: { message: "Gone\r\nSet-Cookie: b=c\r\n\r\nbody" },
  });
  strictEqual(response.status, 410);
  strictEqual(response.statusText, "Gone Set-Cookie: b=c body");
  strictEqual(response.headers.get("Set-Cookie"), null);
});

suite.test("Location and Content-Location hold no raw text of the request", async (api) => {
  const response = await api("GET /notes?select=id&text=eq.%0d%0aSet-Cookie:%20b=c");
  doesNotMatch(response.headers.get("Content-Location") ?? "", /[\r\n]/);
  strictEqual(response.headers.get("Set-Cookie"), null);
});

/** Texts that no answer may contain. */
async function secretsOf(api: Api): Promise<readonly string[]> {
  const claims = { role: "writer", password: "hunter2-claim" };
  return [
    testSecret,
    base64url(testSecret),
    publicJwk.n!,
    "authenticator",
    "hunter2",
    await signToken(claims),
    api.engine === "pg" ? "postgres://" : "pglite://",
  ];
}

suite.test("error bodies and headers hold no secret", async (api) => {
  const secrets = await secretsOf(api);
  const token = await forge(
    { ...hs256, kid: "other" },
    '{"role":"writer","password":"hunter2-claim"}',
  );
  const requests: readonly (readonly [string, Parameters<Api>[1]])[] = [
    [whoami, { headers: { Authorization: `Bearer ${token}` } }],
    [whoami, { headers: { Authorization: `Bearer ${token}x` } }],
    ["GET /nothing", {}],
    ["GET /notes?id=eq.x", {}],
    ["GET /notes?nope=eq.1", {}],
    ["POST /notes", { body: { id: 1 } }],
    ["POST /rpc/crash", {}],
    ["GET /notes?select=*,other(*)", {}],
    ["PATCH /rpc/whoami", {}],
    ["GET /a/b/c", {}],
    ["GET /notes", { headers: { Accept: "image/png" } }],
    ["GET /notes", { headers: { "Accept-Profile": "hidden" } }],
  ];
  for (const [line, parts] of requests) {
    const response = await api(line, parts);
    strictEqual(response.status >= 400, true, line);
    const text = JSON.stringify([await response.text(), ...response.headers]);
    for (const secret of secrets) strictEqual(text.includes(secret), false, `${line}: ${text}`);
  }
});

suite.answers("what is not exposed is not there")`
  GET /notes {Accept-Profile: pg_catalog}
    406 SVC106 | Invalid schema: pg_catalog |  | Only the following schemas are exposed: api
  GET /rpc/pg_sleep?seconds=1 | 404 SVC202 | Could not find the function api.pg_sleep(seconds) in the schema cache | Searched for the function api.pg_sleep with parameter seconds, but no matches were found in the schema cache.
`;

/** One connection, so that what a request leaves behind would be the next one's. */
const single = apiSuite("security", { dbSchemas: ["api"], dbAnonRole: "anon", dbPool: 1 }, {
  title: "one connection",
});

single.test("nothing of a request is left for the next one", async (api) => {
  const loud = {
    as: { role: "writer", sub: "somebody" },
    headers: { "X-Secret": "s", Cookie: "a=b", Prefer: "timezone=America/Lima" },
  };
  const quiet = {
    claims: { role: "anon" },
    secret: null,
    cookies: {},
    timezone: "UTC",
    leaked: "",
  };
  const first = await (await api("GET /rpc/everything")).json();
  const expected = { ...quiet, timezone: first.timezone, leaked: first.leaked };
  for (const line of ["GET /rpc/everything", "POST /rpc/leak", "POST /rpc/raise_message"]) {
    await (await api(line, loud)).body?.cancel();
    const after = await (await api("GET /rpc/everything")).json();
    deepStrictEqual({ ...after, leaked: after.leaked || null }, {
      ...expected,
      leaked: expected.leaked || null,
    }, line);
  }
});
