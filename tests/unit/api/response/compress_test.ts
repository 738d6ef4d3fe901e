/** Which replies are compressed, and that they decode to the same bytes. */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { Buffer } from "node:buffer";
import zlib from "node:zlib";
import type { ResponseCoding } from "../../../../src/base/http/accept_encoding.ts";
import type { HeaderList } from "../../../../src/base/lib/header_list.ts";
import { compressReply } from "../../../../src/api/response/compress.ts";
import { bodyEncoders } from "../../../../src/api/response/encoders.ts";
import type { Reply } from "../../../../src/api/response/reply.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

const codings: readonly ResponseCoding[] = ["zstd", "br", "gzip"];
const encoders = bodyEncoders();

const decoders: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  zstd: zlib.zstdDecompressSync,
  br: zlib.brotliDecompressSync,
  gzip: zlib.gunzipSync,
};

const row = '{"id":1,"name":"a name that is repeated in each row"},';
const text = (bytes: number) => new TextEncoder().encode(row.repeat(Math.ceil(bytes / row.length)));
const json = ["Content-Type", "application/json; charset=utf-8"] as const;

function replyOf(content: Reply["content"], headers: HeaderList = [json], status = 200): Reply {
  const length = content instanceof Uint8Array ? content.length : null;
  const own: HeaderList = length === null ? [] : [["Content-Length", String(length)]];
  return {
    status,
    headers: [...headers, ["Vary", "Accept, Prefer, Range"], ...own],
    content,
    length,
  };
}

function compressed(
  reply: Reply,
  {
    accept = "gzip, br, zstd",
    method = "GET",
    headers = {},
    hasCookies = false,
    offered = codings,
    found = encoders,
  } = {},
): Reply {
  return compressReply(reply, {
    method,
    headers: { ...headers, "accept-encoding": accept },
    hasCookies,
    ifNoneMatch: null,
    codings: offered,
    encoders: found,
  });
}

const fields = ({ headers }: Reply) => new Headers(headers.map(([...pair]) => pair));

async function bytesOf({ content }: Reply): Promise<Uint8Array> {
  return new Uint8Array(await new Response(content as BodyInit).arrayBuffer());
}

for (const coding of codings) {
  for (const length of [2_000, 128 * 1024, 200_000, 3_000_000]) {
    Deno.test(`compressReply() sends ${length} bytes as ${coding}`, async () => {
      const content = text(length);
      const isWhole = content.length <= 128 * 1024;
      const source = isWhole ? content : new Blob([content]).stream();
      const reply = compressed(replyOf(source), { accept: coding });
      const headers = fields(reply);
      strictEqual(headers.get("Content-Encoding"), coding);
      strictEqual(headers.get("Vary"), "Accept, Prefer, Range, Accept-Encoding");
      const sent = await bytesOf(reply);
      ok(sent.length < content.length / 4);
      deepStrictEqual(new Uint8Array(decoders[coding]!(sent)), content);
      strictEqual(headers.get("Content-Length"), isWhole ? String(sent.length) : null);
      strictEqual(reply.length, isWhole ? sent.length : null);
    });
  }
}

const other = (...header: [string, string]): HeaderList => [json, header];

/** Replies that stay as they are, and whether they vary. */
const plain: readonly (readonly [label: string, reply: Reply, options: object, varies: boolean])[] =
  [
    ["a short body", replyOf(text(900)), {}, true],
    ["a response to HEAD", replyOf(text(2000)), { method: "HEAD" }, true],
    ["a response without a body", replyOf(null), {}, true],
    ["no coding accepted", replyOf(text(2000)), { accept: "identity" }, true],
    ["no coding offered", replyOf(text(2000)), { offered: [] }, true],
    ["no coding that the runtime has", replyOf(text(2000)), { found: new Map() }, true],
    ["304", replyOf(null, [], 304), {}, true],
    ["204", replyOf(null, [], 204), {}, false],
    ["an error", replyOf(text(2000), [json], 400), {}, false],
    ["an image", replyOf(text(2000), [["Content-Type", "image/png"]]), {}, false],
    ["events", replyOf(text(2000), [["Content-Type", "text/event-stream"]]), {}, false],
    ["no type", replyOf(text(2000), []), {}, false],
    ["a coded body", replyOf(text(2000), other("content-encoding", "br")), {}, false],
    ["no-transform", replyOf(text(2000), other("Cache-Control", "public,no-transform")), {}, false],
    [
      "cookies of another origin",
      replyOf(text(2000)),
      { hasCookies: true, headers: { "sec-fetch-site": "cross-site" } },
      true,
    ],
  ];

for (const [label, reply, options, varies] of plain) {
  Deno.test(`compressReply() leaves ${label} uncompressed`, () => {
    const sent = compressed(reply, options);
    strictEqual(sent.content, reply.content);
    strictEqual(fields(sent).get("Content-Encoding"), fields(reply).get("Content-Encoding"));
    strictEqual(fields(sent).get("Content-Length"), fields(reply).get("Content-Length"));
    strictEqual(/Accept-Encoding/.test(fields(sent).get("Vary") ?? ""), varies);
  });
}

