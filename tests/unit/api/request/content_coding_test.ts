import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import zlib from "node:zlib";
import {
  type ContentCoding,
  contentCoding,
  decodedChunks,
} from "../../../../src/api/request/body/content_coding.ts";
import { chunksOf } from "../../../support/clients/in_chunks.ts";
import { refusalOf, rejectionOf } from "../../../support/handler/refusal.ts";

const encoders: Readonly<Record<ContentCoding, (bytes: Uint8Array) => Uint8Array>> = {
  gzip: (bytes) => new Uint8Array(zlib.gzipSync(bytes)),
  deflate: (bytes) => new Uint8Array(zlib.deflateSync(bytes)),
};

/** Text that does not shrink much. */
const text = new TextEncoder().encode(
  JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id, x: (id * 7919) % 10_007 }))),
);

async function* inChunks(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  yield* chunksOf(bytes, length);
}

/** Returns the decoded bytes, and the length of the longest chunk of them. */
async function decode(
  bytes: Uint8Array,
  coding: ContentCoding,
  chunkLength = 50_000,
) {
  const chunks: Uint8Array[] = [];
  for await (
    const chunk of decodedChunks(inChunks(bytes, chunkLength), { coding, isLimited: false })
  ) {
    chunks.push(chunk.slice());
  }
  return {
    bytes: new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer()),
    longest: Math.max(0, ...chunks.map(({ length }) => length)),
  };
}

for (const coding of ["gzip", "deflate"] as const) {
  Deno.test(`decodedChunks() decodes a body in chunks of any length: ${coding}`, async () => {
    const coded = encoders[coding](text);
    for (const chunkLength of [977, 65_536, Infinity]) {
      const { bytes } = await decode(coded, coding, chunkLength);
      deepStrictEqual(bytes, text, `${coding} ${chunkLength}`);
    }
  });

  Deno.test(`decodedChunks() refuses what is cut or corrupt: ${coding}`, async () => {
    const coded = encoders[coding](text);
    const bodies = [
      coded.subarray(0, coded.length - 1),
      coded.subarray(0, coded.length / 2),
      coded.map((code, at) => at > 20 && at < 60 ? code ^ 0xa5 : code),
      new TextEncoder().encode('[{"id":1}]'),
      new Uint8Array(0),
    ];
    for (const [at, body] of bodies.entries()) {
      const { code, status } = await rejectionOf(() => decode(body, coding));
      deepStrictEqual({ code, status }, { code: "139", status: 400 }, `${coding} ${at}`);
    }
  });

  Deno.test(`decodedChunks() refuses a bomb before it fills the memory: ${coding}`, async () => {
    const bomb = new Uint8Array(64 * 1024 * 1024);
    let length = 0;
    const read = async () => {
      const chunks = inChunks(encoders[coding](bomb), 4096);
      for await (const chunk of decodedChunks(chunks, { coding, isLimited: false })) {
        length += chunk.length;
      }
    };
    deepStrictEqual(await rejectionOf(read), {
      code: "130",
      status: 413,
      message: "Request body too large",
      details: "The body decodes to more than 200 times its length",
    });
    ok(length < 16 * 1024 * 1024, `${coding}: ${length}`);
  });

  Deno.test(`decodedChunks() lets a body with another limit have any ratio: ${coding}`, async () => {
    const blank = new Uint8Array(4 * 1024 * 1024);
    const options = { coding: "gzip", isLimited: true } as const;
    let length = 0;
    const chunks = inChunks(encoders.gzip(blank), 4096);
    for await (const chunk of decodedChunks(chunks, options)) length += chunk.length;
    strictEqual(length, blank.length);
  });

  Deno.test(`decodedChunks() lets a short body have any ratio: ${coding}`, async () => {
    const blank = new Uint8Array(1024 * 1024).fill(0x20);
    const { bytes, longest } = await decode(encoders[coding](blank), coding);
    strictEqual(bytes.length, blank.length);
    ok(longest <= 4.1 * 1024 * 1024);
  });

  Deno.test(`decodedChunks() passes on the error of its source: ${coding}`, async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield encoders.gzip(text).subarray(0, 1000);
      throw new RangeError("gone");
    }
    const read = async () => {
      for await (const _ of decodedChunks(broken(), { coding: "gzip", isLimited: false }));
    };
    strictEqual((await rejectionOf(read)).code, "139");
  });
}

Deno.test("decodedChunks() decodes gzip of several members", async () => {
  const half = encoders.gzip(text);
  const both = new Uint8Array([...half, ...half]);
  const { bytes } = await decode(both, "gzip");
  strictEqual(bytes.length, text.length * 2);
});

const names: readonly (readonly [header: string | null, coding: ContentCoding | null])[] = [
  [null, null],
  ["", null],
  ["identity", null],
  [" GZIP ", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
];

Deno.test("contentCoding() returns the coding of a body", () => {
  for (const [header, coding] of names) {
    const headers = new Headers(header === null ? {} : { "Content-Encoding": header });
    strictEqual(contentCoding(headers), coding, String(header));
  }
});

Deno.test("contentCoding() refuses unknown codings, and several", () => {
  for (const header of ["gzip, br", "gzip, gzip", "br", "zstd", "compress", "x"]) {
    const headers = new Headers({ "Content-Encoding": header });
    deepStrictEqual(refusalOf(() => contentCoding(headers)), {
      code: "138",
      status: 415,
      message: "Content-Encoding not supported",
      details: `${header} is not one of: gzip, deflate`,
    });
  }
});

Deno.test("decodedChunks() refuses a bomb in one chunk before most of it is decoded", async () => {
  const plainBytes = 64 * 1024 * 1024;
  const stream = new Blob([new Uint8Array(plainBytes)]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  const bomb = new Uint8Array(await new Response(stream).arrayBuffer());
  async function* chunks() {
    yield bomb;
  }
  let decoded = 0;
  const { code } = await rejectionOf(async () => {
    for await (const chunk of decodedChunks(chunks(), { coding: "gzip", isLimited: false })) {
      decoded += chunk.length;
    }
  });
  strictEqual(code, "130");
  strictEqual(decoded < 16 * 1024 * 1024, true, `${decoded} bytes`);
});
