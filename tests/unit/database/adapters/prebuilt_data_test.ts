import { strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Files, runtimeFiles } from "../../../../src/database/adapters/files.ts";
import { lockFolder } from "../../../../src/database/adapters/start_engine.ts";
import { prebuiltData } from "../../../../src/database/adapters/prebuilt_data.ts";

/** Lends files whose cache is a folder of the test. */
async function withFiles(
  use: (files: Files, folder: string) => Promise<void> | void,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "svc_prebuilt_" });
  try {
    await use({ ...runtimeFiles()!, environment: { XDG_CACHE_HOME: folder } }, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const dump = new Blob([new Uint8Array(gzipSync("dump"))]);

const read = async (files: Files, version: string) =>
  await prebuiltData(files, version)?.read()?.text();

Deno.test("prebuiltData() keeps one archive per version of PGlite", async () => {
  await withFiles(async (files, folder) => {
    strictEqual(await read(files, "1.2.3"), undefined);
    await prebuiltData(files, "1.2.3")!.write(dump);
    strictEqual(await read(files, "1.2.3"), "dump");
    strictEqual(await read(files, "1.2.4"), undefined);
    const [{ name = "" } = {}, ...others] = Array.from(Deno.readDirSync(join(folder, "svc")));
    strictEqual(name, "pglite-1.2.3.tar.gz");
    strictEqual(others.length, 0);
    strictEqual((await Deno.stat(join(folder, "svc", name))).mode! & 0o777, 0o600);
    prebuiltData(files, "1.2.3")!.discard();
    strictEqual(await read(files, "1.2.3"), undefined);
  });
});

Deno.test("prebuiltData() finds the version of the installed PGlite", () => {
  strictEqual(prebuiltData(runtimeFiles()!) === null, false);
});

Deno.test("prebuiltData() has no archive if the file is damaged", async () => {
  await withFiles(async (files) => {
    await prebuiltData(files, "1")!.write(dump.slice(0, 10));
    strictEqual(await read(files, "1"), undefined);
  });
});

/** Ways in which another user could have written the archive. */
const foreign: readonly (readonly [title: string, change: (folder: string) => Promise<void>])[] = [
  ["a file that others can write", (folder) => Deno.chmod(join(folder, "pglite-1.tar.gz"), 0o666)],
  ["a folder that others can write", (folder) => Deno.chmod(folder, 0o777)],
  ["a link", async (folder) => {
    const file = join(folder, "pglite-1.tar.gz");
    await Deno.rename(file, `${file}.other`);
    await Deno.symlink(`${file}.other`, file);
  }],
];

for (const [title, change] of foreign) {
  Deno.test(`prebuiltData() does not read ${title}`, async () => {
    await withFiles(async (files, folder) => {
      await prebuiltData(files, "1")!.write(dump);
      await change(join(folder, "svc"));
      strictEqual(await read(files, "1"), undefined);
    });
  });
}

Deno.test("prebuiltData() has no archive without a cache folder", () => {
  strictEqual(prebuiltData({ ...runtimeFiles()!, environment: {} }, "1"), null);
});

/** Text of the lock, whether a process with its id runs, and whether the folder can be locked. */
const locks: readonly (readonly [title: string, text: string, runs: boolean, locks: boolean])[] = [
  ["of a process that has ended", "4711 5\n", false, true],
  ["of a process whose id was given to another", "4711 5\n", true, true],
  ["without an id", "x", true, true],
  ["of a process that runs", "4711 \n", true, false],
];

for (const [title, text, runs, isLocked] of locks) {
  Deno.test(`lockFolder() ${isLocked ? "takes over" : "respects"} a lock ${title}`, async () => {
    await withFiles(async (files, folder) => {
      const data = join(folder, "data");
      const fake = { ...files, isRunning: () => runs, startTimeOf: () => "" };
      await Deno.writeTextFile(`${data}.lock`, text);
      let message = "";
      try {
        lockFolder(fake, data)();
      } catch (error) {
        message = (error as Error).message;
      }
      strictEqual(message, isLocked ? "" : "data is in use by process 4711");
    });
  });
}

Deno.test("lockFolder() locks a folder once, also for one process", async () => {
  await withFiles((files, folder) => {
    const data = join(folder, "deep/data");
    const unlock = lockFolder(files, data);
    let message = "";
    try {
      lockFolder(files, data);
    } catch (error) {
      message = (error as Error).message;
    }
    strictEqual(message, `data is in use by process ${Deno.pid}`);
    unlock();
    lockFolder(files, data)();
  });
});
