/**
 * The app: the API under `/api`, beside routes of its own.
 *
 * @module
 */
import { handler } from "../../mod.ts";

const prefix = "/api";

/** Serves until SIGTERM or SIGINT; resolves with the exit code. */
export async function main(): Promise<number> {
  const server = Deno.serve(options, respond);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, () => void server.shutdown());
  }
  await server.finished;
  await handler.close();
  return 0;
}

const options: Deno.ServeTcpOptions = {
  hostname: "127.0.0.1",
  port: Number(Deno.env.get("PORT") ?? 3000),
  onListen: ({ port }) => console.log(`Listening on http://localhost:${port}/`),
};

function respond(request: Request, { remoteAddr }: Deno.ServeHandlerInfo): Promise<Response> {
  const url = new URL(request.url);
  if (url.pathname !== prefix && !url.pathname.startsWith(`${prefix}/`)) return own(url);
  url.pathname = url.pathname.slice(prefix.length);
  const client = "hostname" in remoteAddr ? remoteAddr.hostname : null;
  return handler(new Request(url, request), { client });
}

function own({ pathname }: URL): Promise<Response> {
  const response = pathname === "/"
    ? new Response(`The API is under ${prefix}.\n`)
    : new Response("Not found\n", { status: 404 });
  return Promise.resolve(response);
}
