/** Tokens in cookies: where they are read, and which writes pages of other origins may make. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { signToken } from "../support/handler/token.ts";
import { errorBody } from "../support/handler/rows.ts";

const app = "https://app.example";
const suite = serviceSuite("cookies", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  jwtCookieName: "__Host-token",
  jwtCookieOrigins: [app],
  serverCorsAllowedOrigins: [app],
});

const token = await signToken({ role: "writer" });
const expired = await signToken({ role: "writer", exp: 1 });
const cookie = { Cookie: `theme=dark; __Host-token=${token}` };

async function statusOf(api: Api, line: string, headers: Record<string, string>, body?: unknown) {
  const response = await api(line, { headers, body });
  const { code = null } = response.status >= 400 ? await response.json() : {};
  return code === null ? `${response.status}` : `${response.status} ${code}`;
}

suite.test("the cookie has the token unless there is a Bearer token", async (api) => {
  const whoami = async (headers: Record<string, string>) =>
    await (await api("GET /rpc/whoami", { headers })).json();
  const reader = await signToken({ role: "anon" });
  strictEqual(await whoami(cookie), "writer");
  strictEqual(await whoami({ Cookie: `__Host-token="${token}"` }), "writer");
  strictEqual(await whoami({ ...cookie, Authorization: `Bearer ${reader}` }), "anon");
  strictEqual(await whoami({ ...cookie, Authorization: "Basic eDp5" }), "writer");
  strictEqual(await whoami({ Cookie: `__Host-token=; __Host-token=${token}` }), "anon");
  strictEqual(await whoami({ Cookie: `token=${token}` }), "anon");
  strictEqual(await whoami({}), "anon");
});

suite.test("an invalid token in the cookie fails as in the header", async (api) => {
  const response = await api("GET /rpc/whoami", { headers: { Cookie: `__Host-token=${expired}` } });
  deepStrictEqual(
    [response.status, await response.json(), response.headers.get("www-authenticate")],
    [
      401,
      { code: "SVC301", details: null, hint: null, message: "JWT expired" },
      'Bearer error="invalid_token", error_description="JWT expired"',
    ],
  );
  strictEqual(await statusOf(api, "GET /rpc/whoami", { Cookie: "__Host-token=x" }), "401 SVC301");
});

const site = (value: string) => ({ "Sec-Fetch-Site": value });
const crossSite = { ...site("cross-site"), Origin: "https://evil.example" };
const refused = "403 SVC313";

/** Headers beside the cookie, and the status of a write. */
const writes: readonly (readonly [headers: Record<string, string>, status: string])[] = [
  [{}, "201"],
  [site("same-origin"), "201"],
  [site("none"), "201"],
  [site("same-site"), refused],
  [site("cross-site"), refused],
  [crossSite, refused],
  [{ Origin: "https://evil.example" }, refused],
  [{ Origin: "null" }, refused],
  [{ Origin: "http://localhost:3000", Host: "localhost:3000" }, "201"],
  [{ Origin: app }, "201"],
  [{ ...site("cross-site"), Origin: app }, "201"],
];

for (const [headers, status] of writes) {
  suite.test(`a write with the cookie and ${JSON.stringify(headers)} is ${status}`, async (api) => {
    for (const type of ["application/json", "text/csv"]) {
      const body = type === "text/csv" ? "id\n1" : '{"id":1}';
      const all = { ...cookie, ...headers, "Content-Type": type };
      strictEqual(await statusOf(api, "POST /notes", all, body), status);
    }
    const rest = { ...cookie, ...headers };
    const changed = status === "201" ? "204" : status;
    strictEqual(await statusOf(api, "DELETE /notes?id=eq.9", rest), changed);
    strictEqual(await statusOf(api, "PATCH /notes?id=eq.9", rest, { text: "x" }), changed);
    const called = status === "201" ? "200" : status;
    strictEqual(await statusOf(api, "POST /rpc/whoami", rest), called);
  });
}

suite.test("a page of another origin can read nothing secret, and change nothing", async (api) => {
  strictEqual(await statusOf(api, "GET /rpc/whoami", { ...cookie, ...crossSite }), "200");
  strictEqual(await statusOf(api, "HEAD /notes", { ...cookie, ...crossSite }), "200");
  strictEqual(await statusOf(api, "OPTIONS /notes", { ...cookie, ...crossSite }), "200");
  strictEqual(await statusOf(api, "GET /rpc/add_note", { ...cookie, ...crossSite }), "405 25006");
  const response = await api("GET /notes", { headers: { ...cookie, ...crossSite } });
  strictEqual(response.headers.get("access-control-allow-origin"), null);
});

