/** Paths and files of the documentation. @module */
import { dirname, join } from "node:path/posix";
import { fileURLToPath } from "node:url";

export { dirname, fileURLToPath as fromFileUrl, join };

/** Lists the Markdown files below a folder, relative to `root`, sorted. */
export async function walkMarkdown(root: string, folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(root, folder))) {
    const path = join(folder, name);
    if (isDirectory) found.push(...await walkMarkdown(root, path));
    else if (name.endsWith(".md")) found.push(path);
  }
  return found.toSorted();
}

/** Whether a file or folder exists. */
export function exists(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}
