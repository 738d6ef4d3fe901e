import { deepStrictEqual, ok } from "node:assert";
import consoleConfig from "../../src/wings/console/pages/deno.json" with { type: "json" };
import programConfig from "../../deno.json" with { type: "json" };
import testConfig from "../deno.json" with { type: "json" };
import { bundle } from "../../tools/build/build.ts";
import { manifest } from "../../tools/build/npm.ts";

/** Packages that the first command of the README fetches, those of packages included. */
const maxProgramPackages = 25;

Deno.test("the lock file of the program has few packages", async () => {
  const text = await Deno.readTextFile(new URL("../../deno.lock", import.meta.url));
  const names = Object.keys(JSON.parse(text).npm);
  ok(names.length <= maxProgramPackages, names.join(" "));
});

Deno.test("the tests use the packages and compiler options of program and console", () => {
  const { compilerOptions, imports, unstable } = testConfig;
  deepStrictEqual({ ...imports, ...programConfig.imports, ...consoleConfig.imports }, imports);
  deepStrictEqual({ compilerOptions, unstable }, {
    compilerOptions: programConfig.compilerOptions,
    unstable: programConfig.unstable,
  });
});

Deno.test("the npm package requires no package, and its page lists the optional ones", async () => {
  const { peerDependencies, peerDependenciesMeta, ...others } = manifest("0.0.0");
  const required = /dependencies|scripts/i;
  deepStrictEqual(Object.keys(others).filter((key) => required.test(key)), []);
  const names = Object.keys(peerDependencies as Readonly<Record<string, string>>);
  const areOptional = Object.fromEntries(names.map((name) => [name, { optional: true }]));
  deepStrictEqual(peerDependenciesMeta, areOptional);
  const page = await Deno.readTextFile(new URL("../../docs/reference/support.md", import.meta.url));
  const listed = Array.from(page.matchAll(/^\| `(@?[\w/-]+)` +\|/gm), ([, name]) => name);
  deepStrictEqual(listed, names);
});

/** Largest difference between documented and real size, as a part of the real one. */
const sizeTolerance = 0.05;

Deno.test("README and the guide on runtimes have the sizes of the bundle", async () => {
  const file = await Deno.makeTempFile({ suffix: ".js" });
  const { plain, gzipped } = await bundle("mod.ts", file);
  await Deno.remove(file);
  for (const page of ["README.md", "docs/how-to/run-in-other-runtimes.md"]) {
    const text = await Deno.readTextFile(new URL(`../../${page}`, import.meta.url));
    const sizes = /(0\.\d+) MB,? (?:or )?\(?(0\.\d+) MB with gzip/.exec(text.replaceAll("\n", " "));
    deepStrictEqual(
      [plain, gzipped].map((bytes, index) =>
        Math.abs(Number(sizes?.[index + 1]) * 1e6 / bytes - 1) <= sizeTolerance
      ),
      [true, true],
      `${page} has ${sizes?.[0]}, the bundle ${plain} and ${gzipped} bytes`,
    );
  }
});
