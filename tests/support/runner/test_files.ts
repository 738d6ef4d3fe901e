/** The files of a run of all tests, in the order in which they keep the processors busy. @module */
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** How many modules import the unit tests: loading the sources costs more than most of these tests. */
const unitGroups = 8;

/**
 * Returns the arguments of `deno test` that stand for all tests and examples of comments. Writes modules
 * to `folder`. Tests of processes, which wait, alternate with others, which compute; short ones come last.
 */
export async function allTests(
  root: string,
  folder: string,
): Promise<readonly string[]> {
  const files = await testFiles(join(root, "tests"));
  const { unit = [], process = [], other = [] } = Object.groupBy(files, kindOf);
  const alternating = Array.from({ length: Math.max(process.length, other.length) }, (_, index) => [
    ...process.slice(index, index + 1),
    ...other.slice(index, index + 1),
  ]);
  const groups = Array.from({ length: unitGroups }, async (_, number) => {
    const path = join(folder, `unit_${number}_test.ts`);
    const members = unit.filter((_, index) => index % unitGroups === number);
    const lines = members.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`);
    await Deno.writeTextFile(path, lines.join(""));
    return path;
  });
  const examples = ["tools/lint", "src", "mod.ts"].map((path) => join(root, path));
  return [...alternating.flat(), ...await Promise.all(groups), ...examples];
}

function kindOf(file: string): "unit" | "process" | "other" {
  if (file.includes("/tests/unit/")) return "unit";
  return file.includes("/tests/process/") ? "process" : "other";
}

async function testFiles(folder: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const files = await Promise.all(
    entries.map(({ name, isDirectory }) => {
      const path = join(folder, name);
      return isDirectory ? testFiles(path) : name.endsWith("_test.ts") ? [path] : [];
    }),
  );
  return files.flat().toSorted();
}
