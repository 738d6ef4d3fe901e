import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { fetchDocument, maxAgeOf } from "../../../../src/state/auth/fetch_document.ts";
import { schedule } from "../../../../src/base/lib/timers.ts";

Deno.test("maxAgeOf() reads max-age within bounds", () => {
  const rows: readonly (readonly [header: string | null, seconds: number])[] = [
    [null, 600],
    ["", 600],
    ["no-cache", 600],
    ["public, max-age=300", 300],
    ["MAX-AGE=300", 300],
    ['max-age="300", private', 300],
    ["max-age=0", 60],
    ["max-age=59", 60],
    ["max-age=86401", 86_400],
    ["max-age=99999999999999999999999", 86_400],
    ["max-age=-1", 600],
    ["max-age=x", 600],
    ["s-maxage=300", 600],
    ["x-max-age=300", 600],
    ["no-store,max-age=120", 120],
  ];
  for (const [header, seconds] of rows) strictEqual(maxAgeOf(header), seconds, String(header));
});

/** Sends chunks until the client has enough. */
function endless(): Response {
  const chunk = new Uint8Array(65_536).fill(32);
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }));
}

Deno.test("fetchDocument() reads hostile answers of a server no further than needed", async () => {
  const paths: string[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const { pathname } = new URL(request.url);
      paths.push(pathname);
      switch (pathname) {
        case "/redirect":
          return new Response(null, { status: 302, headers: { Location: "/document" } });
        case "/endless":
          return endless();
        case "/document":
          return new Response("{}", { headers: { "Cache-Control": "max-age=90" } });
        default:
          return new Response("no", { status: 404 });
      }
    },
  );
  const fetchPath = (path: string) =>
    fetchDocument(`http://127.0.0.1:${server.addr.port}${path}`, {
      schedule,
      fetch: (url, init) => fetch(url, init),
    });
  const reason = (message: string) => ({ name: "KeyFetchError", message });
  await rejects(fetchPath("/redirect"), reason("status 302"));
  deepStrictEqual(paths, ["/redirect"]);
  await rejects(fetchPath("/endless"), reason("more than 1048576 bytes"));
  await rejects(fetchPath("/missing"), reason("status 404"));
  deepStrictEqual(await fetchPath("/document"), { text: "{}", maxAgeSeconds: 90 });
});
