import { deepStrictEqual } from "node:assert/strict";
import { type Graph, readGraph } from "./import_graph.ts";

const src = new URL("../../src/", import.meta.url);

/** Walks all files, and returns a cycle for each import that leads back to a file of the current path. */
function cyclesOf(graph: Graph): readonly string[] {
  const cycles: string[] = [];
  const walked = new Set<string>();
  const walk = (file: string, way: readonly string[]) => {
    const at = way.indexOf(file);
    if (at >= 0) cycles.push([...way.slice(at), file].join(" -> "));
    if (walked.has(file)) return;
    walked.add(file);
    for (const to of graph.get(file) ?? []) walk(to, [...way, file]);
  };
  for (const file of graph.keys()) walk(file, []);
  return cycles;
}

/** Returns the imports between the parts of a folder, which are its files and its folders. */
function partsOf(folder: string, graph: Graph): Graph {
  const partOf = (path: string) =>
    path.startsWith(folder) ? path.slice(folder.length).split("/", 1)[0]! : null;
  const parts = new Map<string, string[]>();
  for (const [file, imports] of graph) {
    const part = partOf(file);
    const others = imports.map(partOf).filter((each) => each !== null && each !== part);
    if (part !== null) parts.set(part, [...parts.get(part) ?? [], ...others as string[]]);
  }
  return parts;
}

function foldersOf(graph: Graph): ReadonlySet<string> {
  return new Set(
    [...graph.keys()].flatMap((file) =>
      Array.from(file.matchAll(/\//g), ({ index }) => file.slice(0, index + 1))
    ),
  );
}

Deno.test("finds a cycle, and no cycle in files with the same import", () => {
  const graph: Graph = new Map([["a", ["b", "c"]], ["b", ["c"]], ["c", ["d"]], ["d", ["b"]]]);
  deepStrictEqual(cyclesOf(graph), ["b -> c -> d -> b"]);
});

Deno.test("no files of src import each other in a cycle, also not for types", async () => {
  deepStrictEqual(cyclesOf(await readGraph(src)), []);
});

Deno.test("finds folders that import each other by different files", () => {
  const graph: Graph = new Map([["src/a/x.ts", ["src/b/y.ts"]], ["src/b/z.ts", ["src/a/w.ts"]]]);
  deepStrictEqual(cyclesOf(graph), []);
  deepStrictEqual(cyclesOf(partsOf("src/", graph)), ["a -> b -> a"]);
});

Deno.test("no parts of a folder of src import each other in a cycle", async () => {
  const graph = await readGraph(src);
  const cycles = [...foldersOf(graph)].flatMap((folder) =>
    cyclesOf(partsOf(folder, graph)).map((cycle) => `${folder}: ${cycle}`)
  );
  deepStrictEqual(cycles, []);
});
