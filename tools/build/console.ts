/** Writes the files of the console: `deno task build:console` makes `dist/console`, which the
 * executable and the npm package contain. @module */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildConsole } from "../../src/admin/console_files.ts";

const defaultFolder = fileURLToPath(new URL("../../dist/console", import.meta.url));

/** Makes the folder anew. */
export async function writeConsole(folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await Deno.mkdir(folder, { recursive: true });
  for (const [name, bytes] of await buildConsole()) {
    await Deno.writeFile(join(folder, name), bytes);
  }
}

if (import.meta.main) {
  await writeConsole(defaultFolder);
  console.log("dist/console: the files of the console");
}
