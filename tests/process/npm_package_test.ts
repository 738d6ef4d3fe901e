import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../../src/base/version.ts";
import { makeElsewhere } from "../../tools/release/release.ts";
import { listeningPorts } from "../support/server/debugger_attack.ts";
import { codeBlocks } from "../support/docs/markdown.ts";
import { engines } from "../support/database/engines.ts";
import { freePort } from "../support/server/free_port.ts";
import { startCommand } from "../support/server/process.ts";
import { programVariable } from "../support/server/program_command.ts";
import { type InstalledPackage, installPackage, onNode } from "../support/runner/node_package.ts";

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

const flags = ["--db-schemas=api", "--db-anon-role=web_anon", "--host=127.0.0.1"];

/** Starts a registry that has only this package. */
async function startRegistry(
  { archive, root }: Pick<InstalledPackage, "archive" | "root">,
): Promise<{ readonly origin: string } & AsyncDisposable> {
  const bytes = await Deno.readFile(archive);
  const manifest = JSON.parse(await Deno.readTextFile(join(root, "package.json")));
  const { name, version } = manifest;
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) => {
    const { origin, pathname } = new URL(url);
    if (pathname === "/archive.tgz") return new Response(bytes);
    if (pathname !== `/${name}`) return new Response("no such package", { status: 404 });
    const dist = { tarball: `${origin}/archive.tgz`, integrity };
    const versions = { [version]: { ...manifest, dist } };
    return Response.json({ name, "dist-tags": { latest: version }, versions });
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}/`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Makes Node state another version before the program reads it. */
const asNode18 = "data:text/javascript,Object.defineProperty(process, 'versions', " +
  "{ value: { ...process.versions, node: '18.20.8' } })";

/** The part of the process tests that the package passes in every run; `test:node` runs the rest. */
const sharedTests = ["shutdown", "statuses", "write_body"];

/** The programs that run a module, with their arguments. */
const runtimes: readonly (readonly [program: string, ...args: string[]])[] = [
  ["node"],
  [Deno.execPath(), "run", "-A"],
  ["bun"],
];

/** Returns the block of the library's guide that has the flag. */
function blockOfGuide(flag: string): string {
  const path = "docs/how-to/use-as-a-library.md";
  const text = Deno.readTextFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)));
  const block = codeBlocks({ path, text }).find(({ flags }) => flags.includes(flag));
  ok(block !== undefined, flag);
  return block.text;
}

const cases: Readonly<Record<string, (installed: InstalledPackage) => Promise<void>>> = {
  "has no dependencies and runs nothing when it is installed": async ({ root }) => {
    const manifest = JSON.parse(await Deno.readTextFile(join(root, "package.json")));
    deepStrictEqual([manifest.dependencies, manifest.scripts], [undefined, undefined]);
    const optional = Object.values(manifest.peerDependenciesMeta);
    deepStrictEqual(
      optional,
      Object.keys(manifest.peerDependencies).map(() => ({ optional: true })),
    );
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
  "runs by deno run npm:": async ({ folder, archive, root }) => {
    await using registry = await startRegistry({ archive, root });
    const { code, stdout, stderr } = await run(
      Deno.execPath(),
      ["run", "-A", "--no-config", "npm:svc-api", "--version"],
      {
        cwd: folder,
        env: { NPM_CONFIG_REGISTRY: registry.origin, DENO_DIR: join(folder, "deno_dir") },
      },
    );
    strictEqual(code, 0, stderr);
    match(stdout, /^SVC \d/);
  },
  "serves on Node, and reloads by signals with the debugger closed": async ({ bin }) => {
    const database = await engines.pg({ name: "serving", roles: ["web_anon"] });
    const port = freePort();
    // A connection string as an argument would bring other defaults.
    const env = { SVC_DB_URI: database.uri };
    await using process = startCommand(["node", bin, `--port=${port}`, ...flags], { env });
    const { stderr } = process;
    await stderr.waitFor(/API server listening on/);
    for (const signal of ["SIGHUP", "SIGUSR1", "SIGUSR2"] as const) {
      const after = stderr.all.length;
      process.signal(signal);
      await stderr.waitFor(/Config reloaded|Schema cache loaded in/, { after });
      const response = await fetch(`http://127.0.0.1:${port}/items?id=eq.1`);
      deepStrictEqual([response.status, await response.json()], [200, [{ id: 1 }]]);
    }
    if (Deno.build.os === "linux") deepStrictEqual(listeningPorts(process.pid), [port]);
    strictEqual((await process.stop()).code, 0);
    await database.remove();
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
    const line = "svc: the embedded PostgreSQL needs the package @electric-sql/pglite: " +
      "npm install @electric-sql/pglite";
    deepStrictEqual(stderr.split("\n").filter((text) => text.startsWith("svc: ")), [line]);
  },
  "exports the handler": async ({ folder }) => {
    const code = "import { createHandler, version } from 'svc-api';" +
      "console.log(typeof createHandler, typeof version)";
    const ended = await run("node", ["--input-type=module", "-e", code], { cwd: folder });
    deepStrictEqual(ended, { code: 0, stdout: "function string\n", stderr: "" });
  },
  "serves by the program of the guide, on each runtime that is installed": async ({ folder }) => {
    const database = await engines.pg({ name: "serving", roles: ["web_anon"] });
    const file = join(folder, "server.mjs");
    await Deno.writeTextFile(file, blockOfGuide("server"));
    for (const [runtime, ...args] of runtimes) {
      const ports = { PORT: String(freePort()), HOST: "127.0.0.1" };
      const found = await run(runtime, ["--version"], { cwd: folder }).catch(() => null);
      if (found === null) continue;
      const env = { ...ports, DB_URI: database.uri };
      await using process = startCommand([runtime, ...args, file], { env });
      await process.stdout.waitFor(/Listening on/);
      const response = await fetch(`http://127.0.0.1:${ports.PORT}/items?id=eq.1`);
      deepStrictEqual([response.status, await response.json()], [200, [{ id: 1 }]], runtime);
    }
    await database.remove();
  },
  "is not needed by Deno, where links name a checkout": async ({ folder }) => {
    const root = fileURLToPath(new URL("../../", import.meta.url));
    const app = join(folder, "linked");
    await Deno.mkdir(app);
    const settings = blockOfGuide("links").replace("../svc", root);
    await Deno.writeTextFile(join(app, "deno.json"), settings);
    const code = 'import { createHandler } from "@svc/svc"; console.log(typeof createHandler);';
    await Deno.writeTextFile(join(app, "app.ts"), code);
    const ended = await run(Deno.execPath(), ["run", "-A", "--no-lock", "app.ts"], { cwd: app });
    deepStrictEqual([ended.code, ended.stdout], [0, "function\n"], ended.stderr);
  },
  "exports the admin server": async ({ folder }) => {
    const code = "import { createHandler } from 'svc-api';" +
      "import { createAdmin } from 'svc-api/admin';" +
      "const api = createHandler({ dbUri: 'postgres://127.0.0.1:1/none', dbSchemas: ['api'] });" +
      "const visit = createAdmin(api);" +
      "const page = new Request('http://localhost/');" +
      "const statuses = [await visit(page), await visit(page, { isTrusted: true })];" +
      "await api.close(); console.log(...statuses.map(({ status }) => status))";
    const ended = await run("node", ["--input-type=module", "-e", code], { cwd: folder });
    deepStrictEqual(ended, { code: 0, stdout: "403 200\n", stderr: "" });
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
  "has the files of the console": async ({ root }) => {
    const files = await Array.fromAsync(Deno.readDir(join(root, "dist", "console")));
    for (
      const pattern of [
        /^main-[0-9a-f]{12}\.js$/,
        /^main-[0-9a-f]{12}\.css$/,
        /^plan_view-[0-9a-f]{12}\.js$/,
      ]
    ) {
      ok(files.some(({ name }) => pattern.test(name)), String(pattern));
    }
    ok(/^## preact /m.test(await Deno.readTextFile(join(root, "THIRD_PARTY.md"))));
  },
  "is made of the same bytes in another folder, with a list of all packages in it": async (
    { folder, release, executables, checksums },
  ) => {
    strictEqual(await makeElsewhere(join(folder, "copy"), executables), checksums);
    const compiled = Array.from(Deno.readDirSync(executables), ({ name }) => name);
    const packages = ["amd64", "arm64"].map((name) => `svc_${version}_${name}.deb`);
    deepStrictEqual(
      checksums.trim().split("\n").map((line) => line.slice(66)),
      [
        ...["LICENSE", "NOTES.md", "THIRD_PARTY.md", "mcp.js", "sbom.cdx.json"],
        ...[`svc-api-${version}.tgz`, `svc-api-types-${version}.tgz`, "svc.js"],
        ...compiled.length === 0 ? [] : [...compiled, ...packages, "svc.rb"],
      ].sort(),
    );
    const { components } = JSON.parse(await Deno.readTextFile(join(release, "sbom.cdx.json")));
    const licences = await Deno.readTextFile(join(release, "THIRD_PARTY.md"));
    const titles = Array.from(licences.matchAll(/^## (\S+ [\d.]+)$/gm), ([, title]) => title!);
    const required = components
      .filter(({ scope }: Readonly<Record<string, string>>) => scope === "required")
      .map(({ name, version }: Readonly<Record<string, string>>) => `${name} ${version}`);
    deepStrictEqual(required, titles.sort());
    ok(titles.includes("simpledotcss 2.3.7"));
  },
  "passes the process tests that every run has room for": async ({ bin }) => {
    const root = fileURLToPath(new URL("../../", import.meta.url));
    const files = sharedTests.map((name) => `tests/process/${name}_test.ts`);
    const { code, stdout, stderr } = await run(Deno.execPath(), [
      "test",
      "-A",
      "--no-check",
      "--parallel",
      ...files,
    ], { cwd: root, env: { [programVariable]: `node ${bin}`, NO_COLOR: "1" } });
    strictEqual(code, 0, `${stdout}\n${stderr}`);
  },
};

Deno.test({
  ...onNode,
  name: "the npm package",
  fn: async (t) => {
    await using installed = await installPackage("srvx@1.0.8");
    for (const [name, check] of Object.entries(cases)) await t.step(name, () => check(installed));
  },
});
