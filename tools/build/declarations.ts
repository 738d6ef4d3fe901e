/**
 * Writes the type declarations of a module and of the modules whose types it uses.
 *
 * @module
 */
import { dirname, join, relative } from "node:path";

/** The lock file must not name the compiler: executables contain every package of that file. */
const compiler = ["run", "-A", "--no-lock", "--no-config", "npm:typescript@5.9.3/tsc"];

const compilerOptions = [
  ...["--declaration", "--emitDeclarationOnly", "--allowImportingTsExtensions", "--strict"],
  ...["--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler"],
  ...["--lib", "esnext,dom,dom.iterable"],
];

/** Matches the path in an import, an export or an `import("…")` of a declaration. */
const importPath = /((?:from |import\()")(\.{1,2}\/[^"]+)\.ts(?=")/g;

/**
 * Writes declarations below a folder, at the paths that the modules have below the root. `entry` and
 * `root` are absolute paths. Returns the number of files.
 */
export async function writeDeclarations(
  entry: string,
  { root, folder }: { readonly root: string; readonly folder: string },
): Promise<number> {
  const all = await Deno.makeTempDir({ prefix: "svc_types_" });
  try {
    // The compiler finds no npm package from here. Public types need none, so its errors are ignored.
    const args = [...compiler, ...compilerOptions, "--rootDir", root, "--outDir", all, entry];
    await new Deno.Command(Deno.execPath(), { args, stdout: "null", stderr: "null" }).output();
    return await copyUsed(relative(root, entry), { from: all, to: folder });
  } finally {
    await Deno.remove(all, { recursive: true });
  }
}

/** Copies a module's declarations and those that they import. */
async function copyUsed(
  entry: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<number> {
  const copied = new Set<string>();
  const pending = [entry];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (copied.has(path)) continue;
    copied.add(path);
    const name = path.replace(/\.ts$/, ".d.ts");
    const text = await Deno.readTextFile(join(from, name));
    for (const [, , imported] of text.matchAll(importPath)) {
      pending.push(join(dirname(path), `${imported}.ts`));
    }
    await Deno.mkdir(dirname(join(to, name)), { recursive: true });
    await Deno.writeTextFile(join(to, name), text.replaceAll(importPath, "$1$2.js"));
  }
  return copied.size;
}
