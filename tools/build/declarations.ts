/** Writes the type declarations of modules and of the modules whose types they use. @module */
import { dirname, join } from "node:path";

/** Runs the compiler without the lock file. Executables contain every package of the lock file. */
const compiler = ["run", "-A", "--no-lock", "--no-config", "npm:typescript@5.9.3/tsc"];

const compilerOptions = [
  // `deno check` has checked the types already.
  ...[
    "--declaration",
    "--emitDeclarationOnly",
    "--noCheck",
    "--allowImportingTsExtensions",
    "--strict",
  ],
  ...["--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler"],
  ...["--lib", "esnext,dom,dom.iterable"],
];

/** Matches the line of an error after which the compiler writes no declarations of a module. */
const declarationError = /^.*\berror TS4\d{3}: .*$/gm;

/** Matches the path in an import, an export or an `import("…")` of a declaration. */
const importPath = /((?:from |import\()")(\.{1,2}\/[^"]+)\.ts(?=")/g;

/**
 * Writes declarations below a folder, at the paths that the modules have below the root. `entries` are
 * paths below `root`, which is absolute. `generated` has texts of modules that are not compiled. Returns
 * the number of files.
 */
export async function writeDeclarations(
  entries: readonly string[],
  { root, folder, generated }: {
    readonly root: string;
    readonly folder: string;
    readonly generated: ReadonlyMap<string, string>;
  },
): Promise<number> {
  const all = await Deno.makeTempDir({ prefix: "svc_types_" });
  try {
    // The compiler finds no npm packages here. Public types need none, so such errors are ignored.
    const args = [...compiler, ...compilerOptions, "--rootDir", root, "--outDir", all];
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: [...args, ...entries.map((entry) => join(root, entry))],
      stderr: "null",
    }).output();
    const failures = new TextDecoder().decode(stdout).match(declarationError);
    if (failures !== null) throw new Error(failures.join("\n"));
    return await copyUsed(entries, { from: all, to: folder, generated });
  } finally {
    await Deno.remove(all, { recursive: true });
  }
}

/** Copies the declarations of modules, and all declarations that they import. */
async function copyUsed(
  entries: readonly string[],
  { from, to, generated }: {
    readonly from: string;
    readonly to: string;
    readonly generated: ReadonlyMap<string, string>;
  },
): Promise<number> {
  const copied = new Set<string>();
  const pending = [...entries];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (copied.has(path)) continue;
    copied.add(path);
    const name = path.replace(/\.ts$/, ".d.ts");
    const text = generated.get(path) ?? await Deno.readTextFile(join(from, name));
    for (const [, , imported] of text.matchAll(importPath)) {
      pending.push(join(dirname(path), `${imported}.ts`));
    }
    await Deno.mkdir(dirname(join(to, name)), { recursive: true });
    await Deno.writeTextFile(join(to, name), text.replaceAll(importPath, "$1$2.js"));
  }
  return copied.size;
}
