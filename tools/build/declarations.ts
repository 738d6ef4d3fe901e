/**
 * Writes the type declarations of a module and of the modules whose types it uses.
 *
 * @module
 */
import { dirname, join, relative } from "node:path";
import ts from "npm:typescript@5.9.3";

const compilerOptions: ts.CompilerOptions = {
  declaration: true,
  emitDeclarationOnly: true,
  allowImportingTsExtensions: true,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  strict: true,
  types: [],
};

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
  const program = ts.createProgram([entry], compilerOptions);
  const written = new Set<string>();
  const pending = [entry];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (written.has(path)) continue;
    written.add(path);
    const text = declarationsOf(program, path);
    for (const [, , imported] of text.matchAll(importPath)) {
      pending.push(join(dirname(path), `${imported}.ts`));
    }
    const target = join(folder, relative(root, path)).replace(/\.ts$/, ".d.ts");
    await Deno.mkdir(dirname(target), { recursive: true });
    await Deno.writeTextFile(target, text.replaceAll(importPath, "$1$2.js"));
  }
  return written.size;
}

function declarationsOf(program: ts.Program, path: string): string {
  let declarations: string | null = null;
  program.emit(program.getSourceFile(path), (_, text) => declarations = text, undefined, true);
  if (declarations === null) throw new Error(`${path}: cannot write declarations`);
  return declarations;
}
