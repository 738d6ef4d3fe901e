/** The page for browsers at the root. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import type { Config } from "../../../src/config/options.ts";
import { withStartPage } from "../../../src/server/start_page.ts";

const browser = { Accept: "text/html,*/*" };

/** Path of a request, prefix, and the link to the description; null for a request that is served. */
const rows: readonly (readonly [path: string, prefix: string | null, link: string | null])[] = [
  ["/", null, "/?description"],
  ["/films", null, null],
  ["/", "/rest/v1", "/rest/v1/?description"],
  ["/rest/v1", "/rest/v1", "/rest/v1/?description"],
  ["/rest/v1/", "/rest/v1", "/rest/v1/?description"],
  ["/rest/v1/films", "/rest/v1", null],
];

for (const [path, serverPathPrefix, link] of rows) {
  Deno.test(`withStartPage() answers ${path} below ${serverPathPrefix}`, async () => {
    const config = { adminServerPort: null, dbSchemas: ["api"], serverPathPrefix };
    const served: string[] = [];
    const respond = withStartPage((request) => {
      served.push(new URL(request.url).pathname);
      return Promise.resolve(new Response());
    }, () => config as unknown as Config);
    const send = (target: string) =>
      respond(new Request(`http://localhost${target}`, { headers: browser }), {} as never);
    const text = await (await send(path)).text();
    if (link === null) return deepStrictEqual([served, text], [[path], ""]);
    strictEqual(/href="([^"]+)"/.exec(text)?.[1], link);
    match(text, new RegExp(`localhost${serverPathPrefix ?? ""}/NAME`));
    await send(link);
    deepStrictEqual(served, [`${serverPathPrefix ?? ""}/`]);
  });
}
