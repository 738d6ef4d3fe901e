import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { bodySpoolFiles } from "../../../src/lib/body_spool.ts";

function spoolFiles(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("svc-"));
}

Deno.test("bodySpoolFiles() opens files without a name, which keep bytes at their positions", () => {
  const before = spoolFiles();
  const file = bodySpoolFiles()!();
  deepStrictEqual(spoolFiles(), before);
  file.write(new Uint8Array([1, 2, 3]), 0);
  file.write(new Uint8Array([4, 5]), 2);
  const buffer = new Uint8Array(3);
  file.read(buffer, 1);
  deepStrictEqual(buffer, new Uint8Array([2, 4, 5]));
  file.close();
});

Deno.test("bodySpoolFiles() opens files for their owner alone", async () => {
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
  const file = bodySpoolFiles()!();
  strictEqual(modes().length, before + 1);
  strictEqual(modes().every((mode) => mode === 0o600), true);
  file.close();
  strictEqual(modes().length, before);
  await rejects(Promise.resolve().then(() => file.read(new Uint8Array(1), 0)));
});
