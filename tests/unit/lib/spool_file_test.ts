import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { openSpoolFile, SpoolFullError, SpoolSpace } from "../../../src/lib/spool_file.ts";

function bytesOf(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 31 + seed) & 255);
}

function spoolFiles(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("svc-"));
}

Deno.test("SpoolFile.pieces() yields what was appended", async () => {
  const space = new SpoolSpace();
  const file = (await openSpoolFile({ space, maxBytes: Infinity }))!;
  const pieces = [3, 70_000, 0, 5, 200_000, 1].map(bytesOf);
  for (const piece of pieces) await file.append(piece);
  strictEqual(space.used, 270_009);
  let at = 0;
  let before: Uint8Array | null = null;
  for await (const piece of file.pieces()) {
    deepStrictEqual(piece, pieces[at]);
    // Still the same when the next one was read.
    if (before !== null) deepStrictEqual(before, pieces[at - 1]);
    before = piece;
    at++;
  }
  strictEqual(at, pieces.length);
  await file.close();
  await file.close();
  strictEqual(space.used, 0);
});

Deno.test("openSpoolFile() leaves no name in the folder", async () => {
  const before = spoolFiles();
  const file = (await openSpoolFile({ space: new SpoolSpace(), maxBytes: Infinity }))!;
  await file.append(bytesOf(10, 1));
  deepStrictEqual(spoolFiles(), before);
  await file.close();
});

Deno.test("SpoolFile.append() fails when all files together are too long", async () => {
  const space = new SpoolSpace();
  const options = { space, maxBytes: 100 };
  const [first, second] = [(await openSpoolFile(options))!, (await openSpoolFile(options))!];
  await first.append(bytesOf(60, 1));
  await second.append(bytesOf(40, 1));
  for (const file of [first, second]) {
    const error = await file.append(bytesOf(1, 1)).catch((error) => error);
    ok(error instanceof SpoolFullError);
  }
  await first.close();
  strictEqual(space.used, 40);
  await second.append(bytesOf(60, 1));
  await second.close();
  strictEqual(space.used, 0);
});

Deno.test("openSpoolFile() returns null where files are not permitted", async () => {
  const folder = process.env["TMPDIR"];
  process.env["TMPDIR"] = "/nonexistent";
  try {
    strictEqual(await openSpoolFile({ space: new SpoolSpace(), maxBytes: 1 }), null);
  } finally {
    if (folder === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = folder;
  }
});
