/**
 * Serves `index.html`, the bundle and PGlite's files as a static server would:
 *
 *     deno task build && deno run -A examples/browser/serve.ts
 *
 * @module
 */
const places: readonly (readonly [prefix: string, folder: string])[] = [
  ["/pglite/", new URL(".", import.meta.resolve("@electric-sql/pglite")).href],
  ["/svc.js", new URL("../../dist/svc.js", import.meta.url).href],
  ["/", new URL("index.html", import.meta.url).href],
];

const types: ReadonlyMap<string, string> = new Map([
  ["html", "text/html; charset=utf-8"],
  ["js", "text/javascript"],
  ["wasm", "application/wasm"],
]);

/** Answers with a file of the page; 404 for others. */
export async function serveFile(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const [prefix, target] =
    places.find(([prefix]) =>
      prefix === pathname || prefix.endsWith("/") && prefix !== "/" && pathname.startsWith(prefix)
    ) ?? ["", null];
  if (target === null) return new Response("Not found\n", { status: 404 });
  const file = new URL(`.${pathname.slice(prefix.length - 1)}`, target);
  const url = target.endsWith("/") ? file : new URL(target);
  try {
    const content = (await Deno.open(url)).readable;
    const type = types.get(url.pathname.split(".").at(-1) ?? "") ?? "application/octet-stream";
    return new Response(content, { headers: { "Content-Type": type } });
  } catch {
    return new Response("Not found\n", { status: 404 });
  }
}

if (import.meta.main) {
  const onListen = ({ port }: Deno.NetAddr) => console.log(`Open http://localhost:${port}/`);
  const port = Number(Deno.env.get("PORT") ?? 3000);
  Deno.serve({ hostname: "127.0.0.1", port, onListen }, serveFile);
}
