import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import zlib from "node:zlib";
import {
  type ContentCoding,
  contentCoding,
  decodedPieces,
} from "../../../../src/api/request/body/content_coding.ts";
import { piecesOf } from "../../../support/clients/in_pieces.ts";
import { refusalOf, rejectionOf } from "../../../support/handler/refusal.ts";

const encoders: Readonly<Record<ContentCoding, (bytes: Uint8Array) => Uint8Array>> = {
  gzip: (bytes) => new Uint8Array(zlib.gzipSync(bytes)),
  deflate: (bytes) => new Uint8Array(zlib.deflateSync(bytes)),
};

/** Text that does not shrink much. */
const text = new TextEncoder().encode(
  JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id, x: (id * 7919) % 10_007 }))),
);

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  yield* piecesOf(bytes, length);
}

/** Returns the decoded bytes, and the length of the longest piece of them. */
async function decode(
  bytes: Uint8Array,
  coding: ContentCoding,
  pieceLength = 50_000,
) {
  const chunks: Uint8Array[] = [];
  for await (
    const piece of decodedPieces(inPieces(bytes, pieceLength), { coding, isLimited: false })
  ) {
    chunks.push(piece.slice());
  }
  return {
    bytes: new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer()),
    longest: Math.max(0, ...chunks.map(({ length }) => length)),
  };
}

for (const coding of ["gzip", "deflate"] as const) {
  Deno.test(`decodedPieces() decodes a body in pieces of any length: ${coding}`, async () => {
    const coded = encoders[coding](text);
    for (const pieceLength of [977, 65_536, Infinity]) {
      const { bytes } = await decode(coded, coding, pieceLength);
      deepStrictEqual(bytes, text, `${coding} ${pieceLength}`);
    }
  });

  Deno.test(`decodedPieces() refuses what is cut or corrupt: ${coding}`, async () => {
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

  Deno.test(`decodedPieces() refuses a bomb before it fills the memory: ${coding}`, async () => {
    const bomb = new Uint8Array(64 * 1024 * 1024);
    let length = 0;
    const read = async () => {
      const pieces = inPieces(encoders[coding](bomb), 4096);
      for await (const piece of decodedPieces(pieces, { coding, isLimited: false })) {
        length += piece.length;
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

  Deno.test(`decodedPieces() lets a body with another limit have any ratio: ${coding}`, async () => {
    const blank = new Uint8Array(4 * 1024 * 1024);
    const options = { coding: "gzip", isLimited: true } as const;
    let length = 0;
    const pieces = inPieces(encoders.gzip(blank), 4096);
    for await (const piece of decodedPieces(pieces, options)) length += piece.length;
    strictEqual(length, blank.length);
  });

  Deno.test(`decodedPieces() lets a short body have any ratio: ${coding}`, async () => {
    const blank = new Uint8Array(1024 * 1024).fill(0x20);
    const { bytes, longest } = await decode(encoders[coding](blank), coding);
    strictEqual(bytes.length, blank.length);
    ok(longest <= 4.1 * 1024 * 1024);
  });

  Deno.test(`decodedPieces() passes on the error of its source: ${coding}`, async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield encoders.gzip(text).subarray(0, 1000);
      throw new RangeError("gone");
    }
    const read = async () => {
      for await (const _ of decodedPieces(broken(), { coding: "gzip", isLimited: false }));
    };
    strictEqual((await rejectionOf(read)).code, "139");
  });
}

Deno.test("decodedPieces() decodes gzip of several members", async () => {
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

Deno.test("decodedPieces() refuses a bomb in one piece before most of it is decoded", async () => {
  const plainBytes = 64 * 1024 * 1024;
  const stream = new Blob([new Uint8Array(plainBytes)]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  const bomb = new Uint8Array(await new Response(stream).arrayBuffer());
  async function* pieces() {
    yield bomb;
  }
  let decoded = 0;
  const { code } = await rejectionOf(async () => {
    for await (const piece of decodedPieces(pieces(), { coding: "gzip", isLimited: false })) {
      decoded += piece.length;
    }
  });
  strictEqual(code, "130");
  strictEqual(decoded < 16 * 1024 * 1024, true, `${decoded} bytes`);
});