const coded: readonly (readonly [label: string, reply: Reply, options: object])[] = [
  ["a part of the rows", replyOf(text(2000), other("Content-Range", "0-9/20"), 206), {}],
  ["a created row", replyOf(text(2000), [json], 201), {}],
  ["Cache-Control", replyOf(text(2000), other("Cache-Control", "private")), {}],
  ["cookies of this origin", replyOf(text(2000)), {
    hasCookies: true,
    headers: { "sec-fetch-site": "same-origin" },
  }],
  ["another origin without cookies", replyOf(text(2000)), {
    headers: { "sec-fetch-site": "cross-site" },
  }],
];

for (const [label, reply, options] of coded) {
  Deno.test(`compressReply() compresses ${label}`, () => {
    strictEqual(fields(compressed(reply, options)).get("Content-Encoding"), "zstd");
  });
}

Deno.test("compressReply() marks tags, and keeps a Vary that says it already", () => {
  const tagged = compressed(replyOf(text(2000), other("ETag", 'W/"a"')), { accept: "br" });
  strictEqual(fields(tagged).get("ETag"), 'W/"a-br"');
  for (const value of ["*", "Origin, accept-encoding"]) {
    const { headers, ...reply } = replyOf(text(2000));
    const own: HeaderList = [json, ["Vary", value]];
    strictEqual(fields(compressed({ ...reply, headers: own })).get("Vary"), value);
    ok(headers.length > 0);
  }
  const none = compressed({ ...replyOf(text(2000)), headers: [json] });
  strictEqual(fields(none).get("Vary"), "Accept-Encoding");
});

/** A source that the test feeds. */
function openSource() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let cancelled: unknown = null;
  const stream = new ReadableStream<Uint8Array>({
    start: (own) => void (controller = own),
    cancel: (reason) => void (cancelled = reason),
  });
  return { stream, controller, cancelled: () => cancelled };
}

for (const coding of codings) {
  Deno.test(`compressReply() flushes ${coding} when the source pauses`, async () => {
    const clock = fakeClock();
    const found = bodyEncoders({ schedule: clock.schedule });
    const { stream, controller } = openSource();
    const reply = compressed(replyOf(stream), { accept: coding, found });
    const reader = (reply.content as ReadableStream<Uint8Array>).getReader();
    const received: Uint8Array[] = [];
    controller.enqueue(text(300));
    const next = reader.read();
    while (clock.next() === null) await clock.pass(0);
    strictEqual(clock.next(), 50);
    await clock.pass(50);
    received.push((await next).value!);
    // The header of a coding may come first.
    if (received[0]!.length < 40) received.push((await reader.read()).value!);
    ok(Buffer.concat(received).length >= 40);
    controller.enqueue(text(700));
    controller.close();
    for (let { value } = await reader.read(); value; { value } = await reader.read()) {
      received.push(value);
    }
    const whole = new Uint8Array(Buffer.concat(received));
    deepStrictEqual(
      new Uint8Array(decoders[coding]!(whole)),
      new Uint8Array(Buffer.concat([text(300), text(700)])),
    );
  });

  Deno.test(`compressReply() fails a ${coding} stream whose source fails`, async () => {
    const { stream, controller } = openSource();
    const reply = compressed(replyOf(stream), { accept: coding });
    controller.enqueue(text(100_000));
    const reading = bytesOf(reply);
    controller.error(new Error("lost"));
    await rejects(reading, /lost/);
  });

  Deno.test(`compressReply() cancels the source of a ${coding} stream`, async () => {
    const { stream, controller, cancelled } = openSource();
    const reply = compressed(replyOf(stream), { accept: coding });
    controller.enqueue(text(100_000));
    await (reply.content as ReadableStream<Uint8Array>).cancel("left");
    strictEqual(cancelled(), "left");
  });
}

Deno.test("bodyEncoders() leaves bodies as they are in runtimes without node:zlib", () => {
  const reply = compressed(replyOf(text(8000)), { found: bodyEncoders({ zlib: null }) });
  strictEqual(fields(reply).get("Content-Encoding"), null);
});

Deno.test("bodyEncoders() bounds the streams that are open at once", async () => {
  const found = bodyEncoders();
  const open = () => {
    const source = openSource();
    const reply = compressed(replyOf(source.stream), { found });
    return { ...source, reply };
  };
  const streams = Array.from({ length: 100 }, open);
  ok(streams.every(({ reply }) => fields(reply).get("Content-Encoding") === "zstd"));
  const refused = open();
  strictEqual(fields(refused.reply).get("Content-Encoding"), null);
  strictEqual(refused.reply.content, refused.stream);
  // A body in memory needs none.
  strictEqual(fields(compressed(replyOf(text(3000)), { found })).get("Content-Encoding"), "zstd");
  streams[0]!.controller.close();
  await bytesOf(streams[0]!.reply);
  await (streams[1]!.reply.content as ReadableStream<Uint8Array>).cancel();
  await settled();
  const [one, two, three] = [open(), open(), open()];
  const codings = [one, two, three].map(({ reply }) => fields(reply).get("Content-Encoding"));
  deepStrictEqual(codings, ["zstd", "zstd", null]);
  for (const { reply } of [...streams.slice(2), one, two]) {
    await (reply.content as ReadableStream<Uint8Array>).cancel();
  }
});
