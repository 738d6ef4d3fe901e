/** The page that quick mode and demos show to a browser at `/`. @module */
import type { Config } from "../config/options.ts";
import type { ListenOptions } from "./listen.ts";

/** Query of the link to the description of the API, which browsers could not request otherwise. */
const description = "?description";

/** Answers a browser's `GET /` with links to the console, the documentation and the description. */
export function withStartPage(
  serve: ListenOptions["serve"],
  config: () => Config,
): ListenOptions["serve"] {
  return function startPage(request, info) {
    const { pathname, search } = new URL(request.url);
    const base = config().serverPathPrefix ?? "";
    const isRoot = pathname === "/" || pathname === base || pathname === `${base}/`;
    if (request.method !== "GET" || !isRoot) return serve(request, info);
    if (search === description) {
      const accept = { Accept: "application/openapi+json, application/json" };
      return serve(new Request(new URL(`${base}/`, request.url), { headers: accept }), info);
    }
    const isBrowser = search === "" && request.headers.get("Accept")?.startsWith("text/html");
    return isBrowser ? Promise.resolve(pageOf(request.url, config())) : serve(request, info);
  };
}

function pageOf(url: string, { adminServerPort, dbSchemas, serverPathPrefix }: Config): Response {
  const admin = new URL("/", url);
  admin.port = String(adminServerPort ?? "");
  const base = serverPathPrefix ?? "";
  const reference = `${admin.href}#/reference/${encodeURIComponent(dbSchemas[0] ?? "")}`;
  const links = [
    ...(adminServerPort === null ? [] : [
      `<li><a href="${admin.href}">Console</a>: tables, requests and health`,
      `<li><a href="${reference}">Documentation</a>: tables, functions and the grammar of URLs`,
    ]),
    `<li><a href="${base}/${description}">Description</a> in OpenAPI, for other programs`,
  ];
  return new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>svc</title>
<style>body{font:1.1em/1.6 system-ui;max-width:36em;margin:4em auto;padding:0 1em}</style>
<h1>This is an API</h1>
<p>Its tables are below this address, such as <code>${admin.protocol}//${
      new URL(url).host + base
    }/NAME</code>.
<ul>${links.join("\n")}</ul></html>
`,
    { headers: { "Content-Type": "text/html; charset=utf-8", "Vary": "Accept" } },
  );
}
