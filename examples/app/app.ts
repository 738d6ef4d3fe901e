/**
 * A whole application: a page at `/`, its API below `/api/`, and a database.
 *
 *     deno run -A examples/app/app.ts
 *
 * Without `DB_URI`, PostgreSQL runs in the process and keeps its data in the folder `notes-data`.
 *
 * @module
 */
import { pgcrypto } from "@electric-sql/pglite/contrib/pgcrypto";
import { createHandler } from "../../mod.ts";

const {
  DB_URI = "pglite://notes-data",
  JWT_SECRET = "an-example-secret-of-32-characters-or-more",
} = Deno.env.toObject();
const read = (file: string) => Deno.readTextFileSync(new URL(file, import.meta.url));
const [page, notesSql] = [read("index.html"), read("notes.sql")];

const api = createHandler({
  dbUri: DB_URI,
  dbSchemas: ["api"],
  dbAnonRole: "web_anon",
  jwtSecret: JWT_SECRET,
  // Ten calls of login and sign_up a minute from one address.
  rateLimits: "login: 10/1m by ip on /rpc",
  // On a server, psql runs the file.
  ...(DB_URI.startsWith("pglite:") && {
    embeddedExtensions: { pgcrypto },
    embeddedInit: notesSql.replace(":'secret'", `'${JWT_SECRET.replaceAll("'", "''")}'`),
  }),
});

// Connects, and loads the schema: the first request need not wait for it.
await api.ready();
const server = Deno.serve({
  port: Number(Deno.env.get("PORT") ?? 3000),
  onListen: ({ port }) => console.log(`Listening on http://localhost:${port}`),
}, (request, info) => {
  const url = new URL(request.url);
  if (url.pathname === "/") {
    return new Response(page, { headers: { "Content-Type": "text/html; charset=utf-8" } });
  }
  if (!url.pathname.startsWith("/api/")) return new Response("Not found", { status: 404 });
  url.pathname = url.pathname.slice("/api".length);
  return api(new Request(url, request), { client: info.remoteAddr.hostname });
});

// The embedded database writes its data to disk when it closes.
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.addSignalListener(signal, () => void server.shutdown());
}
await server.finished;
await api.close();
