import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import {
  openSpoolFile,
  SpoolFullError,
  SpoolSpace,
  temporaryFiles,
} from "../../../../src/base/lib/spool_file.ts";

function bytesOf(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 31 + seed) & 255);
}

function spoolFiles(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("svc-"));
}

Deno.test("SpoolFile.chunks() yields what was appended", () => {
  const space = new SpoolSpace();
  const file = openSpoolFile({ space, maxBytes: Infinity })!;
  const chunks = [3, 70_000, 0, 5, 200_000, 1].map(bytesOf);
  for (const chunk of chunks) {
    file.append(chunk.subarray(0, 3));
    file.append(chunk.subarray(3));
    file.endChunk();
  }
  strictEqual(space.used, 270_009);
  let at = 0;
  for (const chunk of file.chunks()) deepStrictEqual(chunk, chunks[at++]);
  strictEqual(at, chunks.length);
  file.close();
  file.close();
  strictEqual(space.used, 0);
});

Deno.test("openSpoolFile() leaves no name in the folder", () => {
  const before = spoolFiles();
  const file = openSpoolFile({ space: new SpoolSpace(), maxBytes: Infinity })!;
  file.append(bytesOf(10, 1));
  deepStrictEqual(spoolFiles(), before);
  file.close();
});

Deno.test("SpoolFile.append() fails when all files together are too long", () => {
  const space = new SpoolSpace();
  const options = { space, maxBytes: 100 };
  const [first, second] = [openSpoolFile(options)!, openSpoolFile(options)!];
  first.append(bytesOf(60, 1));
  second.append(bytesOf(40, 1));
  for (const file of [first, second]) {
    throws(() => file.append(bytesOf(1, 1)), SpoolFullError);
  }
  first.close();
  strictEqual(space.used, 40);
  second.append(bytesOf(60, 1));
  second.close();
  strictEqual(space.used, 0);
});

Deno.test("openSpoolFile() returns null where files are not permitted", () => {
  const folder = process.env["TMPDIR"];
  process.env["TMPDIR"] = "/nonexistent";
  try {
    strictEqual(openSpoolFile({ space: new SpoolSpace(), maxBytes: 1 }), null);
  } finally {
    if (folder === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = folder;
  }
});

Deno.test("temporaryFiles() opens files without a name, which keep bytes at their positions", () => {
  const before = spoolFiles();
  const file = temporaryFiles()!();
  deepStrictEqual(spoolFiles(), before);
  file.write(new Uint8Array([1, 2, 3]), 0);
  file.write(new Uint8Array([4, 5]), 2);
  const buffer = new Uint8Array(3);
  file.read(buffer, 1);
  deepStrictEqual(buffer, new Uint8Array([2, 4, 5]));
  file.close();
});

Deno.test("temporaryFiles() opens files for their owner alone", () => {
  if (Deno.build.os !== "linux") return;
  const modes = () =>
    Array.from(Deno.readDirSync("/proc/self/fd")).flatMap(({ name }) => {
      try {
        const link = Deno.readLinkSync(`/proc/self/fd/${name}`);
        return /svc-[0-9a-f-]{36} \(deleted\)$/.test(link)
          ? [Deno.statSync(`/proc/self/fd/${name}`).mode! & 0o777]
          : [];
      } catch {
        return [];
      }
    });
  const before = modes().length;
  const file = temporaryFiles()!();
  strictEqual(modes().length, before + 1);
  strictEqual(modes().every((mode) => mode === 0o600), true);
  file.close();
  strictEqual(modes().length, before);
  throws(() => file.read(new Uint8Array(1), 0));
});
