/** The imports between files of the project. @module */

const root = new URL("../../", import.meta.url);

/** Static imports and re-exports, `import()`, and `import("…")` types. */
const relativeImports =
  /(?:^(?:import|export|\})[^;"/]*\bfrom\s*|\bimport\s*\(\s*)"(\.[^"]+\.tsx?)"/gm;

/** The imports of each file, by paths from the root. */
export type Graph = ReadonlyMap<string, readonly string[]>;

/** Reads the relative imports of all files in a folder. */
export async function readGraph(folder: URL, graph = new Map<string, readonly string[]>()) {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const entry = new URL(isDirectory ? `${name}/` : name, folder);
    if (isDirectory) await readGraph(entry, graph);
    else if (/\.tsx?$/.test(name)) {
      const found = (await Deno.readTextFile(entry)).matchAll(relativeImports);
      graph.set(pathOf(entry), Array.from(found, ([, to]) => pathOf(new URL(to!, entry))));
    }
  }
  return graph;
}

function pathOf({ href }: URL): string {
  return href.slice(root.href.length);
}
