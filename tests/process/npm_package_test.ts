import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { programVariable } from "../support/program_command.ts";
import { type InstalledPackage, installPackage, onNode } from "../support/node_package.ts";

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<Ended> {
  const { code, stdout, stderr } = await new Deno.Command(command, { args: [...args], ...options })
    .output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}

/** Makes Node state another version before the program reads it. */
const asNode18 = "data:text/javascript,Object.defineProperty(process, 'versions', " +
  "{ value: { ...process.versions, node: '18.20.8' } })";

/** The part of the process tests that the package passes in every run; `test:node` runs the rest. */
const sharedTests = ["shutdown", "statuses", "write_body"];

const cases: Readonly<Record<string, (installed: InstalledPackage) => Promise<void>>> = {
  "has no dependencies and runs nothing when it is installed": async ({ root }) => {
    const manifest = JSON.parse(await Deno.readTextFile(join(root, "package.json")));
    deepStrictEqual([manifest.dependencies, manifest.scripts], [undefined, undefined]);
    const optional = Object.values(manifest.peerDependenciesMeta);
    deepStrictEqual(optional, [{ optional: true }, { optional: true }]);
  },
  "runs by its name, on Node and on Deno": async ({ folder, bin }) => {
    const cwd = folder;
    const bins = join(folder, "node_modules", ".bin");
    for (const name of ["svc", "svc-api"]) {
      match((await run(join(bins, name), ["--version"], { cwd })).stdout, /^SVC \d/);
    }
    const onDeno = await run(Deno.execPath(), ["run", "-A", bin, "--version"], { cwd });
    match(onDeno.stdout, /^SVC \d/);
  },
  "refuses Node 18 in one line": async ({ folder, bin }) => {
    const ended = await run("node", ["--import", asNode18, bin, "--version"], { cwd: folder });
    deepStrictEqual(ended, {
      code: 1,
      stdout: "",
      stderr: "svc: needs Node 20.16 or later; this is 18.20.8\n",
    });
  },
  "names the package that pglite:// needs": async ({ folder, bin }) => {
    const { code, stderr } = await run("node", [bin, "demo"], { cwd: folder });
    strictEqual(code, 1);
    const line = "svc: pglite:// needs a package: npx -p svc-api -p @electric-sql/pglite svc-api …";
    deepStrictEqual(stderr.split("\n").filter((text) => text.startsWith("svc: ")), [line]);
  },
  "exports the handler": async ({ folder }) => {
    const code = "import { createHandler, version } from 'svc-api';" +
      "console.log(typeof createHandler, typeof version)";
    const ended = await run("node", ["--input-type=module", "-e", code], { cwd: folder });
    deepStrictEqual(ended, { code: 0, stdout: "function string\n", stderr: "" });
  },
  "declares the types of its exports": async ({ folder }) => {
    const code = `import { createHandler, type HandlerOptions } from "svc-api";
      const options: HandlerOptions = { dbUri: "postgres://h", dbSchemas: ["api"], dbPool: 2 };
      export const answer: Promise<Response> = createHandler(options)(new Request("http://h/"));
      // @ts-expect-error: the option is a number.
      createHandler({ ...options, dbPool: "2" });`;
    await Deno.writeTextFile(join(folder, "use.ts"), code);
    const args = ["check", "--node-modules-dir=manual", "--no-lock", "use.ts"];
    const { code: status, stderr } = await run(Deno.execPath(), args, { cwd: folder });
    strictEqual(status, 0, stderr);
  },
  "has the files of the API page": async ({ root }) => {
    for (const name of ["swagger-ui.css", "swagger-ui-bundle.js", "LICENSE"]) {
      ok((await Deno.stat(join(root, "dist", "swagger-ui", name))).size > 0);
    }
  },
  "passes the process tests that every run has room for": async ({ bin }) => {
    const root = fileURLToPath(new URL("../../", import.meta.url));
    const files = sharedTests.map((name) => `tests/process/${name}_test.ts`);
    const { code, stdout, stderr } = await run(Deno.execPath(), ["test", "-A", ...files], {
      cwd: root,
      env: { [programVariable]: `node ${bin}`, NO_COLOR: "1" },
    });
    strictEqual(code, 0, `${stdout}\n${stderr}`);
  },
};

Deno.test({
  ...onNode,
  name: "the npm package",
  fn: async (t) => {
    await using installed = await installPackage();
    for (const [name, check] of Object.entries(cases)) await t.step(name, () => check(installed));
  },
});