suite.test("a page of another origin cannot log the user in", async (api) => {
  strictEqual(await statusOf(api, "POST /rpc/login", crossSite), refused);
  strictEqual(await statusOf(api, "POST /rpc/login", site("same-origin")), "204");
  strictEqual(await statusOf(api, "POST /rpc/login", {}), "204");
});

suite.test("a GET of another origin cannot set the cookie", async (api) => {
  const setCookie = async (headers: Record<string, string>) =>
    (await api("GET /rpc/quiet_login", { headers })).headers.get("set-cookie");
  const set = "__Host-token=x; Path=/";
  deepStrictEqual(
    await Promise.all([
      setCookie(crossSite),
      setCookie(site("same-site")),
      setCookie({ Origin: "null" }),
      setCookie({ Origin: app }),
      setCookie(site("same-origin")),
      setCookie({}),
    ]),
    ["theme=dark", "theme=dark", "theme=dark", ...Array(3).fill(`theme=dark, ${set}`)],
  );
});

suite.test("a Bearer token needs no check, as a page cannot make a browser send it", async (api) => {
  const headers = { ...cookie, ...crossSite, Authorization: `Bearer ${token}` };
  strictEqual(await statusOf(api, "POST /notes", headers, { id: 1 }), "201");
});

suite.test("the error says how to send the token", async (api) => {
  const response = await api("POST /notes", { headers: { ...cookie, ...crossSite }, body: {} });
  deepStrictEqual(
    await response.json(),
    errorBody(
      "SVC313 | Cross-origin request refused |  | Send the token in the Authorization header",
    ),
  );
});

suite.test("every answer varies by the cookie, and those to a cookie are private", async (api) => {
  const heads = async (line: string, headers: Record<string, string>) => {
    const response = await api(line, { headers });
    return [response.headers.get("vary"), response.headers.get("cache-control")];
  };
  const usual = "Accept, Prefer, Range, Authorization, Cookie, Origin";
  deepStrictEqual(await heads("GET /notes", {}), [usual, null]);
  deepStrictEqual(await heads("GET /notes", cookie), [usual, "private"]);
  deepStrictEqual(await heads("GET /notes", { ...cookie, Authorization: `Bearer ${token}` }), [
    usual,
    "private",
  ]);
  deepStrictEqual(await heads("GET /nothing", cookie), [usual, "private"]);
  deepStrictEqual(await heads("GET /notes", { Cookie: `__Host-token=${expired}` }), [
    usual,
    "private",
  ]);
  deepStrictEqual(await heads("POST /rpc/whoami", { ...cookie, ...crossSite }), [
    usual,
    "private",
  ]);
  deepStrictEqual(await heads("GET /rpc/cached", cookie), [usual, "max-age=60"]);
  const preflight = { Origin: app, "Access-Control-Request-Method": "POST" };
  deepStrictEqual(await heads("OPTIONS /notes", preflight), [
    "Authorization, Cookie, Origin",
    null,
  ]);
});

suite.test("database code does not see the token", async (api) => {
  const response = await api("GET /rpc/seen", { headers: { ...cookie, "X-Note": "1" } });
  const { cookies, headers } = await response.json();
  deepStrictEqual(cookies, { theme: "dark", "__Host-token": "***" });
  strictEqual(JSON.stringify(headers).includes(token), false);
  strictEqual(headers["x-note"], "1");
});

suite.test("a function sets the cookie", async (api) => {
  const response = await api("POST /rpc/login");
  deepStrictEqual(response.headers.getSetCookie(), [
    "__Host-token=x; HttpOnly; Secure; SameSite=Lax; Path=/",
  ]);
});

const without = serviceSuite("cookies", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "cookies without jwt-cookie-name",
});

without.test("cookies have no effect", async (api) => {
  const response = await api("GET /rpc/seen", { headers: cookie });
  strictEqual((await response.json()).cookies["__Host-token"], token);
  strictEqual(response.headers.get("vary"), "Accept, Prefer, Range, Authorization, Origin");
  strictEqual(await (await api("GET /rpc/whoami", { headers: cookie })).json(), "anon");
  strictEqual(await statusOf(api, "POST /rpc/login", crossSite), "204");
});
