/** `server-compression`: answers of every kind decode to the bytes of the uncompressed answer. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import zlib from "node:zlib";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";
import { testSecret } from "../support/handler/token.ts";

const config = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  serverCompression: ["zstd", "br", "gzip"],
} as const;

const decoders: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  zstd: zlib.zstdDecompressSync,
  br: zlib.brotliDecompressSync,
  gzip: zlib.gunzipSync,
};

const suite = serviceSuite("tools", config, { title: "server-compression" });

const accepting = (coding: string, parts: RequestParts = {}) => ({
  ...parts,
  headers: { ...parts.headers, "Accept-Encoding": coding },
});

/** Columns that make even one row long enough to be compressed. */
const columns = ["*", ...Array.from({ length: 30 }, (_, index) => `spec${index}:spec`)].join();

const types = [
  ["GET /tools?select=<columns>", {}],
  ["GET /tools?select=<columns>", { headers: { Accept: "text/csv" } }],
  ["GET /tools?select=<columns>", { headers: { Accept: "application/x-ndjson" } }],
  ["GET /tools?id=eq.1&select=<columns>,makers(*)", {
    headers: { Accept: "application/vnd.svc.object+json" },
  }],
  ["GET /tools?limit=2&select=<columns>", { headers: { Prefer: "count=exact" } }],
  ["GET /", {}],
] as const;

for (const [pattern, parts] of types) {
  const line = pattern.replace("<columns>", columns);
  for (const coding of ["zstd", "br", "gzip"]) {
    suite.test(`${pattern} ${JSON.stringify(parts)} decodes from ${coding}`, async (api) => {
      const plain = await api(line, parts);
      strictEqual(plain.headers.get("Content-Encoding"), null);
      match(plain.headers.get("Vary")!, /, Accept-Encoding, Authorization, Origin$/);
      const coded = await api(line, accepting(coding, parts));
      strictEqual(coded.headers.get("Content-Encoding"), coding);
      strictEqual(coded.headers.get("Vary"), plain.headers.get("Vary"));
      for (const name of ["Content-Type", "Content-Range", "Content-Location"]) {
        strictEqual(coded.headers.get(name), plain.headers.get(name));
      }
      strictEqual(coded.status, plain.status);
      const sent = new Uint8Array(await coded.arrayBuffer());
      const length = coded.headers.get("Content-Length");
      if (length !== null) strictEqual(Number(length), sent.length);
      deepStrictEqual(
        new Uint8Array(decoders[coding]!(sent)),
        new Uint8Array(await plain.arrayBuffer()),
      );
    });
  }
}

const all = { headers: { "Accept-Encoding": "zstd, br, gzip" } };

suite.test("HEAD, errors and short answers stay uncompressed", async (api) => {
  const codingOf = async (line: string) => {
    const { status, headers } = await api(line, all);
    return [
      status,
      headers.get("Content-Encoding"),
      /Accept-Encoding/.test(headers.get("Vary") ?? ""),
    ];
  };
  deepStrictEqual(await codingOf(`HEAD /tools?select=${columns}`), [200, null, true]);
  deepStrictEqual(await codingOf("GET /tools?select=id&limit=1"), [200, null, true]);
  deepStrictEqual(await codingOf("GET /nothing_of_this_name"), [404, null, false]);
  deepStrictEqual(await codingOf("GET /tools?nothing_of_this_name=eq.1"), [400, null, false]);
});

Deno.test("a long answer is compressed while it streams", async () => {
  const sql = `create view api.numbers as
      select n as id, md5(n::text) || repeat(' and so on', 8) as note
      from generate_series(1, 900000) as n;
    grant select on api.numbers to public`;
  await withAdministeredHandler(sql, { ...config, jwtSecret: testSecret }, async ({ handler }) => {
    const plain = await handler(new Request("http://h/numbers"));
    let bytes = 0;
    for await (const chunk of plain.body!) bytes += chunk.length;
    ok(bytes > 105_000_000);
    const response = await handler(
      new Request("http://h/numbers", { headers: { "Accept-Encoding": "gzip" } }),
    );
    strictEqual(response.headers.get("Content-Encoding"), "gzip");
    strictEqual(response.headers.get("Content-Length"), null);
    let sent = 0;
    let decoded = 0;
    const counted = response.body!.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
        transform(chunk, controller) {
          sent += chunk.length;
          controller.enqueue(new Uint8Array(chunk));
        },
      }),
    );
    for await (const chunk of counted.pipeThrough(new DecompressionStream("gzip"))) {
      decoded += chunk.length;
    }
    strictEqual(decoded, bytes);
    ok(sent < bytes / 3, `${sent} of ${bytes}`);
  });
});

Deno.test("a function's tag has a suffix, which its condition does not", async () => {
  const sql = `create function api.tagged() returns json stable language plpgsql as $$
      begin
        perform set_config('response.headers', '[{"ETag":"\\"v1\\""}]', true);
        if current_setting('request.headers')::json->>'if-none-match' = '"v1"' then
          perform set_config('response.status', '304', true);
        end if;
        return to_json(repeat('text ', 300));
      end $$`;
  const options = { ...config, jwtSecret: testSecret };
  await withAdministeredHandler(sql, options, async ({ handler }) => {
    const get = async (headers: Readonly<Record<string, string>>) => {
      const response = await handler(
        await buildRequest({ line: "GET /rpc/tagged", origin: "http://h" }, { headers }),
      );
      await response.body?.cancel();
      return [response.status, response.headers.get("ETag"), response.headers.get("Vary")];
    };
    const vary = "Accept, Prefer, Range, Accept-Encoding, Authorization, Origin";
    deepStrictEqual(await get({ "Accept-Encoding": "br" }), [200, '"v1-br"', vary]);
    const condition = { "If-None-Match": '"v1-br"', "Accept-Encoding": "br" };
    deepStrictEqual(await get(condition), [304, '"v1-br"', vary]);
    deepStrictEqual(await get({ "If-None-Match": '"v1"' }), [304, '"v1"', vary]);
    deepStrictEqual(await get({ "If-None-Match": '"v2-br"' }), [200, '"v1"', vary]);
  });
});

suite.test("answers to a page of another origin with cookies stay uncompressed", async (api: Api) => {
  const codingFor = async (headers: Readonly<Record<string, string>>) =>
    (await api(`GET /tools?select=${columns}`, { headers: { ...all.headers, ...headers } }))
      .headers.get("Content-Encoding");
  strictEqual(await codingFor({ Cookie: "a=1", "Sec-Fetch-Site": "cross-site" }), null);
  strictEqual(await codingFor({ Cookie: "a=1", Origin: "http://evil.example" }), null);
  strictEqual(await codingFor({ Cookie: "a=1", "Sec-Fetch-Site": "same-origin" }), "zstd");
  strictEqual(await codingFor({ "Sec-Fetch-Site": "cross-site" }), "zstd");
});
