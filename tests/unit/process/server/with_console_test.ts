/** Browsers at the root of the API. */
import { deepStrictEqual } from "node:assert/strict";
import { withConsole } from "../../../../src/process/server/api_server.ts";

const browser = { Accept: "text/html,*/*" };

const settings = {
  adminConsoleEnabled: true,
  adminServerPort: 3001,
  adminServerUnixSocket: null,
  serverPathPrefix: null,
};

const below = { serverPathPrefix: "/rest/v1" };

/** Path, other settings, headers; and whether the API answers. */
const rows: readonly (readonly [
  path: string,
  others: Partial<ReturnType<Parameters<typeof withConsole>[1]>>,
  headers: Record<string, string>,
  isServed: boolean,
])[] = [
  ["/", {}, browser, false],
  ["/", {}, { Accept: "*/*" }, true],
  ["/", {}, {}, true],
  ["/", { adminConsoleEnabled: false }, browser, true],
  ["/", { adminServerPort: null }, browser, true],
  ["/", { adminServerPort: 0 }, browser, true],
  ["/", { adminServerUnixSocket: "/run/admin.sock" }, browser, true],
  ["/?select=a", {}, browser, true],
  ["/films", {}, browser, true],
  ["/", below, browser, false],
  ["/rest/v1", below, browser, false],
  ["/rest/v1/", below, browser, false],
  ["/rest/v1/films", below, browser, true],
  ["/rest/v2", below, browser, true],
];

for (const [path, others, headers, isServed] of rows) {
  Deno.test(`withConsole() answers ${path} for ${headers.Accept} with ${JSON.stringify(others)}`, async () => {
    const handle = withConsole(
      () => Promise.resolve(new Response()),
      () => ({ ...settings, ...others }),
    );
    const request = new Request(`http://localhost:3000${path}`, { headers });
    const response = await handle(request, { client: null, setsContentLength: true });
    const expected = isServed ? [200, null] : [303, "http://localhost:3001/"];
    deepStrictEqual([response.status, response.headers.get("Location")], expected);
  });
}
