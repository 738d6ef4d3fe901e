/**
 * The API under `/api`, beside the app's own routes:
 *
 *     SVC_DB_URI=postgres://… SVC_DB_SCHEMAS=api SVC_DB_ANON_ROLE=anon deno run -A examples/deno_app/app.ts
 *
 * @module
 */
import { handler } from "../../mod.ts";

const prefix = "/api";

const options: Deno.ServeTcpOptions = {
  hostname: "127.0.0.1",
  port: Number(Deno.env.get("PORT") ?? 3000),
  onListen: ({ port }) => console.log(`Listening on http://localhost:${port}/`),
};

Deno.serve(options, (request, { remoteAddr }) => {
  const url = new URL(request.url);
  if (url.pathname !== prefix && !url.pathname.startsWith(`${prefix}/`)) return own(url);
  url.pathname = url.pathname.slice(prefix.length);
  const client = "hostname" in remoteAddr ? remoteAddr.hostname : null;
  return handler(new Request(url, request), { client });
});

function own({ pathname }: URL): Response {
  if (pathname === "/") return new Response(`The API is under ${prefix}.\n`);
  return new Response("Not found\n", { status: 404 });
}
