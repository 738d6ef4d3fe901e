/** What a run of all tests consists of. @module */
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * How many modules import the files of a folder: loading the sources costs more than most of these
 * tests. A file of another folder is a separate module.
 */
const modulesOf: Readonly<Record<string, number>> = { http: 6, process: 12, unit: 3 };

/** A file that needs a separate module: its hooks, or its stand-in for `Deno.test`, are for all
 * tests. */
const needsOwnModule = /Deno\.test\.(before|after)|Object\.assign\(Deno/;

/**
 * Returns the arguments of `deno test` that select all tests and the examples of comments. Writes
 * modules to `folder`.
 *
 * Tests of processes wait for much of their time, and other tests compute: they take turns, so that
 * both the processors and the places for files are in use.
 */
export async function allTests(root: string, folder: string): Promise<readonly string[]> {
  const tests = join(root, "tests");
  const lists: string[][] = [];
  for await (const { name, isDirectory } of Deno.readDir(tests)) {
    if (!isDirectory) continue;
    const files = await testFiles(join(tests, name));
    const count = modulesOf[name];
    lists.push(
      count === undefined ? files : await importingModules(files, count, join(folder, name)),
    );
  }
  const examples = ["tools/lint", "src", "mod.ts"].map((path) => join(root, path));
  return [...inTurns(lists), ...examples];
}

/** Writes modules that import the files, and returns them, then the files that need a separate
 * module. */
async function importingModules(
  files: readonly string[],
  count: number,
  path: string,
): Promise<string[]> {
  const alone: string[] = [];
  const groups: string[][] = Array.from({ length: count }, () => []);
  for (const [index, file] of files.entries()) {
    const isAlone = needsOwnModule.test(await Deno.readTextFile(file));
    (isAlone ? alone : groups[index % count]!).push(file);
  }
  const modules = groups.map(async (group, number) => {
    const module = `${path}_${number}_test.ts`;
    const lines = group.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`);
    await Deno.writeTextFile(module, lines.join(""));
    return module;
  });
  // What takes longest begins first: the end of the run then has short files for every processor.
  return [...await Promise.all(modules), ...alone];
}

/** Returns the items of all lists, with the items of each list spread evenly. */
function inTurns(lists: readonly (readonly string[])[]): readonly string[] {
  return lists
    .flatMap((list) => list.map((item, index) => ({ item, place: (index + 0.5) / list.length })))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

async function testFiles(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const files = await Promise.all(
    entries.map(({ name, isDirectory }) => {
      const path = join(folder, name);
      return isDirectory ? testFiles(path) : name.endsWith("_test.ts") ? [path] : [];
    }),
  );
  return files.flat().toSorted();
}
