/** What a run of all tests consists of. @module */
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** How many modules import the unit tests: loading the sources costs more than most of these tests. */
const unitGroups = 8;

/**
 * Returns the arguments of `deno test` that stand for all tests and the examples of comments. Writes
 * modules to `folder`.
 */
export async function allTests(root: string, folder: string): Promise<readonly string[]> {
  const tests = join(root, "tests");
  const unit = await testFiles(join(tests, "unit"));
  const groups = Array.from({ length: unitGroups }, async (_, number) => {
    const path = join(folder, `unit_${number}_test.ts`);
    const members = unit.filter((_, index) => index % unitGroups === number);
    const lines = members.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`);
    await Deno.writeTextFile(path, lines.join(""));
    return path;
  });
  const others = (await Array.fromAsync(Deno.readDir(tests)))
    .filter(({ name, isDirectory }) => isDirectory && name !== "unit")
    .map(({ name }) => join(tests, name));
  const examples = ["tools/lint", "src", "mod.ts"].map((path) => join(root, path));
  return [...others, ...await Promise.all(groups), ...examples];
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
