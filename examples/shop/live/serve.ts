/**
 * The orders of the day, as a customer and a member of the staff see them.
 *
 *     deno run -A examples/shop/live/serve.ts
 *
 * The page is at `/`. An EventSource sends no `Authorization`, so this program adds the token of a user to
 * requests below `/customer` and `/staff`; an application with a login has it in a cookie (`jwt-cookie-name`).
 *
 * @module
 */
import { SignJWT } from "jose";
import { createHandler } from "../../../mod.ts";

const secret = "an-example-secret-of-32-characters-or-more";
const read = (file: string) => Deno.readTextFileSync(new URL(file, import.meta.url));
const page = read("index.html");

const api = createHandler({
  dbUri: "pglite://memory",
  // `svc init --live=orders:customer_id,lines,products,customers,memberships` has printed live.sql.
  embeddedInit: read("../shop.sql") + read("live.sql"),
  dbSchemas: ["api"],
  dbAnonRole: "web_anon",
  jwtSecret: secret,
  livePath: "/live",
});

const sign = (role: string) =>
  new SignJWT({ role, sub: "1" }).setProtectedHeader({ alg: "HS256" })
    .sign(new TextEncoder().encode(secret));
const tokens: ReadonlyMap<string, string> = new Map([
  ["customer", await sign("shop_customer")],
  ["staff", await sign("shop_staff")],
]);

await api.ready();
const server = Deno.serve({
  port: Number(Deno.env.get("PORT") ?? 3000),
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(`Listening on http://localhost:${port}`),
}, (request, info) => {
  const url = new URL(request.url);
  if (url.pathname === "/") {
    return new Response(page, { headers: { "Content-Type": "text/html; charset=utf-8" } });
  }
  const [, user = "", path] = /^\/(\w+)(\/.*)$/.exec(url.pathname) ?? [];
  const token = tokens.get(user);
  if (path === undefined || token === undefined) return new Response("Not found", { status: 404 });
  url.pathname = path;
  const forwarded = new Request(url, request);
  forwarded.headers.set("Authorization", `Bearer ${token}`);
  return api(forwarded, { client: info.remoteAddr.hostname });
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.addSignalListener(signal, () => void api.close().then(() => server.shutdown()));
}
await server.finished;
