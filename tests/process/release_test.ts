import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { makeElsewhere, makeRelease } from "../../tools/release/release.ts";
import { version } from "../../src/version.ts";
import { onNode } from "../support/runner/node_package.ts";

Deno.test({
  ...onNode,
  name: "makeRelease() makes the same bytes in another folder, and lists all packages in them",
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "svc_release_test_" });
    try {
      const first = join(folder, "first");
      const sums = await makeRelease(first);
      strictEqual(await makeElsewhere(join(folder, "copy")), sums);
      deepStrictEqual(sums.trim().split("\n").map((line) => line.slice(66)), [
        ...["LICENSE", "NOTES.md", "THIRD_PARTY.md", "mcp.js", "sbom.cdx.json"],
        ...[`svc-api-${version}.tgz`, `svc-api-types-${version}.tgz`, "svc.js"],
      ]);
      const { components } = JSON.parse(await Deno.readTextFile(join(first, "sbom.cdx.json")));
      const licences = await Deno.readTextFile(join(first, "THIRD_PARTY.md"));
      const titles = Array.from(licences.matchAll(/^## (\S+ [\d.]+)$/gm), ([, title]) => title!);
      const required = components.filter(({ scope }: { readonly scope: string }) =>
        scope === "required"
      );
      deepStrictEqual(
        required.map(({ name, version }: Readonly<Record<string, string>>) => `${name} ${version}`),
        titles.sort(),
      );
      ok(titles.includes("simpledotcss 2.3.7"));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
