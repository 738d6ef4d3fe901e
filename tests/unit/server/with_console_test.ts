/** Browsers at the root of the API. */
import { deepStrictEqual } from "node:assert/strict";
import { withConsole } from "../../../src/server/api_server.ts";

const browser = { Accept: "text/html,*/*" };

/** Path, prefix, port of the admin server, headers; and whether the API answers. */
const rows: readonly (readonly [
  path: string,
  prefix: string | null,
  port: number | null,
  headers: Record<string, string>,
  isServed: boolean,
])[] = [
  ["/", null, 3001, browser, false],
  ["/", null, 3001, { Accept: "*/*" }, true],
  ["/", null, 3001, {}, true],
  ["/", null, null, browser, true],
  ["/?select=a", null, 3001, browser, true],
  ["/films", null, 3001, browser, true],
  ["/", "/rest/v1", 3001, browser, false],
  ["/rest/v1", "/rest/v1", 3001, browser, false],
  ["/rest/v1/", "/rest/v1", 3001, browser, false],
  ["/rest/v1/films", "/rest/v1", 3001, browser, true],
  ["/rest/v2", "/rest/v1", 3001, browser, true],
];

for (const [path, serverPathPrefix, adminServerPort, headers, isServed] of rows) {
  const label =
    `${path} below ${serverPathPrefix} for ${headers.Accept} with port ${adminServerPort}`;
  Deno.test(`withConsole() answers ${label}`, async () => {
    const handle = withConsole(
      () => Promise.resolve(new Response()),
      () => ({ adminServerPort, serverPathPrefix }),
    );
    const request = new Request(`http://localhost:3000${path}`, { headers });
    const response = await handle(request, { client: null, setsContentLength: true });
    const expected = isServed ? [200, null] : [303, "http://localhost:3001/"];
    deepStrictEqual([response.status, response.headers.get("Location")], expected);
  });
}
